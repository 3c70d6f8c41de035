from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, kstest, norm

from sordino.errors import UsageError
from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG
from sordino.privacy.randomness import SeededRandomness

# Dimension, epsilon, gamma = m, p, mean squared error.
REFERENCE = [
    (64, 2, "0.0984", 0.673, "102.17"),
    (64, 8, "0.3342", 0.907, "7.952"),
    (64, 25, "0.6653", 0.982, "1.259"),
    (1000, 4, "0.0479", 0.791, "434.6"),
    (1000, 25, "0.1910", 0.976, "26.395"),
    (10_000, 8, "0.02742", 0.901, "1328.6"),
    (10_000, 25, "0.06091", 0.975, "268.54"),
    (100_000, 25, "0.01928", 0.975, "2690.0"),
]
BOTH = pytest.mark.parametrize("kind", [PrivUnit, PrivUnitG])
dimensions = st.sampled_from([2, 3, 5, 64, 192, 1000, 10**6])


def in_table(value: float, text: str) -> bool:
    """Whether a value is that of the table, to 1e-3 or to its last digit."""
    return value == pytest.approx(
        float(text), rel=1e-3, abs=10.0 ** -len(text.partition(".")[2]) / 2
    )


def below(mechanism: PrivUnit | PrivUnitG, height: np.ndarray) -> np.ndarray:
    """The stated probability that a draw's component along its direction is below a height."""
    if isinstance(mechanism, PrivUnit):
        a = (mechanism.dimension - 1) / 2
        free = beta.cdf((1 + height) / 2, a, a)
    else:
        free = norm.cdf(height)
    outside = np.minimum(free, 1 - mechanism.q) / (1 - mechanism.q)
    inside = np.maximum(free - (1 - mechanism.q), 0) / mechanism.q
    return mechanism.p * inside + (1 - mechanism.p) * outside


def fit(mechanism: PrivUnit | PrivUnitG, released: np.ndarray, direction: np.ndarray) -> float:
    """How likely heights are to fit their distribution as badly as these."""
    return float(
        kstest(
            released @ direction / mechanism.norm, lambda height: below(mechanism, height)
        ).pvalue
    )


def unit(dimension: int, seed: int) -> np.ndarray:
    vector = np.random.default_rng(seed).normal(size=dimension)
    return vector / np.linalg.norm(vector)


@pytest.mark.parametrize(("dimension", "epsilon", "gamma", "p", "error"), REFERENCE)
def test_reference_values(dimension: int, epsilon: float, gamma: str, p: float, error: str) -> None:
    mechanism = PrivUnit(dimension=dimension, epsilon=epsilon)
    assert in_table(mechanism.gamma, gamma)
    assert mechanism.p == pytest.approx(p, abs=6e-4)
    assert in_table(mechanism.mean_squared_error, error)


@BOTH
@given(dimension=dimensions, epsilon=st.floats(2**-13, 300))
def test_epsilon_is_exact_and_never_rounded_down(
    kind: type[PrivUnit | PrivUnitG], dimension: int, epsilon: float
) -> None:
    mechanism = kind(dimension=dimension, epsilon=epsilon)
    p, q = mechanism._p, Fraction(mechanism.q)
    likelihoods = p * (1 - q) / ((1 - p) * q)
    exact = math.log(likelihoods.numerator) - math.log(likelihoods.denominator)
    assert exact <= epsilon
    # From an epsilon of about 44, what is left of p may be less than a random word tells.
    assert exact == pytest.approx(epsilon, rel=1e-5) or 1 - p < 2**-40


@given(dimension=dimensions, epsilon=st.floats(0.01, 300))
def test_at_the_best_cap_m_is_gamma(dimension: int, epsilon: float) -> None:
    mechanism = PrivUnit(dimension=dimension, epsilon=epsilon)
    assert 1 / mechanism.norm == pytest.approx(mechanism.gamma, rel=1e-6)


