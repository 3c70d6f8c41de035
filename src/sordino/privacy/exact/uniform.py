"""A uniform real number whose bits are drawn as they are needed."""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

from sordino.privacy.randomness import Randomness

_WORD = 64
_SPARE_DIGITS = 25


class Uniform:
    """A uniform random number U between 0 and 1, of which the first bits are known.

    Comparing U to a real number needs only as many bits as tell the two apart: whatever
    is decided, is decided as if infinitely many had been drawn.

    Args:
        first: the known bits as a whole number.
        count: how many bits these are.
        randomness: where further bits come from.

    Source: the idea goes back to J. von Neumann, "Various techniques used in connection with
    random digits", 1951. Decimal's `exp` and `ln` are correctly rounded.
    """

    def __init__(self, first: int, count: int, randomness: Randomness) -> None:
        self._known, self._count, self._randomness = first, count, randomness

    def below_exp(self, rate: Fraction) -> bool:
        """Whether U < exp(-rate): true with exactly this probability, for a rate of at least 0."""
        if rate == 0:
            return True
        while True:
            if rate < self._count:
                scale = 2**self._count
                low, high = _enclosed_exp(rate, self._digits(rate))
                if self._known + 1 <= low * scale:
                    return True
                if self._known >= high * scale:
                    return False
            elif self._known:  # so that U is at least 2 ** -count, which is above exp(-rate)
                return False
            self._reveal()

    def geometric(self, scale: Fraction) -> int:
        """The largest whole number k with U <= exp(-k / scale)."""
        while True:
            if self._known:
                ends = [
                    _enclosed_log(Fraction(known, 2**self._count), scale, self._digits(scale))
                    for known in (self._known + 1, self._known)
                ]
                low, high = (max(0, math.floor(end)) for end in (ends[0][0], ends[1][1]))
                if low == high:
                    return low
            self._reveal()

    def _digits(self, size: Fraction) -> int:
        whole_digits = len(str(math.ceil(size)))
        return math.ceil(self._count * math.log10(2)) + whole_digits + _SPARE_DIGITS

    def _reveal(self) -> None:
        self._known = self._known << _WORD | int(self._randomness.bits(1)[0])
        self._count += _WORD


def _enclosed_exp(rate: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Two numbers that exp(-rate) is between, whatever the rounding."""
    context = _context(digits)
    value = Fraction(context.exp(_decimal(-rate, context)))
    # The rounded rate is off by one part in 10 ** (digits - 1), and the result once more.
    error = value * (rate + 2) / 10 ** (digits - 3)
    return value - error, value + error + Fraction(1, 10**digits)


def _enclosed_log(x: Fraction, scale: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Two numbers that -scale * ln(x) is between, for x from 0 to 1."""
    context = _context(digits)
    value = -scale * Fraction(context.ln(_decimal(x, context)))
    error = (value + scale) / 10 ** (digits - 3)
    return value - error, value + error


def _decimal(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _context(digits: int) -> Context:
    return Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
