from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.speaker.scoring.backend import CosineBackend
from sordino.speaker.scoring.cosine import cosine_to_mean, mean_cosine, mean_models
from sordino.speaker.scoring.lda import fit_lda, fit_wccn
from tests.speaker.scoring.simulated import simulate

_, VECTORS, LABELS = simulate(40, 6, 3)
LDA = fit_lda(VECTORS, LABELS, 3)
CHAIN = LDA.then(fit_wccn(LDA(VECTORS), LABELS))


@pytest.mark.parametrize("unit_length", [True, False])
@pytest.mark.parametrize("projection", [None, CHAIN])
def test_scores_are_those_of_the_functions(unit_length, projection):
    function = cosine_to_mean if unit_length else mean_cosine
    mapped = VECTORS if projection is None else projection(VECTORS)
    found = CosineBackend(projection, unit_length).score(VECTORS[:4], VECTORS)
    np.testing.assert_allclose(found, function(mapped[:4], mapped), rtol=1e-9, atol=1e-12)


def test_sets_are_those_of_the_function():
    sets = [[0, 1], [5], [1, 2, 3]]
    found = CosineBackend().enrol_sets(VECTORS, sets)
    np.testing.assert_allclose(found, mean_models(VECTORS, sets), rtol=1e-12)


def test_an_empty_set_is_named():
    with pytest.raises(UsageError, match="enrolment set 1 is empty"):
        CosineBackend().enrol_sets(VECTORS, [[0], []])


@pytest.mark.parametrize("unit_length", [True, False])
@pytest.mark.parametrize("projection", [None, CHAIN])
def test_storing_and_loading(unit_length, projection, tmp_path):
    backend = CosineBackend(projection, unit_length)
    np.savez(tmp_path / "cosine.npz", **backend.to_arrays())
    with np.load(tmp_path / "cosine.npz", allow_pickle=False) as arrays:
        loaded = CosineBackend.from_arrays(arrays)
    np.testing.assert_array_equal(
        loaded.score(VECTORS[:3], VECTORS), backend.score(VECTORS[:3], VECTORS)
    )


def test_half_a_projection_is_refused():
    arrays = CosineBackend(CHAIN).to_arrays()
    del arrays["cosine.projection.matrix"]
    with pytest.raises(UsageError, match="is missing"):
        CosineBackend.from_arrays(arrays)
