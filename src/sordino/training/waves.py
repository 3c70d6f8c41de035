"""Speech and noise as networks hear them in training: one channel, all of it or a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import soundfile
import soxr

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError

FloatArray = npt.NDArray[np.float32]

RATE = 16000


def whole_wave(utterance: Utterance, sample_rate: int = RATE) -> FloatArray:
    """All of an utterance: shape (samples,).

    Raises:
        AudioError: it cannot be read, or holds no samples, NaN or infinity.
    """
    recording = utterance.read()
    mono = recording.samples.mean(axis=0)
    if recording.sample_rate != sample_rate:
        mono = soxr.resample(mono, recording.sample_rate, sample_rate)
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
    part = _part(utterance, RATE, length, lambda samples: min(first, samples))
    return np.pad(part, (0, length - part.size))


def read_crop(utterance: Utterance, sample_rate: int, length: int, where: float) -> FloatArray:
    """A part of an utterance; only what is needed is decoded where the file's format allows it.

    Args:
        utterance: the speech.
        sample_rate: wanted, in Hz.
        length: wanted, in samples.
        where: 0 for the first such part, 1 for the last.

    Returns:
        Mono, shape (at most length,): the whole utterance if it is shorter.

    Raises:
        AudioError: it cannot be read, or holds no samples, NaN or infinity.
    """

    def first(samples: int) -> int:
        room = max(0, samples - length)
        return min(int(where * (room + 1)), room)

    return _part(utterance, sample_rate, length, first)


def repeated(samples: FloatArray, length: int) -> FloatArray:
    """Samples said again until they fill a length, or cut to it.

    Example:
        >>> repeated(np.array([1, 2], dtype=np.float32), 5).tolist()
        [1.0, 2.0, 1.0, 2.0, 1.0]
    """
    return np.resize(samples, length)


class Noises:
    """Parts of recordings of noise.

    Args:
        recordings: at least one.
        sample_rate: of the parts, in Hz.
    """

    def __init__(self, recordings: Sequence[Utterance], sample_rate: int = RATE) -> None:
        self._recordings = recordings
        self._rate = sample_rate

    def __call__(self, length: int, generator: np.random.Generator) -> FloatArray:
        """A part of any of them, said again where it is too short."""
        chosen = self._recordings[int(generator.integers(len(self._recordings)))]
        return repeated(read_crop(chosen, self._rate, length, generator.random()), length)


def _part(
    utterance: Utterance, sample_rate: int, length: int, first: Callable[[int], int]
) -> FloatArray:
    """At most so many samples, from where `first` says of an utterance of a number of samples."""
    if utterance.start is None and utterance.end is None:
        try:
            with soundfile.SoundFile(utterance.path) as file:
                if file.samplerate == sample_rate and file.seekable():
                    file.seek(first(file.frames))
                    block = file.read(length, dtype="float32", always_2d=True)
                    return _sound(block.mean(axis=1), utterance)
        except soundfile.LibsndfileError:
            # Another format, or damage: the general reader knows, and says which.
            pass
    whole = whole_wave(utterance, sample_rate)
    start = first(whole.size)
    return whole[start : start + length]


def _sound(samples: npt.NDArray[np.float32], utterance: Utterance) -> FloatArray:
    if samples.size == 0 or not np.isfinite(samples).all():
        raise AudioError(f"{utterance.path}: holds no samples, NaN or infinity")
    return samples
