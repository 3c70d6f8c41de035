from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.metrics.scores import finite_scores, sorted_scores


def test_scores_come_back_sorted_and_what_was_given_stays() -> None:
    targets, nontargets = np.array([3.0, 1.0, 2.0]), np.array([0.5, -1.0])
    first, second = sorted_scores(targets, nontargets)
    assert (first.tolist(), second.tolist()) == ([1.0, 2.0, 3.0], [-1.0, 0.5])
    assert (targets.tolist(), nontargets.tolist()) == ([3.0, 1.0, 2.0], [0.5, -1.0])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("float32", "float32", "float32"),
        ("float16", "float32", "float32"),
        ("float32", "float64", "float64"),
        ("int32", "float32", "float64"),
        ("int8", "int8", "float64"),
    ],
)
def test_both_lists_get_a_dtype_that_holds_them(first: str, second: str, expected: str) -> None:
    lists = sorted_scores(np.array([2, 1], dtype=first), np.array([1, 0], dtype=second))
    assert [scores.dtype.name for scores in lists] == [expected, expected]


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["target", "non-target"])
def test_scores_that_are_no_numbers_are_refused(kind: str, value: float, place: int) -> None:
    bad = np.arange(3.0)
    bad[place] = value
    lists = (bad, np.arange(2.0)) if kind == "target" else (np.arange(2.0), bad)
    with pytest.raises(UsageError, match=f"^the {kind} scores hold NaN or infinity$"):
        sorted_scores(*lists)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "there are no target scores"),
        ([[1.0]], r"have shape \(1, 1\); expected \(trials,\)"),
        (1.0, r"have shape \(\)"),
        (["a"], "expected numbers"),
        ([True], "are bool; expected numbers"),
        ([1j], "are complex128; expected numbers"),
    ],
)
def test_lists_that_are_none_are_refused(scores: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        sorted_scores(scores, [0.0])


def test_infinite_scores_become_ranks_and_others_stay() -> None:
    lists = np.array([[0.5, np.inf], [-np.inf, 0.5]]), np.array([7.0, 0.25])
    first, second = finite_scores(*lists)
    assert first.tolist() == [[2.0, 4.0], [0.0, 2.0]]
    assert second.tolist() == [3.0, 1.0]
    (same,) = finite_scores(lists[1])
    assert same is lists[1]
