from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.metrics.text import ErrorCounts
from sordino.evaluate.utility.wer import text_errors, text_rows


def test_words_that_are_written_differently_are_no_errors():
    pytest.importorskip("whisper_normalizer", reason="English needs the extra evaluate")
    found = text_errors("mister brown has twenty cats", "Mr. Brown has 20 hats.", "en")
    assert (found.errors, found.length) == (1, 5)


def test_other_languages_need_no_package():
    found = text_errors(
        "Der Lappen liegt auf dem Eisschrank", "der lappen lag auf Eisschrank", "de"
    )
    assert found == ErrorCounts(substitutions=1, deletions=1, insertions=0, length=6)
    assert text_errors("\u6771\u4eac\u3078", "\u6771\u4eac", "ja").rate == pytest.approx(1 / 3)


def test_nothing_heard_is_all_words_lost():
    assert text_errors("eins zwei drei", "", "de") == ErrorCounts(0, 3, 0, 3)


def test_a_reference_without_words_is_refused():
    with pytest.raises(UsageError, match=r"the reference '\.\.\.' holds no words"):
        text_errors("...", "hello", "de")


def test_languages_by_characters_have_a_rate_of_their_own():
    utterances = [
        Utterance("a", Path("a"), "ann", language="de"),
        Utterance("b", Path("b"), "bai", language="zh-CN"),
        Utterance("c", Path("c"), "cho", language="ja"),
        Utterance("d", Path("d"), "dot"),
    ]
    errors = [
        ErrorCounts(1, 1, 0, 10),
        ErrorCounts(0, 0, 3, 12),
        ErrorCounts(1, 0, 0, 4),
        ErrorCounts(0, 1, 0, 10),
    ]
    rows = text_rows("raw", utterances, errors)
    found = {(row.measure, row.group): row.value.value for row in rows}
    assert found["wer", "all"] == 3 / 20
    assert found["wer", "language: de"] == 2 / 10
    assert found["cer", "all"] == 4 / 16
    assert found["cer", "speaker: bai"] == 3 / 12
    assert ("wer", "speaker: bai") not in found
    assert {row.unit for row in rows} == {"%"}


def test_without_mandarin_there_is_no_rate_by_characters():
    ann = Utterance("a", Path("a"), "ann", language="en")
    rows = text_rows("raw", [ann], [ErrorCounts(0, 0, 0, 3)])
    assert {row.measure for row in rows} == {"wer"}