@BOTH
@pytest.mark.parametrize("dimension", [3, 64, 1000])
@pytest.mark.parametrize("epsilon", [0.5, 8.0, 20.0])
def test_no_other_cap_is_better(
    kind: type[PrivUnit | PrivUnitG],
    dimension: int,
    epsilon: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    best = kind(dimension=dimension, epsilon=epsilon)
    for factor in (0.9, 1.1):
        q = min(best.q * factor, 0.499)
        monkeypatch.setattr(
            "sordino.privacy.mechanisms.privunit.turning_point", lambda *_, q=q: math.log(q)
        )
        other = kind(dimension=dimension, epsilon=epsilon)
        assert other.q == pytest.approx(q)
        assert other.mean_squared_error > best.mean_squared_error


@pytest.mark.parametrize("dimension", [2, 3, 64])
@pytest.mark.parametrize("epsilon", [0.01, 8.0, 25.0, 100.0])
def test_all_results_have_one_length(dimension: int, epsilon: float) -> None:
    mechanism = PrivUnit(dimension=dimension, epsilon=epsilon)
    released = mechanism.release(np.random.default_rng(1).normal(size=(500, dimension)))
    assert np.allclose(np.linalg.norm(released, axis=1), mechanism.norm, rtol=1e-12)
    assert mechanism.mean_squared_error == pytest.approx(mechanism.norm**2 - 1, abs=1e-12)


@BOTH
@pytest.mark.parametrize("epsilon", [0.01, 2.0, 8.0, 25.0])
@pytest.mark.parametrize(
    "direction", [np.eye(1, 8)[0], unit(8, 1), -np.eye(1, 3)[0], unit(2, 2), unit(64, 3)]
)
def test_results_are_unbiased_and_heights_as_stated(
    kind: type[PrivUnit | PrivUnitG], epsilon: float, direction: np.ndarray
) -> None:
    mechanism = kind(dimension=direction.size, epsilon=epsilon)
    x = np.tile(7 * direction, (60_000 // direction.size, 1))
    released = mechanism.release(x, SeededRandomness(5))
    assert fit(mechanism, released, direction) > 1e-3
    if (1 - mechanism.p) * len(x) < 20:
        return  # too few draws are outside of the cap: they are seldom, and make up for the rest
    error = released.std(axis=0) / math.sqrt(len(x))
    assert (np.abs(released.mean(axis=0) - direction) < 4.5 * error).all()
    squares = np.square(released - direction).sum(axis=1)
    slack = 4.5 * squares.std() / math.sqrt(len(x)) + 1e-6
    assert abs(squares.mean() - mechanism.mean_squared_error) < slack


@BOTH
def test_what_is_across_the_direction_is_uniform(kind: type[PrivUnit | PrivUnitG]) -> None:
    mechanism = kind(dimension=3, epsilon=4.0)
    direction = unit(3, 6)
    released = mechanism.release(np.tile(direction, (20_000, 1)), SeededRandomness(6))
    first = np.cross(direction, [0.0, 0.0, 1.0])
    first /= np.linalg.norm(first)
    angles = np.arctan2(released @ first, released @ np.cross(direction, first))
    assert kstest(angles / (2 * np.pi) + 0.5, "uniform").pvalue > 1e-3


@BOTH
@pytest.mark.parametrize("mutant", ["p + 0.02", "gamma - 5 %", "gamma forgotten"])
def test_mutants_do_not_fit(kind: type[PrivUnit | PrivUnitG], mutant: str) -> None:
    stated, broken = (kind(dimension=16, epsilon=8.0) for _ in range(2))
    if mutant == "p + 0.02":
        broken._p += Fraction(2, 100)
    elif mutant == "gamma - 5 %":
        gamma = 0.95 * broken.gamma
        broken.q = float(
            beta.cdf((1 - gamma) / 2, 7.5, 7.5) if kind is PrivUnit else norm.cdf(-gamma)
        )
    else:
        broken.q = 0.5
    direction = unit(16, 7)
    x = np.tile(direction, (40_000, 1))
    assert fit(stated, stated.release(x, SeededRandomness(8)), direction) > 1e-3
    assert fit(stated, broken.release(x, SeededRandomness(8)), direction) < 1e-6


@BOTH
def test_caps_of_other_directions_are_hit_as_seldom_as_epsilon_says(
    kind: type[PrivUnit | PrivUnitG],
) -> None:
    mechanism = kind(dimension=16, epsilon=3.0)
    direction = unit(16, 9)
    across = np.roll(direction, 1) - direction * (np.roll(direction, 1) @ direction)
    hits = {
        name: (
            mechanism.release(np.tile(other, (40_000, 1)), SeededRandomness(10))
            @ direction
            / mechanism.norm
            >= mechanism.gamma
        ).mean()
        for name, other in {"own": direction, "opposite": -direction, "across": across}.items()
    }
    assert hits["own"] == pytest.approx(mechanism.p, abs=0.01)
    # Of the opposite direction, the cap is among the rest, and hit at the lowest likelihood.
    ratio = math.log(hits["own"] / hits["opposite"])
    assert ratio == pytest.approx(3.0, abs=0.15)
    assert math.log(hits["own"] / hits["across"]) < ratio


@BOTH
@pytest.mark.parametrize("epsilon", [0.01, 100.0])
def test_a_million_components(kind: type[PrivUnit | PrivUnitG], epsilon: float) -> None:
    mechanism = kind(dimension=10**6, epsilon=epsilon)
    released = mechanism.release(np.eye(1, 10**6), SeededRandomness(11))
    assert np.linalg.norm(released) ** 2 == pytest.approx(
        mechanism.mean_squared_error + 1, rel=0.01
    )
    others = released[0, 1:50_000]
    assert kstest(others / others.std(), "norm").pvalue > 1e-3


@BOTH
def test_only_the_direction_matters(kind: type[PrivUnit | PrivUnitG]) -> None:
    mechanism = kind(dimension=64, epsilon=8.0)
    x = unit(64, 12)[None]
    expected = mechanism.release(x, SeededRandomness(13))
    for size in (1e-200, 0.25, 1e250):
        assert np.allclose(mechanism.release(size * x, SeededRandomness(13)), expected, atol=1e-9)


@BOTH
def test_zeros_give_any_direction(kind: type[PrivUnit | PrivUnitG]) -> None:
    mechanism = kind(dimension=2, epsilon=25.0)
    released = mechanism.release(np.zeros((20_000, 2)), SeededRandomness(14))
    angles = np.arctan2(released[:, 0], released[:, 1])
    assert kstest(angles / (2 * np.pi) + 0.5, "uniform").pvalue > 1e-3


def test_every_result_can_come_from_every_direction() -> None:
    mechanism = PrivUnitG(dimension=64, epsilon=8.0)
    for seed in (1, 2):
        steps = mechanism.release(np.tile(unit(64, seed), (50, 1))) / mechanism.norm
        steps /= mechanism.grid
        assert np.abs(steps).max() > 2**18
        assert np.abs(steps - np.rint(steps)).max() < 1e-8


def test_a_draw_that_is_rounded_to_zero_becomes_any_direction() -> None:
    mechanism = PrivUnit(dimension=2, epsilon=1.0)
    scaled = mechanism._scaled(np.zeros((3, 2)), SeededRandomness(15))
    assert np.allclose(np.linalg.norm(scaled, axis=1), mechanism.norm)


def test_vectors_come_in_any_number() -> None:
    mechanism = PrivUnit(dimension=64, epsilon=8.0)
    for count in (0, 1, 2048, 5000):
        assert mechanism.release(np.ones((count, 64))).shape == (count, 64)
    assert mechanism.release(np.ones(64)).shape == (64,)


@BOTH
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": 1.0}, "dimension None"),
        ({"dimension": 1, "epsilon": 1.0}, "dimension 1"),
        ({"dimension": 2.5, "epsilon": 1.0}, "dimension 2.5"),
        ({"dimension": math.nan, "epsilon": 1.0}, "dimension nan"),
        ({"dimension": math.inf, "epsilon": 1.0}, "dimension inf"),
        ({"dimension": 64}, "epsilon None"),
        ({"dimension": 64, "epsilon": 0.0}, "epsilon 0"),
        ({"dimension": 64, "epsilon": 301.0}, "epsilon 301"),
        ({"dimension": 64, "epsilon": math.nan}, "epsilon nan"),
        ({"dimension": 64, "epsilon": math.inf}, "Unprotected"),
    ],
)
def test_impossible_mechanisms_are_refused(
    kind: type[PrivUnit | PrivUnitG], arguments: dict, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        kind(**arguments)


@BOTH
@pytest.mark.parametrize(
    ("x", "message"),
    [([[1.0, math.nan]], "NaN"), ([[1.0, math.inf]], "NaN"), ([[1.0, 2.0, 3.0]], "3 components")],
)
def test_impossible_vectors_are_refused(
    kind: type[PrivUnit | PrivUnitG], x: list, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        kind(dimension=2, epsilon=1.0).release(x)
