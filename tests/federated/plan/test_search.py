from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from sordino.federated.plan.search import (
    Wish,
    most_rounds,
    smallest_cohort,
    smallest_population,
    ways_out,
)
from sordino.federated.plan.signal import Signal
from sordino.privacy.accounting.sampled_gaussian import epsilon_of

pytest.importorskip("dp_accounting", reason="accounting needs the extra federated")

CENTRAL = Signal(1.0, 1.0, dimension=1000, bound=1.0)
WISH = Wish(CENTRAL, snr=1.0, population=4000, rounds=1000, delta=1e-5, epsilon=1.0)


def test_the_smallest_cohort_grants_the_wish_and_a_smaller_does_not() -> None:
    cohort = smallest_cohort(WISH)
    assert cohort is not None
    for size, enough in ((cohort, True), (math.floor(cohort / 1.006), False)):
        noise = size / math.sqrt(1000)
        assert (epsilon_of(noise, size / 4000, 1000, 1e-5) <= 1.0) is enough


def test_with_a_fixed_noise_it_is_a_matter_of_division() -> None:
    wish = replace(WISH, epsilon=None, noise_multiplier=0.7)
    assert smallest_cohort(wish) == math.ceil(0.7 * math.sqrt(1000))
    assert smallest_cohort(replace(wish, population=20)) is None


def test_local_noise_takes_its_square() -> None:
    wish = replace(WISH, signal=Signal(0.5, 1.0, 100, local_square=30.0), snr=2.0)
    assert smallest_cohort(wish) == pytest.approx(4 * 30 / 0.25, rel=0.005)
    assert smallest_cohort(replace(wish, population=400)) is None


def test_fewer_rounds_or_more_people_help_as_said() -> None:
    cohort = 40
    assert not WISH.granted(cohort)
    rounds = most_rounds(WISH, cohort)
    users = smallest_population(WISH, cohort)
    assert rounds is not None
    assert users is not None
    assert replace(WISH, rounds=rounds).granted(cohort)
    assert not replace(WISH, rounds=math.ceil(1.006 * rounds)).granted(cohort)
    assert replace(WISH, population=users).granted(cohort)
    assert not replace(WISH, population=int(users / 1.006)).granted(cohort)


def test_ways_out_are_ways_out() -> None:
    cohort = 40
    ways = ways_out(WISH, cohort, smallest_cohort(WISH))
    starts = ("a cohort of ", "epsilon ", "at most ", "a population of ")
    assert all(way.startswith(start) for way, start in zip(ways, starts, strict=True))
    number = [float(re.search(r"[\d,.]+", way).group().replace(",", "")) for way in ways]
    assert WISH.granted(int(number[0]))
    assert replace(WISH, epsilon=number[1]).granted(cohort)
    assert ways[2] == f"at most {int(number[2])} rounds"
    assert replace(WISH, population=int(number[3])).granted(cohort)


def test_where_local_noise_is_too_much_only_a_cohort_helps() -> None:
    signal = Signal(1.0, 1.0, 1000, local_square=200.0, bound=14.0)
    wish = replace(WISH, signal=signal, population=10**6, rounds=10)
    assert most_rounds(wish, 100) is None
    assert smallest_population(wish, 100) is None
    assert ways_out(wish, 100, None) == []


def test_of_local_noise_a_larger_epsilon_is_a_way() -> None:
    wish = replace(WISH, signal=Signal(1.0, 1.0, 1000, local_square=1e5), delta=1e-6)
    (way,) = ways_out(wish, 100, None)
    assert way.startswith("epsilon ")
    # Gaussian noise for a sensitivity of 2 with SNR 1: deviation sqrt(100 / 1000).
    assert float(way.split()[1]) == pytest.approx(48.8, rel=0.05)
    assert way.endswith(" of an upload")
