from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.utility.groups import grouped_rows, ratio_rows


def utterance(number, speaker, language=None):
    return Utterance(f"u{number}", Path(f"{number}.wav"), speaker, language=language)


UTTERANCES = [
    utterance(0, "ann", "en"),
    utterance(1, "ann", "en"),
    utterance(2, "bob", "en"),
    utterance(3, "cyd", "de"),
    utterance(4, "dan"),
]


def test_rows_are_ratios_of_sums_of_each_group():
    rows = ratio_rows("raw", "wer", "%", UTTERANCES, [1, 0, 2, 0, 9], [10, 10, 4, 5, 9])
    found = {row.group: (row.value.value, row.utterances, row.speakers) for row in rows}
    assert found == {
        "all": (12 / 38, 5, 4),
        "language: de": (0.0, 1, 1),
        "language: en": (3 / 24, 3, 2),
        "speaker: ann": (1 / 20, 2, 1),
        "speaker: bob": (2 / 4, 1, 1),
        "speaker: cyd": (0.0, 1, 1),
        "speaker: dan": (1.0, 1, 1),
    }
    assert {(row.system, row.measure, row.unit) for row in rows} == {("raw", "wer", "%")}


def test_intervals_are_over_speakers_and_only_where_there_are_several():
    rows = {row.group: row.value for row in ratio_rows("x", "s", "", UTTERANCES, [1, 1, 2, 3, 4])}
    assert rows["all"].value == pytest.approx(11 / 5)
    assert 1 <= rows["all"].low < 11 / 5 < rows["all"].high <= 4
    assert rows["speaker: ann"].low is rows["language: de"].high is None
    # Two speakers with one value each: only those two and their mixtures can be drawn.
    assert (rows["language: en"].low, rows["language: en"].high) == (1.0, 2.0)


def test_a_figure_that_is_not_defined_is_none():
    rows = grouped_rows("x", "s", "", UTTERANCES[:2], lambda places: lambda weights: float("nan"))
    assert [row.value.value for row in rows] == [None, None, None]


def test_a_figure_that_few_draws_define_has_no_interval():
    def first_only(places):
        return lambda weights: 1.0 if weights[places == 0].sum() else float("nan")

    rows = grouped_rows("x", "s", "", UTTERANCES, first_only)
    assert (rows[0].value.value, rows[0].value.low) == (1.0, None)


def test_further_groups_come_last():
    rows = grouped_rows(
        "x",
        "s",
        "",
        UTTERANCES,
        lambda places: lambda weights: float(len(places)),
        further={"emotion: W": np.array([0, 4])},
    )
    assert (rows[-1].group, rows[-1].value.value, rows[-1].speakers) == ("emotion: W", 2.0, 2)


def test_nothing_gives_no_rows_and_lists_must_fit():
    assert ratio_rows("x", "s", "", [], []) == ()
    with pytest.raises(UsageError, match="2 values of 5 utterances"):
        ratio_rows("x", "s", "", UTTERANCES, [1, 2])
    with pytest.raises(UsageError, match="NaN"):
        ratio_rows("x", "s", "", UTTERANCES, [1, 2, 3, 4, float("nan")])
