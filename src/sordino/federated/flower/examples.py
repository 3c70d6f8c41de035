"""The examples of one user, in a file on the device: vectors with a label each."""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import OutputError, UsageError
from sordino.federated.populations.base import Population
from sordino.federated.task import ClassifierTask, Examples
from sordino.speaker.vectors_csv import read_csv

_VECTORS = "vectors"
_SHOWN = 5


def read_examples(path: Path, task: ClassifierTask, label: str = "label") -> Examples:
    """Read the examples of a user.

    Args:
        path: .npz with the arrays "vectors", shape (n, inputs), and one of labels, shape (n,); or
            .csv with columns 0, 1, 2 and so on and one of labels.
        task: which vectors and labels are expected.
        label: what array or column of labels is called.

    Raises:
        UsageError: the file cannot be read or does not fit the task.

    Example:
        >>> import tempfile
        >>> task = ClassifierTask(inputs=2, classes=("F", "M"))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "mine.csv")
        ...     _ = file.write_text("label,0,1\\nM,0.5,-1\\nM,0.25,2\\n")
        ...     examples = read_examples(file, task)
        >>> examples.labels.tolist()
        [[1, 1]]
    """
    vectors, names = _labelled(path, label)
    try:
        return Examples.of(_fitting(vectors, task), _numbers(names, task))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def shapes_of(paths: Sequence[Path], label: str = "label") -> tuple[tuple[str, ...], int]:
    """Which classes, sorted, and how many components files of examples have.

    Raises:
        UsageError: one cannot be read, or they differ in their components.
    """
    known = [_labelled(path, label) for path in paths]
    for path, (vectors, _) in zip(paths, known, strict=True):
        if vectors.ndim != 2 or not len(vectors):
            raise UsageError(f"{path}: holds no examples")
    sizes = {vectors.shape[-1] for vectors, _ in known}
    if len(sizes) != 1:
        raise UsageError(f"vectors in the files differ in their components: {sorted(sizes)}")
    return tuple(sorted({name for _, names in known for name in names})), sizes.pop()


def write_examples(folder: Path, population: Population, label: str = "label") -> list[Path]:
    """Write a file for each user of a population; those that are there stay.

    Raises:
        OutputError: they cannot be written.
    """
    paths = [folder / f"node-{user + 1}.npz" for user in range(population.users)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for user, path in enumerate(paths):
            if not path.exists():
                examples = population.cohort(np.array([user]))
                names = np.array(population.classes)[examples.labels[0]]
                with path.open("wb") as file:
                    np.savez(file, **{_VECTORS: examples.vectors[0], label: names})
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from error
    return paths


def _labelled(path: Path, label: str) -> tuple[npt.NDArray[Any], Sequence[str]]:
    readers = {".npz": _read_npz, ".csv": _read_csv}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise UsageError(f"{path}: examples come from .npz or .csv")
    try:
        return reader(path, label)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile, csv.Error) as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _read_npz(path: Path, label: str) -> tuple[npt.NDArray[Any], Sequence[str]]:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise UsageError("is not an NPZ of plain arrays")
    with np.load(path, allow_pickle=False) as archive:
        if _VECTORS not in archive.files or label not in archive.files:
            raise UsageError(
                f"holds the arrays {', '.join(archive.files)}; expected {_VECTORS} and {label}"
            )
        vectors, labels = archive[_VECTORS], archive[label]
    if labels.ndim != 1:
        raise UsageError(f"{label} has shape {labels.shape}, not one dimension")
    return vectors, [str(name) for name in labels.tolist()]


def _read_csv(path: Path, label: str) -> tuple[npt.NDArray[Any], Sequence[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        vectors = read_csv(file).vectors
        file.seek(0)
        rows = csv.DictReader(file, strict=True)
        if label not in (rows.fieldnames or ()):
            raise UsageError(f"has no column {label!r}")
        return vectors, [row[label] or "" for row in rows]


def _fitting(vectors: npt.NDArray[Any], task: ClassifierTask) -> npt.NDArray[np.float32]:
    if vectors.ndim != 2 or vectors.shape[1] != task.inputs or not len(vectors):
        raise UsageError(
            f"vectors have shape {vectors.shape}; expected (n, {task.inputs}) with n from 1"
        )
    if vectors.dtype.kind not in "fiu" or not np.isfinite(vectors).all():
        raise UsageError("vectors are not finite numbers")
    return vectors.astype(np.float32)


def _numbers(names: Sequence[str], task: ClassifierTask) -> list[int]:
    unknown = sorted(set(names) - set(task.classes))
    if unknown:
        raise UsageError(
            f"labels {', '.join(map(repr, unknown[:_SHOWN]))} are none of the classes"
            f" {', '.join(task.classes)}"
        )
    return [task.classes.index(name) for name in names]
