"""Trained speaker networks in files without pickle."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from sordino.errors import OutputError, UsageError
from sordino.training.networks.supervector import SpeakerNetwork

Floats = npt.NDArray[np.float32]

_KIND = "supervector speaker network"
_UNREADABLE = (OSError, EOFError, KeyError, ValueError, TypeError, zipfile.BadZipFile, RuntimeError)


@dataclass(frozen=True, eq=False)
class StoredNetwork:
    """A speaker network as it is used: heads are dropped.

    Attributes:
        network: in evaluation mode.
        mean: of the vectors that it was trained on, shape (inputs,).
        deviation: of the same.
        facts: what is said of it: encoder of its inputs, row, seed, what is protected.
    """

    network: SpeakerNetwork
    mean: Floats
    deviation: Floats
    facts: Mapping[str, Any]

    def embed(self, vectors: npt.ArrayLike, known: npt.ArrayLike | None = None) -> Floats:
        """Embeddings of vectors as they came, shape (n, embedding).

        Args:
            vectors: shape (n, inputs).
            known: what goes into the middle layer, where there is one, shape (n, middle).
        """
        rows = (np.asarray(vectors, dtype=np.float32) - self.mean) / self.deviation
        middle = None if known is None else torch.from_numpy(np.asarray(known, dtype=np.float32))
        with torch.inference_mode():
            embeddings: Floats = self.network(torch.from_numpy(rows), middle).numpy()
        return embeddings


def write_network(
    path: Path,
    network: SpeakerNetwork,
    mean: Floats,
    deviation: Floats,
    facts: Mapping[str, Any],
) -> None:
    """Write a network; the file is complete or not there.

    Args:
        path: ends in ".npz"; its folder is made where there is none.
        network: to be kept.
        mean: of the vectors that it was trained on, shape (inputs,).
        deviation: of the same.
        facts: ready for JSON.

    Raises:
        OutputError: it cannot be written.
    """
    weights = {f"weight.{name}": value.numpy() for name, value in network.state_dict().items()}
    settings = {
        "kind": _KIND,
        "facts": dict(facts),
        "inputs": network.inputs,
        "width": network.width,
        "embedding": network.embedding,
        "middle": network.middle,
    }
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            text = np.array(json.dumps(settings, sort_keys=True))
            np.savez(file, settings=text, mean=mean, deviation=deviation, **weights)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def read_network(path: Path) -> StoredNetwork:
    """What `write_network` wrote.

    Raises:
        UsageError: it is no such file.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            settings = json.loads(str(archive["settings"]))
            if settings["kind"] != _KIND:
                raise UsageError(f"{path}: is no speaker network for vectors")
            network = SpeakerNetwork(
                settings["inputs"], settings["width"], settings["embedding"], settings["middle"]
            )
            network.load_state_dict(
                {
                    name.removeprefix("weight."): torch.from_numpy(archive[name])
                    for name in archive.files
                    if name.startswith("weight.")
                }
            )
            return StoredNetwork(
                network.eval(), archive["mean"], archive["deviation"], settings["facts"]
            )
    except _UNREADABLE as error:
        raise UsageError(f"{path}: is no speaker network for vectors ({error})") from error
