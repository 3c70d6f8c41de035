"""How many words are lost: error rates of a recogniser, by words or by characters."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.metrics.text import ErrorCounts, token_errors
from sordino.evaluate.results import Quality
from sordino.evaluate.utility.groups import ratio_rows
from sordino.evaluate.utility.wording import is_by_characters, tokens


def text_errors(reference: str, recognised: str, language: str | None) -> ErrorCounts:
    """Errors of a recognised utterance, after both texts are made comparable.

    Args:
        reference: what was said.
        recognised: what a recogniser has made of it; "" where it heard nothing.
        language: a code such as "en"; None for one that is not known. It decides how texts are
            compared (see `wording`), and whether words count or characters.

    Raises:
        UsageError: the reference holds no words, or a package is not installed.

    Example:
        >>> text_errors("ich sehe zwei", "Ich seh zwei.", "de").rate
        0.3333333333333333
    """
    said = tokens(reference, language)
    if not said:
        raise UsageError(f"the reference {reference!r} holds no words")
    return token_errors(said, tokens(recognised, language))


def text_rows(
    system: str, utterances: Sequence[Utterance], errors: Sequence[ErrorCounts]
) -> tuple[Quality, ...]:
    """Word error rates of a system, and character error rates where its languages ask for them.

    A rate is of all errors to all words, so that long utterances weigh more, as is usual.

    Args:
        system: whose.
        utterances: what was recognised; their languages decide which rate they are in.
        errors: of each.

    Example:
        >>> ann = Utterance("a1", Path("a1"), "ann", language="de")
        >>> bai = Utterance("b1", Path("b1"), "bai", language="zh")
        >>> counts = [ErrorCounts(1, 0, 0, 8), ErrorCounts(0, 0, 0, 9)]
        >>> rows = text_rows("original", [ann, bai], counts)
        >>> [(row.measure, row.value.value) for row in rows if row.group == "all"]
        [('wer', 0.125), ('cer', 0.0)]
    """
    rows: tuple[Quality, ...] = ()
    for measure, by_characters in (("wer", False), ("cer", True)):
        places = [
            place
            for place, utterance in enumerate(utterances)
            if is_by_characters(utterance.language) == by_characters
        ]
        rows += ratio_rows(
            system,
            measure,
            "%",
            [utterances[place] for place in places],
            [errors[place].errors for place in places],
            [errors[place].length for place in places],
        )
    return rows
