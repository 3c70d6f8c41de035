"""The page in a real browser: Chromium, without a screen."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sordino.evaluate.report import write_report
from tests.evaluate.concealment_of import comparison
from tests.evaluate.report.evaluations import embeddings, scores

FRAMES = ((400, "dark"), (1200, "light"))
# A page of its own around the report, in frames as wide as a telephone and a screen, so that the
# report itself stays as it is: it forbids scripts.
HARNESS = """<!DOCTYPE html><meta charset="utf-8"><body>{frames}<pre id="found"></pre><script>
addEventListener("load", () => {{
  const found = [...document.querySelectorAll("iframe")].map((frame) => {{
    const page = frame.contentDocument, root = page.documentElement;
    const texts = [...page.querySelectorAll("svg text:not([transform])")].filter((text) => {{
      const box = text.getBBox(), room = text.ownerSVGElement.viewBox.baseVal;
      return box.x < -1 || box.x + box.width > room.width + 1
        || box.y < -1 || box.y + box.height > room.height + 1;
    }});
    const wide = [...page.querySelectorAll("main *")].filter((element) =>
      !element.closest(".scroll > *") && !element.closest("svg *")
      && element.getBoundingClientRect().right > root.clientWidth + 1);
    return {{
      width: frame.contentWindow.innerWidth,
      overflow: root.scrollWidth - root.clientWidth,
      headings: [...page.querySelectorAll("h1, h2")].map((heading) => heading.textContent),
      clipped: texts.map((text) => text.textContent),
      wide: wide.map((element) => element.outerHTML.slice(0, 200)),
      charts: page.querySelectorAll("svg").length,
      flat: [...page.querySelectorAll("svg")].filter((chart) =>
        chart.getBoundingClientRect().height < 5).length,
      loaded: frame.contentWindow.performance.getEntriesByType("resource").map((one) => one.name),
      paper: frame.contentWindow.getComputedStyle(page.body).backgroundColor,
    }};
  }});
  document.getElementById("found").textContent = JSON.stringify(found);
}});
</script>"""


def chromium() -> str:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("no chromium on PATH")
    return program


def browse(page: Path, folder: Path, *options: str) -> tuple[str, list[str]]:
    """The document once it has loaded, and what the browser's console says."""
    done = subprocess.run(
        [
            chromium(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
            "--window-size=1300,900",
            *options,
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def measured(texts: list[str], folder: Path) -> tuple[list[dict], list[str]]:
    """What the harness finds in each page at each width, and the console's lines."""
    frames = "".join(
        f'<iframe width="{width}" height="900" style="border:0; color-scheme: {scheme}"'
        f' srcdoc="{html.escape(text)}"></iframe>'
        for text in texts
        for width, scheme in FRAMES
    )
    harness = folder / "harness.html"
    harness.write_text(HARNESS.format(frames=frames), encoding="utf-8")
    document, console = browse(harness, folder)
    (found,) = re.findall(r'<pre id="found">(.*?)</pre>', document, re.DOTALL)
    return json.loads(html.unescape(found)), console


@pytest.fixture(scope="module")
def pages(whole, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    kinds = {
        "whole": whole,
        "embeddings": embeddings(),
        "scores": scores(),
        "concealment": comparison(),
    }
    for name, results in kinds.items():
        write_report(results, folder / name)
    return {name: (folder / name / "report.html") for name in kinds}


def test_pages_fit_any_screen_in_light_and_in_dark_load_nothing_and_cut_no_text(pages, tmp_path):
    texts = [page.read_text(encoding="utf-8") for page in pages.values()]
    found, console = measured(texts, tmp_path)
    assert console == []
    assert [page["width"] for page in found] == [width for width, _ in FRAMES] * 4
    for page, (_, scheme) in zip(found, FRAMES * 4, strict=True):
        levels = [int(level) for level in re.findall(r"\d+", page["paper"])]
        assert max(levels) < 60 if scheme == "dark" else min(levels) > 240
    for page in found:
        assert page["overflow"] <= 0
        assert page["wide"] == []
        assert page["clipped"] == []
        assert page["loaded"] == []
        assert page["flat"] == 0
        assert page["headings"][1] == "Verdict"
        assert page["headings"][-1] == "Words"
    assert found[0]["headings"][0] == "How well are these voices hidden?"
    assert found[0]["charts"] > 30


def test_the_harness_sees_what_is_wrong(pages, tmp_path):
    good = pages["scores"].read_text(encoding="utf-8")
    bad = good.replace(
        "<main>",
        '<main><p style="width: 90rem">x</p><img src="https://127.0.0.1:9/x.png">'
        "<script>document.body.remove()</script>"
        '<svg viewBox="0 0 10 10"><text x="5" y="5">far too long a text for this</text></svg>',
    )
    found, console = measured([bad], tmp_path)
    assert found[0]["overflow"] > 0
    assert found[0]["wide"]
    assert found[0]["clipped"] == ["far too long a text for this"]
    # The policy of the page blocks both, and the browser says so.
    assert sum("Content Security Policy" in line for line in console) >= 2
    assert found[0]["headings"][1] == "Verdict"


def test_a_page_opens_by_itself_and_can_be_seen(pages, tmp_path):
    picture = tmp_path / "page.png"
    document, console = browse(pages["whole"], tmp_path, f"--screenshot={picture}")
    assert console == []
    assert "How well are these voices hidden?" in document
    assert picture.stat().st_size > 20_000
