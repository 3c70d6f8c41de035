"""Units: what an encoder that knows many languages takes short stretches of speech for.

They stand for the sounds of a language as letters do, without anybody having said which there are:
so they tell how much of what was said is left where there is no text, or no recogniser of the
language.
"""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.errors import UsageError
from sordino.evaluate.utility.extra import load_extra
from sordino.evaluate.utility.transcriber import Transcriber

UNITS = 100

FloatArray = npt.NDArray[np.float32]
Spelling = tuple[int, ...]
"""Units one after another, never the same one twice in a row."""

# Frames are 20 ms apart; with means over 100 ms there are about as many units as sounds.
_MEAN_OF = 5
_ROUNDS = 100
_SEED = 0


@dataclass(frozen=True, eq=False)
class Units:
    """Kinds of frames.

    Attributes:
        mean: of the frames before they are compared, shape (dimension,).
        deviation: of the same, above 0.
        centroids: shape (units, dimension).
    """

    mean: FloatArray
    deviation: FloatArray
    centroids: FloatArray

    @property
    def key(self) -> str:
        """Depends on all numbers."""
        arrays = (self.mean, self.deviation, self.centroids)
        return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]

    def of(self, frames: npt.NDArray[np.floating]) -> Spelling:
        """The unit of each frame, without repetitions.

        Args:
            frames: see `steadied`, shape (frames, dimension).

        Example:
            >>> zero, one = np.zeros(2, np.float32), np.ones(2, np.float32)
            >>> units = Units(zero, one, np.array([[1, 0], [0, 1]], np.float32))
            >>> units.of(np.array([[0.1, 3], [2, 9], [5, 1], [0, 7]]))
            (1, 0, 1)
        """
        compared = _compared(frames, self.mean, self.deviation).astype(np.float64)
        lengths = np.square(self.centroids, dtype=np.float64).sum(axis=1)
        nearest = (lengths - 2 * compared @ self.centroids.T).argmin(axis=1)
        starts = np.flatnonzero(np.diff(nearest, prepend=-1))
        return tuple(int(unit) for unit in nearest[starts])


@dataclass(frozen=True)
class UnitListener:
    """Hears units, by the encoder of Whisper.

    It can be pickled; each process opens the model once.

    Args:
        encoder: the model, and how much silence comes after a short recording.
        units: see `found_units`.
    """

    encoder: Transcriber
    units: Units

    @property
    def key(self) -> str:
        """Depends on everything that decides the units, but for the recording."""
        return f"{frames_key(self.encoder)} {self.units.key}"

    def heard(self, recording: Recording) -> Spelling:
        """The units of a recording; none at all for digital silence.

        Args:
            recording: of any rate, length and number of channels.

        Raises:
            UsageError: the model cannot be opened, or a package is not installed.
        """
        frames = self.encoder.frames(recording)
        return self.units.of(steadied(frames)) if len(frames) else ()


def frames_key(encoder: Transcriber) -> str:
    """Depends on everything that decides what frames are compared, but for the recording."""
    return f"units {encoder.key} mean {_MEAN_OF}"


def steadied(frames: FloatArray) -> FloatArray:
    """Frames without what stays the same in an utterance, and without what flickers.

    The utterance's mean, in which there is much of the voice and the microphone, is taken away.
    Then each frame becomes the mean of 100 ms around it.

    Args:
        frames: of one utterance, one in 20 ms, at least one, shape (frames, dimension).

    Returns:
        The same shape.

    Example:
        >>> frames = np.array([[5], [5], [5], [5], [15]], np.float32)
        >>> steadied(frames).ravel().round(6).tolist()
        [-2.0, -2.0, 0.0, 2.0, 4.0]
    """
    centred = frames - frames.mean(axis=0, dtype=np.float64)
    around = _MEAN_OF // 2
    padded = np.pad(centred, ((around, around), (0, 0)), mode="edge")
    sums = sum(padded[start : start + len(frames)] for start in range(_MEAN_OF))
    return np.asarray(sums / _MEAN_OF, np.float32)


def spread_frames(frames: FloatArray, count: int) -> FloatArray:
    """At most so many frames, from the first to the last at equal distances.

    Args:
        frames: shape (frames, dimension).
        count: at least 1.

    Example:
        >>> spread_frames(np.arange(9, dtype=np.float32)[:, None], 3).ravel().tolist()
        [0.0, 4.0, 8.0]
    """
    if len(frames) <= count:
        return frames
    places = np.linspace(0, len(frames) - 1, count).round().astype(np.int64)
    return np.asarray(frames[places], np.float32)


def found_units(frames: FloatArray, count: int = UNITS) -> Units:
    """Units of speech: k-means over the directions of frames.

    Frames are standardised and brought to length 1, or a few units would take most of them. All
    frames are clustered at once (Lloyd): mini-batches gave half of all frames to one unit. Sums are
    made in one thread, so that the same frames give the same units.

    Args:
        frames: see `steadied`; of many utterances, shape (frames, dimension).
        count: how many units.

    Raises:
        UsageError: there are fewer different frames than units, or the package scikit-learn is not
            installed.

    Example:
        >>> angles = np.array([0.0, 0.1, 2.0, 2.1, 4.0, 4.1])
        >>> frames = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        >>> found_units(frames, 3).centroids.shape
        (3, 2)
    """
    cluster = load_extra("sklearn.cluster", "units of speech", "scikit-learn")
    exceptions = load_extra("sklearn.exceptions", "units of speech", "scikit-learn")
    threads = load_extra("threadpoolctl", "units of speech", "scikit-learn")
    too_few = f"{len(frames)} frames of speech are too few, or too much alike, for {count} units"
    if len(frames) < count:
        raise UsageError(too_few)
    mean = frames.mean(axis=0, dtype=np.float64).astype(np.float32)
    spread = frames.std(axis=0, dtype=np.float64).astype(np.float32)
    deviation = np.where(spread > 0, spread, np.float32(1))
    means = cluster.KMeans(count, n_init=1, max_iter=_ROUNDS, random_state=_SEED)
    with threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("error", exceptions.ConvergenceWarning)
        try:
            means.fit(_compared(frames, mean, deviation))
        except exceptions.ConvergenceWarning as error:
            raise UsageError(too_few) from error
    return Units(mean, deviation, np.asarray(means.cluster_centers_, np.float32))


def _compared(
    frames: npt.NDArray[np.floating], mean: FloatArray, deviation: FloatArray
) -> FloatArray:
    """Standardised frames of length 1; one that is the mean itself stays at 0."""
    standard = (frames - mean) / deviation
    lengths = np.linalg.norm(standard, axis=1, keepdims=True)
    return np.asarray(standard / np.where(lengths > 0, lengths, 1), np.float32)
