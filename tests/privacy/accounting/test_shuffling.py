from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from sordino.errors import UsageError
from sordino.privacy.accounting.shuffling import shuffled


@pytest.mark.parametrize(
    ("local", "expected"), [(2.0, 0.047), (4.0, 0.177), (6.0, 0.544), (8.0, 2.36)]
)
def test_reference_values(local: float, expected: float) -> None:
    # The library that they come from spends the other half of delta 1e-6 on tails of its sums.
    found = shuffled(local, 100_000, 5e-7)
    assert found.epsilon == pytest.approx(expected, rel=0.01)
    assert found.amplified
    assert shuffled(local, 100_000, 1e-6).epsilon < expected


@pytest.mark.parametrize("local", [10.0, 12.0, 25.0, 25.5, 300.0])
def test_nothing_is_gained_at_a_large_epsilon(local: float) -> None:
    found = shuffled(local, 100_000, 1e-6)
    assert not found.amplified
    assert found.epsilon == pytest.approx(local, rel=1e-3)
    assert found.epsilon <= local
    assert found.sentence.startswith(f"no amplification: epsilon {local:g} stays {local:g}")


def test_the_paper_would_need_more_reports_than_people() -> None:
    assert not shuffled(25.0, 10**9, 1e-6).amplified
    assert "7e+12" in shuffled(25.0, 10**9, 1e-6).sentence


def outcomes(local: float, reports: int) -> tuple[np.ndarray, np.ndarray]:
    """Likelihoods of all pairs of counts if one report is the one or the other's."""
    p = math.exp(local) / (math.exp(local) + 1)
    true, false = (np.zeros((reports + 1, reports + 1)) for _ in range(2))
    for clones in range(reports):
        chance = binom.pmf(clones, reports - 1, math.exp(-local))
        for like in range(clones + 1):
            both = chance * binom.pmf(like, clones, 0.5)
            one, other = (like + 1, clones - like), (like, clones - like + 1)
            true[one] += p * both
            true[other] += (1 - p) * both
            false[one] += (1 - p) * both
            false[other] += p * both
    return true, false


@pytest.mark.parametrize("local", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("reports", [1, 2, 20])
def test_it_is_what_counting_all_outcomes_says(local: float, reports: int) -> None:
    true, false = outcomes(local, reports)
    found = shuffled(local, reports, 1e-3).epsilon

    def delta(epsilon: float) -> float:
        return float(np.maximum(true - math.exp(epsilon) * false, 0).sum())

    assert delta(found) <= 1e-3 * (1 + 1e-9)
    assert delta(found * 0.995) > 1e-3


def test_more_reports_hide_better_and_a_smaller_delta_less() -> None:
    few, many = (shuffled(4.0, reports, 1e-6).epsilon for reports in (10_000, 1_000_000))
    assert many < few < 4.0
    assert shuffled(4.0, 10_000, 1e-9).epsilon > few
    assert shuffled(1e-3, 10_000, 0.5).epsilon == 0


def test_it_says_what_it_found() -> None:
    assert shuffled(4.0, 100_000, 1e-6).sentence == (
        "shuffled among 100,000 reports, epsilon 4 of a report counts as 0.169772 at delta 1e-06"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0, 10, 1e-6), "epsilon 0"),
        ((math.inf, 10, 1e-6), "epsilon inf"),
        ((301.0, 10, 1e-6), "epsilon 301"),
        ((1.0, 0, 1e-6), "reports 0"),
        ((1.0, 1.5, 1e-6), "reports 1.5"),
        ((1.0, 10, 0.0), "delta 0"),
    ],
)
def test_impossible_arguments_are_refused(arguments: tuple, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        shuffled(*arguments)
