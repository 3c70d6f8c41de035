"""Figures that are no numbers count as missing, before anything is said about them."""

from __future__ import annotations

import dataclasses
import math
from typing import TypeVar

from sordino.evaluate.results import Measure, Results

T = TypeVar("T")


def tidied(results: Results) -> Results:
    """The same results without NaN in measures, and without intervals that lack an end.

    Every comparison with NaN is false, so that one could pass for protection.

    Returns:
        The object itself where nothing had to change.
    """
    return _tidied(results)


def tidied_measure(measure: Measure) -> Measure:
    """A measure that is missing rather than NaN.

    Example:
        >>> tidied_measure(Measure(0.1, float("nan"), 0.2)), tidied_measure(Measure(float("nan")))
        (Measure(value=0.1, low=None, high=None), Measure(value=None, low=None, high=None))
    """
    if _is_missing(measure.value):
        return measure if measure == Measure(None) else Measure(None)
    if _is_missing(measure.low) or _is_missing(measure.high):
        plain = Measure(measure.value)
        return measure if measure == plain else plain
    return measure


def _tidied(value: T) -> T:
    if isinstance(value, Measure):
        return tidied_measure(value)  # type: ignore[return-value]
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        parts = tuple(_tidied(part) for part in value)
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else parts  # type: ignore[return-value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {
            field.name: new
            for field in dataclasses.fields(value)
            if (new := _tidied(getattr(value, field.name))) is not getattr(value, field.name)
        }
        return dataclasses.replace(value, **changes) if changes else value
    return value


def _is_missing(value: float | None) -> bool:
    return value is None or math.isnan(value)
