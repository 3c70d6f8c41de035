"""Models from the hub, kept: copied into a folder where they are found by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from sordino.errors import OutputError, UsageError
from sordino.models.bundle import METADATA_NAME, Bundle
from sordino.models.hub import download


def pull(
    spec: str,
    models: Path,
    *,
    name: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
    endpoint: str | None = None,
    cache: Path | None = None,
) -> Bundle:
    """Copy a model from the hub into a models folder.

    Only the files that the model's own list names are downloaded, and each is checked against it.

    Args:
        spec: "hub:OWNER/NAME" or "hub:OWNER/NAME@REVISION".
        models: the folder; the model becomes a folder in it.
        name: what it is called there; None for its own name.
        tell: told what is downloaded and how big it is, before it is.
        endpoint: see `sordino.models.hub.download`.
        cache: see `sordino.models.hub.download`.

    Returns:
        The copy, checked.

    Raises:
        UsageError: the hub has no such model, it is damaged, or the name is no plain file name.
        OutputError: there is such a folder already, or it cannot be written.
    """
    fetch = partial(download, spec, tell=tell, endpoint=endpoint, cache=cache)
    known = Bundle.peek(fetch(only=(METADATA_NAME,)))
    target = models / (name or known.name)
    if target.exists():
        raise OutputError(f"model {target}: exists already; choose another --name")
    bundle = Bundle.load(fetch(only=(METADATA_NAME, *known.files)))
    if bundle.digest != known.digest:
        raise UsageError(f"{spec}: was replaced on the hub while it was downloaded; try again")
    return bundle.copy(target, name=name)
