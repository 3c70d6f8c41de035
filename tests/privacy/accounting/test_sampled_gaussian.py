from __future__ import annotations

import logging
import math
import sys

import numpy as np
import pytest
from scipy.stats import norm

from sordino.errors import UsageError
from sordino.privacy.accounting import sampled_gaussian
from sordino.privacy.accounting.sampled_gaussian import (
    accountant_for,
    epsilon_of,
    epsilon_of_fixed_size,
    noise_multiplier_for,
)
from sordino.privacy.mechanisms.calibration import gaussian_noise_multiplier

pytest.importorskip("dp_accounting", reason="accounting needs the extra federated")

# Population, cohort, rounds, noise multiplier, delta, by PLD, by RDP, by a wrong library.
PLANS = [
    (1e6, 1000, 2000, 1.0, 1e-6, 0.252, 0.882, 0.224),
    (1e6, 400, 1000, 0.6, 1e-6, 1.106, 2.513, 0.186),
    (1e7, 5000, 500, 0.5, 1e-7, 3.807, 4.926, 0.362),
    (1e5, 100, 300, 0.5, 1e-5, 2.628, 3.903, 0.441),
]
BOTH = pytest.mark.parametrize("spent", [epsilon_of, epsilon_of_fixed_size])


@pytest.mark.parametrize(("users", "cohort", "rounds", "z", "delta", "pld", "rdp", "wrong"), PLANS)
def test_reference_table(
    users: float,
    cohort: int,
    rounds: int,
    z: float,
    delta: float,
    pld: float,
    rdp: float,
    wrong: float,
) -> None:
    found = epsilon_of(z, cohort / users, rounds, delta)
    assert found == pytest.approx(pld, rel=0.01)
    assert found > wrong
    assert epsilon_of(z, cohort / users, rounds, delta, accountant="rdp") == pytest.approx(
        rdp, rel=0.01
    )


@BOTH
@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-7])
def test_one_round_of_everybody_is_the_gaussian_mechanism(spent, delta: float) -> None:
    moves = 2 if spent is epsilon_of_fixed_size else 1
    z = moves * gaussian_noise_multiplier(2.0, delta)
    assert spent(z, 1.0, 1, delta) == pytest.approx(2.0, rel=1e-3)
    # Gaussian noise composes exactly: nine rounds with three times the noise.
    assert spent(3 * z, 1.0, 9, delta) == pytest.approx(2.0, rel=1e-3)


def sampled_delta(z: float, rate: float, moves: float, epsilon: float) -> float:
    """The larger delta of both orders, by summing densities: sampled or not, against without."""
    x = np.linspace(-12 * z, moves + 12 * z, 400_001)
    without = norm.pdf(x, scale=z)
    with_one = (1 - rate) * without + rate * norm.pdf(x, moves, z)
    step = x[1] - x[0]
    return max(
        np.maximum(first - math.exp(epsilon) * second, 0).sum() * step
        for first, second in ((with_one, without), (without, with_one))
    )


@BOTH
@pytest.mark.parametrize(("z", "rate"), [(0.6, 0.01), (1.0, 0.2), (3.0, 0.5)])
def test_one_round_is_what_densities_say(spent, z: float, rate: float) -> None:
    moves = 2.0 if spent is epsilon_of_fixed_size else 1.0
    found = spent(z, rate, 1, 1e-5)
    assert sampled_delta(z, rate, moves, found) <= 1.0001e-5
    assert sampled_delta(z, rate, moves, found * 0.99) > 1e-5


@pytest.mark.parametrize(("z", "rate", "rounds"), [(1.0, 0.3, 2), (2.0, 0.5, 2)])
def test_two_rounds_of_a_fixed_size_cost_no_less_than_one_pair_does(
    z: float, rate: float, rounds: int
) -> None:
    # All others upload the clip: the sum is full, or short by two clips with chance `rate`.
    x = np.linspace(-10 * z, 2 + 10 * z, 1001)
    full = norm.pdf(x, 0, z)
    short = (1 - rate) * full + rate * norm.pdf(x, 2.0, z)
    step = (x[1] - x[0]) ** rounds
    first, second = np.multiply.outer(short, short), np.multiply.outer(full, full)
    found = epsilon_of_fixed_size(z, rate, rounds, 1e-4)
    for one, other in ((first, second), (second, first)):
        assert np.maximum(one - math.exp(found) * other, 0).sum() * step <= 1.001e-4
    assert np.maximum(first - math.exp(0.8 * found) * second, 0).sum() * step > 1e-4


