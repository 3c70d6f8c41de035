"""HTML and SVG from elements, so that no text from the data can become markup."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Iterable

# Joiners that names in Persian and Indian scripts are written with.
_JOINERS = "\u200c\u200d"
_VOID = frozenset({"meta", "link", "br", "hr", "col"})
# Elements of SVG mostly have no content; `<path/>` is right in both HTML and XML there.
_SVG_EMPTY = frozenset({"path", "line", "rect", "circle", "polyline", "polygon", "image"})


class Markup(str):
    """Text that is markup already. What is added to it or formatted from it is plain text again."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    r"""Text as markup: what would be markup is shown, and so are control characters.

    Marks that turn the direction of writing would let a file name garble the page; they are shown
    by their numbers, as are lone surrogates (bytes of a file name that are not UTF-8).

    Example:
        >>> escaped("<script>") + escaped("\x00\u202e")
        '&lt;script&gt;\\x00\\u202e'
    """
    return Markup(html.escape(visible(text)))


def visible(text: str) -> str:
    r"""Text in which what would not be seen, but obeyed, is shown by its number.

    Example:
        >>> visible("two\nlines")
        'two\\nlines'
    """
    if text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def tag(name: str, /, *children: str | None, **attributes: str | float | None) -> Markup:
    """An element.

    Args:
        name: of the element.
        children: markup is taken as it is, other text is escaped, None is left out.
        attributes: underscores are hyphens, one at the end goes (`class_`); None is left out.

    Example:
        >>> tag("p", "1 < 2", tag("br"), class_="note")
        '<p class="note">1 &lt; 2<br></p>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escaped(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Markup(f"<{name}{given}>")
    content = join(children)
    if not content and name in _SVG_EMPTY:
        return Markup(f"<{name}{given}/>")
    return Markup(f"<{name}{given}>{content}</{name}>")


def join(parts: Iterable[str | None]) -> Markup:
    """Markup and text one after the other; text is escaped.

    Example:
        >>> join(["a & b", tag("b", "c"), None])
        'a &amp; b<b>c</b>'
    """
    return Markup(
        "".join(
            part if isinstance(part, Markup) else escaped(part)
            for part in parts
            if part is not None
        )
    )


def _text(value: str | float) -> str:
    """Coordinates to a tenth of a unit: finer ones only cost space."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _visible(character: str) -> str:
    if character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs":
        return character
    return character.encode("unicode_escape").decode("ascii")
