"""The source's intonation, moved to where the pseudo-speaker speaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.base import (
    Contour,
    FloatArray,
    Prosody,
    fitted,
)
from sordino.anonymize.prosody.placed import Placed, Placing
from sordino.anonymize.prosody.register import Register

if TYPE_CHECKING:
    from sordino.anonymize.base import Draws

LEAST_STRETCH, MOST_STRETCH = 0.4, 2.5


class Keep(Prosody):
    """The shape of the source's intonation, with its mean moved to the pseudo-speaker's.

    Args:
        lookahead: see `Prosody`.

    Example:
        >>> Keep(lookahead=1).settings()
        {}
    """

    name = "keep"

    def settings(self) -> Mapping[str, object]:
        """See `Prosody.settings`."""
        return {}

    def contour(self, register: Register, draws: Draws) -> Contour:
        """See `Prosody.contour`."""
        return _Moved(register, self.ahead, stretched=False)


class Normalise(Keep):
    """The same with the spread of the pitch brought to the pseudo-speaker's, too.

    The spread changes by a factor of 0.4 to 2.5: beyond, the tracker's errors would be heard.

    Example:
        >>> Normalise().ahead
        300
    """

    name = "normalise"

    def contour(self, register: Register, draws: Draws) -> Contour:
        """See `Prosody.contour`."""
        return _Moved(register, self.ahead, stretched=True)


def stretched(placed: Placed, register: Register) -> FloatArray:
    """Offsets from the speaker's mean, with the spread of a register.

    Args:
        placed: the track.
        register: whose spread.

    Returns:
        Natural logarithm of F0 over the mean, shape (frames,).

    Example:
        >>> placed = Placed(np.array([True]), np.array([0.1]), np.array([0.2]))
        >>> stretched(placed, Register(5.0, 0.3)).round(6)
        array([0.15])
    """
    factor = register.deviation / np.maximum(placed.deviation, 1e-6)
    return placed.offset * np.clip(factor, LEAST_STRETCH, MOST_STRETCH)


class _Moved(Contour):
    def __init__(self, register: Register, ahead: int, stretched: bool) -> None:
        self.delay = ahead
        self._register = register
        self._stretched = stretched
        self._placing = Placing(ahead)

    def process(self, f0: npt.NDArray[np.floating], last: bool = False) -> FloatArray:
        placed = self._placing.process(f0, last)
        offset = stretched(placed, self._register) if self._stretched else placed.offset
        return fitted(self._register.mean + offset, placed.voiced)
