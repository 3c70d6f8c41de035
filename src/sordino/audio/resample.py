"""Change the sample rate of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import soxr

FloatArray = npt.NDArray[np.float64]


def resampled_length(samples: int, source_rate: int, target_rate: int) -> int:
    """How many samples a signal has after resampling: as many as its time holds, rounded up.

    Example:
        >>> resampled_length(4410, 44100, 16000), resampled_length(1, 44100, 16000)
        (1600, 1)
    """
    return -(-samples * target_rate // source_rate)


def resample_blocks(
    blocks: Iterable[npt.NDArray[np.floating]], source_rate: int, target_rate: int
) -> Iterator[FloatArray]:
    """Resample a stream without delay, by soxr at its high-quality setting.

    Args:
        blocks: arrays (channels, samples), one signal cut into pieces.
        source_rate: in Hz.
        target_rate: in Hz.

    Yields:
        Arrays (channels, samples); in total samples * target_rate / source_rate, rounded up.

    Example:
        >>> parts = list(resample_blocks([np.zeros((2, 441))] * 10, 44100, 16000))
        >>> sum(p.shape[1] for p in parts)
        1600
    """
    if source_rate == target_rate:
        for block in blocks:
            yield np.asarray(block, dtype=np.float64)
        return
    stream: soxr.ResampleStream | None = None
    received = sent = channels = 0

    def fitted(chunk: FloatArray, last: bool) -> FloatArray:
        room = resampled_length(received, source_rate, target_rate) - sent
        output: FloatArray = np.asarray(chunk, dtype=np.float64).reshape(-1, channels).T[:, :room]
        if last and output.shape[1] < room:
            output = np.pad(output, ((0, 0), (0, room - output.shape[1])))
        return output

    for block in blocks:
        if stream is None:
            channels = block.shape[0]
            stream = soxr.ResampleStream(
                source_rate, target_rate, channels, dtype="float64", quality="HQ"
            )
        received += block.shape[1]
        samples = np.ascontiguousarray(block.T, dtype=np.float64)
        output = fitted(stream.resample_chunk(samples), last=False)
        sent += output.shape[1]
        if output.size:
            yield output
    if stream is not None:
        output = fitted(stream.resample_chunk(np.zeros((0, channels)), last=True), last=True)
        if output.size:
            yield output


def resample(samples: npt.NDArray[np.floating], source_rate: int, target_rate: int) -> FloatArray:
    """Resample a whole signal; see `resample_blocks`.

    Args:
        samples: shape (channels, samples).
        source_rate: in Hz.
        target_rate: in Hz.

    Example:
        >>> resample(np.zeros((2, 4410)), 44100, 16000).shape
        (2, 1600)
    """
    return np.concatenate(list(resample_blocks([samples], source_rate, target_rate)), axis=1)


def at_rate(
    blocks: Iterable[npt.NDArray[np.floating]],
    sample_rate: int,
    inner_rate: int,
    function: Callable[[Iterator[FloatArray]], Iterator[FloatArray]],
) -> Iterator[FloatArray]:
    """Process a stream at another rate and bring it back, to the sample.

    Args:
        blocks: arrays (channels, samples) at `sample_rate`.
        sample_rate: in Hz.
        inner_rate: in Hz, what `function` works at.
        function: maps a stream to a stream of the same length.

    Yields:
        Arrays (channels, samples); as many samples in total as came in.
    """
    owed = 0

    def counted() -> Iterator[npt.NDArray[np.floating]]:
        nonlocal owed
        for block in blocks:
            owed += block.shape[1]
            yield block

    changed = function(resample_blocks(counted(), sample_rate, inner_rate))
    for block in resample_blocks(changed, inner_rate, sample_rate):
        output = block[:, :owed]
        owed -= output.shape[1]
        if output.size:
            yield output
