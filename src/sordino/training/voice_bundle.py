"""A voice: a content network, a vocoder and a pool of speakers in one bundle."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.anonymize.pseudo.pool import Pool
from sordino.anonymize.voice import CONTENT, GENERATOR, KIND, POOL
from sordino.anonymize.windows import RATE
from sordino.errors import UsageError
from sordino.models.bundle import Bundle, write_bundle
from sordino.training.halve import halved

CONTENT_KIND, VOCODER_KIND = "content", "vocoder"

_ARRAYS = ("vectors", "sex", "pitch_mean", "pitch_deviation")


def write_voice(
    path: Path,
    content: Bundle,
    vocoder: Bundle,
    pool: Mapping[str, npt.NDArray[Any]],
    metadata: Mapping[str, Any],
    card: str,
    *,
    half: bool = False,
    replace: bool = False,
) -> Bundle:
    """Write what `sordino anonymize --system neural` uses.

    Args:
        path: the new folder.
        content: a bundle of kind "content".
        vocoder: a bundle of kind "vocoder" for such content; its metadata become the voice's.
        pool: `vectors` (speakers, dimension), `sex`, `pitch_mean` and `pitch_deviation`
            (speakers,); see `sordino.anonymize.pseudo.pool`.
        metadata: what is added to the vocoder's metadata or takes its place; at least name,
            summary and licence.
        card: the model card, Markdown.
        half: whether weights are kept in 16 bits.
        replace: whether a voice that is there may be replaced.

    Raises:
        UsageError: the bundles are of another kind, or they and the pool do not fit together.
        OutputError: the folder exists or cannot be written.

    Example:
        >>> write_voice(Path("models/mine"), content, vocoder, pool, about, "# mine")
        ... # doctest: +SKIP
    """
    _check_kind(content, CONTENT_KIND)
    _check_kind(vocoder, VOCODER_KIND)
    described = {
        **vocoder.given,
        **metadata,
        "kind": KIND,
        "sample_rate": RATE,
    }
    offered, wanted = content.metadata.get("content"), described.get("content")
    if not isinstance(offered, Mapping) or not isinstance(wanted, Mapping):
        raise UsageError(f"{content.name} and {vocoder.name}: do not both describe their content")
    for key in ("hop", "channels"):
        if offered.get(key) != wanted.get(key):
            raise UsageError(
                f"the vocoder {vocoder.name} takes content with {key} {wanted.get(key)};"
                f" {content.name} gives {offered.get(key)}"
            )
    # How far the content network looks is for itself to say.
    described["content"] = dict(offered)
    _check_speaker(described.get("speaker"), pool, vocoder.name)
    files: dict[str, bytes | Path] = {
        CONTENT: _graph(content.path(CONTENT), half=half),
        GENERATOR: _graph(vocoder.path(GENERATOR), half=half),
        POOL: _npz(pool),
        "CARD.md": card.encode(),
    }
    return write_bundle(path, described, files, replace=replace)


def _graph(path: Path, *, half: bool) -> bytes | Path:
    return halved(path.read_bytes()) if half else path


def _check_kind(bundle: Bundle, kind: str) -> None:
    if bundle.kind != kind:
        raise UsageError(f"{bundle.folder}: is a model of kind {bundle.kind}; expected {kind}")


def _check_speaker(speaker: object, pool: Mapping[str, npt.NDArray[Any]], vocoder: str) -> None:
    described = speaker if isinstance(speaker, Mapping) else {}
    if not described.get("encoder") or not described.get("digest"):
        raise UsageError(f"{vocoder}: does not say which speaker encoder its vectors are of")
    if surplus := sorted(pool.keys() - set(_ARRAYS)):
        raise UsageError(f"pool: has an array {surplus[0]}; it has no place in a voice")
    dimension = Pool.from_arrays(pool, "pool").dimension
    if dimension != described.get("dimension"):
        raise UsageError(
            f"the pool's vectors have {dimension} numbers; the vocoder {vocoder} takes"
            f" {described.get('dimension')}"
        )


def _npz(pool: Mapping[str, npt.NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    vectors = np.asarray(pool["vectors"], dtype=np.float32)
    others: dict[str, Any] = {name: pool[name] for name in _ARRAYS[1:]}
    np.savez(file, vectors=vectors, **others)
    return file.getvalue()
