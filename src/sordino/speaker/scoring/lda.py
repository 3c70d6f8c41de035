"""Linear discriminant analysis and within-class covariance normalisation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import linalg

from sordino.errors import UsageError
from sordino.speaker.scoring.projection import Projection
from sordino.speaker.scoring.scatter import Grouped, Labels, shrink


def fit_lda(
    vectors: npt.ArrayLike,
    labels: Labels,
    dimension: int | None = None,
    *,
    shrinkage: float | None = None,
) -> Projection:
    """The directions along which speakers differ most for how much each of them varies.

    After the projection the (shrunk) covariance within speakers is the identity, and the first
    column tells speakers apart best. Speakers count by their numbers of vectors.

    Args:
        vectors: shape (n, d).
        labels: n speakers' names.
        dimension: columns to keep, at most d and the number of speakers less 1; by default all.
        shrinkage: in [0, 1], how far the covariance within speakers is drawn to a multiple of
            the identity, so that it can be inverted where vectors are few; by default what
            Ledoit and Wolf's formula finds best.

    Returns:
        A projection to shape (n, dimension).

    Raises:
        UsageError: the dimension is too high, or the vectors do not suffice.

    Example:
        >>> x = [[0, 0], [0.1, 5], [1, 0.2], [1.1, 5.1]]
        >>> lda = fit_lda(x, ["a", "a", "b", "b"], shrinkage=0)
        >>> bool(abs(lda.matrix[0, 0]) > abs(lda.matrix[1, 0]))
        True

    Source: C. R. Rao, "The utilization of multiple measurements in problems of biological
    classification", 1948.
    """
    groups = Grouped.to_learn(vectors, labels)
    most = min(groups.vectors.shape[1], len(groups.counts) - 1)
    kept = most if dimension is None else dimension
    if not 1 <= kept <= most:
        raise UsageError(
            f"LDA to {kept} dimensions is not possible: {len(groups.counts)} speakers in"
            f" {groups.vectors.shape[1]} dimensions allow 1 to {most}"
        )
    within = shrink(groups.residuals, shrinkage)
    _, directions = linalg.eigh(groups.between, within)
    matrix = _signed(directions[:, ::-1][:, :kept])
    return Projection.centred(groups.vectors.mean(axis=0), matrix)


def fit_wccn(
    vectors: npt.ArrayLike, labels: Labels, *, shrinkage: float | None = None
) -> Projection:
    """Scaling that makes the covariance within speakers the identity.

    Args:
        vectors: shape (n, d).
        labels: n speakers' names.
        shrinkage: as in `fit_lda`.

    Returns:
        A projection to shape (n, d) with a lower triangular matrix; the origin stays where it is.

    Raises:
        UsageError: the vectors do not suffice.

    Example:
        >>> x = [[0.0, 3], [2, 3], [7, 1], [7, 5]]
        >>> fit_wccn(x, [0, 0, 1, 1], shrinkage=0).matrix.round(3).tolist()
        [[1.414, 0.0], [0.0, 0.707]]

    Source: A. Hatch, S. Kajarekar, A. Stolcke, "Within-class covariance normalization for
    SVM-based speaker recognition", 2006.
    """
    groups = Grouped.to_learn(vectors, labels)
    within = shrink(groups.residuals, shrinkage)
    precision = linalg.cho_solve((linalg.cholesky(within, lower=True), True), np.eye(len(within)))
    return Projection(linalg.cholesky(precision, lower=True), np.zeros(len(within)))


def _signed(directions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # A direction and its opposite are equally good; the choice must not depend on the library.
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    return np.ascontiguousarray(directions * signs)
