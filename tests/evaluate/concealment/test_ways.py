from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sordino.conceal.erasure import fit_erasure
from sordino.errors import UsageError
from sordino.evaluate.concealment.ways import (
    Way,
    erased,
    over_epsilon,
    over_training,
    require_untested,
    way,
)
from sordino.speaker.vectors import Vectors
from tests.concealers import DIMENSION, description, graph, laplace, weights, write_concealer
from tests.evaluate.concealment_of import Noise
from tests.evaluate.embeddings_of import made, table_of


def trained(folder, seed: int, about=None):
    """As another seed would give it."""
    matrix = (1 + 0.1 * seed) * weights()
    networks = graph(matrix, "vector", "latent"), graph(matrix.T, "latent", "vector")
    return write_concealer(folder / f"{seed}", about, networks=networks)


def test_trainings_of_one_way(tmp_path):
    found = way("mine", [trained(tmp_path, seed) for seed in (1, 2)], 15.0)
    assert (found.epsilon, found.delta, found.epsilon_train) == (15.0, 0.0, 15.0)
    assert (found.mechanism, found.sweep, found.computed) == ("privunit", "", False)
    assert found.guarantee == "epsilon 15 for each released template, by privunit"
    assert found.what == (
        "concealer tiny-concealer; privunit noise in training, epsilon 15; at release: privunit,"
        " epsilon 15; 2 trainings"
    )
    bare = way("bare", [trained(tmp_path, 3)])
    assert math.isinf(bare.epsilon)
    assert bare.guarantee == "no DP guarantee"
    assert "no DP guarantee" in bare.what


def test_the_clip_is_said_with_where_it_comes_from(tmp_path):
    found = way("paper", [trained(tmp_path, 1, laplace())], 15.0)
    assert "clip 2 (median of training norms, not private)" in found.what


def test_an_erasure_is_computed_and_not_trained(tmp_path):
    vectors = made(20, 2, dimension=DIMENSION)
    erasure = fit_erasure(vectors.vectors, [name[-1] in "02468" for name in vectors.speakers])
    about = description(latent=DIMENSION, epsilon_train=math.inf)
    concealer = write_concealer(tmp_path / "leace", about, erasure=erasure, alone=True)
    found = way("LEACE", [concealer])
    assert found.computed
    assert "closed-form erasure" in found.what


def test_over_epsilon_is_in_order_with_each_epsilon_once(tmp_path):
    concealers = [trained(tmp_path, seed) for seed in (1, 2)]
    points = over_epsilon("mine", concealers, [math.inf, 15.0, 5.0, 15.0], "privunit-g")
    assert [point.epsilon for point in points] == [5.0, 15.0, math.inf]
    assert {(point.sweep, len(point.releases), point.mechanism) for point in points} == {
        ("epsilon", 2, "privunit-g")
    }


def test_over_training_takes_equal_ones_for_seeds(tmp_path):
    concealers = [
        trained(tmp_path, seed, description(epsilon_train=epsilon))
        for seed, epsilon in ((1, 20.0), (2, 5.0), (3, 20.0), (4, math.inf))
    ]
    points = over_training("figure 2", concealers)
    assert [(point.epsilon_train, len(point.releases)) for point in points] == [
        (5.0, 1),
        (20.0, 2),
        (math.inf, 1),
    ]
    assert {point.epsilon for point in points} == {math.inf}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon_train": 20.0}, r"epsilon in training: 15.0 and 20.0"),
        ({"mechanism": "privunit-g"}, "mechanism: privunit and privunit-g"),
        ({"attributes": ("sex", "age")}, "attributes: "),
    ],
)
def test_trainings_that_differ_in_more_than_the_seed(tmp_path, change, message):
    concealers = [
        trained(tmp_path, 1),
        trained(tmp_path, 2, replace(description(), **change)),
    ]
    with pytest.raises(UsageError, match=f"mine: trainings that differ .*{message}"):
        way("mine", concealers)


def test_the_same_training_twice_and_none(tmp_path):
    concealer = trained(tmp_path, 1)
    with pytest.raises(UsageError, match="mine: the same concealer is given twice"):
        way("mine", [concealer, concealer])
    with pytest.raises(UsageError, match="mine: no concealer is given"):
        way("mine", [])


def test_trainings_with_other_guarantees():
    with pytest.raises(UsageError, match="its trainings differ in epsilon"):
        Way("mine", (Noise(1.0, 2.0), Noise(1.0, 3.0)))
    with pytest.raises(UsageError, match="its trainings are missing"):
        Way("mine", ())
    assert "delta 1e-06" in _with_delta().guarantee


def _with_delta() -> Way:
    release = Noise(1.0, 2.0)
    release.delta = 1e-6
    return Way("mine", (release,), mechanism="gaussian")


def test_erasure_alone_is_that_of_directions_with_each_speaker_counting_once():
    vectors = made(20, 3, dimension=6)
    # One speaker with far more vectors than the others.
    more = made(20, 30, dimension=6)
    rows = np.flatnonzero([name == "s003" for name in more.speakers])
    keys = (*vectors.keys, *(f"more/{more.keys[row]}" for row in rows))
    both = Vectors(
        keys,
        keys,
        (*vectors.speakers, *("s003",) * rows.size),
        np.concatenate([vectors.vectors, more.vectors[rows]]),
    )
    table = table_of(vectors)
    found = erased("LEACE", both, table, ["sex"])
    assert found.computed
    assert math.isinf(found.epsilon)
    assert found.what.startswith("closed-form erasure of sex, fitted to 90 vectors of 20 speakers")
    released = found.releases[0].release(both.vectors)
    sexes = np.array(table.values("sex", both.keys, both.speakers))
    people = np.array(both.speakers)
    means = {
        sex: np.mean(
            [released[people == who].mean(axis=0) for who in sorted(set(people[sexes == sex]))],
            axis=0,
        )
        for sex in "FM"
    }
    np.testing.assert_allclose(means["F"], means["M"], atol=1e-9)
    np.testing.assert_allclose(found.releases[0].release(7 * both.vectors), released, atol=1e-6)


def test_who_an_erasure_was_fitted_to_is_not_tested():
    vectors = made(20, 2)
    found = erased("LEACE", vectors, table_of(vectors), ["sex"])
    require_untested(found.releases[0], ["somebody else", ""])
    require_untested(Noise(1.0), vectors.speakers)
    with pytest.raises(UsageError, match=r"1 of the speakers who are tested .* the first is s007"):
        require_untested(found.releases[0], ["s007", "somebody else"])
