"""The source's rhythm, bent a little."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.base import FRAME_S
from sordino.anonymize.prosody.noise import seed_of, smooth_noise
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.anonymize.base import Draws

FloatArray = npt.NDArray[np.float64]

MAX_SHIFT_S = 0.06
LARGEST_SHIFT_S = 0.5
MOST_CHANGE = 0.3


def warp_times(
    start: int,
    frames: int,
    draws: Draws,
    max_shift: float = MAX_SHIFT_S,
    *,
    frame_s: float = FRAME_S,
) -> FloatArray:
    """Where in the source each frame of the output is taken from.

    A smooth keyed function of absolute time, 0 at the beginning. Frames come from up to
    `max_shift` later, never from earlier: at the end, where positions go beyond the signal and
    are held to it, nothing is cut off; its last moment lasts a little longer. Speech becomes at
    most 30 % faster or slower, and the total length stays.

    Args:
        start: number of the first frame.
        frames: how many.
        draws: the pseudo-speaker's random choices.
        max_shift: in seconds, 0 to 0.5.
        frame_s: seconds in a frame; of two tracks with different frames, each gets the positions
            that belong to the same times.

    Returns:
        Positions in frames, rising, shape (frames,). They may lie beyond the end of the signal.

    Raises:
        UsageError: `max_shift` is out of range.

    Example:
        >>> from sordino.anonymize.base import Draws
        >>> from sordino.privacy.keys import SecretKey
        >>> draws = Draws(SecretKey.from_secret(b"sixteen or more bytes"), ("anna",))
        >>> moved = warp_times(0, 1000, draws) - np.arange(1000)
        >>> bool(moved.min() >= 0 and moved.max() <= 6 and moved.std() > 0.5)
        True
    """
    if not 0 <= max_shift <= LARGEST_SHIFT_S:
        raise UsageError(f"max_shift is {max_shift:g}; expected 0 to {LARGEST_SHIFT_S:g} s")
    numbers: FloatArray = start + np.arange(frames, dtype=np.float64)
    if max_shift == 0:
        return numbers
    # The curve moves by at most 1 from one of its random numbers to the next.
    spacing = max_shift / MOST_CHANGE
    times: FloatArray = (numbers + 0.5) * frame_s
    # So that shift and slope are 0 at the beginning.
    curve = smooth_noise(times / spacing, seed_of(draws, "duration"), first=2)
    positions: FloatArray = numbers + (max_shift / frame_s) * curve
    return positions


def interpolate(track: npt.NDArray[np.floating], positions: npt.NDArray[np.floating]) -> FloatArray:
    """A track at positions between its frames; beyond its ends it is held.

    Features run straight from frame to frame. Of a pitch track, the logarithm does where both
    frames are voiced, else the nearer frame is taken: unvoiced frames are no pitch of 0 Hz.

    Args:
        track: features, shape (frames, channels), or F0 in hertz, 0 where unvoiced, shape
            (frames,); at least one frame.
        positions: in frames, shape (positions,).

    Returns:
        Shape (positions, channels) or (positions,).

    Example:
        >>> interpolate(np.array([100.0, 121, 0]), np.array([0.5, 1.4, 1.6]))
        array([110., 121.,   0.])
        >>> interpolate(np.array([[0.0], [1.0]]), np.array([0.25, 7]))
        array([[0.25],
               [1.  ]])
    """
    places = np.clip(positions, 0, track.shape[0] - 1)
    left = places.astype(np.int64)
    right = np.minimum(left + 1, track.shape[0] - 1)
    share = places - left
    if track.ndim == 2:
        share = share[:, None]
        straight: FloatArray = (1 - share) * track[left] + share * track[right]
        return straight
    first, second = track[left].astype(np.float64), track[right].astype(np.float64)
    voiced = (first > 0) & (second > 0)
    logs = (1 - share) * np.log(np.where(voiced, first, 1.0))
    logs += share * np.log(np.where(voiced, second, 1.0))
    pitch: FloatArray = np.where(voiced, np.exp(logs), np.where(share < 0.5, first, second))
    return pitch
