"""What training ends in: parameters, what they belong to, and what was guaranteed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.files import load_arrays, save_arrays
from sordino.federated.task import ClassifierTask

_KIND = "federated model"


@dataclass(frozen=True, eq=False)
class Model:
    """A trained classifier.

    Attributes:
        task: what the parameters belong to.
        parameters: float32, shape (d,).
        statement: of privacy, see `privacy_statement`.
    """

    task: ClassifierTask
    parameters: npt.NDArray[np.float32]
    statement: Mapping[str, Any]

    def logits(self, vectors: npt.ArrayLike) -> npt.NDArray[np.float32]:
        """Shape (n, inputs) to (n, classes), before the softmax."""
        return self.task.logits(self.parameters, vectors)


def save_model(
    path: Path, task: ClassifierTask, parameters: npt.ArrayLike, statement: Mapping[str, Any]
) -> None:
    """Write a trained classifier; the file is complete or not there.

    Args:
        path: ends in ".npz".
        task: what the parameters belong to.
        parameters: shape (d,).
        statement: of privacy.

    Raises:
        OutputError: it cannot be written.
    """
    settings = {"kind": _KIND, "task": task.terms(), "statement": dict(statement)}
    save_arrays(path, settings, {"parameters": np.asarray(parameters, dtype=np.float32)})


def load_model(path: Path) -> Model:
    """What `save_model` wrote.

    Raises:
        UsageError: it is no such file.
    """
    settings, arrays = load_arrays(path, _KIND)
    try:
        task = ClassifierTask.from_terms(settings["task"])
        parameters, statement = arrays["parameters"].astype(np.float32), settings["statement"]
    except KeyError as error:
        raise UsageError(f"{path}: {error} is missing") from error
    if parameters.shape != (task.dimension,) or not np.isfinite(parameters).all():
        raise UsageError(f"{path}: its parameters are not those of its classifier")
    return Model(task, parameters, statement)
