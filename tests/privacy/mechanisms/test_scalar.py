from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.privacy.mechanisms.scalar import ScalarDP, SignFlip
from sordino.privacy.randomness import SeededRandomness


@given(st.floats(2**-13, 1000))
def test_epsilon_is_exact_and_never_rounded_down(epsilon: float) -> None:
    scalar = ScalarDP(clip=1.0, epsilon=epsilon)
    ratio = scalar._keep / ((1 - scalar._keep) / scalar.levels)
    exact = math.log(ratio.numerator) - math.log(ratio.denominator)
    assert exact <= epsilon
    assert exact == pytest.approx(epsilon, rel=1e-6) or 1 - scalar._keep < 2**-40


@pytest.mark.parametrize(("epsilon", "levels"), [(1.0, 2), (8.0, 15), (25.0, 4161), (300.0, 2**32)])
def test_the_number_of_levels(epsilon: float, levels: int) -> None:
    assert ScalarDP(clip=1.0, epsilon=epsilon).levels == levels


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("number", [0.0, 0.7, 1.0, 2.0])
def test_releases_are_unbiased_with_the_stated_error(epsilon: float, number: float) -> None:
    scalar = ScalarDP(clip=2.0, epsilon=epsilon)
    released = scalar.release(np.full(50_000, number), SeededRandomness(1))
    assert abs(released.mean() - number) < 4 * released.std() / math.sqrt(released.size) + 1e-9
    squares = np.square(released - number)
    slack = 4.5 * squares.std() / math.sqrt(squares.size) + 1e-9
    assert abs(squares.mean() - scalar.mean_squared_error(number)) < slack


@pytest.mark.parametrize("epsilon", [0.01, 8.0, 25.0])
@pytest.mark.parametrize("number", [0.0, 0.7, 2.0])
def test_error_and_mean_are_those_of_the_probabilities(epsilon: float, number: float) -> None:
    scalar = ScalarDP(clip=2.0, epsilon=epsilon)
    k, keep = scalar.levels, scalar.keep
    low = min(int(number / 2.0 * k), k - 1)
    part = number / 2.0 * k - low
    probabilities = np.full(k + 1, (1 - keep) / k)
    probabilities[low] += (1 - part) * (keep - (1 - keep) / k)
    probabilities[low + 1] += part * (keep - (1 - keep) / k)
    released = (np.arange(k + 1) - scalar._offset) / scalar._slope * (2.0 / k)
    assert probabilities @ released == pytest.approx(number, abs=1e-9)
    expected = probabilities @ np.square(released - number)
    assert scalar.mean_squared_error(number) == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_levels_are_released_with_the_probabilities_of_randomised_response() -> None:
    scalar = ScalarDP(clip=2.0, epsilon=2.0)
    for level in range(scalar.levels + 1):
        number = 2.0 * level / scalar.levels
        released = scalar.release(np.full(60_000, number), SeededRandomness(level))
        levels = released * scalar.levels / 2.0 * scalar._slope + scalar._offset
        counts = np.bincount(np.rint(levels).astype(int), minlength=scalar.levels + 1) / 60_000
        expected = np.full(scalar.levels + 1, (1 - scalar.keep) / scalar.levels)
        expected[level] = scalar.keep
        assert np.abs(counts - expected).max() < 4 * math.sqrt(0.25 / 60_000)


def test_larger_numbers_count_as_the_clip() -> None:
    scalar = ScalarDP(clip=2.0, epsilon=3.0)
    both = [scalar.release([number] * 9, SeededRandomness(2)) for number in (2.0, 1e300)]
    assert np.array_equal(*both)
    assert scalar.mean_squared_error(2.0) == scalar.mean_squared_error(5.0)


@pytest.mark.parametrize("numbers", [[-0.1], [math.nan], [math.inf], [[1.0]], ["a"]])
def test_impossible_numbers_are_refused(numbers: list) -> None:
    with pytest.raises(UsageError, match=r"lengths|NaN|numbers"):
        ScalarDP(clip=1.0, epsilon=1.0).release(numbers)


@pytest.mark.parametrize("arguments", [{"clip": 1.0}, {"epsilon": 1.0}, {"clip": 0, "epsilon": 1}])
def test_impossible_settings_are_refused(arguments: dict) -> None:
    with pytest.raises(UsageError, match=r"clip|epsilon"):
        ScalarDP(**arguments)


@pytest.mark.parametrize("length", [0.0, 1.0, 3.0, 4.0, 9.0])
def test_the_mean_of_turned_directions_is_the_vector(length: float) -> None:
    flip = SignFlip(clip=4.0)
    direction = np.array([0.6, 0.0, -0.8])
    turned = flip.directions(np.tile(length * direction, (40_000, 1)), SeededRandomness(3))
    along = turned @ direction
    assert np.allclose(np.abs(along), float(length > 0))
    assert 4 * along.mean() == pytest.approx(min(length, 4.0), abs=4 * 4 / math.sqrt(40_000))


def test_a_sign_needs_a_clip() -> None:
    with pytest.raises(UsageError, match="clip None"):
        SignFlip()
    assert Fraction(SignFlip(clip=0.5).clip) == Fraction(1, 2)
