"""A whole voice from what others have released: content, vocoder, speaker encoder and pool."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from sordino.corpus.layouts.detect import read_corpus
from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle
from sordino.training.importers.hifigan import generator_file, generator_weights, import_hifigan
from sordino.training.importers.pool import Arrays, holds_vectors, read_pool
from sordino.training.importers.soft_hubert import carries_content, import_soft_hubert
from sordino.training.importers.speechbrain import import_ecapa
from sordino.training.voice.card import lowered
from sordino.training.voice.pool import PoolSettings, chosen, described_pool, make_pool
from sordino.training.voice_bundle import write_voice

_CONTENT, _VOCODERS, _ENCODER, _POOL = "HuBERT_soft", "HiFi-GAN", "ECAPA-TDNN", "pool"

_CARD = """# {name}

A voice for `sordino anonymize --system neural`, put together from released models.

- **Content:** {content}
- **Vocoder:** {vocoder}
- **Speaker encoder:** {encoder}
- **Pool:** {pool}
- **Licence:** what the sources of these models and of the pool's recordings say; ask them before
  you pass the voice on.
- **Protection:** measure it with `sordino evaluate anonymization` before you rely on it. With the
  source's own F0, as in the paper, the prosody alone tells an informed attacker who speaks.

{content_card}
{vocoder_card}"""


def import_voice(
    content: Bundle,
    vocoder: Bundle,
    encoder: Bundle,
    pool: Mapping[str, npt.NDArray[Any]],
    destination: Path,
    name: str,
) -> Bundle:
    """Put imported models together as a voice.

    Args:
        content: of kind "content".
        vocoder: of kind "vocoder", for such content.
        encoder: the speaker encoder that the pool's vectors were made with; it has to be among the
            models, by its name, when the voice is used.
        pool: see `read_pool`.
        destination: the voice's folder.
        name: the voice's name.

    Raises:
        UsageError: the parts do not fit together.
        OutputError: the bundle cannot be written.

    Example:
        >>> pool = read_pool(Path("libritts_train_other_500"))  # doctest: +SKIP
        >>> import_voice(content, vocoder, encoder, pool, Path("models/mine"), "mine")
        ... # doctest: +SKIP
    """
    speaker = {**vocoder.metadata.get("speaker", {}), "encoder": encoder.name}
    speaker["digest"] = encoder.digest
    if encoder.metadata.get("dimension") != speaker.get("dimension"):
        raise UsageError(
            f"{encoder.name} gives vectors of {encoder.metadata.get('dimension')} numbers;"
            f" {vocoder.name} takes {speaker.get('dimension')}"
        )
    card = _CARD.format(
        name=name,
        content=content.summary,
        vocoder=vocoder.summary,
        encoder=encoder.summary,
        pool=described_pool(pool),
        content_card=lowered(content.card),
        vocoder_card=lowered(vocoder.card),
    )
    metadata = {
        "name": name,
        "summary": f"Voice from released models, {len(pool['sex'])} speakers in its pool.",
        "licence": "see its sources",
        "speaker": speaker,
    }
    return write_voice(destination, content, vocoder, pool, metadata, card)


def import_release(
    source: Path,
    destination: Path,
    name: str,
    *,
    pool: Path | None = None,
    vocoder: str | None = None,
) -> Bundle:
    """Turn the released models of the language-independent anonymizer into a voice.

    The speaker encoder becomes a model of its own beside the voice, called like it with "-speaker".
    The content encoder is the one that the vocoder's checkpoint carries along, where it does;
    otherwise that of `HuBERT_soft`.

    Args:
        source: the release's folder, with `HuBERT_soft/soft_model.pt`, `HiFi-GAN/NAME/config.json`
            and `g_...`, and `ECAPA-TDNN/embedding_model.ckpt`.
        destination: the voice's folder; must not exist.
        name: the voice's name.
        pool: the folder of the pool; None for `pool` in the release's folder. It has speaker
            vectors (see `read_pool`), or is a corpus of recordings in any layout that
            `read_corpus` knows: its vectors are then measured with the release's encoder.
        vocoder: which folder of `HiFi-GAN`, where there is more than one.

    Raises:
        UsageError: a part is missing or not as it should be; the message names it.
        OutputError: the bundles cannot be written.

    Example:
        >>> import_release(Path("pretrained_models_anon_xv"), Path("models/released"), "released")
        ... # doctest: +SKIP
    """
    beside = destination.with_name(f"{destination.name}-speaker")
    for place in (destination, beside):
        if place.exists():
            raise OutputError(f"model {place}: exists already; it is left as it is")
    file = generator_file(_vocoder_folder(source, vocoder))
    people = _pool_folder(source, pool)
    with tempfile.TemporaryDirectory(prefix="sordino-") as work:
        place = Path(work)
        encoder = import_ecapa(source / _ENCODER, place / "encoder", beside.name)
        arrays = _pool(people, encoder, place / "measured")
        carried = carries_content(generator_weights(file))
        content = import_soft_hubert(
            file if carried else source / _CONTENT, place / "content", name
        )
        parts = import_hifigan(file, place / "vocoder", name)
        voice = import_voice(content, parts, encoder, arrays, place / "voice", name)
        encoder.copy(beside)
        return voice.copy(destination)


def _vocoder_folder(source: Path, wanted: str | None) -> Path:
    place = source / _VOCODERS
    if not place.is_dir():
        raise UsageError(f"{source}: has no folder {_VOCODERS}; expected the release's folder")
    if wanted is not None:
        if not (place / wanted).is_dir():
            raise UsageError(f"{place}: has no folder {wanted}")
        return place / wanted
    folders = sorted(folder for folder in place.iterdir() if folder.is_dir())
    if len(folders) != 1:
        names = ", ".join(folder.name for folder in folders) or "none"
        raise UsageError(f"{place}: holds {len(folders)} vocoders ({names}); say which is meant")
    return folders[0]


def _pool_folder(source: Path, pool: Path | None) -> Path:
    folder = source / _POOL if pool is None else pool
    if not folder.is_dir():
        raise UsageError(
            f"{folder}: is no folder; a voice needs a pool: recordings of many speakers, or their"
            " vectors (UTTERANCE.xvector) with utt2spk, spk2gender, and spk2pitch or wav.scp"
        )
    return folder


def _pool(folder: Path, encoder: Bundle, work: Path) -> Arrays:
    if holds_vectors(folder):
        return read_pool(folder)
    settings = PoolSettings()
    ear = settings.ear(str(encoder.folder), "swift")
    return make_pool(chosen(read_corpus(folder), settings), work, ear, jobs=1)