@BOTH
@pytest.mark.parametrize(("rate", "rounds", "z"), [(1e-3, 500, 2.0), (0.05, 3000, 40.0)])
def test_losses_are_as_tight_as_renyi_or_tighter(spent, rate: float, rounds: int, z: float) -> None:
    tight = spent(z, rate, rounds, 1e-6)
    assert 0 < tight < spent(z, rate, rounds, 1e-6, accountant="rdp")
    assert tight > spent(z, rate, rounds // 2, 1e-6)
    assert tight > spent(1.1 * z, rate, rounds, 1e-6)
    assert tight > spent(z, rate, rounds, 1e-5)


def test_coarser_losses_never_promise_more(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = (1.0, 0.001, 2000, 1e-6)
    fine = epsilon_of(*plan)
    monkeypatch.setattr(sampled_gaussian, "_interval", lambda *_: 3e-3)
    assert fine < epsilon_of(*plan)


@pytest.mark.parametrize(
    ("accountant", "sampling", "relation", "epsilon", "rate", "rounds"),
    [
        ("pld", "poisson", "add-remove", 2.0, 0.01, 50),
        ("rdp", "poisson", "add-remove", 0.3, 0.2, 20),
        ("pld", "fixed", "replace", 4.0, 0.2, 5),
    ],
)
def test_noise_for_an_epsilon_suffices_and_is_the_least(
    accountant, sampling: str, relation: str, epsilon: float, rate: float, rounds: int
) -> None:
    z = noise_multiplier_for(
        epsilon, rate, rounds, 1e-6, accountant=accountant, sampling=sampling, relation=relation
    )
    spent = accountant_for(sampling, relation)
    assert spent(z, rate, rounds, 1e-6, accountant=accountant) <= epsilon
    assert spent(0.999 * z, rate, rounds, 1e-6, accountant=accountant) > epsilon


def test_a_huge_epsilon_needs_the_smallest_noise() -> None:
    assert noise_multiplier_for(1e6, 0.01, 1, 1e-6, accountant="rdp") == 0.05


def test_an_epsilon_that_no_noise_here_reaches_is_refused() -> None:
    with pytest.raises(UsageError, match="needs a noise multiplier above 1e\\+06"):
        noise_multiplier_for(2e-4, 1.0, 10**6, 1e-6, accountant="rdp")


def test_a_sampler_that_no_accountant_matches_is_refused() -> None:
    for sampling, relation in (("poisson", "replace"), ("fixed", "add-remove")):
        with pytest.raises(UsageError, match="use poisson with add-remove, or fixed with replace"):
            accountant_for(sampling, relation)
    with pytest.raises(UsageError, match="sampling 'check-in' is not one of: poisson, fixed"):
        accountant_for("check-in", "replace")
    with pytest.raises(UsageError, match="relation 'zero-out' is not one of"):
        accountant_for("poisson", "zero-out")


@BOTH
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"noise_multiplier": 0.0}, "noise multiplier 0"),
        ({"noise_multiplier": math.nan}, "noise multiplier nan"),
        ({"sampling_rate": 0.0}, "sampling rate 0"),
        ({"sampling_rate": 1.5}, "sampling rate 1.5"),
        ({"rounds": 0}, "rounds 0"),
        ({"rounds": 1.5}, "rounds 1.5"),
        ({"delta": 0.0}, "delta 0"),
        ({"delta": 1e-13}, "delta 1e-13"),
        ({"accountant": "gdp"}, "accountant 'gdp' is not one of: pld, rdp"),
    ],
)
def test_impossible_arguments_are_refused(spent, change: dict, message: str) -> None:
    plan = {"noise_multiplier": 1.0, "sampling_rate": 0.1, "rounds": 3, "delta": 1e-6}
    with pytest.raises(UsageError, match=message):
        spent(**{**plan, **change})


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dp_accounting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(UsageError, match=r'pip install "sordino\[federated\]"'):
        epsilon_of(1.0, 0.1, 3, 1e-6)


def test_orders_that_do_not_converge_are_left_out_in_silence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        epsilon_of(0.3, 0.1, 5000, 1e-6, accountant="rdp")
    assert caplog.records == []
    assert not logging.getLogger("absl").disabled
