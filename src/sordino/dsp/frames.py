"""Cut a stream of samples into half-overlapping frames and add frames up again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
FrameFunction = Callable[[FloatArray], FloatArray]


def sqrt_hann(hop: int) -> FloatArray:
    """Square root of the periodic Hann window of two hops.

    Used once before and once after a frame-wise operation, half-overlapping frames add up to
    the input exactly.

    Args:
        hop: samples between two frames, at least 1.

    Returns:
        Shape (2 * hop,), values in [0, 1].

    Example:
        >>> w = sqrt_hann(160)
        >>> bool(np.allclose(w[:160] ** 2 + w[160:] ** 2, 1))
        True
    """
    return np.sin(np.pi * np.arange(2 * hop) / (2 * hop))


def overlap_add(
    blocks: Iterable[npt.NDArray[np.floating]],
    hop: int,
    function: FrameFunction,
    *,
    max_frames: int,
) -> Iterator[FloatArray]:
    """Apply a function to windowed, half-overlapping frames of a stream and add them up.

    The stream is extended by one hop of silence on either side, so that its first and last
    samples lie under two frames like all others: nothing fades and nothing is cut. Every block
    gives out all that it completes: small blocks for a short delay, large ones for speed.

    Args:
        blocks: arrays of shape (channels, samples), of any lengths; one signal cut into pieces.
        hop: samples between two frames; a frame has twice as many.
        function: maps windowed frames (2 * hop, frames) to frames of the same shape. Frames of
            all channels are passed together and must be treated independently of each other.
        max_frames: the most frames passed at once; bounds the memory.

    Yields:
        Arrays (channels, samples) of float64, as many samples in total as came in.

    Example:
        >>> x = np.ones((1, 1000))
        >>> y = np.concatenate(list(overlap_add([x], 160, lambda f: f, max_frames=64)), axis=1)
        >>> bool(np.allclose(x, y))
        True
    """
    window = sqrt_hann(hop)[:, None]

    def process(signal: FloatArray, tail: FloatArray) -> tuple[FloatArray, FloatArray]:
        channels, hops = signal.shape[0], signal.shape[1] // hop
        cells = signal.reshape(channels, hops, hop)
        frames = np.concatenate([cells[:, :-1], cells[:, 1:]], axis=2)
        columns = np.ascontiguousarray(frames.reshape(-1, 2 * hop).T)
        columns *= window
        halves = (function(columns) * window).T.reshape(channels, hops - 1, 2, hop)
        summed = halves[:, :, 0].copy()
        summed[:, 1:] += halves[:, :-1, 1]
        summed[:, 0] += tail
        return summed.reshape(channels, -1), halves[:, -1, 1].copy()

    pending: FloatArray | None = None
    lead, owed = hop, 0
    for block in blocks:
        if pending is None:
            pending = tail = np.zeros((block.shape[0], hop))
        pending = np.concatenate([pending, block], axis=1)
        owed += block.shape[1]
        most = max(1, max_frames // block.shape[0])
        while (ready := min(most, pending.shape[1] // hop - 1)) > 0:
            output, tail = process(pending[:, : (ready + 1) * hop], tail)
            pending = pending[:, ready * hop :]
            output, lead = output[:, lead:], max(0, lead - output.shape[1])
            owed -= output.shape[1]
            if output.size:
                yield output
    if pending is not None and owed:
        fill = -pending.shape[1] % hop + hop
        output, _ = process(np.pad(pending, ((0, 0), (0, fill))), tail)
        yield output[:, lead : lead + owed]
