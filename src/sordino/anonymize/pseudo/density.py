"""Voices that nobody has, drawn from the distribution of real ones."""

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
    checked_count,
    checked_number,
    depends_on_source,
    group_of,
)
from sordino.anonymize.pseudo.codebook import codebook, one_voice
from sordino.anonymize.pseudo.keyed import common_seed, voice_seed
from sordino.anonymize.pseudo.pool import Pool

FloatArray = npt.NDArray[np.float64]


class Density(Strategy):
    """A voice drawn from a normal distribution that is fitted to the pool's voices of one sex.

    Voices near a real voice of the pool are rejected. Each is drawn on its own: no two are the
    same, and two that would pass for one person are rare beyond what could be counted
    (docs/pseudo-speakers.md).

    With `voices`, those near one already given out are rejected too: the key makes a list of so
    many voices for each sex, all apart from each other (see
    `sordino.anonymize.pseudo.codebook.codebook`), and each speaker gets one of them by a keyed
    draw. Nothing has to be remembered, so two speakers may draw the same one: any two of one sex
    with probability 1 / `voices`; of n such speakers, n (n - 1) / (2 `voices`) pairs on average,
    which is one pair for 91 speakers and 4,096 voices.

    Args:
        gender: "F"; "M"; "any", either with probability 1/2, by the key; or "same" or "cross" as
            seen from the source.
        voices: length of the list of voices for each sex, at most 16,384; 0 for no list.
        spread: multiplies the standard deviations of the distribution, 0.5 to 2; higher makes
            voices more different and less natural.

    Raises:
        UsageError: a setting is out of range.

    Example:
        >>> Density(voices=1000).settings()
        {'gender': 'any', 'voices': 1000, 'spread': 1.0}
    """

    name = "density"

    def __init__(self, gender: Gender = "any", voices: int = 0, spread: float = 1.0) -> None:
        self._gender: Gender = checked_choice(gender, "gender", Gender)
        self._voices = checked_count(voices, "voices", 0, 16_384)
        self._spread = checked_number(spread, "spread", 0.5, 2.0)

    @property
    def needs_source(self) -> bool:
        """See `Strategy.needs_source`."""
        return depends_on_source(self._gender)

    def settings(self) -> Mapping[str, object]:
        """See `Strategy.settings`."""
        return {"gender": self._gender, "voices": self._voices, "spread": self._spread}

    def choose(self, pool: Pool, draws: Draws, source: Source | None = None) -> FloatArray:
        """See `Strategy.choose`."""
        group = group_of(self._gender, pool, draws, source)
        if self._voices == 0:
            seed = voice_seed(draws, f"density {group}")
            return one_voice(pool, seed, group, self._spread)
        seed = common_seed(draws, f"density {group}")
        book = codebook(pool, seed, group, self._voices, self._spread)
        number = int(draws.uniform("pseudo-speaker voice") * len(book))
        voice: FloatArray = book[number].copy()
        return voice
