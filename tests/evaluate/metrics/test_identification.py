from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.metrics import identification
from sordino.evaluate.metrics.identification import (
    blind_singling_out,
    expected_rank,
    linkage,
    rank_speakers,
    singling_out,
)


def crowds(speakers, own, among):
    """All crowds of so many with the right speaker, who comes first."""
    others = [column for column in range(speakers) if column != own]
    return [(own, *rest) for rest in itertools.combinations(others, among - 1)]


def orders(row, crowd):
    """Ranks of the first of a crowd over all orders of those who score the same."""
    scores = [row[column] for column in crowd]
    above = sum(score > scores[0] for score in scores)
    level = sum(score == scores[0] for score in scores) - 1
    return [1 + above + place for place in range(level + 1)]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("among", [1, 2, 3, 5, 6])
def test_figures_are_the_means_over_all_crowds(among, ties):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, (9, 6)).astype(float) if ties else rng.standard_normal((9, 6))
    right = rng.integers(0, 6, 9)
    ranks = rank_speakers(scores, right)
    for row, own, *found in zip(
        scores,
        right,
        expected_rank(ranks, among),
        *(linkage(ranks, among, best=best) for best in (1, 2, 6)),
        strict=True,
    ):
        drawn = [orders(row, crowd) for crowd in crowds(6, own, among)]
        expected = [np.mean([np.mean(places) for places in drawn])]
        expected += [
            np.mean([np.mean(np.array(places) <= best) for places in drawn]) for best in (1, 2, 6)
        ]
        assert found == pytest.approx(expected, abs=1e-12)


def test_simulated_draws_agree_for_many_speakers():
    rng = np.random.default_rng(1)
    right = rng.integers(0, 300, 400)
    scores = rng.standard_normal((400, 300))
    scores[np.arange(400), right] += 2
    ranks = rank_speakers(scores, right)
    for among in (2, 20, 150):
        hits = []
        for row, own in zip(scores, right, strict=True):
            others = np.delete(row, own)
            for _ in range(10):
                hits.append(row[own] > rng.choice(others, among - 1, replace=False).max())
        assert linkage(ranks, among).mean() == pytest.approx(np.mean(hits), abs=0.02)


def test_gaussian_scores_are_found_among_many_as_often_as_the_integral_says():
    from scipy.integrate import quad
    from scipy.stats import norm

    rng = np.random.default_rng(2)
    scores = rng.standard_normal((20_000, 60))
    scores[:, 0] += 1.5
    ranks = rank_speakers(scores, np.zeros(20_000, dtype=int))
    for among in (2, 10, 60):
        integral, _ = quad(lambda s, n=among: norm.pdf(s, 1.5) * norm.cdf(s) ** (n - 1), -8, 12)
        assert linkage(ranks, among).mean() == pytest.approx(integral, abs=0.01)


def test_scores_that_are_all_alike_give_the_chance():
    ranks = rank_speakers(np.zeros((3, 40)), [0, 7, 39])
    for among in (1, 5, 40):
        assert linkage(ranks, among) == pytest.approx(np.full(3, 1 / among))
        assert linkage(ranks, among, best=3) == pytest.approx(np.full(3, min(1, 3 / among)))
        assert expected_rank(ranks, among) == pytest.approx(np.full(3, (among + 1) / 2))


def test_risk_falls_with_the_crowd_and_rises_with_the_list():
    rng = np.random.default_rng(4)
    scores = rng.standard_normal((50, 80))
    ranks = rank_speakers(scores, rng.integers(0, 80, 50))
    by_crowd = np.array([linkage(ranks, among).mean() for among in range(1, 81)])
    assert by_crowd[0] == 1
    assert (np.diff(by_crowd) <= 1e-12).all()
    by_list = np.array([linkage(ranks, 80, best=best).mean() for best in range(1, 81)])
    assert (np.diff(by_list) >= -1e-12).all()
    assert by_list[-1] == pytest.approx(1)


def test_large_populations_do_not_overflow():
    ranks = identification.Ranks(np.array([0, 1, 500_000]), np.zeros(3, dtype=int), 1_000_001)
    found = linkage(ranks, 1_000)
    assert found[0] == 1
    assert found[1] == pytest.approx(1 - 999 / 1_000_000, rel=1e-6)
    assert found[2] == pytest.approx(math.exp(999 * math.log(0.5)), rel=1, abs=1e-300)


