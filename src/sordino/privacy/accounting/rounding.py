"""Numbers rounded so that they never promise too much."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal

_DIGITS = 6


def rounded_up(value: float, digits: int = _DIGITS) -> float:
    """The least number of so many digits that is not below a value.

    Args:
        value: not NaN.
        digits: from 1 to 15.

    Example:
        >>> rounded_up(1.10627802), rounded_up(0.5, 2), rounded_up(1001.0, 2)
        (1.10628, 0.5, 1100.0)
    """
    if not math.isfinite(value):
        return value
    up = float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(value)))
    # The nearest float of a decimal number may lie below it.
    return up if up >= value else math.nextafter(up, math.inf)
