"""Figures of the convex hull of the ROC, from the steps of the optimal calibration.

The hull's edges are the steps, so that one calibration gives its equal error rate, every detection
cost, the least Cllr and the disclosure.
"""

from __future__ import annotations

import numpy as np

from sordino.evaluate.metrics.pav import Counts, Steps


def hull_equal_error_rate(steps: Steps) -> float:
    """The equal error rate on the convex hull; see `eer.equal_error_rate_convex_hull`.

    Args:
        steps: of `pav.optimal_calibration`, not smoothed.

    Example:
        >>> from sordino.evaluate.metrics.pav import optimal_calibration
        >>> hull_equal_error_rate(optimal_calibration([1.0, 3.0], [0.0, 2.0]))
        0.25
    """
    misses, alarms = _corners(steps)
    total, opposed = int(misses[-1]), int(alarms[0])
    # The first corner at which misses have caught up with false alarms; the last is one.
    at = int(np.argmax(misses * opposed >= alarms * total))
    missed, missed_before = int(misses[at]), int(misses[at - 1])
    alarmed, alarmed_before = int(alarms[at]), int(alarms[at - 1])
    fall, rise = alarmed_before - alarmed, missed - missed_before
    return (missed * fall + rise * alarmed) / (fall * total + rise * opposed)


def hull_detection_cost(
    steps: Steps, *, p_target: float = 0.01, c_miss: float = 1.0, c_fa: float = 1.0
) -> float:
    """The smallest detection cost over all thresholds; see `eer.min_dcf`.

    Args:
        steps: of `pav.optimal_calibration`, not smoothed.
        p_target: how many trials are expected to be targets, between 0 and 1.
        c_miss: cost of a miss, above 0.
        c_fa: cost of a false alarm, above 0.

    Example:
        >>> from sordino.evaluate.metrics.pav import optimal_calibration
        >>> hull_detection_cost(optimal_calibration([1.0, 3.0], [0.0, 2.0]), p_target=0.5)
        0.5
    """
    misses, alarms = _corners(steps)
    reject, accept = c_miss * p_target, c_fa * (1 - p_target)
    costs = misses * (reject / misses[-1]) + alarms * (accept / alarms[0])
    return min(1.0, float(costs.min()) / min(reject, accept))


def _corners(steps: Steps) -> tuple[Counts, Counts]:
    """Misses and false alarms at the corners of the hull, thresholds rising."""
    misses = np.concatenate([[0], np.cumsum(steps.targets, dtype=np.int64)])
    rejected = np.concatenate([[0], np.cumsum(steps.nontargets, dtype=np.int64)])
    return misses, rejected[-1] - rejected
