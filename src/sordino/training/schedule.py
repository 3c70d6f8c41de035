"""How the learning rate goes over a run."""

from __future__ import annotations

import math


def warm_cosine(step: int, *, warmup: int, steps: int) -> float:
    """Share of the highest learning rate: up in a straight line, then down a half cosine.

    Args:
        step: from 0.
        warmup: steps to the top.
        steps: of the whole run; the share there is 0.

    Example:
        >>> [round(warm_cosine(s, warmup=2, steps=6), 3) for s in range(7)]
        [0.5, 1.0, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    if step < warmup:
        return (step + 1) / warmup
    done = min(1.0, (step - warmup) / max(1, steps - warmup))
    return 0.5 * (1 + math.cos(math.pi * done))
