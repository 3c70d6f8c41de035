from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.metrics.checks import finite_numbers, numbered, same_length


def test_numbers_are_copied_only_where_they_must_be():
    single = np.zeros(3, dtype=np.float32)
    assert finite_numbers(single, "scores") is single
    assert finite_numbers([[1, 2]], "scores", 2).dtype == np.float64


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "^there are no scores$"),
        ([[1.0]], r"^the scores have shape \(1, 1\); expected \(n,\)$"),
        (["a"], "expected numbers"),
        ([True], "are bool; expected numbers"),
        *(
            ([0.0, bad, 1.0], "^the scores hold NaN or infinity$")
            for bad in (np.nan, np.inf, -np.inf)
        ),
    ],
)
def test_what_are_no_numbers_is_refused(values, message):
    with pytest.raises(UsageError, match=message):
        finite_numbers(values, "scores")


def test_names_are_numbered_in_their_order():
    names, (first, second) = numbered("speakers", np.array(["b", "dora", "b"]), ["a", "b"])
    assert names.tolist() == ["a", "b", "dora"]
    assert (first.tolist(), second.tolist()) == ([1, 2, 1], [0, 1])
    with pytest.raises(UsageError, match="there are no speakers"):
        numbered("speakers", ["a"], [])
    with pytest.raises(UsageError, match=r"the speakers have shape \(1, 1\)"):
        numbered("speakers", [["a"]])


def test_lists_of_two_lengths_are_refused():
    with pytest.raises(UsageError, match="2 and 3 labels and predictions; expected pairs"):
        same_length(np.zeros(2), np.zeros(3), "labels and predictions")
