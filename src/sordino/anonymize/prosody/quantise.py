"""The source's intonation in coarse steps that a key moves about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.base import (
    LOOK_AHEAD_S,
    SEMITONE,
    Contour,
    FloatArray,
    Prosody,
    checked_number,
    fitted,
)
from sordino.anonymize.prosody.noise import seed_of
from sordino.anonymize.prosody.placed import Placing
from sordino.anonymize.prosody.register import Register
from sordino.anonymize.prosody.shift import stretched
from sordino.anonymize.prosody.smoothing import Smoothing
from sordino.dsp.sequences import uniforms

if TYPE_CHECKING:
    from sordino.anonymize.base import Draws

BoolArray = npt.NDArray[np.bool_]

# Before the steps: 90 ms, so that the shake of a voice does not climb steps. After them: 170 ms,
# so that the pitch glides as fast as people let it.
_BEFORE, _AFTER = 4, 8
_HOLD = 0.75
_PAUSE = 10


class Quantise(Prosody):
    """The pitch normalised, in steps, each moved by the key, with glides in between.

    What is left of the source is on which step its intonation is, and when it goes to another.
    Where the steps lie is drawn for each pseudo-speaker, by how much one is off for each time
    that it is reached.

    Args:
        steps: semitones from one to the next, 0.25 to 12.
        jitter: how far a step moves at most to either side, as a share of half a step, 0 to 1.
        lookahead: see `Prosody`; the delay is 0.12 s more.

    Raises:
        UsageError: a setting is out of range.

    Example:
        >>> Quantise(steps=3).settings()
        {'steps': 3.0, 'jitter': 0.5}
    """

    name = "quantise"

    def __init__(
        self, steps: float = 2.0, jitter: float = 0.5, lookahead: float = LOOK_AHEAD_S
    ) -> None:
        super().__init__(lookahead)
        self._steps = checked_number(self.name, "steps", steps, 0.25, 12)
        self._jitter = checked_number(self.name, "jitter", jitter, 0, 1)

    def settings(self) -> Mapping[str, object]:
        """See `Prosody.settings`."""
        return {"steps": self._steps, "jitter": self._jitter}

    def contour(self, register: Register, draws: Draws) -> Contour:
        """See `Prosody.contour`."""
        steps = Steps(
            self._steps * SEMITONE,
            self._jitter,
            draws.uniform("prosody steps"),
            seed_of(draws, "prosody jitter"),
        )
        return _Stepped(register, self.ahead, steps)


class Steps:
    """Holds a contour on steps.

    A step is left when the contour is more than three quarters of a step away from it, and
    begins anew after 100 ms without voice.

    Args:
        size: of a step.
        jitter: share of half a step by which a step moves at most to either side.
        place: of the steps, 0 to 1 of a step.
        seed: of the jitter. It depends on when a step begins, so that recordings of one speaker
            do not share a sequence that could be averaged and taken off.

    Example:
        >>> steps = Steps(1.0, 0.0, 0.0, seed=1)
        >>> steps.hold(np.array([0.1, 0.6, 0.8, 1.4, 0.4]), np.full(5, True))
        array([0., 0., 1., 1., 1.])
    """

    def __init__(self, size: float, jitter: float, place: float, seed: int) -> None:
        self._size, self._jitter, self._place, self._seed = size, jitter, place * size, seed
        self._frame = 0
        self._silent = _PAUSE
        self._step = 0.0
        self._moved = 0.0

    def hold(self, values: FloatArray, voiced: BoolArray) -> FloatArray:
        """The steps on which the next frames are, shape (frames,); 0 where unvoiced."""
        held = np.zeros(values.size)
        for index in np.flatnonzero(voiced):
            frame = self._frame + int(index)
            value = float(values[index])
            if frame > self._silent + _PAUSE or abs(value - self._step) > _HOLD * self._size:
                self._step = round((value - self._place) / self._size) * self._size + self._place
                draw = float(uniforms(frame, 1, self._seed)[0])
                self._moved = (draw - 0.5) * self._jitter * self._size
            self._silent = frame
            held[index] = self._step + self._moved
        self._frame += values.size
        return held


class _Stepped(Contour):
    def __init__(self, register: Register, ahead: int, steps: Steps) -> None:
        self.delay = ahead + _BEFORE + _AFTER
        self._register = register
        self._placing = Placing(ahead)
        self._before, self._after = Smoothing(_BEFORE), Smoothing(_AFTER)
        self._steps = steps

    def process(self, f0: npt.NDArray[np.floating], last: bool = False) -> FloatArray:
        placed = self._placing.process(f0, last)
        smooth, voiced = self._before.process(
            stretched(placed, self._register), placed.voiced, last
        )
        glides, voiced = self._after.process(self._steps.hold(smooth, voiced), voiced, last)
        return fitted(self._register.mean + glides, voiced)
