"""Read a page as a browser would, but more strictly."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

VOID = {"meta", "link", "br", "hr", "col"}
# SVG elements that end themselves.
FOREIGN = {"path", "line", "rect", "circle", "image"}
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """The elements of a page, whose tags must be nested rightly."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> has an attribute twice"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in FOREIGN
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def named(self, *tags: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag in tags]

    def text(self) -> str:
        return " ".join(data for tag, data in self.texts if tag != "style")

    def headings(self) -> list[str]:
        return [data for tag, data in self.texts if tag in {"h1", "h2"}]


def drawings(text: str) -> list[ET.Element]:
    """The charts of a page, read as XML."""
    return [ET.fromstring(found) for found in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]  # noqa: S314


def check(text: str) -> Page:
    """Well-formed, with nothing that loads, runs or points elsewhere."""
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "iframe", "object", "embed", "base", "form", "audio", "video"}
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") or name in {"src", "srcset"} for name in attributes)
        target = attributes.get("href")
        assert target is None or target.startswith(("#", "data:")), (tag, target)
        assert "url(" not in (attributes.get("style") or "")
    style = "".join(data for tag, data in page.texts if tag == "style")
    assert "url(" not in style
    assert "@import" not in style
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for attributes in page.named("a"):
        assert (attributes["href"] or "")[1:] in ids
    for drawing in drawings(text):
        assert drawing.tag == f"{SVG}svg"
        assert drawing.get("role") == "img"
        assert drawing[0].tag == f"{SVG}title"
        assert drawing.get("aria-label") == drawing[0].text
        for element in drawing.iter():
            for name, value in element.items():
                assert name == "aria-label" or not re.search(r"\b(nan|inf)\b", value), value
    return page
