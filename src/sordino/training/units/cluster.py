"""k-means, the same for a seed on every run, and how well its units are used."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from importlib import import_module

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.training.units.recipe import ClusteringSettings

FloatArray = npt.NDArray[np.float32]

_ROWS = 8192


@dataclass(frozen=True)
class Usage:
    """How frames fall on units.

    Attributes:
        distance: mean squared distance of a frame to its centroid.
        explained: share of the frames' variance that the centroids account for, 0 to 1.
        used: how many units have any frame.
        perplexity: how many equally frequent units would be as uncertain.
    """

    distance: float
    explained: float
    used: int
    perplexity: float


def cluster(frames: FloatArray, units: int, settings: ClusteringSettings, seed: int) -> FloatArray:
    """Centroids of frames.

    Sums are made in one thread, so that the same frames give the same centroids.

    Args:
        frames: shape (n, dimension).
        units: how many centroids.
        settings: see `ClusteringSettings`.
        seed: decides where k-means starts, and what is in a mini-batch.

    Returns:
        Shape (units, dimension).

    Raises:
        UsageError: there are fewer different frames than units, or scikit-learn is missing.

    Example:
        >>> frames = np.array([[0.0], [0.2], [5.0], [5.2]], np.float32)
        >>> found = cluster(frames, 2, ClusteringSettings("lloyd"), 0)
        >>> sorted(round(float(value), 3) for value in found.ravel())
        [0.1, 5.1]
    """
    try:
        from sklearn.cluster import KMeans, MiniBatchKMeans
        from sklearn.exceptions import ConvergenceWarning

        threads = import_module("threadpoolctl")  # scikit-learn needs it too
    except ImportError as error:
        raise UsageError(
            'units need scikit-learn; install the extra train: pip install "sordino[train]"'
        ) from error
    if len(frames) < units:
        raise UsageError(_too_few(len(frames), units))
    common = {
        "n_clusters": units,
        "n_init": settings.starts,
        "max_iter": settings.rounds,
        "random_state": seed,
    }
    means = (
        KMeans(**common)
        if settings.method == "lloyd"
        else MiniBatchKMeans(**common, batch_size=settings.batch)
    )
    with threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            means.fit(frames)
        except ConvergenceWarning as error:
            raise UsageError(_too_few(len(np.unique(frames, axis=0)), units)) from error
    return np.asarray(means.cluster_centers_, dtype=np.float32)


def nearest(frames: npt.NDArray[np.floating], centroids: FloatArray) -> npt.NDArray[np.uint16]:
    """The nearest centroid of each frame.

    Args:
        frames: shape (n, dimension).
        centroids: shape (units, dimension).

    Returns:
        Shape (n,).

    Example:
        >>> nearest(np.array([[0.9], [0.1]]), np.array([[0.0], [1.0]])).tolist()
        [1, 0]
    """
    lengths = np.square(centroids, dtype=np.float64).sum(axis=1)
    found = np.empty(len(frames), dtype=np.uint16)
    for start in range(0, len(frames), _ROWS):
        part = frames[start : start + _ROWS].astype(np.float64)
        found[start : start + _ROWS] = (lengths - 2 * part @ centroids.T).argmin(axis=1)
    return found


def usage(frames: FloatArray, centroids: FloatArray) -> Usage:
    """How frames fall on units; see `Usage`.

    Example:
        >>> frames = np.array([[0.0], [0.0], [1.0], [1.0]], np.float32)
        >>> usage(frames, np.array([[0.0], [1.0], [9.0]], np.float32))
        Usage(distance=0.0, explained=1.0, used=2, perplexity=2.0)
    """
    labels = nearest(frames, centroids)
    distance = variance = 0.0
    mean = frames.mean(axis=0, dtype=np.float64)
    for start in range(0, len(frames), _ROWS):
        part = frames[start : start + _ROWS].astype(np.float64)
        distance += float(np.square(part - centroids[labels[start : start + _ROWS]]).sum())
        variance += float(np.square(part - mean).sum())
    counts = np.bincount(labels, minlength=len(centroids))
    shares = counts[counts > 0] / len(frames)
    return Usage(
        distance=distance / len(frames),
        explained=1 - distance / variance if variance else 1.0,
        used=int((counts > 0).sum()),
        perplexity=float(np.exp(-(shares * np.log(shares)).sum())),
    )


def _too_few(frames: int, units: int) -> str:
    return f"{frames} different frames are too few for {units} units; use more speech"
