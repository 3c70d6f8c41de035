"""Word and character error rates of recognised text."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sordino.errors import UsageError

# A word is the same with and without them, however they are written: don't, l'été. Straight, the
# two curly ones, the letter, the grave and the acute accent.
APOSTROPHES = frozenset("'\u2019\u2018\u02bc`\u00b4")

# First and last letters of scripts that are written without spaces between words: Thai, Lao,
# Burmese, Khmer; the Han iteration mark and zero; kana; Han with its extensions.
_WITHOUT_SPACES = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3005, 0x3007),
    (0x3040, 0x30FF),
    (0x31F0, 0x31FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)
_STARTS = [start for start, _ in _WITHOUT_SPACES]


@dataclass(frozen=True)
class ErrorCounts:
    """How recognised text differs from what was said; add them up over utterances.

    The sum of the three is the least number of edits. Which of them are substitutions can be a
    choice between alignments that are equally short.

    Attributes:
        substitutions: wrong words, or characters.
        deletions: missing ones.
        insertions: those too many.
        length: words, or characters, of the reference.
    """

    substitutions: int = 0
    deletions: int = 0
    insertions: int = 0
    length: int = 0

    def __add__(self, other: ErrorCounts) -> ErrorCounts:
        return ErrorCounts(
            self.substitutions + other.substitutions,
            self.deletions + other.deletions,
            self.insertions + other.insertions,
            self.length + other.length,
        )

    @property
    def errors(self) -> int:
        """All three kinds."""
        return self.substitutions + self.deletions + self.insertions

    @property
    def rate(self) -> float:
        """Errors over the length of the reference, from 0; above 1 where much was inserted.

        Raises:
            UsageError: the reference is empty.
        """
        if not self.length:
            raise UsageError("the reference holds no words; its error rate is not defined")
        return self.errors / self.length


def normalised(text: str) -> str:
    r"""Text as it is scored: lower case, without punctuation, with single spaces.

    Unicode compatibility forms become one (NFKC: full-width letters, ligatures, composed accents).
    Apostrophes go and leave no gap; other punctuation and symbols become spaces. Numbers, spelling
    variants and abbreviations stay: "10" and "ten" differ.

    Args:
        text: in any language.

    Example:
        >>> normalised("Don't! said \uff2d\uff52. Müller - twice.")
        'dont said mr müller twice'
    """
    # Lower case can undo a composed form, hence NFKC on both sides of it.
    lower = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    kept = (_scored(character) for character in lower if character not in APOSTROPHES)
    return " ".join("".join(kept).split())


def words(text: str) -> list[str]:
    """The words that are scored.

    In scripts without spaces between words (Han, kana, Thai, Lao, Burmese, Khmer) each character
    counts as one, so that text in two scripts is scored as is usual for both.

    Args:
        text: in any language; it is normalised first.

    Example:
        >>> words("I'm in 東京, now.")
        ['im', 'in', '東', '京', 'now']
    """
    spaced = (
        f" {character} " if _without_spaces(character) else character
        for character in normalised(text)
    )
    return "".join(spaced).split()


def characters(text: str) -> list[str]:
    """The characters that are scored: all but spaces.

    Args:
        text: in any language; it is normalised first.

    Example:
        >>> characters("你好, Bo")
        ['你', '好', 'b', 'o']
    """
    return [character for character in normalised(text) if character != " "]


def word_errors(reference: str, recognised: str) -> ErrorCounts:
    """Errors by words; by characters where a script has no spaces.

    Args:
        reference: what was said.
        recognised: what a recogniser has made of it.

    Raises:
        UsageError: the package rapidfuzz is not installed.

    Example:
        >>> word_errors("The cat sat.", "the hat sat down")
        ErrorCounts(substitutions=1, deletions=0, insertions=1, length=3)
    """
    return token_errors(words(reference), words(recognised))


def character_errors(reference: str, recognised: str) -> ErrorCounts:
    """Errors by characters, spaces left out: the usual figure for Mandarin and Japanese.

    Args:
        reference: what was said.
        recognised: what a recogniser has made of it.

    Raises:
        UsageError: the package rapidfuzz is not installed.

    Example:
        >>> character_errors("你好吗", "你好").rate
        0.3333333333333333
    """
    return token_errors(characters(reference), characters(recognised))


def token_errors(reference: Sequence[str], recognised: Sequence[str]) -> ErrorCounts:
    """Errors between two lists of words or characters, as they are.

    Args:
        reference: what was said.
        recognised: what a recogniser has made of it.

    Raises:
        UsageError: the package rapidfuzz is not installed.

    Example:
        >>> token_errors(["a", "b"], ["a", "c", "d"]).errors
        2
    """
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise UsageError(
            "error rates of text need the package rapidfuzz: pip install 'sordino[evaluate]'"
        ) from None
    edits = [edit.tag for edit in Levenshtein.editops(reference, recognised)]
    return ErrorCounts(
        edits.count("replace"), edits.count("delete"), edits.count("insert"), len(reference)
    )


def total_errors(
    references: Iterable[str],
    recognised: Iterable[str],
    count: Callable[[str, str], ErrorCounts] = word_errors,
) -> ErrorCounts:
    """All errors over many utterances; its rate weighs long ones more, as is usual.

    Args:
        references: what was said in each.
        recognised: what was recognised in each, in the same order; "" where nothing was.
        count: `word_errors` or `character_errors`.

    Raises:
        UsageError: one list is longer than the other, or the package rapidfuzz is not installed.

    Example:
        >>> total_errors(["one two", "three"], ["one", "three"]).rate
        0.3333333333333333
    """
    said, heard = list(references), list(recognised)
    if len(said) != len(heard):
        raise UsageError(f"there are {len(said)} references and {len(heard)} recognised texts")
    return sum(map(count, said, heard), ErrorCounts())


def _scored(character: str) -> str:
    """The character itself where it is a letter, a mark, or a digit; else a space."""
    return character if unicodedata.category(character)[0] in "LMN" else " "


def _without_spaces(character: str) -> bool:
    place = bisect_right(_STARTS, ord(character)) - 1
    return place >= 0 and ord(character) <= _WITHOUT_SPACES[place][1]
