"""No noise, and no guarantee."""

from __future__ import annotations

import math
from typing import Literal

from sordino.errors import UsageError
from sordino.privacy.mechanisms.base import Additive
from sordino.privacy.mechanisms.checks import checked_clip
from sordino.privacy.mechanisms.clip import clip_l1, clip_l2
from sordino.privacy.randomness import FloatArray, Randomness

_CLIPS = {"l1": clip_l1, "l2": clip_l2}


class Unprotected(Additive):
    """Clips and adds nothing: for comparisons, and where noise was used in training only.

    Args:
        clip: bound on the norm, above 0.
        norm: "l1" or "l2".

    Raises:
        UsageError: an argument is missing or out of range.

    Example:
        >>> mechanism = Unprotected(clip=1.0)
        >>> mechanism.statement()["why_not"]
        'no DP guarantee: nothing random is added'
        >>> mechanism.epsilon
        inf
    """

    name = "none"
    epsilon = math.inf

    def __init__(self, clip: float | None = None, norm: Literal["l1", "l2"] = "l1") -> None:
        if norm not in _CLIPS:
            raise UsageError(f"norm {norm!r} is not one of: {', '.join(_CLIPS)}")
        self.clip = checked_clip(clip)
        self.norm = norm

    def mean_squared_error(self, dimension: int) -> float:
        """0: the clipped vector is what is released."""
        return 0.0

    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        return _CLIPS[self.norm](rows, self.clip)

    def _terms(self) -> dict[str, object]:
        return {"clip": self.clip, "norm": self.norm, "grid": None}

    def _why_no_guarantee(self, randomness: Randomness | None) -> str | None:
        return "no DP guarantee: nothing random is added"
