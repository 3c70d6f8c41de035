from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from sordino.privacy.exact import discrete_gaussian, gaussian
from sordino.privacy.randomness import SeededRandomness
from tests.privacy.fits import Script, chi_square, digits_of_exp

VARIANCES = [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(400)]


def cumulative(variance: Fraction, reach: int) -> np.ndarray:
    """Probabilities of numbers of at most -reach, ..., reach."""
    numbers = np.arange(-reach, reach + 1)
    probabilities = np.exp(-np.square(numbers) / (2 * float(variance)))
    return np.cumsum(probabilities / probabilities.sum())


@pytest.mark.parametrize("variance", VARIANCES)
def test_probabilities(variance: Fraction) -> None:
    values = discrete_gaussian(variance, (200, 500), SeededRandomness(1))
    assert values.dtype == np.int64
    assert values.shape == (200, 500)
    reach = math.ceil(12 * math.sqrt(variance)) + 3
    exact = cumulative(variance, reach)
    width = 2.5 * math.sqrt(variance)
    edges = sorted({round(edge) for edge in np.linspace(-width, width, 30)})
    assert chi_square(values, edges, lambda k: float(exact[k - 1 + reach])) > 1e-3


@pytest.mark.parametrize("variance", [Fraction(2**50, 3), Fraction(2**92)])
def test_large_variances_are_normal_with_uniform_low_digits(variance: Fraction) -> None:
    values = discrete_gaussian(variance, 100_000, SeededRandomness(2))
    deviation = math.sqrt(variance)
    edges = [round(edge * deviation) for edge in np.linspace(-3, 3, 40)]
    assert chi_square(values, edges, lambda k: float(norm.cdf((k - 0.5) / deviation))) > 1e-3
    assert chi_square(values % 64, range(1, 64), lambda k: k / 64) > 1e-3


def test_doubles_decide_as_many_digits_do(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = discrete_gaussian(Fraction(2**40, 7), 500, SeededRandomness(3))
    monkeypatch.setattr(gaussian, "_SLACK", 2.0)  # so that nothing is sure
    assert np.array_equal(fast, discrete_gaussian(Fraction(2**40, 7), 500, SeededRandomness(3)))


def test_words_near_the_probability_are_looked_at_closely() -> None:
    # The probability exp(-(4 - 5 / 2) ** 2 / 10), and words that are the same in double precision.
    (word,) = digits_of_exp(Fraction(9, 40), 1)
    assert float(word - 1) == float(word + 1)
    for shift, expected in [(-1, True), (1, False)]:
        script = Script(word + shift)
        assert gaussian._kept(np.array([-4]), Fraction(5), 2, script).tolist() == [expected]


@pytest.mark.parametrize("shape", [0, 5, (0, 3), (2, 3, 4), 2**14 + 1])
def test_shapes(shape: int | tuple[int, ...]) -> None:
    assert discrete_gaussian(4, shape, SeededRandomness(4)).shape == np.empty(shape).shape


@pytest.mark.parametrize("variance", [0, -1, 2**93])
def test_variances_out_of_range_are_refused(variance: int) -> None:
    with pytest.raises(ValueError, match="variance"):
        discrete_gaussian(variance, 1, SeededRandomness(1))
