from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.evaluate.utility import wording
from sordino.evaluate.utility.wording import (
    _positional,
    is_by_characters,
    language_of,
    mandarin_numbers,
    tokens,
)

DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")}
UNITS = {"十": 10, "百": 100, "千": 1000}


def value_of(read):
    """The number that a Mandarin numeral names, by the rules of how it is read."""
    total = section = digit = 0
    for character in read:
        if character in DIGITS:
            digit = DIGITS[character]
        elif character in UNITS:
            section += (digit or 1) * UNITS[character]
            digit = 0
        else:
            total, section, digit = (section + digit) * 10_000, 0, 0
    return total + section + digit


@pytest.fixture
def english():
    pytest.importorskip("whisper_normalizer", reason="English needs the extra evaluate")


@pytest.fixture
def mandarin():
    pytest.importorskip("opencc", reason="Mandarin needs the extra evaluate")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("twenty one people", "21 people."),
        ("it cost twenty dollars", "It cost $20!"),
        ("in nineteen eighty four", "In 1984"),
        ("mister smith and doctor jones", "Mr. Smith and Dr. Jones"),
        ("the colour of honour", "The color of honor."),
        ("it\u2019s not what i\u2019d do", "It is not what I would do."),
        ("you can't go", "You cannot go"),
        ("well uh that is it", "Well, that's it."),
        ("ten thousand and five", "10,005"),
    ],
)
def test_english_that_sounds_the_same_is_the_same(english, one, other):
    assert tokens(one, "en") == tokens(other, "en-US")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("twenty", "thirty"),
        ("twenty dollars", "twenty"),
        ("the cat", "the cut"),
        ("five percent", "five"),
    ],
)
def test_english_that_sounds_different_stays_different(english, one, other):
    assert tokens(one, "en") != tokens(other, "en")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u4e1c\u65b9\u5546\u53a6", "\u6771\u65b9\u5546\u5ec8\u3002"),
        ("\u4e8c\u96f6\u4e00\u4e94\u5e74", "2015\u5e74"),
        ("\u767e\u5206\u4e4b\u4e09\u5341\u4e94\u70b9\u4e8c", "35.2%"),
        ("\u4e24\u767e\u5143", "200\u5143"),
        ("\u4e00\u5343\u96f6\u4e94\u5341", "\uff11\uff0c\uff10\uff15\uff10"),
        ("\u96f6\u4e03", "07"),
    ],
)
def test_mandarin_that_sounds_the_same_is_the_same(mandarin, one, other):
    assert tokens(one, "zh") == tokens(other, "zh-CN")
    assert all(len(token) == 1 for token in tokens(one, "zh"))


@given(st.integers(0, 10**8 - 1))
def test_numbers_are_read_as_what_they_are(number):
    read = _positional(number)
    assert not set(read) & set("0123456789")
    assert value_of(read) == number
    assert "零零" not in read
    assert mandarin_numbers(read) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("10", "十"),
        ("110", "一百一十"),
        ("20000", "二万"),
        ("52433881", "五二四三三八八一"),
        ("五二四三三八八幺", "五二四三三八八一"),
        ("12000", "一万二千"),
        ("2015", "二千零一十五"),
        ("2015年", "二零一五年"),
        ("15年", "十五年"),
        ("13800138000", "一三八零零一三八零零零"),
        ("3.14", "三点一四"),
        ("0.5%", "百分之零点五"),
        ("1,234,500", "一百二十三万四千五百"),
        ("1,2", "一,二"),
    ],
)
def test_numbers_as_they_are_read(text, read):
    assert mandarin_numbers(text) == read


def test_other_languages_are_scored_as_they_are_written():
    assert tokens("Sieben Stunden, 7!", "de") == ["sieben", "stunden", "7"]
    assert tokens("東京へ。", "ja") == ["東", "京", "へ"]
    assert tokens("Hello, 20", None) == ["hello", "20"]


def test_codes_of_languages():
    assert [language_of(code) for code in ("EN", "en_GB", "cmn-Hans", "", None)] == [
        "en",
        "en",
        "zh",
        None,
        None,
    ]
    assert [is_by_characters(code) for code in ("zh", "ja", "yue", "de", None)] == [
        True,
        True,
        True,
        False,
        False,
    ]


def test_a_missing_package_is_named(monkeypatch):
    def missing(module, what, package):
        raise UsageError(f"{what} need {package}")

    monkeypatch.setattr(wording, "load_extra", missing)
    wording._english.cache_clear()
    wording._simplified.cache_clear()
    with pytest.raises(UsageError, match="English words need whisper-normalizer"):
        tokens("one", "en")
    with pytest.raises(UsageError, match="Mandarin need opencc"):
        tokens("\u4e00", "zh")
