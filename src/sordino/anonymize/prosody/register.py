"""Where a voice speaks: the mean and the spread of its pitch."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.statistics import RunningPitch
from sordino.errors import UsageError

LOWEST_HZ, HIGHEST_HZ = 50.0, 600.0
_MOST_DEVIATION = 1.0


@dataclass(frozen=True)
class Register:
    """The pitch of a voice, as statistics of the natural logarithm of F0 in hertz.

    Attributes:
        mean: over voiced frames; from log 50 to log 600.
        deviation: standard deviation over voiced frames; from 0 to 1. A semitone is 0.058.

    Raises:
        UsageError: a number is out of range.

    Example:
        >>> register = Register(math.log(200), 0.17)
        >>> round(register.hertz)
        200
    """

    mean: float
    deviation: float

    def __post_init__(self) -> None:
        if not math.log(LOWEST_HZ) <= self.mean <= math.log(HIGHEST_HZ):
            raise UsageError(
                f"a register's mean is {self.mean:g}; expected the natural logarithm of"
                f" {LOWEST_HZ:g} to {HIGHEST_HZ:g} Hz"
            )
        if not 0 <= self.deviation <= _MOST_DEVIATION:
            raise UsageError(
                f"a register's deviation is {self.deviation:g}; expected 0 to {_MOST_DEVIATION:g}"
            )

    @property
    def hertz(self) -> float:
        """The pitch at the mean."""
        return math.exp(self.mean)

    @classmethod
    def of(cls, f0: npt.NDArray[np.floating]) -> Register:
        """The register of somebody's speech; a few octave errors in the track do no harm.

        Args:
            f0: hertz by frame, 0 where unvoiced, shape (frames,).

        Raises:
            UsageError: no frame is voiced.

        Example:
            >>> round(Register.of(np.array([0, 200.0, 200, 0, 200])).hertz)
            200
        """
        voiced = f0[f0 > 0].astype(np.float64)
        if not voiced.size:
            raise UsageError("speech without a voiced frame has no register")
        mean, deviation = RunningPitch().add(np.log(voiced))[-1]
        lowest, highest = math.log(LOWEST_HZ), math.log(HIGHEST_HZ)
        return cls(min(max(float(mean), lowest), highest), min(float(deviation), _MOST_DEVIATION))
