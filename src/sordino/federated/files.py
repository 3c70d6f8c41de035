"""Files of arrays and plain settings, complete or not there."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import OutputError, UsageError

_SETTINGS = "settings"
_UNREADABLE = (OSError, EOFError, KeyError, TypeError, ValueError, zipfile.BadZipFile)


def save_arrays(
    path: Path, settings: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> None:
    """Write a file that is either complete or as it was before.

    Args:
        path: ends in ".npz"; its folder is made where there is none.
        settings: what can be written as JSON.
        arrays: not of objects, and none called "settings".

    Raises:
        OutputError: it cannot be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            text = np.array(json.dumps(settings, sort_keys=True))
            np.savez(file, allow_pickle=False, **{_SETTINGS: text}, **arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def load_arrays(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """What `save_arrays` wrote.

    Args:
        path: the file.
        kind: what `settings["kind"]` has to be.

    Raises:
        UsageError: it is not there, damaged, or of another kind.
    """
    try:
        # Opened here, as numpy leaves what it cannot read open.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        settings = json.loads(str(arrays.pop(_SETTINGS)))
    except _UNREADABLE as error:
        reason = getattr(error, "strerror", None) or "damaged, or of another program"
        raise UsageError(f"{path}: {reason}") from error
    if not isinstance(settings, dict) or settings.get("kind") != kind:
        raise UsageError(f"{path}: is no {kind}")
    return settings, arrays
