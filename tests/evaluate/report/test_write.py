import json
import math
from dataclasses import replace

import pytest

from sordino.errors import OutputError
from sordino.evaluate.report import write_report
from sordino.evaluate.results import ALL, Attack, Failure, read_results
from tests.evaluate.report.evaluations import made_up, results


@pytest.fixture
def some(whole):
    """A part of everything: attacks are large."""
    return replace(whole, attacks=whole.attacks[:2], worst_cases=whole.worst_cases[:2])


def test_both_files_are_written_and_the_results_can_be_read_again(tmp_path, some):
    folder = tmp_path / "new" / "report"
    write_report(some, folder)
    assert sorted(path.name for path in folder.iterdir()) == ["report.html", "results.json"]
    assert read_results(folder / "results.json") == some
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_page_is_the_same_for_results_that_were_read_again(tmp_path, some):
    write_report(some, tmp_path / "a")
    write_report(read_results(tmp_path / "a" / "results.json"), tmp_path / "b")
    pages = [(tmp_path / name / "report.html").read_bytes() for name in "ab"]
    assert pages[0] == pages[1]


def test_an_earlier_report_is_replaced(tmp_path):
    write_report(results(version="1"), tmp_path)
    write_report(results(version="2"), tmp_path)
    assert read_results(tmp_path / "results.json").version == "2"
    assert len(list(tmp_path.iterdir())) == 2


def test_file_names_that_are_no_text_are_kept(tmp_path):
    failure = Failure("read", "caf\udce9.wav", "damaged", "left out")
    write_report(results(failures=(failure,)), tmp_path)
    assert read_results(tmp_path / "results.json").failures == (failure,)
    assert "caf\\udce9.wav" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_infinite_figures_are_kept(tmp_path):
    attack = Attack("mcadams", "AA-lazy", "ecapa", ALL, replace(made_up(0.0), worst=math.inf))
    write_report(results(attacks=(attack,)), tmp_path)
    assert json.loads((tmp_path / "results.json").read_text())["attacks"][0]["privacy"][
        "worst"
    ] == ("inf")


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "report").write_text("mine")
    with pytest.raises(OutputError, match="report") as caught:
        write_report(results(), tmp_path / "report")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "report").read_text() == "mine"


def test_a_file_that_cannot_be_replaced_leaves_nothing_half_done(tmp_path):
    (tmp_path / "report.html").mkdir()
    (tmp_path / "report.html" / "something").touch()
    with pytest.raises(OutputError, match=r"report\.html"):
        write_report(results(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "results.json"]
