"""Inner products for lists of trials, fast and in bounded memory.

Every score here is an inner product of a row that stands for an enrolled speaker and a row that
stands for an utterance, so that all back ends share this one way through long trial lists.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.speaker.scoring.checks import (
    FloatArray,
    IndexArray,
    as_indices,
    as_rows,
    same_dimensions,
)

# Most products computed at once by a matrix product: 16 MB of float32.
_TILE = 2**22

# Most numbers gathered at once from the rows of the trials: they stay in the cache.
_GATHERED = 2**19

# A product within a matrix costs about a fortieth of one whose two rows are gathered first, but
# its trials have to be sorted; from this share of wanted products on, the matrix is faster.
_DENSE = 1 / 16


def trial_products(
    models: npt.ArrayLike,
    vectors: npt.ArrayLike,
    model_index: npt.ArrayLike,
    utterance_index: npt.ArrayLike,
) -> FloatArray:
    """Inner product of two rows for each trial.

    Rows are gathered trial by trial where the list is sparse; where it asks for a good part of
    all pairs, tiles of the full matrix are computed. Memory beside the result: below 100 MB, and
    12 bytes for each trial in the second case.

    Args:
        models: shape (m, d).
        vectors: shape (n, d).
        model_index: shape (trials,), the row of `models` of each trial.
        utterance_index: shape (trials,), the row of `vectors` of each trial.

    Returns:
        Shape (trials,); float32 where both inputs are float32, else float64.

    Raises:
        UsageError: shapes do not fit, or an index points nowhere.

    Example:
        >>> trial_products([[1, 0], [0, 1]], [[3, 5]], [0, 1, 1], [0, 0, 0])
        array([3., 5., 5.])
    """
    left, right = as_rows(models, "models"), as_rows(vectors, "vectors")
    same_dimensions(left, right, "models and vectors")
    rows = as_indices(model_index, len(left), "model_index")
    columns = as_indices(utterance_index, len(right), "utterance_index")
    if rows.shape != columns.shape:
        raise UsageError(
            f"model_index has {rows.size} trials and utterance_index {columns.size};"
            " each trial needs both"
        )
    kind = np.result_type(left, right)
    left, right = left.astype(kind, copy=False), right.astype(kind, copy=False)
    out = np.empty(rows.shape, kind)
    if rows.size >= _DENSE * len(left) * len(right):
        _by_tiles(left, right, rows, columns, out)
    else:
        _by_gathering(left, right, rows, columns, out)
    return out


def product_blocks(
    rows: FloatArray, others: FloatArray, numbers: int = _TILE
) -> Iterator[tuple[slice, FloatArray]]:
    """The matrix of all products, some rows at a time.

    Args:
        rows: shape (m, d).
        others: shape (n, d).
        numbers: most numbers in one block, unless a single row has more.

    Yields:
        Which rows, and their products, shape (rows of the block, n).

    Example:
        >>> [block.shape for _, block in product_blocks(np.ones((3, 2)), np.ones((5, 2)), 10)]
        [(2, 5), (1, 5)]
    """
    step = max(1, numbers // len(others))
    for start in range(0, len(rows), step):
        block = slice(start, min(start + step, len(rows)))
        yield block, rows[block] @ others.T


def _by_gathering(
    left: FloatArray, right: FloatArray, rows: IndexArray, columns: IndexArray, out: FloatArray
) -> None:
    step = max(1, _GATHERED // left.shape[1])
    for start in range(0, out.size, step):
        part = slice(start, start + step)
        out[part] = np.matmul(left[rows[part], None, :], right[columns[part], :, None])[:, 0, 0]


def _by_tiles(
    left: FloatArray, right: FloatArray, rows: IndexArray, columns: IndexArray, out: FloatArray
) -> None:
    width = min(len(right), 2**14)
    height = min(len(left), max(1, _TILE // width))
    across, down = -(-len(right) // width), -(-len(left) // height)
    # Numbers of 16 bits are sorted by radix, several times as fast as wider ones.
    tile_of = np.empty(rows.size, np.uint16 if across * down <= 2**16 else np.int64)
    sizes = np.zeros(across * down, np.int64)
    for start in range(0, rows.size, _TILE):
        part = slice(start, start + _TILE)
        tile_of[part] = (rows[part] // height) * across + columns[part] // width
        sizes += np.bincount(tile_of[part], minlength=sizes.size)
    order = np.argsort(tile_of, kind="stable")
    ends = np.cumsum(sizes)
    for tile in np.flatnonzero(sizes):
        top, first = (tile // across) * height, (tile % across) * width
        products = left[top : top + height] @ right[first : first + width].T
        trials = order[ends[tile] - sizes[tile] : ends[tile]]
        out[trials] = products[rows[trials] - top, columns[trials] - first]
