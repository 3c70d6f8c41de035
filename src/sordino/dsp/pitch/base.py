"""What every pitch tracker is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from types import ModuleType
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]

RATE = 16_000
HOP = 160


class Tracker(ABC):
    """Finds the pitch of speech, a hundred times a second.

    It can be pickled; what it opens is opened once in each process.

    Attributes:
        name: the tracker's name.
        lowest: pitch in hertz that it can find.
        highest: pitch in hertz that it can find.
        context: samples on each side that a window needs so that its own frames come out as those
            of the whole signal, if it begins at a multiple of 1280; None where a frame may depend
            on all of the signal.
    """

    name: ClassVar[str]
    lowest: ClassVar[float]
    highest: ClassVar[float]
    context: ClassVar[int | None]

    def track(self, signal: npt.NDArray[np.floating]) -> FloatArray:
        """The pitch of a signal.

        Args:
            signal: mono at 16 kHz, full scale 1, shape (samples,); samples a multiple of 160.

        Returns:
            Shape (samples / 160,): hertz, or 0 where there is no voice. Frame j is centred on
            sample 160 j + 80.

        Raises:
            ValueError: the signal is not of that shape.
            UsageError: a package that is needed is not installed.
            AudioError: the tracker failed on a signal that it should be able to track.
        """
        wave = np.asarray(signal)
        if wave.ndim != 1 or wave.size % HOP:
            raise ValueError(f"a signal of shape {wave.shape} is not whole frames of {HOP} samples")
        return self._track(wave) if wave.size else np.zeros(0)

    @abstractmethod
    def _track(self, wave: npt.NDArray[np.floating]) -> FloatArray:
        """See `track`; at least one frame."""


def package(module: str, tracker: str, name: str) -> ModuleType:
    """Import what a tracker needs.

    Args:
        module: its name.
        tracker: that needs it.
        name: of the package as it is installed.

    Raises:
        UsageError: it is not installed.

    Example:
        >>> package("nowhere", "swift", "nowhere")
        Traceback (most recent call last):
        sordino.errors.UsageError: the pitch tracker swift needs a package: pip install nowhere
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"the pitch tracker {tracker} needs a package: pip install {name}"
        ) from error
