"""Nothing of the source's intonation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.base import (
    FRAME_S,
    LOOK_AHEAD_S,
    SEMITONE,
    Contour,
    FloatArray,
    Prosody,
    checked_number,
    fitted,
)
from sordino.anonymize.prosody.noise import seed_of, smooth_noise
from sordino.anonymize.prosody.register import Register

if TYPE_CHECKING:
    from sordino.anonymize.base import Draws

_PERIOD_S = 0.4


class Flatten(Prosody):
    """All voiced frames at the pseudo-speaker's mean, with a slow random drift around it.

    Of the source's prosody only its timing is left: when there is voice, and how long.

    Args:
        drift: how far the pitch drifts at most to either side, in semitones, 0 to 6. It comes
            from the key alone; without it speech sounds like a machine's.
        lookahead: without effect.

    Raises:
        UsageError: the setting is out of range.

    Example:
        >>> Flatten(drift=0).settings()
        {'drift': 0.0}
    """

    name = "flatten"

    def __init__(self, drift: float = 1.5, lookahead: float = LOOK_AHEAD_S) -> None:
        super().__init__(lookahead)
        self._drift = checked_number(self.name, "drift", drift, 0, 6)

    def settings(self) -> Mapping[str, object]:
        """See `Prosody.settings`."""
        return {"drift": self._drift}

    def contour(self, register: Register, draws: Draws) -> Contour:
        """See `Prosody.contour`."""
        return _Flat(register, self._drift * SEMITONE, seed_of(draws, "prosody drift"))


class _Flat(Contour):
    def __init__(self, register: Register, drift: float, seed: int) -> None:
        self._register, self._drift, self._seed = register, drift, seed
        self._frame = 0

    def process(self, f0: npt.NDArray[np.floating], last: bool = False) -> FloatArray:
        numbers = self._frame + np.arange(f0.size, dtype=np.float64)
        times: FloatArray = numbers * (FRAME_S / _PERIOD_S)
        self._frame += f0.size
        drift = self._drift * (2 * smooth_noise(times, self._seed) - 1)
        return fitted(self._register.mean + drift, f0 > 0)
