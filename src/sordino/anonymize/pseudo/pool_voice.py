"""One voice of the pool as it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Draws
from sordino.anonymize.pseudo.base import (
    Gender,
    Source,
    Strategy,
    checked_choice,
    depends_on_source,
    group_of,
)
from sordino.anonymize.pseudo.keyed import uniforms, voice_seed
from sordino.anonymize.pseudo.pool import Pool

FloatArray = npt.NDArray[np.float64]


class PoolVoice(Strategy):
    """A voice of the pool, drawn by the key.

    **It is a real person's voice**: what somebody says comes out in the voice of somebody who did
    not say it. Use it only with a pool of people who agreed to that.

    Args:
        gender: "same" or "cross" as seen from the source; "F"; "M"; or "any", by the key.

    Raises:
        UsageError: another word.

    Example:
        >>> PoolVoice(gender="F").settings()
        {'gender': 'F'}
    """

    name = "pool"

    def __init__(self, gender: Gender = "any") -> None:
        self._gender: Gender = checked_choice(gender, "gender", Gender)

    @property
    def needs_source(self) -> bool:
        """See `Strategy.needs_source`."""
        return depends_on_source(self._gender)

    def settings(self) -> Mapping[str, object]:
        """See `Strategy.settings`."""
        return {"gender": self._gender}

    def choose(self, pool: Pool, draws: Draws, source: Source | None = None) -> FloatArray:
        """See `Strategy.choose`."""
        group = group_of(self._gender, pool, draws, source)
        rows = pool.members(group, fewest=1, remedy="set gender to another, or use another pool")
        # A priority for each voice: a voice more in the pool changes few pseudo-speakers.
        priority = uniforms(voice_seed(draws, "pool"), len(pool))
        voice: FloatArray = pool.vectors[rows[np.argmin(priority[rows])]].copy()
        return voice
