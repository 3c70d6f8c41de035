"""SwiftF0: a small network that follows the pitch, fast and without the whole signal."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.dsp.pitch.base import HOP, RATE, FloatArray, Tracker, package

BoolArray = npt.NDArray[np.bool_]

# The network's own frames: number m is centred on sample 256 m.
_OWN_HOP = 256
_SURE, _LIKELY = 0.5, 0.2
_GROWTH = 4
_MOST_STEP = 0.1
_NEIGHBOURS = 4
_STRAY = 0.5


class Swift(Tracker):
    """The network of the package swift-f0, brought to frames of 10 ms.

    It hears 50 to 1000 Hz, children and singing included. The network is sure of the middle of a
    voiced stretch and often not of its ends, where a listener still hears voice: stretches grow
    by up to 64 ms on each side, as long as voice is likely and the pitch runs on.

    Source: L. Nieradzik, "SwiftF0: fast and accurate monophonic pitch detection", 2025.
    """

    name = "swift"
    lowest = 50.0
    highest = 1000.0
    context = 6400

    def _track(self, wave: npt.NDArray[np.floating]) -> FloatArray:
        # So many frames that each centre has one on either side.
        padding = 2 * _OWN_HOP - wave.size % _OWN_HOP
        padded = np.pad(wave.astype(np.float32), (0, padding))
        found = network().detect(padded, RATE, self.lowest, self.highest)
        pitch = np.asarray(found.pitch_hz, dtype=np.float64)
        confidence = np.asarray(found.confidence, dtype=np.float64)
        places = (HOP * np.arange(wave.size // HOP) + HOP / 2) / _OWN_HOP
        return resampled(pitch, confidence, voicing(pitch, confidence), places)


def voicing(pitch: FloatArray, confidence: FloatArray) -> BoolArray:
    """Which frames are voiced.

    Those of which the network is sure, without frames that stand alone or stray by more than
    half an octave or so from those around them (octave errors), and with likely frames beside
    them, up to four in a row, whose pitch runs on.

    Args:
        pitch: in hertz, shape (frames,).
        confidence: that there is voice, 0 to 1, shape (frames,).

    Example:
        >>> pitch = np.array([100.0, 100, 101, 202, 102, 103, 170])
        >>> voicing(pitch, np.array([0.1, 0.3, 0.9, 0.9, 0.9, 0.3, 0.3])).astype(int)
        array([0, 1, 1, 0, 1, 1, 0])
    """
    logs = np.log(pitch)
    voiced = confidence >= _SURE
    voiced &= ~_strays(logs, voiced)
    beside = np.pad(voiced, 2)
    voiced &= beside[:-4] | beside[1:-3] | beside[3:-1] | beside[4:]
    runs_on = np.abs(np.diff(logs)) < _MOST_STEP
    # A frame of which the network is sure was left out for a reason.
    likely = (confidence >= _LIKELY) & (confidence < _SURE)
    for _ in range(_GROWTH):
        reached = np.zeros_like(voiced)
        reached[1:] |= voiced[:-1] & runs_on
        reached[:-1] |= voiced[1:] & runs_on
        voiced |= reached & likely
    return voiced


def resampled(
    pitch: FloatArray, confidence: FloatArray, voiced: BoolArray, places: FloatArray
) -> FloatArray:
    """A pitch track at other places in time.

    Between two frames the confidence, held to the side of a half that the decision on voicing is
    on, runs straight and says where voice ends; so does the logarithm of the pitch between two
    voiced frames, and beside an unvoiced one the pitch is held.

    Args:
        pitch: in hertz, shape (frames,), from two frames.
        confidence: that there is voice, 0 to 1, shape (frames,).
        voiced: shape (frames,).
        places: in frames, from 0 to frames - 1, shape (places,).

    Returns:
        Hertz, 0 where there is no voice, shape (places,).

    Example:
        >>> pitch, sure = np.array([100.0, 121, 300]), np.array([1, 1, 0.1])
        >>> resampled(pitch, sure, sure > 0.5, np.array([0.5, 1.2, 1.9])).round(3)
        array([110., 121.,   0.])
    """
    held = np.where(voiced, np.maximum(confidence, _SURE), np.minimum(confidence, _SURE - 1e-9))
    left = np.minimum(places.astype(np.int64), pitch.size - 2)
    share = places - left
    sounding = (1 - share) * held[left] + share * held[left + 1] >= _SURE
    # Where neither neighbour is voiced, the place between them is not either.
    weight = np.where(voiced[left], np.where(voiced[left + 1], share, 0.0), 1.0)
    logs = np.log(pitch)
    between = np.exp((1 - weight) * logs[left] + weight * logs[left + 1])
    return np.where(sounding, between, 0.0)


@lru_cache(maxsize=1)
def network() -> Any:
    """The opened network; once in each process.

    Raises:
        UsageError: the package swift-f0 is not installed.
    """
    # Processes share the work; threads that wait must not take the processor from others.
    return package("swift_f0", Swift.name, "swift-f0").SwiftF0(threads=1, spin=False)


def _strays(logs: FloatArray, voiced: BoolArray) -> BoolArray:
    """Frames far from the median of the voiced frames around them, themselves included."""
    padded = np.pad(np.where(voiced, logs, np.inf), _NEIGHBOURS, constant_values=np.inf)
    around = np.sort(np.lib.stride_tricks.sliding_window_view(padded, 2 * _NEIGHBOURS + 1), axis=1)
    middle = np.maximum(np.isfinite(around).sum(axis=1) - 1, 0) // 2
    median = np.take_along_axis(around, middle[:, None], axis=1)[:, 0]
    return voiced & (np.abs(logs - np.where(voiced, median, 0.0)) > _STRAY)
