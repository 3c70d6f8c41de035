"""Keep the level: gain that restores loudness, and a limiter so that nothing clips."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy.ndimage import minimum_filter1d, uniform_filter1d
from scipy.signal import lfilter

from sordino.audio.loudness import LoudnessMeter

FloatArray = npt.NDArray[np.float64]

MAX_GAIN_DB = 60.0
_MATCHING_ROUNDS = 3
_MAX_MAKE_UP = 2.0
_CLOSE = 1.01
_LOOK_AHEAD_S = 0.004
_FOLLOW_S = 0.5
_FOLLOW_FLOOR = 1e-7


def restoring_gain(wanted: float, measured: float) -> float:
    """Linear gain that takes a loudness to the wanted one.

    Args:
        wanted: LUFS, -inf for silence.
        measured: LUFS, -inf for silence.

    Returns:
        A factor of at most `MAX_GAIN_DB` either way; 1 where either side is silent.

    Example:
        >>> round(restoring_gain(-20.0, -26.0), 3)
        1.995
    """
    if math.isinf(wanted) or math.isinf(measured):
        return 1.0
    change = min(MAX_GAIN_DB, max(-MAX_GAIN_DB, wanted - measured))
    return float(10.0 ** (change / 20.0))


def matching_gain(
    blocks: Callable[[], Iterable[npt.NDArray[np.floating]]],
    wanted: float,
    measured: float,
    *,
    ceiling: float,
    sample_rate: int,
) -> float:
    """Gain at which a signal, with its peaks limited, is as loud as wanted.

    Holding peaks costs loudness; the gain makes up for it, by 6 dB at most.

    Args:
        blocks: gives the signal, as arrays (channels, samples), from its start at each call.
        wanted: LUFS, -inf for silence.
        measured: loudness of the signal as it is, in LUFS.
        ceiling: see `Limiter`.
        sample_rate: in Hz.

    Returns:
        Linear gain.

    Example:
        >>> x = np.sin(np.arange(48000) * 0.1)[None]
        >>> gain = matching_gain(lambda: [x], -20.0, -3.7, ceiling=1.0, sample_rate=48000)
        >>> round(gain, 3)
        0.153
    """
    plain = gain = restoring_gain(wanted, measured)
    peak = max((float(np.abs(block).max(initial=0.0)) for block in blocks()), default=0.0)
    for _ in range(_MATCHING_ROUNDS if peak * gain > ceiling else 0):
        meter = LoudnessMeter(sample_rate)
        for block in limited(blocks(), gain, ceiling=ceiling, sample_rate=sample_rate):
            meter.add(block)
        lack = restoring_gain(wanted, meter.loudness())
        if lack < _CLOSE or gain == plain * _MAX_MAKE_UP:
            break
        gain = min(gain * lack, plain * _MAX_MAKE_UP)
    return gain


class Limiter:
    """Holds peaks under a ceiling by a gain that dips smoothly around them.

    Where no peak passes the ceiling the signal goes through unchanged. The output is
    independent of how the stream is cut into blocks.

    Args:
        ceiling: largest absolute value of the output, in (0, 1].
        sample_rate: in Hz; the gain starts to dip 4 ms before a peak.

    Example:
        >>> limiter = Limiter(0.5, 16000)
        >>> parts = [limiter.process(np.full((1, 1000), 2.0)), limiter.flush()]
        >>> out = np.concatenate(parts, axis=1)
        >>> out.shape, float(np.abs(out).max()) <= 0.5
        ((1, 1000), True)
    """

    def __init__(self, ceiling: float, sample_rate: int) -> None:
        if not 0.0 < ceiling <= 1.0:
            raise ValueError(f"ceiling {ceiling} is not in (0, 1]")
        self._ceiling = ceiling
        self._radius = max(1, round(_LOOK_AHEAD_S * sample_rate / 2))
        self._buffer: FloatArray | None = None
        self._past = 0

    def process(self, block: npt.NDArray[np.floating]) -> FloatArray:
        """Take in samples (channels, samples); give out those that are ready."""
        fresh = np.asarray(block, dtype=np.float64)
        self._buffer = fresh if self._buffer is None else np.concatenate([self._buffer, fresh], 1)
        return self._emit(self._buffer.shape[1] - 4 * self._radius)

    def flush(self) -> FloatArray:
        """Give out what is left; the limiter can then be used for another signal."""
        if self._buffer is None:
            return np.zeros((0, 0))
        rest = self._emit(self._buffer.shape[1])
        self._buffer, self._past = None, 0
        return rest

    def _emit(self, until: int) -> FloatArray:
        assert self._buffer is not None
        if until <= self._past:
            return self._buffer[:, :0]
        ready = self._buffer[:, self._past : until]
        peaks = np.abs(self._buffer).max(axis=0)
        if peaks.max() > self._ceiling:
            wanted = np.minimum(1.0, self._ceiling / np.maximum(peaks, self._ceiling))
            # Two moving averages of the held minimum stay below the wanted gain everywhere.
            width = 2 * self._radius + 1
            gain = minimum_filter1d(wanted, 2 * width - 1, mode="nearest")
            for _ in range(2):
                gain = uniform_filter1d(gain, width, mode="nearest")
            ready = ready * gain[self._past : until]
            ready = np.clip(ready, -self._ceiling, self._ceiling)
        keep = max(0, until - 4 * self._radius)
        self._buffer = self._buffer[:, keep:]
        self._past = until - keep
        return ready


def limited(
    blocks: Iterable[npt.NDArray[np.floating]], gain: float, *, ceiling: float, sample_rate: int
) -> Iterator[FloatArray]:
    """A signal times a gain, with its peaks held under a ceiling.

    Args:
        blocks: arrays (channels, samples), one signal cut into pieces.
        gain: linear.
        ceiling: see `Limiter`.
        sample_rate: in Hz.

    Yields:
        Arrays (channels, samples); as many samples in total as came in.

    Example:
        >>> parts = limited([np.ones((1, 500))] * 2, 3.0, ceiling=0.5, sample_rate=16000)
        >>> np.concatenate(list(parts), axis=1).shape
        (1, 1000)
    """
    limiter = Limiter(ceiling, sample_rate)
    for block in blocks:
        yield limiter.process(block * gain)
    yield limiter.flush()


class LevelFollower:
    """Running gain that keeps a live stream as loud as its source.

    For streams, whose loudness as a whole is not known yet: a gain from the mean squares of
    source and result over the last half second, at most 60 dB either way.

    Args:
        sample_rate: in Hz.
    """

    def __init__(self, sample_rate: int) -> None:
        keep = math.exp(-1.0 / (_FOLLOW_S * sample_rate))
        self._filter = ([1.0 - keep], [1.0, -keep])
        self._state = np.full((2, 1), keep * _FOLLOW_FLOOR)

    def process(self, source: npt.NDArray[np.floating], result: FloatArray) -> FloatArray:
        """Scale `result` towards `source`; both (channels, samples), the same stretch of time."""
        if result.shape[1] == 0:
            return result
        powers = np.stack(
            [np.mean(np.square(x, dtype=np.float64), axis=0) for x in (source, result)]
        )
        smooth, self._state = lfilter(*self._filter, powers, axis=1, zi=self._state)
        bound = 10.0 ** (MAX_GAIN_DB / 20.0)
        tiny = np.finfo(np.float64).tiny
        gain = np.sqrt((smooth[0] + tiny) / (smooth[1] + tiny))
        levelled: FloatArray = result * np.clip(gain, 1.0 / bound, bound)
        return levelled