def test_blocks_of_rows_change_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    scores, right = rng.integers(0, 5, (23, 7)).astype(np.float32), rng.integers(0, 7, 23)
    whole = rank_speakers(scores, right)
    monkeypatch.setattr(identification, "_BLOCK", 20)
    parts = rank_speakers(scores, right)
    np.testing.assert_array_equal(whole.above, parts.above)
    np.testing.assert_array_equal(whole.level, parts.level)


def threshold_by_search(records, owners, own, among, speakers):
    """The lowest cut between two scores with at most one above it in a crowd, on average."""
    values = sorted(set(records))
    cuts = [-math.inf] + [(a + b) / 2 for a, b in itertools.pairwise(values)] + [values[-1]]
    for cut in cuts:
        met = 0.0
        for speaker in range(speakers):
            theirs = [
                record for record, owner in zip(records, owners, strict=True) if owner == speaker
            ]
            fires = np.mean([record > cut for record in theirs])
            met += fires * (1 if speaker == own else (among - 1) / (speakers - 1))
        if met <= 1 + 1e-9:
            return cut
    raise AssertionError


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("among", [2, 3, 4, 6])
def test_singling_out_is_the_mean_over_all_crowds(among, ties):
    rng = np.random.default_rng(6)
    heard = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 5])
    right = rng.integers(0, 6, 12)
    scores, records = rng.standard_normal((12, 6)), rng.standard_normal((12, 10))
    scores[np.arange(12), right] += 1
    records += heard == right[:, None]
    if ties:
        scores, records = scores.round(), records.round()
    found = singling_out(scores, records, right, heard, among)
    for row, rest, own, value in zip(scores, records, right, found, strict=True):
        cut = threshold_by_search(rest.tolist(), heard.tolist(), own, among, 6)
        isolated = [
            sum(row[column] > cut for column in crowd) == 1 for crowd in crowds(6, own, among)
        ]
        assert value == pytest.approx(np.mean(isolated), abs=1e-12)


def test_scores_of_no_use_single_out_as_a_guess_does():
    rng = np.random.default_rng(7)
    speakers, among = 300, 30
    tests, records = rng.standard_normal((300, 300)), rng.standard_normal((300, 1500))
    everyone, heard = np.arange(speakers), np.repeat(np.arange(speakers), 5)
    found = singling_out(tests, records, everyone, heard, among)
    # A threshold on a limited number of records misses its mark somewhat, to the worse.
    assert found.mean() == pytest.approx(blind_singling_out(among), abs=0.015)
    tests[everyone, everyone] += 20
    records[everyone[:, None] == heard] += 20
    assert singling_out(tests, records, everyone, heard, among).min() == 1.0


def test_blind_guess_by_the_binomial():
    for among in (2, 7, 100):
        assert blind_singling_out(among) == pytest.approx(
            among * (1 / among) * (1 - 1 / among) ** (among - 1)
        )
    with pytest.raises(UsageError, match="a crowd of 1 is none"):
        blind_singling_out(1)


def test_what_does_not_fit_is_refused():
    scores = np.arange(6.0).reshape(2, 3)
    ranks = rank_speakers(scores, [0, 1])
    for among in (0, 4):
        for figure in (linkage, expected_rank):
            with pytest.raises(UsageError, match="there are 3 speakers; a crowd of"):
                figure(ranks, among)
    with pytest.raises(UsageError, match="best is 0"):
        linkage(ranks, 2, best=0)
    with pytest.raises(UsageError, match=r"shape \(1,\); expected \(2,\)"):
        rank_speakers(scores, [0])
    for column in (-1, 3):
        with pytest.raises(UsageError, match="columns from 0 to 2"):
            rank_speakers(scores, [0, column])
    with pytest.raises(UsageError, match="numbers of columns"):
        rank_speakers(scores, [0.0, 1.0])
    with pytest.raises(UsageError, match="hold NaN or infinity"):
        rank_speakers([[np.nan, 1.0]], [0])
    everyone = np.arange(3)
    square = np.eye(3)
    with pytest.raises(UsageError, match="3 attackers and calibration scores of 2"):
        singling_out(square, square[:2], everyone, everyone, 2)
    with pytest.raises(UsageError, match="speaker 2 has no record"):
        singling_out(square, square[:, :2], everyone, everyone[:2], 2)
    with pytest.raises(UsageError, match="a crowd of 1 is none"):
        singling_out(square, square, everyone, everyone, 1)
    with pytest.raises(UsageError, match="a crowd of 4 cannot be drawn"):
        singling_out(square, square, everyone, everyone, 4)
    with pytest.raises(UsageError, match="there is one speaker"):
        singling_out([[1.0]], [[1.0]], [0], [0], 2)
