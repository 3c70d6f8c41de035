"""Which frames are clustered."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.training.features.base import FeatureSource
from sordino.training.features.cache import RowCache, fill_caches, half

FloatArray = npt.NDArray[np.float32]

_TOGETHER = 32


def in_turns(corpus: Corpus, seed: int) -> list[Utterance]:
    """All utterances: one of each speaker, then a second one of each, and so on.

    Both the utterances of a speaker and the speakers in a round are in the order of a hash, so that
    another order of the corpus changes nothing.

    Example:
        >>> spoken = [Utterance(f"{s}{n}", Path("x"), s) for s in "ab" for n in range(2)]
        >>> [utterance.speaker for utterance in in_turns(Corpus(tuple(spoken)), 0)]
        ['b', 'a', 'b', 'a']
    """
    keyed = []
    for utterances in corpus.by_speaker().values():
        ranked = sorted(utterances, key=lambda utterance: _hash(utterance.id, seed))
        keyed += [
            ((turn, _hash(utterance.speaker, seed)), utterance)
            for turn, utterance in enumerate(ranked)
        ]
    return [utterance for _, utterance in sorted(keyed, key=lambda pair: pair[0])]


def sample_frames(
    source: FeatureSource,
    utterances: Sequence[Utterance],
    cache: RowCache,
    frames: int,
    *,
    quiet: bool = False,
) -> tuple[FloatArray, int]:
    """Feature frames of as many utterances as are needed.

    Args:
        source: of the features.
        utterances: in the order in which they are taken.
        cache: where features are kept.
        frames: at most so many.
        quiet: show no progress.

    Returns:
        Frames, shape (n, dimension), and of how many utterances they are.

    Raises:
        AudioError: an utterance cannot be read or is too short; the message starts with its path.
    """
    kept: list[npt.NDArray[np.generic]] = []
    count = taken = 0
    with tqdm(total=frames, desc="features", unit="frame", disable=quiet) as bar:
        for start in range(0, len(utterances), _TOGETHER):
            chunk = utterances[start : start + _TOGETHER]
            fill_caches(
                [cache],
                chunk,
                lambda waves: [(half(rows),) for rows in source.features_many(waves)],
                label="features",
                quiet=True,
            )
            for utterance in chunk:
                if count >= frames:
                    break
                rows = cache.read(utterance, 0, frames - count)
                kept.append(rows)
                count, taken = count + len(rows), taken + 1
                bar.update(len(rows))
            if count >= frames:
                break
    return np.concatenate(kept).astype(np.float32), taken


def _hash(text: str, seed: int) -> tuple[int, str]:
    return zlib.crc32(f"{seed}/{text}".encode()), text
