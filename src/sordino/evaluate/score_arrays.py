"""Scores and labels in NumPy's files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.scores import Scores

Array = npt.NDArray[Any]
BoolArray = npt.NDArray[np.bool_]

# What tools call these arrays.
_TARGETS = ("targets", "target", "mated", "genuine")
_NONTARGETS = ("nontargets", "nontarget", "nonmated", "impostor")
_SCORES = ("scores", "score")
_LABELS = ("labels", "label", "is_target")


def is_array(path: Path) -> bool:
    """Whether a file holds arrays, by its name.

    Example:
        >>> is_array(Path("scores.npz")), is_array(Path("scores.txt"))
        (True, False)
    """
    return path.suffix.lower() in {".npy", ".npz"}


def read_arrays(path: Path) -> tuple[Scores, BoolArray | None]:
    """Scores, and whether they are of targets, if the file says so.

    Args:
        path: `.npz` with "targets" and "nontargets", or with "scores" and perhaps "labels"; or
            `.npy` of shape (trials,), or (trials, 2) with a column of labels.

    Raises:
        UsageError: the file cannot be read, holds something else, or a score is NaN.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "scores.npz"
        ...     np.savez(file, targets=[0.9], nontargets=[0.2, 0.1])
        ...     read_arrays(file)
        (array([0.9, 0.2, 0.1]), array([ True, False, False]))
    """
    arrays = _load(path)
    own, others = _named(arrays, _TARGETS), _named(arrays, _NONTARGETS)
    if own is not None and others is not None:
        return joined(_numbers(own, path), _numbers(others, path))
    scores, labels = _named(arrays, _SCORES), _named(arrays, _LABELS)
    if scores is None:
        held = ", ".join(arrays) or "nothing"
        raise UsageError(
            f"{path}: holds {held}; expected targets and nontargets, or scores and labels"
        )
    if scores.ndim == 2 and scores.shape[1] == 2 and labels is None:
        return _two_columns(scores, path)
    if labels is None:
        return _numbers(scores, path), None
    is_target, values = _labels(labels, path), _numbers(scores, path)
    if is_target.size != values.size:
        raise UsageError(f"{path}: has {values.size} scores and {is_target.size} labels")
    return values, is_target


def read_label_array(path: Path) -> BoolArray:
    """Whether trials are targets, from `.npy` or from "labels" in `.npz`.

    Raises:
        UsageError: the file cannot be read or holds something else.
    """
    arrays = _load(path)
    labels = _named(arrays, (*_LABELS, *_SCORES))
    if labels is None:
        raise UsageError(f"{path}: holds {', '.join(arrays) or 'nothing'}; expected labels")
    return _labels(labels, path)


def joined(targets: Scores, nontargets: Scores) -> tuple[Scores, BoolArray]:
    """Two lists of scores as one, and which of them are of targets.

    Example:
        >>> joined(np.array([0.9]), np.array([0.2]))
        (array([0.9, 0.2]), array([ True, False]))
    """
    is_target = np.zeros(targets.size + nontargets.size, dtype=bool)
    is_target[: targets.size] = True
    return np.concatenate([targets, nontargets]), is_target


def _load(path: Path) -> Mapping[str, Array]:
    """The arrays of a file by name; a single one is called scores."""
    try:
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            if isinstance(content, np.ndarray):
                return {"scores": content}
            return {name: content[name] for name in content.files}
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise UsageError(f"{path}: is not a file of plain arrays ({error})") from error


def _named(arrays: Mapping[str, Array], names: Sequence[str]) -> Array | None:
    return next((arrays[name] for name in names if name in arrays), None)


def _two_columns(array: Array, path: Path) -> tuple[Scores, BoolArray]:
    binary = [bool(((column == 0) | (column == 1)).all()) for column in array.T]
    if binary[0] == binary[1]:
        raise UsageError(f"{path}: expected a column of scores and one of labels, 1 or 0")
    at = binary.index(True)
    return _numbers(array[:, 1 - at], path), _labels(array[:, at], path)


def _numbers(array: Array, path: Path) -> Scores:
    if array.ndim != 1 or array.dtype.kind not in "fiu":
        raise UsageError(
            f"{path}: has scores of shape {array.shape} and type {array.dtype}; expected numbers of"
            " shape (trials,), or (trials, 2) with labels"
        )
    scores: Scores = array if array.dtype.kind == "f" else array.astype(np.float64)
    missing = np.flatnonzero(np.isnan(scores))
    if missing.size:
        raise UsageError(
            f"{path}: {missing.size} of {scores.size} scores are NaN; the first is number"
            f" {int(missing[0]) + 1}"
        )
    return scores


def _labels(array: Array, path: Path) -> BoolArray:
    if array.ndim != 1 or array.dtype.kind not in "bfiu" or not np.isin(array, (0, 1)).all():
        raise UsageError(
            f"{path}: has labels of shape {array.shape} and type {array.dtype}; expected 1 or 0 for"
            " each trial"
        )
    return np.asarray(array != 0)
