"""Check what is given to a figure, with one message for each thing that can be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

Numbers = npt.NDArray[np.floating[Any]]

_SHAPES = {1: "(n,)", 2: "(rows, columns)"}


def finite_numbers(values: npt.ArrayLike, what: str, dimensions: int = 1) -> Numbers:
    """The values as an array of floating-point numbers, copied only where they are not.

    Args:
        values: numbers.
        what: they are, in the plural, for the message.
        dimensions: 1 or 2.

    Raises:
        UsageError: they are none, have another number of dimensions, hold NaN or infinity, or are
            no numbers.

    Example:
        >>> finite_numbers([1, 2], "ratios")
        array([1., 2.])
    """
    array = np.asarray(values)
    if array.ndim != dimensions:
        raise UsageError(f"the {what} have shape {array.shape}; expected {_SHAPES[dimensions]}")
    if not array.size:
        raise UsageError(f"there are no {what}")
    if np.issubdtype(array.dtype, np.integer):
        array = array.astype(np.float64)
    if not np.issubdtype(array.dtype, np.floating):
        raise UsageError(f"the {what} are {array.dtype}; expected numbers")
    # NaN is in both ends if it is anywhere.
    if not (np.isfinite(array.min()) and np.isfinite(array.max())):
        raise UsageError(f"the {what} hold NaN or infinity")
    return array


def numbered(
    what: str, *lists: npt.ArrayLike
) -> tuple[npt.NDArray[Any], list[npt.NDArray[np.int64]]]:
    """The distinct names in some lists, sorted, and each list as numbers of these.

    Args:
        what: the names are, in the plural, for the message.
        lists: strings or whole numbers, shape (n,) each.

    Raises:
        UsageError: a list is empty, or none.

    Example:
        >>> names, (first, second) = numbered("speakers", ["b", "a", "b"], ["c"])
        >>> names.tolist(), first.tolist(), second.tolist()
        (['a', 'b', 'c'], [1, 0, 1], [2])
    """
    arrays = [np.asarray(names) for names in lists]
    for array in arrays:
        if array.ndim != 1:
            raise UsageError(f"the {what} have shape {array.shape}; expected {_SHAPES[1]}")
        if not array.size:
            raise UsageError(f"there are no {what}")
    # Not by the inverse of `unique`, which takes several times the memory.
    distinct = np.unique(np.concatenate([np.unique(array) for array in arrays]))
    return distinct, [np.searchsorted(distinct, array) for array in arrays]


def same_length(first: npt.NDArray[Any], second: npt.NDArray[Any], what: str) -> None:
    """Refuse two lists of different lengths.

    Raises:
        UsageError: they differ.

    Example:
        >>> same_length(np.zeros(2), np.zeros(2), "labels and predictions")
    """
    if first.shape[0] != second.shape[0]:
        raise UsageError(f"there are {first.shape[0]} and {second.shape[0]} {what}; expected pairs")
