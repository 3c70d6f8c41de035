from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from sordino.errors import UsageError
from sordino.evaluate.metrics.linkability import WeightedLinkability, linkability

scores = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=40)
omegas = st.sampled_from([0.1, 1.0, 5.0])


def from_bins(mated, nonmated, edges, omega):
    """D_sys by its definition, bin by bin; a bin holds its upper edge."""
    bounds = [-math.inf, *edges, math.inf]
    total = 0.0
    for low, high in pairwise(bounds):
        own = sum(low < score <= high for score in mated) / len(mated)
        others = sum(low < score <= high for score in nonmated) / len(nonmated)
        if own == 0:
            continue
        ratio = own / others if others else math.inf
        if omega * ratio > 1:
            local = 2 * (omega * ratio / (1 + omega * ratio)) - 1 if others else 1.0
            total += local * own
    return total


def equal_shares(mated, nonmated):
    """Scores at which j of so many parts of both lists, half each, are reached."""
    bins = 2 * math.ceil(round(min(len(mated), len(nonmated)) ** (1 / 3), 9) / 2)
    every = sorted({*mated, *nonmated})

    def reached(value):
        own = sum(score <= value for score in mated) * len(nonmated)
        return own + sum(score <= value for score in nonmated) * len(mated)

    whole = 2 * len(mated) * len(nonmated)
    return sorted(
        {next(v for v in every if reached(v) * bins >= part * whole) for part in range(1, bins)}
    )


@settings(deadline=None)
@given(scores, scores, omegas)
# At 0.0 are 49 of 198 parts: not yet a quarter.
@example([0.0] * 2 + [2.0] * 7, [0.0] * 3 + [1.0] * 8, 1.0)
def test_figure_is_that_of_bins_with_equal_shares(mated, nonmated, omega):
    edges = equal_shares(mated, nonmated)
    found = linkability(mated, nonmated, omega=omega)
    assert found.edges.tolist() == edges
    assert found.system == pytest.approx(from_bins(mated, nonmated, edges, omega), abs=1e-12)
    assert found.local.shape == (len(edges) + 1,)


@settings(deadline=None)
@given(scores, scores, omegas)
def test_figure_of_equal_widths_is_that_of_the_published_bins(mated, nonmated, omega):
    bins = min(max(1, len(mated) // 10), 100)
    low, high = min(mated + nonmated), max(mated + nonmated)
    edges = [low + (high - low) * part / bins for part in range(1, bins)]
    found = linkability(mated, nonmated, omega=omega, equal_width=True)
    assert found.edges == pytest.approx(edges, abs=1e-12)
    assert found.system == pytest.approx(
        from_bins(mated, nonmated, found.edges.tolist(), omega), abs=1e-12
    )


@pytest.mark.parametrize("sizes", [(1_000, 100), (5_000, 1)])
def test_published_bins_are_at_most_a_hundred(sizes):
    grid = np.linspace(0, 1, sizes[0])
    found = linkability(grid, grid[: sizes[1]], equal_width=True)
    assert found.edges.size == 99


@pytest.mark.parametrize("omega", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("distance", [0.5, 1.0, 2.0, 4.0])
def test_gaussian_scores_have_their_integral(distance, omega):
    grid = norm.ppf((np.arange(300_000) + 0.5) / 300_000)

    def local(score):
        ratio = omega * math.exp(distance * score - distance**2 / 2)
        return max(0.0, 2 * ratio / (1 + ratio) - 1) * norm.pdf(score, distance)

    start = distance / 2 - math.log(omega) / distance
    integral, _ = quad(local, start, start + 14)
    found = linkability(grid + distance, grid, omega=omega)
    assert found.system == pytest.approx(integral, abs=3e-3)
    if distance < 4:
        wide = linkability(grid + distance, grid, omega=omega, equal_width=True)
        assert wide.system == pytest.approx(integral, abs=3e-3)


def test_links_are_found_where_scores_neither_rise_nor_fall():
    # Mated scores lie on both sides of the others: errors of any threshold would be near a half.
    grid = norm.ppf((np.arange(2_000) + 0.5) / 2_000)
    found = linkability(np.concatenate([grid - 8, grid + 8]), grid)
    # Two of the bins hold an edge of the others.
    assert found.system > 0.85


@pytest.mark.parametrize("sizes", [(1, 1), (1, 50), (3, 2), (9, 700), (700, 9), (5_000, 30_000)])
def test_lists_that_are_separate_link_surely_and_lists_that_are_alike_not_at_all(sizes):
    own, others = np.linspace(1, 2, sizes[0]), np.linspace(-1, 0, sizes[1])
    assert linkability(own, others).system == 1.0
    assert linkability(-own, -others).system == 1.0
    both = np.tile(others, 2)
    assert linkability(both, others).system == 0.0
    assert linkability(both, both, equal_width=True).system == 0.0
    assert linkability(np.ones(sizes[0]), np.ones(sizes[1])).system == 0.0


@settings(deadline=None)
@given(scores, scores)
def test_rising_maps_and_outliers_change_nothing(mated, nonmated):
    found = linkability(mated, nonmated)
    assert linkability(np.exp(mated), np.exp(nonmated)).system == found.system
    far = np.array(nonmated) - 1e6 * (np.array(nonmated) == min(mated + nonmated))
    near = np.array(mated) - 1e6 * (np.array(mated) == min(mated + nonmated))
    assert linkability(near, far).system == found.system
    assert 0 <= found.system <= 1


def test_noise_adds_less_than_with_the_published_bins():
    rng = np.random.default_rng(0)
    lists = [(rng.standard_normal(700), rng.standard_normal(20_000)) for _ in range(20)]
    own = np.mean([linkability(*pair).system for pair in lists])
    published = np.mean([linkability(*pair, equal_width=True).system for pair in lists])
    assert own < 0.03
    assert published > 0.05


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.booleans(), st.integers(0, 3)), min_size=2, max_size=30
    ),
    omegas,
)
def test_weights_count_as_copies_in_the_bins_of_the_trials(trials, omega):
    values, labels, weights = (np.array(column) for column in zip(*trials, strict=True))
    labels = labels.astype(bool)
    if labels.all() or not labels.any():
        return
    statistic = WeightedLinkability(values, labels, omega=omega)
    plain = linkability(values[labels], values[~labels], omega=omega)
    assert statistic(np.ones(labels.size, dtype=int)) == pytest.approx(plain.system, abs=1e-12)
    copies, copied = np.repeat(values, weights), np.repeat(labels, weights)
    if copied.all() or not copied.any():
        assert math.isnan(statistic(weights))
    else:
        expected = from_bins(copies[copied], copies[~copied], plain.edges, omega)
        assert statistic(weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("omega", [0.0, -1.0, math.inf, math.nan])
def test_omega_out_of_range_is_refused(omega):
    with pytest.raises(UsageError, match="omega is"):
        linkability([1.0], [0.0], omega=omega)
    with pytest.raises(UsageError, match="omega is"):
        WeightedLinkability([1.0, 0.0], np.array([True, False]), omega=omega)


def test_lists_that_cannot_be_used_are_refused():
    with pytest.raises(UsageError, match="there are no non-target scores"):
        linkability([1.0], [])
    with pytest.raises(UsageError, match="hold NaN or infinity"):
        linkability([np.inf], [0.0])
