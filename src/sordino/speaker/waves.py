"""From recordings to what an encoder's graph takes: one channel, one rate, bounded pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from sordino.audio.resample import resample_blocks
from sordino.errors import AudioError

Wave = npt.NDArray[np.float32]

# Half a step of 24-bit samples: less than any sound that a recorder can store.
SILENCE = 2.0**-24


def wave_pieces(
    blocks: Iterable[npt.NDArray[np.floating]],
    sample_rate: int,
    target_rate: int,
    longest: int,
) -> Iterator[Wave]:
    """Average the channels of a stream, resample it, and cut it.

    Args:
        blocks: arrays (channels, samples), one recording cut into pieces.
        sample_rate: theirs, in Hz.
        target_rate: the rate of the pieces, in Hz.
        longest: the most samples in a piece.

    Yields:
        Arrays (samples,); see `cut`.

    Raises:
        AudioError: there are no samples, or all are equal.

    Example:
        >>> noise = np.random.default_rng(0).normal(size=(2, 44100))
        >>> [piece.size for piece in wave_pieces([noise], 44100, 16000, 10000)]
        [8000, 8000]
    """
    mono = (block.mean(axis=0, dtype=np.float64, keepdims=True) for block in blocks)
    resampled = resample_blocks(_heard(mono), sample_rate, target_rate)
    return cut((block[0].astype(np.float32) for block in resampled), longest)


def cut(blocks: Iterable[Wave], longest: int) -> Iterator[Wave]:
    """Cut a stream into pieces, without knowing its length and without short ones.

    Args:
        blocks: arrays (samples,).
        longest: the most samples in a piece.

    Yields:
        A stream that is no longer than `longest` whole. Else pieces of `longest` samples, of which
        the last two share what is left so that they are equal (to one sample): no piece has less
        than half of `longest`.

    Example:
        >>> [piece.size for piece in cut([np.zeros(25, dtype=np.float32)], 10)]
        [10, 8, 7]
    """
    held: list[Wave] = []
    size = 0
    for block in blocks:
        held.append(block)
        size += block.size
        while size > 2 * longest:
            joined = np.concatenate(held)
            yield joined[:longest]
            held = [joined[longest:]]
            size -= longest
    if size:
        joined = np.concatenate(held)
        half = -(-size // 2) if size > longest else size
        yield joined[:half]
        if half < size:
            yield joined[half:]


def is_silent(wave: Wave) -> bool:
    """Whether all samples are equal, to less than a recorder can store."""
    return bool(np.ptp(wave) <= SILENCE)


def _heard(
    blocks: Iterable[npt.NDArray[np.float64]],
) -> Iterator[npt.NDArray[np.float64]]:
    lowest, highest, samples = np.inf, -np.inf, 0
    for block in blocks:
        if block.size:
            lowest, highest = min(lowest, block.min()), max(highest, block.max())
            samples += block.size
            yield block
    if not samples:
        raise AudioError("holds no samples")
    if highest - lowest <= SILENCE:
        raise AudioError("is digital silence: all its samples are equal")
