from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.evaluate.report.markup import Markup, escaped, join, tag, visible


class Texts(HTMLParser):
    def __init__(self, markup):
        super().__init__()
        self.found, self.tags = "", []
        self.feed(markup)
        self.close()

    def handle_data(self, data):
        self.found += data

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))


@given(st.text())
def test_text_stays_text_in_content_and_in_attributes(text):
    parsed = Texts(tag("p", text, title=text))
    assert parsed.found == visible(text)
    assert parsed.tags == [("p", [("title", visible(text))])]


def test_markup_is_not_escaped_twice_but_what_is_made_from_it_is_text():
    bold = tag("b", "a & b")
    assert tag("p", bold) == "<p><b>a &amp; b</b></p>"
    assert tag("p", f"{bold}") == "<p>&lt;b&gt;a &amp;amp; b&lt;/b&gt;</p>"
    assert tag("p", bold + "<i>") != f"<p>{bold}<i></p>"


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\u202e", "\u2066", "\udc80", "\r\n", "\x7f"])
def test_what_would_be_obeyed_is_shown(text):
    shown = escaped(text)
    assert shown.isprintable()
    assert "\\" in shown
    shown.encode("utf-8")


@pytest.mark.parametrize(
    "text", ["München", "東京", "\u0646\u0627\u0645\u200c\u0647\u0627", "a\u00a0b"]
)
def test_names_in_any_script_stay_as_they_are(text):
    assert escaped(text) == text


def test_attributes_that_are_none_are_left_out_and_coordinates_are_short():
    assert tag("line", x1=1.0, y1=2.3456, class_=None, stroke_width=2) == (
        '<line x1="1" y1="2.3" stroke-width="2"/>'
    )


def test_empty_elements_of_html_are_closed():
    assert tag("p") == "<p></p>"
    assert tag("br") == "<br>"


def test_join_is_markup():
    assert isinstance(join(["<", None, tag("b")]), Markup)
    assert join(["<", None, tag("b")]) == "&lt;<b></b>"
