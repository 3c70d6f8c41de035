"""What an epsilon of whole templates forbids: to attackers who guess, and to verification too."""

from __future__ import annotations

import math


def auc_at_most(epsilon: float, delta: float = 0.0) -> float:
    """The best area under a curve of true over false positives that an attacker can reach.

    It holds for every attribute, every attacker and one release.

    Args:
        epsilon: above 0; infinity for none.
        delta: from 0 to below 1.

    Example:
        >>> [round(auc_at_most(epsilon), 3) for epsilon in (0.2, 1, 2, 3, 4, 15)]
        [0.55, 0.731, 0.881, 0.953, 0.982, 1.0]

    Source: area under the curves of P. Kairouz, S. Oh and P. Viswanath, "The composition theorem
    for differential privacy", 2015, theorem 2.1: straight lines from (0, delta) over (e, 1 - e)
    to (1 - delta, 1), e the equal error rate.
    """
    return 1 - (1 - delta) * eer_at_least(epsilon, delta)


def eer_at_least(epsilon: float, delta: float = 0.0) -> float:
    """The best equal error rate that anybody can reach who tells two templates apart.

    So also a verifier whose trials are single protected templates: whoever reports less has a
    mistake somewhere.

    Args:
        epsilon: above 0; infinity for none.
        delta: from 0 to below 1.

    Example:
        >>> [round(eer_at_least(epsilon), 3) for epsilon in (1, 2, 3, 4)]
        [0.269, 0.119, 0.047, 0.018]

    Source: see `auc_at_most`.
    """
    return (1 - delta) * math.exp(-epsilon) / (1 + math.exp(-epsilon))
