from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import as_indices, as_rows, as_scores, stored


@pytest.mark.parametrize(
    "values", [[], [1.0], np.zeros((0, 3)), np.zeros((3, 0)), [[np.nan]], [[np.inf]], [["a"]]]
)
def test_what_is_no_list_of_vectors_is_refused(values):
    with pytest.raises(UsageError):
        as_rows(values)


def test_complex_numbers_are_refused():
    with pytest.raises(UsageError, match="real numbers"):
        as_rows([[1j]])


def test_float32_stays_and_other_kinds_become_float64():
    assert as_rows(np.ones((2, 2), np.float32)).dtype == np.float32
    assert as_rows(np.ones((2, 2), np.float16)).dtype == np.float64
    assert as_scores(np.ones(2, np.int8)).dtype == np.float64


def test_no_scores_are_refused_by_name():
    with pytest.raises(UsageError, match="no target scores"):
        as_scores([], "target scores")


@pytest.mark.parametrize("values", [[-1], [3], [0.0], [True], [[0]]])
def test_indices_outside_or_of_another_kind_are_refused(values):
    with pytest.raises(UsageError, match="model_index"):
        as_indices(values, 3, "model_index")


def test_no_indices_are_fine():
    assert as_indices([], 3, "model_index").size == 0


@pytest.mark.parametrize(
    ("array", "word"),
    [(np.zeros(2), "shape"), (np.zeros((2, 3)), "shape"), (np.full((2, 2), np.nan), "NaN")],
)
def test_a_stored_array_that_does_not_fit_is_named(array, word):
    with pytest.raises(UsageError, match=word) as error:
        stored({"within": array}, "within", (2, 2))
    assert "within" in str(error.value)


def test_a_missing_stored_array_is_named():
    with pytest.raises(UsageError, match="'within' is missing"):
        stored({}, "within", (2, 2))
