"""Write a concealer as a bundle."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sordino.conceal.concealer import Concealer
from sordino.conceal.description import DECODER, ENCODER, ERASURE, KIND, Description
from sordino.conceal.erasure import Erasure
from sordino.errors import UsageError
from sordino.models.bundle import CARD_NAME, write_bundle

Graph = bytes | Path


def write_concealer(
    path: Path,
    description: Description,
    metadata: Mapping[str, Any],
    card: str,
    *,
    networks: tuple[Graph, Graph] | None = None,
    erasure: Erasure | None = None,
    replace: bool = False,
) -> Concealer:
    """Write what `sordino conceal` uses, and open it.

    Args:
        path: the new folder.
        description: what it is for and how it releases.
        metadata: at least name, summary and licence; and what else tells of it, such as figures
            or, in `verification`, thresholds: by "both" or "one" (which sides are protected), then
            by epsilon ("inf", "15"), what `sordino.speaker.verification.choose_threshold` takes.
        card: the model card, Markdown.
        networks: encoder and decoder as ONNX graphs, or files of them: from `vector`, float32
            (n, dimension), to `latent` (n, latent), and back. None for an erasure alone.
        erasure: applied before the encoder.
        replace: whether a concealer that is there may be replaced.

    Raises:
        UsageError: the parts do not fit together.
        OutputError: the folder exists or cannot be written.

    Example:
        >>> import tempfile
        >>> about = Description("mine", "00", 3, 3, ("sex",), mechanism="privunit")
        >>> named = {"name": "tiny", "summary": "Forgets a number.", "licence": "CC0-1.0"}
        >>> forgets = Erasure(np.diag([1.0, 1.0, 0.0]), np.zeros(3))
        >>> with tempfile.TemporaryDirectory() as place:
        ...     concealer = write_concealer(
        ...         Path(place, "tiny"), about, named, "# tiny", erasure=forgets)
        ...     concealer.conceal([[0.0, 4.0, 3.0]]).tolist()
        [[0.0, 1.0, 0.0]]
    """
    files: dict[str, Graph] = {CARD_NAME: card.encode()}
    if networks is not None:
        files |= dict(zip((ENCODER, DECODER), networks, strict=True))
    if erasure is not None:
        if erasure.dimension != description.dimension:
            raise UsageError(
                f"the erasure is for vectors of {erasure.dimension} numbers, not of"
                f" {description.dimension}"
            )
        files[ERASURE] = _npz(erasure)
    if networks is None and erasure is None:
        raise UsageError("a concealer needs networks, an erasure, or both")
    if networks is None and description.latent != description.dimension:
        raise UsageError("without networks, the latent has as many numbers as a vector")
    described = {**metadata, **description.metadata, "kind": KIND}
    return Concealer(write_bundle(path, described, files, replace=replace))


def _npz(erasure: Erasure) -> bytes:
    # In double precision: rounding the matrix would leave in each vector a trace of what it
    # erases, small, but along directions in which there is nothing else.
    file = io.BytesIO()
    np.savez(file, matrix=erasure.matrix, bias=erasure.bias)
    return file.getvalue()
