from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers
from sordino.evaluate.metrics.pav import optimal_calibration
from sordino.evaluate.metrics.similarity import (
    SimilarityMatrix,
    deidentification,
    diagonal_dominance,
    distinctiveness_gain,
    similarity_matrix,
    weighted_distinctiveness_gain,
)

NAMES = np.array(["ann", "bob", "cid"])


def trials(seed=0, speakers=3, each=4, distance=2.0):
    """Scores of all pairs of utterances of two sides, and who speaks in them."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(speakers), each)
    first, second = np.repeat(owner, owner.size), np.tile(owner, owner.size)
    scores = rng.standard_normal(first.size) + distance * (first == second)
    return scores, first, second


def matrix(values):
    return SimilarityMatrix(np.arange(len(values)), np.array(values, dtype=float))


def test_matrix_is_the_one_of_loops():
    scores, first, second = trials()
    order = np.random.default_rng(1).permutation(scores.size)
    found = similarity_matrix(scores[order], NAMES[first[order]], NAMES[second[order]])
    same = first == second
    ratio = optimal_calibration(scores[same], scores[~same], smoothed=True)
    for row in range(3):
        for column in range(3):
            total = [
                float(ratio(score))
                for score, one, other in zip(scores, first, second, strict=True)
                if (one, other) == (row, column)
            ]
            expected = 1 / (1 + math.exp(-sum(total) / len(total)))
            assert found.values[row, column] == pytest.approx(expected, rel=1e-12)
    assert found.speakers.tolist() == NAMES.tolist()


def test_ratios_that_are_calibrated_are_taken_as_they_are():
    found = similarity_matrix(
        [1.0, -2.0, 0.0, 800.0, 802.0], list("aabbb"), list("ababb"), calibrated=True
    )
    expected = [[1 / (1 + math.exp(-1)), 1 / (1 + math.exp(2))], [0.5, 1.0]]
    np.testing.assert_allclose(found.values, expected, rtol=1e-12)


def test_sides_keep_their_places():
    found = similarity_matrix([5.0, 1.0, -1.0, 5.0], list("aabb"), list("abab"), calibrated=True)
    assert found.values[0, 1] > 0.7
    assert found.values[1, 0] < 0.3


def test_dominance_is_the_difference_of_means():
    values = np.random.default_rng(0).random((5, 5))
    on = [values[i, i] for i in range(5)]
    off = [values[i, j] for i in range(5) for j in range(5) if i != j]
    expected = abs(sum(on) / len(on) - sum(off) / len(off))
    assert diagonal_dominance(matrix(values)) == pytest.approx(expected, rel=1e-12)
    assert diagonal_dominance(matrix(1 - values)) == pytest.approx(expected, rel=1e-12)


def test_gain_and_deidentification_by_hand():
    original = matrix([[0.9, 0.1], [0.1, 0.9]])
    tenth = matrix([[0.54, 0.46], [0.46, 0.54]])
    alike = matrix([[0.5, 0.5], [0.5, 0.5]])
    clearer = matrix([[1.0, 0.0], [0.0, 1.0]])
    assert distinctiveness_gain(original, tenth) == pytest.approx(-10)
    assert distinctiveness_gain(original, original) == 0
    assert distinctiveness_gain(original, alike) == -math.inf
    assert distinctiveness_gain(original, clearer) == pytest.approx(10 * math.log10(1 / 0.8))
    assert deidentification(original, tenth) == pytest.approx(0.9)
    assert deidentification(original, alike) == 1
    assert deidentification(original, original) == 0
    assert deidentification(original, clearer) == pytest.approx(-0.25)


def test_weaker_scores_lose_distinctiveness_and_gain_deidentification():
    original, weak = (
        similarity_matrix(*trials(seed, speakers=8, each=5, distance=distance))
        for seed, distance in ((0, 4.0), (1, 0.3))
    )
    assert distinctiveness_gain(original, weak) < -5
    assert deidentification(original, weak) > 0.8


def test_weights_count_speakers_as_copies():
    rng = np.random.default_rng(3)
    before, after = (matrix(rng.random((4, 4)) + 2 * np.eye(4) * scale) for scale in (1, 0.2))
    drawn = np.array([2, 0, 1, 3])
    weights = np.outer(drawn, drawn)
    np.fill_diagonal(weights, drawn)

    def dominance(values):
        copies = np.repeat(np.arange(4), drawn)
        on = [values[i, i] for i in copies]
        off = [values[i, j] for i in copies for j in copies if i != j]
        return abs(np.mean(on) - np.mean(off))

    found = weighted_distinctiveness_gain(before, after, weights.ravel())
    expected = 10 * math.log10(dominance(after.values) / dominance(before.values))
    assert found == pytest.approx(expected, rel=1e-12)
    alone = np.zeros((4, 4), dtype=int)
    alone[1, 1] = 4
    assert math.isnan(weighted_distinctiveness_gain(before, after, alone.ravel()))
    assert math.isnan(diagonal_dominance(before, np.zeros(16, dtype=int)))


def test_interval_over_speakers_holds_the_figure():
    before, after = (
        similarity_matrix(*trials(seed, speakers=12, each=3, distance=distance))
        for seed, distance in ((0, 4.0), (1, 1.5))
    )
    rows, columns = np.divmod(np.arange(144), 12)
    gain = partial(weighted_distinctiveness_gain, before, after)
    found = bootstrap_over_speakers(gain, rows, columns, draws=100)
    assert found.value == pytest.approx(distinctiveness_gain(before, after))
    assert found.low < found.value < found.high


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(UsageError, match="there is one speaker"):
        similarity_matrix([1.0], ["a"], ["a"])
    with pytest.raises(UsageError, match=r"no trial of b against b; .* two utterances of each"):
        similarity_matrix([1.0, 0.0, 0.0], list("aab"), list("aba"))
    with pytest.raises(UsageError, match="2 and 1 scores and speakers"):
        similarity_matrix([1.0, 2.0], ["a"], ["a", "b"])
    with pytest.raises(UsageError, match="hold NaN or infinity"):
        similarity_matrix([np.nan] * 4, list("aabb"), list("abab"))
    flat = matrix([[0.5, 0.5], [0.5, 0.5]])
    for figure in (distinctiveness_gain, deidentification):
        with pytest.raises(UsageError, match="all alike"):
            figure(flat, flat)
        with pytest.raises(UsageError, match="of different speakers"):
            figure(matrix(np.eye(2)), matrix(np.eye(3)))
