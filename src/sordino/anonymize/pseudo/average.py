"""The mean of many voices of the pool: the paper's way, and that of most others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Draws
from sordino.anonymize.pseudo.base import (
    Gender,
    Source,
    Strategy,
    checked_choice,
    checked_count,
    checked_source,
    depends_on_source,
    group_of,
    unit,
)
from sordino.anonymize.pseudo.keyed import uniforms, voice_seed
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]
Proximity = Literal["farthest", "nearest", "random"]

_MOST = 1_000_000


class Average(Strategy):
    """The mean of voices drawn by the key from those farthest from the source.

    Every voice of the pool has a keyed priority for each pseudo-speaker, and of the candidates
    those of highest priority are averaged: a source vector that is a little different, as from
    another recording, changes only a few of them.

    The mean of many voices is nearly the mean of all: pseudo-speakers of one sex hardly differ.

    Args:
        gender: "same" or "cross" as seen from the source; "F"; "M"; or "any", by the key.
        proximity: whether candidates are the "farthest" from the source by cosine, the "nearest",
            or all ("random").
        candidates: how many voices are drawn from; without effect with "random".
        averaged: how many are averaged.

    Raises:
        UsageError: a setting is out of range, or more are averaged than there are candidates.

    Example:
        >>> Average().settings()
        {'gender': 'same', 'proximity': 'farthest', 'candidates': 200, 'averaged': 100}

    Source: B. M. L. Srivastava et al., "Design choices for x-vector based speaker anonymization",
    2020; X. Miao et al., "Language-independent speaker anonymization approach using
    self-supervised pre-trained models", 2022, whose system has these defaults.
    """

    name = "average"

    def __init__(
        self,
        gender: Gender = "same",
        proximity: Proximity = "farthest",
        candidates: int = 200,
        averaged: int = 100,
    ) -> None:
        self._gender: Gender = checked_choice(gender, "gender", Gender)
        self._proximity: Proximity = checked_choice(proximity, "proximity", Proximity)
        self._candidates = checked_count(candidates, "candidates", 1, _MOST)
        self._averaged = checked_count(averaged, "averaged", 1, _MOST)
        if proximity != "random" and self._averaged > self._candidates:
            raise UsageError(
                f"averaged {self._averaged} is more than candidates {self._candidates}"
            )

    @property
    def needs_source(self) -> bool:
        """See `Strategy.needs_source`."""
        return self._proximity != "random" or depends_on_source(self._gender)

    def settings(self) -> Mapping[str, object]:
        """See `Strategy.settings`."""
        return {
            "gender": self._gender,
            "proximity": self._proximity,
            "candidates": self._candidates,
            "averaged": self._averaged,
        }

    def choose(self, pool: Pool, draws: Draws, source: Source | None = None) -> FloatArray:
        """See `Strategy.choose`."""
        group = group_of(self._gender, pool, draws, source)
        rows = self._near_enough(pool, group, source)
        priority = uniforms(voice_seed(draws, "average"), len(pool))
        # In the order of the pool, so that the sum does not depend on the priorities.
        chosen = np.sort(rows[np.argsort(priority[rows])[: self._averaged]])
        return unit(pool.vectors[chosen].mean(axis=0))

    def _near_enough(self, pool: Pool, group: str, source: Source | None) -> npt.NDArray[np.intp]:
        if self._proximity == "random":
            return pool.members(
                group,
                fewest=self._averaged,
                remedy="set averaged to fewer, or use a pool with more voices",
            )
        known = checked_source(source, pool, f"proximity {self._proximity!r}")
        rows = pool.members(
            group,
            fewest=self._candidates,
            remedy="set candidates (and averaged) to fewer, or use a pool with more voices",
        )
        cosines = pool.vectors[rows] @ known.vector
        order = np.argsort(cosines if self._proximity == "farthest" else -cosines, kind="stable")
        nearest: npt.NDArray[np.intp] = rows[order[: self._candidates]]
        return nearest
