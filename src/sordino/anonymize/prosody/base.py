"""What every way to treat a speaker's intonation is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.register import HIGHEST_HZ, LOWEST_HZ, Register
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.anonymize.base import Draws

FloatArray = npt.NDArray[np.float64]

FRAME_S = 0.01
SEMITONE = math.log(2) / 12
LOOK_AHEAD_S = 3.0
MOST_LOOK_AHEAD_S = 60.0


class Contour(ABC):
    """The pitch of one signal on its way to another voice; pieces come and go in order.

    What comes out does not depend on how the track is cut.

    Attributes:
        delay: frames by which the output may lag behind the input.
    """

    delay: int = 0

    @abstractmethod
    def process(self, f0: npt.NDArray[np.floating], last: bool = False) -> FloatArray:
        """Convert the next piece.

        Args:
            f0: hertz by frame of 10 ms, 0 where unvoiced, shape (frames,); may be empty.
            last: whether the track ends here.

        Returns:
            The next frames that can be said, shape (any,); after the last piece as many in total
            as came in, voiced where the source is.
        """


class Prosody(ABC):
    """A way to treat intonation.

    Args:
        lookahead: seconds after a frame that count towards where its speaker speaks, 0 to 60; a
            stream is delayed by as much. Without effect on modes that do not ask where.

    Attributes:
        name: the mode's name.
        ahead: the look-ahead in frames.

    Raises:
        UsageError: a setting is out of range.
    """

    name: ClassVar[str]

    def __init__(self, lookahead: float = LOOK_AHEAD_S) -> None:
        seconds = checked_number(self.name, "lookahead", lookahead, 0, MOST_LOOK_AHEAD_S)
        self.ahead = round(seconds / FRAME_S)

    @abstractmethod
    def settings(self) -> Mapping[str, object]:
        """Public settings of the mode alone, as they appear in run records."""

    @abstractmethod
    def contour(self, register: Register, draws: Draws) -> Contour:
        """Begin a signal.

        Args:
            register: where the pseudo-speaker speaks.
            draws: the pseudo-speaker's random choices.
        """


def fitted(logs: FloatArray, voiced: npt.NDArray[np.bool_]) -> FloatArray:
    """Hertz from logarithms, held to 50 to 600 Hz; 0 where unvoiced.

    Args:
        logs: natural logarithm of hertz, shape (frames,).
        voiced: shape (frames,).

    Example:
        >>> fitted(np.log([20.0, 200, 200]), np.array([True, True, False])).round()
        array([ 50., 200.,   0.])
    """
    return np.where(voiced, np.clip(np.exp(logs), LOWEST_HZ, HIGHEST_HZ), 0.0)


def checked_number(mode: str, name: str, value: object, lowest: float, highest: float) -> float:
    """A setting as a number.

    Args:
        mode: whose setting it is, for the message.
        name: of the setting.
        value: as given.
        lowest: that is allowed.
        highest: that is allowed.

    Raises:
        UsageError: it is no number or out of range.

    Example:
        >>> checked_number("quantise", "steps", 40, 0.5, 12)
        Traceback (most recent call last):
        sordino.errors.UsageError: prosody quantise: steps is 40; expected 0.5 to 12
    """
    if (
        isinstance(value, Real)
        and not isinstance(value, bool)
        and lowest <= float(value) <= highest
    ):
        return float(value)
    raise UsageError(f"prosody {mode}: {name} is {value!r}; expected {lowest:g} to {highest:g}")
