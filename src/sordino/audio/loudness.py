"""Programme loudness, measured block by block."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.signal import sosfilt

FloatArray = npt.NDArray[np.floating]

_ABSOLUTE_GATE = -70.0
_RELATIVE_GATE = -10.0
_OFFSET = -0.691
_STEPS_PER_BLOCK = 4


def k_weighting(sample_rate: int) -> npt.NDArray[np.float64]:
    """The two filters of ITU-R BS.1770 (high shelf, high pass) for any sample rate.

    Args:
        sample_rate: in Hz, above 4,000.

    Returns:
        Second-order sections, shape (2, 6).

    Source: ITU-R BS.1770-4, annex 1; the analogue prototypes behind its 48 kHz tables.
    """
    shelf_k = math.tan(math.pi * 1681.974450955533 / sample_rate)
    shelf_q, gain = 0.7071752369554196, 10.0 ** (3.999843853973347 / 20.0)
    middle = gain**0.4996667741545416
    norm = 1.0 + shelf_k / shelf_q + shelf_k**2
    shelf = [
        (gain + middle * shelf_k / shelf_q + shelf_k**2) / norm,
        2.0 * (shelf_k**2 - gain) / norm,
        (gain - middle * shelf_k / shelf_q + shelf_k**2) / norm,
        1.0,
        2.0 * (shelf_k**2 - 1.0) / norm,
        (1.0 - shelf_k / shelf_q + shelf_k**2) / norm,
    ]
    pass_k = math.tan(math.pi * 38.13547087602444 / sample_rate)
    pass_q = 0.5003270373238773
    norm = 1.0 + pass_k / pass_q + pass_k**2
    high_pass = [
        1.0,
        -2.0,
        1.0,
        1.0,
        2.0 * (pass_k**2 - 1.0) / norm,
        (1.0 - pass_k / pass_q + pass_k**2) / norm,
    ]
    return np.array([shelf, high_pass])


class LoudnessMeter:
    """Gated loudness of a stream, in memory that grows by ten numbers a second.

    All channels weigh the same (the standard's weights differ for surround channels only).

    Args:
        sample_rate: in Hz.

    Example:
        >>> meter = LoudnessMeter(48000)
        >>> t = np.arange(48000) / 48000
        >>> meter.add(np.sin(2 * np.pi * 997 * t)[None])
        >>> round(meter.loudness(), 1)
        -3.0

    Source: ITU-R BS.1770-4 (400 ms blocks, three quarters overlap, gates at -70 LUFS and at
    10 LU below the ungated mean).
    """

    def __init__(self, sample_rate: int) -> None:
        self._sections = k_weighting(sample_rate)
        self._step = round(0.1 * sample_rate)
        self._state: npt.NDArray[np.float64] | None = None
        self._rest = np.zeros(0)
        self._powers: list[npt.NDArray[np.float64]] = []

    def add(self, block: FloatArray) -> None:
        """Take in samples of shape (channels, samples), full scale 1."""
        if block.shape[1] == 0:
            return
        if self._state is None:
            self._state = np.zeros((2, block.shape[0], 2))
        weighted, self._state = sosfilt(self._sections, block, axis=1, zi=self._state)
        power = np.concatenate([self._rest, np.einsum("cn,cn->n", weighted, weighted)])
        whole = power.size // self._step * self._step
        self._powers.append(power[:whole].reshape(-1, self._step).mean(axis=1))
        self._rest = power[whole:]

    def loudness(self) -> float:
        """Loudness so far in LUFS; -inf for silence.

        Signals that are too short or too soft for the gates give their ungated loudness.
        """
        steps = np.concatenate(self._powers) if self._powers else np.zeros(0)
        if steps.size >= _STEPS_PER_BLOCK:
            blocks = np.convolve(steps, np.full(_STEPS_PER_BLOCK, 1 / _STEPS_PER_BLOCK), "valid")
            blocks = blocks[blocks > _power(_ABSOLUTE_GATE)]
            if blocks.size:
                gated = blocks[blocks > blocks.mean() * 10.0 ** (_RELATIVE_GATE / 10.0)]
                return _lufs(float(gated.mean()))
        samples = steps.size * self._step + self._rest.size
        total = float(steps.sum()) * self._step + float(self._rest.sum())
        return _lufs(total / samples if samples else 0.0)


def _lufs(power: float) -> float:
    return _OFFSET + 10.0 * math.log10(power) if power > 0.0 else -math.inf


def _power(lufs: float) -> float:
    return float(10.0 ** ((lufs - _OFFSET) / 10.0))
