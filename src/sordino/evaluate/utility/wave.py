"""A recording as the measures take it: one channel at 16 kHz."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.audio.resample import resample

RATE = 16_000

Wave = npt.NDArray[np.float32]


def wave_of(recording: Recording) -> Wave:
    """Average the channels and resample.

    Args:
        recording: of any rate and number of channels.

    Returns:
        float32, shape (samples,), at 16 kHz; at least one sample.

    Example:
        >>> wave_of(Recording(np.ones((2, 8000), dtype=np.float32), 8000)).shape
        (16000,)
    """
    mono = recording.samples.mean(axis=0, dtype=np.float64, keepdims=True)
    wave: Wave = resample(mono, recording.sample_rate, RATE)[0].astype(np.float32)
    return wave
