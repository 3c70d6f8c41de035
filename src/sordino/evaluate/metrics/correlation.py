"""rho_F0: how much of the intonation is left."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PitchCorrelation:
    """How alike two pitch tracks run.

    Attributes:
        rho: Pearson correlation, from -1 to 1; None where too few frames are voiced in both, or
            the pitch of one does not move.
        frames: voiced in both once they are aligned.
        lag: frames by which the second track comes later than the first.
    """

    rho: float | None
    frames: int
    lag: int


def pitch_correlation(
    original: npt.ArrayLike,
    changed: npt.ArrayLike,
    *,
    most_lag: int = 5,
    fewest_frames: int = 10,
) -> PitchCorrelation:
    """Correlation of two pitch tracks over the frames that are voiced in both.

    The tracks are aligned by the lag at which they are most alike as wholes: where the cosine
    between them over their common frames, unvoiced ones being 0, is largest, the smaller lag of
    two. Voicing decides that more than pitch, so that little of the correlation is found by
    seeking it. The correlation itself takes no unvoiced frame: their zeros, which the public tool
    leaves in, would make any two tracks with the same pauses alike.

    Args:
        original: fundamental frequency in hertz by frame, 0 or NaN where unvoiced, shape (frames,).
        changed: the same at the same frame rate, shape (other frames,).
        most_lag: how many frames the second may come later or earlier, from 0.
        fewest_frames: that give a correlation, from 3.

    Raises:
        UsageError: a track is empty or no list, a frequency is infinite or below 0, or a setting
            is out of range.

    Example:
        >>> track = 120 + 20 * np.sin(np.arange(60) / 5)
        >>> track[20:30] = 0
        >>> later = np.append([0.0, 0.0], 1.5 * track)
        >>> found = pitch_correlation(track, later)
        >>> round(found.rho, 6), found.frames, found.lag
        (1.0, 50, 2)

    Source: N. Tomashenko et al., "The VoicePrivacy 2022 Challenge evaluation plan", section on
    pitch correlation.
    """
    if most_lag < 0 or fewest_frames < 3:
        raise UsageError(
            f"most_lag is {most_lag} and fewest_frames {fewest_frames}; expected from 0 and from 3"
        )
    first, second = _track(original, "original"), _track(changed, "changed")
    lags = sorted(range(-most_lag, most_lag + 1), key=abs)
    # Of equal ones, but for rounding, max takes the first, which has the smallest lag.
    lag = max(lags, key=lambda lag: round(_cosine(*_common(first, second, lag)), 9))
    pair = np.stack(_common(first, second, lag))
    voiced = pair[:, (pair > 0).all(axis=0)]
    frames = voiced.shape[1]
    return PitchCorrelation(_pearson(voiced) if frames >= fewest_frames else None, frames, lag)


def _track(values: npt.ArrayLike, which: str) -> FloatArray:
    track = np.asarray(values)
    if track.ndim != 1 or not track.size:
        raise UsageError(f"the {which} track has shape {track.shape}; expected (frames,), from 1")
    track = np.nan_to_num(track.astype(np.float64), nan=0.0, posinf=np.inf, neginf=-np.inf)
    if track.min() < 0 or not np.isfinite(track.max()):
        raise UsageError(f"the {which} track holds frequencies that are infinite or below 0")
    return track


def _common(first: FloatArray, second: FloatArray, lag: int) -> tuple[FloatArray, FloatArray]:
    """The frames that both have, with the second moved earlier by the lag."""
    first, second = first[max(0, -lag) :], second[max(0, lag) :]
    frames = min(first.size, second.size)
    return first[:frames], second[:frames]


def _cosine(first: FloatArray, second: FloatArray) -> float:
    size = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / size if size > 0 else 0.0


def _pearson(pair: FloatArray) -> float | None:
    centred = pair - pair.mean(axis=1, keepdims=True)
    sizes = np.linalg.norm(centred, axis=1)
    # A pitch that moves by rounding only does not move.
    if (sizes <= 1e-9 * np.linalg.norm(pair, axis=1)).any():
        return None
    return float(np.clip(centred[0] @ centred[1] / (sizes[0] * sizes[1]), -1.0, 1.0))
