"""Speech as features and their students hear it: one channel at 16 kHz."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError

FloatArray = npt.NDArray[np.float32]

RATE = 16000


def whole_wave(utterance: Utterance) -> FloatArray:
    """All of an utterance: shape (samples,), at 16 kHz.

    Raises:
        AudioError: it cannot be read, or holds no samples, NaN or infinity.
    """
    recording = utterance.read()
    mono = recording.samples.mean(axis=0)
    if recording.sample_rate != RATE:
        mono = soxr.resample(mono, recording.sample_rate, RATE)
    return _sound(mono, utterance)


def part_of_wave(utterance: Utterance, first: int, length: int) -> FloatArray:
    """Samples of `whole_wave` from a place on; only they are decoded where the format allows it.

    Args:
        utterance: the speech.
        first: the first sample, at 16 kHz, from 0.
        length: how many.

    Returns:
        Shape (length,); zeros after the utterance's end.

    Raises:
        AudioError: it cannot be read, or holds no samples, NaN or infinity.
    """
    part = _sought(utterance, first, length)
    if part is None:
        part = whole_wave(utterance)[first : first + length]
    return np.pad(part, (0, length - part.size))


def _sought(utterance: Utterance, first: int, length: int) -> FloatArray | None:
    if utterance.start is not None or utterance.end is not None:
        return None
    try:
        with soundfile.SoundFile(utterance.path) as file:
            if file.samplerate != RATE or not file.seekable():
                return None
            file.seek(min(first, file.frames))
            return _sound(
                file.read(length, dtype="float32", always_2d=True).mean(axis=1), utterance
            )
    except soundfile.LibsndfileError:
        # Another format, or damage: the general reader knows, and says which.
        return None


def _sound(samples: npt.NDArray[np.float32], utterance: Utterance) -> FloatArray:
    if samples.size == 0 or not np.isfinite(samples).all():
        raise AudioError(f"{utterance.path}: holds no samples, NaN or infinity")
    return samples
