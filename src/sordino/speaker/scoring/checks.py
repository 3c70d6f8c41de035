"""Checks of the arrays that come in from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]
Float64Array: TypeAlias = npt.NDArray[np.float64]
IndexArray: TypeAlias = npt.NDArray[np.integer[Any]]


def as_rows(values: npt.ArrayLike, what: str = "vectors") -> FloatArray:
    """Vectors as rows of a finite float array; float32 stays float32, all else is float64.

    Args:
        values: shape (n, d), n and d at least 1.
        what: how the message calls them.

    Raises:
        UsageError: the shape is another, or there is NaN or infinity.

    Example:
        >>> as_rows([[1, 2]])
        array([[1., 2.]])
    """
    array = np.asarray(values)
    if array.ndim != 2 or array.size == 0:
        raise UsageError(f"{what} have shape {array.shape}; expected (number, dimensions)")
    return _finite(array, what)


def as_scores(values: npt.ArrayLike, what: str = "scores") -> FloatArray:
    """Scores as a finite float array of one axis; float32 stays float32, all else is float64.

    Raises:
        UsageError: there are none, the shape is another, or there is NaN or infinity.

    Example:
        >>> as_scores([1, 2])
        array([1., 2.])
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise UsageError(f"{what} have shape {array.shape}; expected one axis")
    if array.size == 0:
        raise UsageError(f"there are no {what}")
    return _finite(array, what)


def as_indices(values: npt.ArrayLike, size: int, what: str) -> IndexArray:
    """Indices as an integer array of one axis, each at least 0 and below `size`.

    Raises:
        UsageError: an index is outside, or the array is no list of whole numbers.

    Example:
        >>> as_indices([0, 2], 3, "model_index")
        array([0, 2])
    """
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise UsageError(f"{what} has to be a list of whole numbers")
    if array.size and not (array.min() >= 0 and array.max() < size):
        raise UsageError(
            f"{what} goes from {array.min()} to {array.max()}; it has to stay within 0 to"
            f" {size - 1}"
        )
    return array.astype(np.intp) if array.size == 0 else array


def same_dimensions(first: FloatArray, second: FloatArray, what: str) -> None:
    """Refuse rows of two lengths.

    Raises:
        UsageError: the last axes differ; vectors of two encoders cannot be compared.
    """
    if first.shape[-1] != second.shape[-1]:
        raise UsageError(
            f"{what} have {first.shape[-1]} and {second.shape[-1]} dimensions;"
            " they have to come from one encoder"
        )


def stored(
    arrays: Mapping[str, npt.ArrayLike], name: str, shape: tuple[int | None, ...]
) -> Float64Array:
    """One of the arrays that a back end was stored as, checked.

    Args:
        arrays: what `to_arrays` gave.
        name: which one.
        shape: its shape; None for an axis of any length from 1.

    Raises:
        UsageError: it is missing, of another shape, or not finite.

    Example:
        >>> stored({"plda.mean": np.zeros(3)}, "plda.mean", (None,)).shape
        (3,)
    """
    if name not in arrays:
        raise UsageError(f"stored scoring: the array {name!r} is missing")
    array = np.asarray(arrays[name])
    fits = array.ndim == len(shape) and all(
        have == want or (want is None and have > 0)
        for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits:
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise UsageError(
            f"stored scoring: the array {name!r} has shape {array.shape}; expected ({wanted})"
        )
    return np.array(_finite(array, f"stored scoring: values of the array {name!r}"), np.float64)


def stored_yes_no(arrays: Mapping[str, npt.ArrayLike], name: str) -> bool:
    """A choice that was stored as 0 or 1.

    Raises:
        UsageError: it is missing or is another number.
    """
    value = float(stored(arrays, name, ()))
    if value not in (0.0, 1.0):
        raise UsageError(f"stored scoring: {name!r} is {value:g}; expected 0 or 1")
    return value == 1.0


def _finite(array: npt.NDArray[Any], what: str) -> FloatArray:
    if array.dtype.kind not in "fiu":
        raise UsageError(f"{what} are {array.dtype}; expected real numbers")
    floats = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    if not np.isfinite(floats).all():
        raise UsageError(f"{what} hold NaN or infinity")
    return floats
