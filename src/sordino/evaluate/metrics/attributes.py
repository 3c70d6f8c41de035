"""What an attacker learns of an attribute: sex, language, age group, emotion.

For the Cllr of an attribute's log-likelihood ratios see `cllr`: "targets" are then the vectors of
one value, "non-targets" those of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.checks import finite_numbers, numbered, same_length
from sordino.evaluate.metrics.ordered import OrderedTrials, Weights
from sordino.evaluate.metrics.scores import sorted_scores

# How far the sum of a row of probabilities may be from 1: single precision.
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class InformationBound:
    """How much is surely learnt of an attribute, in bits.

    Attributes:
        bits: lower bound on the mutual information, from 0 to the entropy.
        entropy: of the attribute, before anything is known.
        cross_entropy: what the attacker's probabilities leave; infinite where one was 0 and wrong.
    """

    bits: float
    entropy: float
    cross_entropy: float


def area_under_roc(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> float:
    """How likely a positive scores higher than a negative, ties counting half: the AUC.

    Exact, from whole numbers of pairs, rounded once (H. B. Mann and D. R. Whitney, "On a test of
    whether one of two random variables is stochastically larger than the other", 1947).

    Args:
        positives: scores of vectors with the attribute, shape (positives,).
        negatives: scores of vectors without it, shape (negatives,).

    Returns:
        From 0 to 1; 0.5 where scores tell nothing.

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> area_under_roc([0.9, 0.4], [0.1, 0.4])
        0.875
    """
    own, others = sorted_scores(positives, negatives)
    # Search for the shorter list in the longer one, and turn it round if need be.
    few, many = (own, others) if own.size <= others.size else (others, own)
    below = sum(int(np.searchsorted(many, few, side).sum()) for side in ("left", "right"))
    pairs = 2 * own.size * others.size
    return (below if few is own else pairs - below) / pairs


def area_either_way(positives: npt.ArrayLike, negatives: npt.ArrayLike) -> float:
    """max(AUC, 1 - AUC): what an attacker gets who turns his scores round where that helps.

    An AUC far below 0.5 tells as much as one as far above. By chance this is somewhat above 0.5.

    Args:
        positives: scores of vectors with the attribute, shape (positives,).
        negatives: scores of vectors without it, shape (negatives,).

    Returns:
        From 0.5 to 1.

    Raises:
        UsageError: a list is empty or holds NaN or infinity.

    Example:
        >>> area_either_way([0.1], [0.9])
        1.0
    """
    area = area_under_roc(positives, negatives)
    return max(area, 1 - area)


class WeightedArea:
    """The AUC of vectors that count more than once, or not at all; see `bootstrap`.

    Args:
        scores: shape (vectors,).
        is_positive: whether each has the attribute, bool, shape (vectors,).

    Raises:
        UsageError: there are no positives or no negatives, a score is NaN or infinite, or the
            shapes differ.

    Example:
        >>> area = WeightedArea([1.0, 3.0, 2.0], np.array([True, True, False]))
        >>> area(np.array([1, 1, 1])), area(np.array([1, 3, 1]))
        (0.5, 0.75)
    """

    def __init__(self, scores: npt.ArrayLike, is_positive: npt.NDArray[np.bool_]) -> None:
        self._trials = OrderedTrials(scores, is_positive)
        own, others = self._trials.targets, self._trials.nontargets
        self._below = tuple(np.searchsorted(others, own, side) for side in ("left", "right"))

    def __call__(self, weights: Weights) -> float:
        """The area with each vector counted so many times; NaN where one kind is missing.

        Args:
            weights: whole numbers from 0, shape (vectors,).
        """
        own, others = self._trials.split(weights)
        sums = np.append(0, np.cumsum(others, dtype=np.int64))
        total = int(own.sum(dtype=np.int64))
        if not (total and sums[-1]):
            return math.nan
        below = sum(int(own @ sums[places]) for places in self._below)
        return below / (2 * total * int(sums[-1]))


def balanced_accuracy(
    labels: npt.ArrayLike, predictions: npt.ArrayLike, weights: Weights | None = None
) -> float:
    """The mean over the values of an attribute of how many of each are recognised.

    Also called unweighted average recall (UAR), the usual figure for emotions. Guessing gives
    1 / values, however rare some are.

    Args:
        labels: true values, names or numbers, shape (vectors,).
        predictions: those that the attacker names, shape (vectors,).
        weights: how often each vector counts, whole numbers from 0, shape (vectors,); once where
            there are none.

    Returns:
        From 0 to 1; NaN where the weights leave nothing. A value that never is true does not count.

    Raises:
        UsageError: a list is empty, or their shapes differ.

    Example:
        >>> balanced_accuracy(["F", "F", "F", "M"], ["F", "F", "M", "M"])
        0.8333333333333333
    """
    values, (places,) = numbered("labels", labels)
    named = np.asarray(predictions)
    same_length(places, named, "labels and predictions")
    right = named == values[places]
    if right.shape != places.shape:
        raise UsageError(f"the predictions have shape {named.shape}; expected {places.shape}")
    counted = np.ones(places.size, dtype=np.int64) if weights is None else weights
    every = np.bincount(places, counted, values.size)
    hits = np.bincount(places, counted * right, values.size)
    met = every > 0
    return float(np.mean(hits[met] / every[met])) if met.any() else math.nan


def information_bound(labels: npt.ArrayLike, probabilities: npt.ArrayLike) -> InformationBound:
    """At least so much is told of an attribute: I(A; X) >= H(A) - cross-entropy.

    H(A) is the entropy of the values as they are among the labels, the cross-entropy the mean of
    -log2 of the probability that the attacker gives to the true value. Any attacker gives a lower
    bound, a better one a higher; it must not have been trained on these vectors. An attacker who
    misleads himself gives a difference below 0, which bounds nothing: 0 bits then.

    Args:
        labels: true values, numbers of columns of `probabilities`, shape (vectors,).
        probabilities: the attacker's, rows that sum to 1, shape (vectors, values).

    Raises:
        UsageError: the shapes do not fit, a probability is outside 0 to 1, rows do not sum to 1,
            or a label is no column.

    Example:
        >>> information_bound([0, 1], [[0.9, 0.1], [0.1, 0.9]]).bits
        0.84799690655...
        >>> information_bound([0, 1], [[0.5, 0.5], [0.5, 0.5]]).bits
        0.0

    Source: D. Barber and F. Agakov, "The IM algorithm: a variational approach to information
    maximization", NIPS 2003, equation 3.
    """
    table = finite_numbers(probabilities, "probabilities", 2).astype(np.float64)
    places = np.asarray(labels)
    if places.shape != table.shape[:1] or not np.issubdtype(places.dtype, np.integer):
        raise UsageError(
            f"the labels are {places.dtype} of shape {places.shape}; expected numbers of columns of"
            f" shape {table.shape[:1]}"
        )
    if places.min() < 0 or places.max() >= table.shape[1]:
        raise UsageError(f"the labels should be columns from 0 to {table.shape[1] - 1}")
    if table.min() < 0 or np.abs(table.sum(axis=1) - 1).max() > _TOLERANCE:
        raise UsageError("the probabilities of a vector should be from 0 on and sum to 1")
    shares = np.bincount(places) / places.size
    entropy = float(-np.sum(shares[shares > 0] * np.log2(shares[shares > 0])))
    given = np.take_along_axis(table, places[:, None], axis=1)
    with np.errstate(divide="ignore"):
        cross_entropy = float(-np.log2(given).mean())
    return InformationBound(max(0.0, entropy - cross_entropy), entropy, cross_entropy)
