"""Closed-form linear erasure: after it, no linear classifier can tell an attribute from vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]
Labels = Sequence[str] | Sequence[int] | npt.NDArray[np.generic]

UNKNOWN = ""

_ARRAYS = ("matrix", "bias")
# Below it a correlation is rounding; to erase it would cost a dimension for nothing.
_NO_CORRELATION = 1e-7
# What a mean of equal numbers can differ from them, relative to them.
_ROUNDING = 16 * np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Erasure:
    """An affine map x -> matrix x + bias. Made by `fit_erasure`.

    Attributes:
        matrix: float64, shape (d, d).
        bias: float64, shape (d,).

    Raises:
        UsageError: the arrays do not fit together, or hold something else than finite numbers.

    Example:
        >>> Erasure(np.diag([1.0, 0.0]), np.array([0.0, 5.0])).apply([[2.0, 7.0]]).tolist()
        [[2.0, 5.0]]
    """

    matrix: FloatArray
    bias: FloatArray

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            object.__setattr__(self, name, _numbers(getattr(self, name), name))
        if self.bias.ndim != 1 or self.matrix.shape != 2 * self.bias.shape:
            raise UsageError(
                f"an erasure needs a matrix (d, d) and a bias (d,), not {self.matrix.shape} and"
                f" {self.bias.shape}"
            )

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]], where: str) -> Erasure:
        """The erasure in a bundle's file.

        Args:
            arrays: named as the attributes.
            where: where they come from; errors start with it.

        Raises:
            UsageError: an array is missing, or they are no erasure.
        """
        missing = [name for name in _ARRAYS if name not in arrays]
        if missing:
            raise UsageError(f"{where}: has no array {missing[0]!r}; it needs {', '.join(_ARRAYS)}")
        try:
            return cls(*(arrays[name] for name in _ARRAYS))  # type: ignore[arg-type]
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self.bias.size)

    def apply(self, vectors: npt.ArrayLike) -> FloatArray:
        """Erase.

        Args:
            vectors: shape (n, d).

        Returns:
            float64, shape (n, d).

        Raises:
            UsageError: the vectors have another shape.
        """
        rows = np.asarray(vectors, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.dimension:
            raise UsageError(
                f"vectors have shape {rows.shape}; this erasure takes (n, {self.dimension})"
            )
        erased: FloatArray = rows @ self.matrix.T + self.bias
        return erased


def fit_erasure(
    vectors: npt.ArrayLike,
    labels: Labels | Mapping[str, Labels],
    *,
    weights: npt.ArrayLike | None = None,
    shrinkage: float | None = None,
) -> Erasure:
    """The least change after which vectors are uncorrelated with attributes (LEACE).

    On the vectors that it is fitted to, the mean vectors of all classes of an attribute become
    equal, and so no linear classifier does better than a constant answer. Among all affine maps
    of which that is true it moves vectors least, in mean square and in every other norm that comes
    from a scalar product, for vectors with the covariance that was estimated. A classifier that is
    not linear may still succeed.

    Args:
        vectors: shape (n, d), n at least 2.
        labels: the class of each vector, n of them; or, by the names of several attributes, the
            classes for each. "" stands for unknown; such a vector counts for other attributes.
        weights: shape (n,), not negative, how much each vector counts, for example 1 / (number of
            vectors of its speaker); None for all the same.
        shrinkage: how far the covariance is drawn towards a multiple of the identity, 0 to 1; 0
            takes it as it is. None estimates it. It does not change that means become equal, and
            keeps directions in which few vectors hardly vary from being blown up in others.

    Raises:
        UsageError: the arguments do not fit together, an attribute has fewer than two classes, or
            nothing of the vectors would be left.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> sex = rng.choice(["F", "M"], 500)
        >>> vectors = rng.normal(size=(500, 3)) + 5 * (sex == "F")[:, None]
        >>> erased = fit_erasure(vectors, sex).apply(vectors)
        >>> bool(np.allclose(erased[sex == "F"].mean(axis=0), erased[sex == "M"].mean(axis=0)))
        True

    Source: N. Belrose et al., "LEACE: Perfect linear concept erasure in closed form", NeurIPS 2023,
    theorem 4.3; the shrinkage: Y. Chen et al., "Shrinkage algorithms for MMSE covariance
    estimation", IEEE Transactions on Signal Processing 58 (2010), equation 23.
    """
    rows = _numbers(vectors, "vectors")
    if rows.ndim != 2 or len(rows) < 2:
        raise UsageError(f"vectors have shape {rows.shape}; expected (n, d) with n at least 2")
    if shrinkage is not None and not 0 <= shrinkage <= 1:
        raise UsageError(f"shrinkage {shrinkage} is not between 0 and 1")
    shares = _shares(weights, len(rows))
    by_name = labels if isinstance(labels, Mapping) else {"labels": labels}
    if not by_name:
        raise UsageError("no attribute is given that could be erased")
    design = np.hstack([_design(name, given, shares) for name, given in by_name.items()])
    mean = shares @ rows
    scaled = (rows - mean) * np.sqrt(shares)[:, None]
    variances, axes = np.linalg.eigh(scaled.T @ scaled)
    rounding = rows.shape[1] * (_ROUNDING * np.abs(rows).max()) ** 2
    varying = int(_positive(variances, rounding).sum())
    if shrinkage is None:
        shrinkage = _oas(variances, float(1 / (shares @ shares)))
    variances = (1 - shrinkage) * variances + shrinkage * variances.mean()
    kept = _positive(variances, rounding)
    axes, deviations = axes[:, kept], np.sqrt(variances[kept])
    whitened = scaled @ (axes / deviations)
    # Orthonormal on one side and white on the other: singular values are correlations.
    directions, correlations, _ = np.linalg.svd(whitened.T @ _orthonormal(design))
    erased = directions[:, : int((correlations > _NO_CORRELATION).sum())]
    if erased.shape[1] >= varying:
        raise UsageError(
            f"nothing would be left: {len(rows)} vectors vary in {varying} directions, and all of"
            " them tell an attribute; give more vectors or fewer classes"
        )
    removed = (axes * deviations) @ erased @ erased.T @ (axes / deviations).T
    return Erasure(np.eye(rows.shape[1]) - removed, removed @ mean)


def _shares(weights: npt.ArrayLike | None, count: int) -> FloatArray:
    if weights is None:
        return np.full(count, 1 / count)
    shares = _numbers(weights, "weights")
    if shares.shape != (count,) or shares.min() < 0 or not shares.any():
        raise UsageError(f"weights have to be {count} numbers, none of them negative, not all 0")
    normal: FloatArray = shares / shares.sum()
    return normal


def _design(name: str, labels: Labels, shares: FloatArray) -> FloatArray:
    """One column for each class: 1 where a vector is of it; centred, and scaled by its weight."""
    given = np.asarray(labels)
    if given.shape != shares.shape:
        raise UsageError(f"{name}: has {given.size} labels for {shares.size} vectors")
    if given.dtype.kind not in "Uiub":
        raise UsageError(f"{name}: has labels that are neither texts nor whole numbers")
    # Whole numbers are all known: as texts, none of them is empty.
    known = (given.astype(np.str_) != UNKNOWN) & (shares > 0)
    classes = np.unique(given[known])
    if len(classes) < 2:
        raise UsageError(f"{name}: needs vectors of two classes or more, and has {len(classes)}")
    column = (given[:, None] == classes) & known[:, None]
    centre = shares @ column / shares[known].sum()
    centred: FloatArray = np.where(known[:, None], column - centre, 0.0)
    return centred * np.sqrt(shares)[:, None]


def _positive(variances: FloatArray, rounding: float) -> npt.NDArray[np.bool_]:
    rounding = max(rounding, variances.max() * variances.size * np.finfo(np.float64).eps)
    positive: npt.NDArray[np.bool_] = variances > rounding
    return positive


def _oas(variances: FloatArray, count: float) -> float:
    """How far to shrink a covariance with these eigenvalues, of so many vectors."""
    size = variances.size
    squares, square = float(variances @ variances), float(variances.sum() ** 2)
    excess = squares - square / size
    if excess <= 0:
        return 1.0
    return min(1.0, ((1 - 2 / size) * squares + square) / ((count + 1 - 2 / size) * excess))


def _orthonormal(columns: FloatArray) -> FloatArray:
    axes, lengths, _ = np.linalg.svd(columns, full_matrices=False)
    kept: FloatArray = axes[:, lengths > lengths.max() * _NO_CORRELATION]
    return kept


def _numbers(array: npt.ArrayLike, name: str) -> FloatArray:
    try:
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} does not hold numbers") from error
    if not np.isfinite(numbers).all():
        raise UsageError(f"{name} holds NaN or infinity")
    return numbers
