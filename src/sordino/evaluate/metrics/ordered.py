"""Trials in the order of their scores, so that many sets of weights are cheap."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.scores import Scores, sorted_scores

Weights = npt.NDArray[np.integer[Any]]


class OrderedTrials:
    """Scores of targets and of non-targets, each ascending, and where in the trials each came from.

    Args:
        scores: shape (trials,).
        is_target: whether each is a score of the enrolled speaker, bool, shape (trials,).

    Attributes:
        targets: ascending, shape (targets,).
        nontargets: ascending, shape (nontargets,).

    Raises:
        UsageError: there are no targets or no non-targets, a score is NaN or infinite, or the
            shapes differ.

    Example:
        >>> trials = OrderedTrials([3.0, 1.0, 2.0], np.array([True, False, True]))
        >>> trials.targets.tolist(), trials.nontargets.tolist()
        ([2.0, 3.0], [1.0])
        >>> [weights.tolist() for weights in trials.split(np.array([5, 6, 7]))]
        [[7, 5], [6]]
    """

    targets: Scores
    nontargets: Scores

    def __init__(self, scores: npt.ArrayLike, is_target: npt.NDArray[np.bool_]) -> None:
        values = np.asarray(scores)
        if is_target.dtype != np.bool_ or is_target.shape != values.shape:
            raise UsageError(
                f"the labels are {is_target.dtype} of shape {is_target.shape}; expected bool of"
                f" shape {values.shape}"
            )
        self.targets, self.nontargets = sorted_scores(values[is_target], values[~is_target])
        self._places = tuple(
            where[np.argsort(values[where], kind="stable")]
            for where in (np.flatnonzero(is_target), np.flatnonzero(~is_target))
        )

    def split(self, weights: Weights) -> tuple[Weights, Weights]:
        """Weights of the targets and of the non-targets, in the order of their scores.

        Args:
            weights: whole numbers from 0, in the order in which the trials were given, shape
                (trials,).
        """
        own, others = self._places
        return weights[own], weights[others]
