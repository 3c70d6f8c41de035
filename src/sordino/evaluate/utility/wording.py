"""Text as it is compared: what is written in two ways and said in one becomes the same.

A recogniser writes "20" where a transcript has "twenty", and "colour" where it has "color". Such
differences say nothing of how well the words can still be heard.

English: the standardisation that was published with Whisper (A. Radford et al., "Robust speech
recognition via large-scale weak supervision", 2022, appendix C), by the package
whisper-normalizer: numbers, currencies, contractions, titles, British spelling, fillers. Error
rates of English are usually reported after it.

Mandarin: simplified characters (OpenCC; Whisper often writes traditional ones), and numbers as they
are read. Read digit by digit are: four digits before the word for year, a number that starts with
0, and one of five digits or more unless it is round (ends in 00) and has eight at most.

Other languages: as `metrics.text` scores them; numbers stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from sordino.evaluate.metrics.text import APOSTROPHES, characters, words
from sordino.evaluate.utility.extra import load_extra

# Scored by characters.
_BY_CHARACTERS = frozenset({"zh", "yue", "ja"})
# Three letters, as some corpora have them.
_SHORT = {"cmn": "zh", "eng": "en", "jpn": "ja", "deu": "de", "spa": "es", "fra": "fr"}

# Contractions are known with a straight apostrophe only, and "can't" becomes "can not".
_STRAIGHT = str.maketrans(dict.fromkeys(APOSTROPHES, "'"))
_CANNOT = re.compile(r"\bcannot\b", re.IGNORECASE)

_DIGITS = "零一二三四五六七八九"
_TENS = ("", "十", "百", "千")
_NUMBER = re.compile(r"(\d+)(?:\.(\d+))?(%?)(?=(年)?)")
_LONG, _MOST_DIGITS = 5, 8
# Two ways to say two, a way to write zero, and one as it is said in telephone numbers.
_SAME = str.maketrans({"两": "二", "\u3007": "零", "幺": "一"})
_COMMA = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def language_of(code: str | None) -> str | None:
    """A language without its region: "en" for "en-GB", "zh" for "cmn".

    Args:
        code: of a language, in any case, or None.

    Example:
        >>> language_of("en-GB"), language_of("zh_CN"), language_of("cmn"), language_of(None)
        ('en', 'zh', 'zh', None)
    """
    if not code:
        return None
    short = re.split("[-_]", code.strip().lower())[0]
    return _SHORT.get(short, short)


def is_by_characters(language: str | None) -> bool:
    """Whether errors are counted by characters: Mandarin, Cantonese and Japanese.

    Args:
        language: a code such as "zh" or "zh-CN".

    Example:
        >>> is_by_characters("zh-CN"), is_by_characters("en"), is_by_characters(None)
        (True, False, False)
    """
    return language_of(language) in _BY_CHARACTERS


def tokens(text: str, language: str | None) -> list[str]:
    """The words, or characters, of a text that are compared.

    Args:
        text: a transcript, or what a recogniser wrote.
        language: a code such as "en"; None for one that is not known.

    Raises:
        UsageError: a package that this language needs is not installed.

    Example:
        >>> tokens("Número 7", "es")
        ['número', '7']
    """
    language = language_of(language)
    if language == "en":
        return _english()(_CANNOT.sub("can not", text.translate(_STRAIGHT))).split()
    if language in {"zh", "yue"}:
        return characters(mandarin_numbers(_simplified()(normalize("NFKC", text))))
    return characters(text) if language in _BY_CHARACTERS else words(text)


def mandarin_numbers(text: str) -> str:
    """Text with its digits as they are read in Mandarin, in one way of writing.

    Args:
        text: in simplified characters; may hold numerals of both kinds.

    Example:
        >>> print(mandarin_numbers("2015年涨了10.5%"), mandarin_numbers("两千零六元和1,300点"))
        二零一五年涨了百分之十点五 二千零六元和一千三百点
    """
    text = _NUMBER.sub(_read, _COMMA.sub("", text))
    return text.translate(_SAME)


def _read(match: re.Match[str]) -> str:
    whole, fraction, percent, year = match.groups()
    number = _digits(whole) if _is_spelt(whole, bool(year)) else _positional(int(whole))
    after = "点" + _digits(fraction) if fraction else ""
    return ("百分之" if percent else "") + number + after


def _is_spelt(number: str, is_year: bool) -> bool:
    """Whether a number is read digit by digit."""
    if number.startswith("0") or len(number) > _MOST_DIGITS:
        return True
    return (is_year and len(number) == 4) or (len(number) >= _LONG and not number.endswith("00"))


def _digits(number: str) -> str:
    return "".join(_DIGITS[int(digit)] for digit in number)


def _positional(number: int) -> str:
    """A number below 10^8 in words."""
    if number == 0:
        return _DIGITS[0]
    upper, lower = divmod(number, 10_000)
    words_ = _below_ten_thousand(lower) if lower else ""
    if upper:
        gap = _DIGITS[0] if 0 < lower < 1000 else ""
        words_ = f"{_below_ten_thousand(upper)}万{gap}{words_}"
    # Ten is said without its one at the beginning only.
    return words_[1:] if words_.startswith("一十") else words_


def _below_ten_thousand(number: int) -> str:
    read, gap = "", False
    for place in (3, 2, 1, 0):
        digit = number // 10**place % 10
        if digit:
            read += (_DIGITS[0] if gap else "") + _DIGITS[digit] + _TENS[place]
        gap = not digit and bool(read)
    return read


@lru_cache(maxsize=1)
def _english() -> Callable[[str], str]:
    module = load_extra(
        "whisper_normalizer.english", "error rates of English words", "whisper-normalizer"
    )
    normalizer: Callable[[str], str] = module.EnglishTextNormalizer()
    return normalizer


@lru_cache(maxsize=1)
def _simplified() -> Callable[[str], str]:
    module: Any = load_extra("opencc", "error rates of Mandarin", "opencc")
    convert: Callable[[str], str] = module.OpenCC("t2s").convert
    return convert
