"""Supervectors of a corpus, with what its corpus tells of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

import numpy as np

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.utility.wave import wave_of
from sordino.federated.features.mfcc import COEFFICIENTS, FloatArray, mfcc, spoken
from sordino.federated.features.states import STATES, StateModel, fit_states
from sordino.speaker.vectors import Vectors

ANY, PHRASES = "supervectors of any words", "supervectors of phrases"

_COLUMNS = ("key", "speaker", "sex", "language", "corpus", "split")
_LEAST_SPEAKERS = 3


@dataclass(frozen=True, eq=False)
class Supervectors:
    """What a corpus becomes.

    Attributes:
        vectors: 520 numbers for each utterance.
        table: sex, language, collection and split of each, by key. With phrases the collection is
            the phrase, so that trials compare speakers who say the same.
        models: the models of states by phrase; one by "" for any words.
        left_out: utterances of phrases that too few speakers say, or that are too short.
    """

    vectors: Vectors
    table: AttributeTable
    models: Mapping[str, StateModel]
    left_out: int


def supervectors(
    corpus: Corpus,
    fit: Collection[str] | None = None,
    *,
    phrases: bool = False,
    seed: int = 0,
    tick: Callable[[], object] = lambda: None,
) -> Supervectors:
    """Make supervectors: the means of 26 cepstral coefficients in 20 states of speech.

    Args:
        corpus: the utterances; for phrases with texts.
        fit: speakers whose speech the models are learnt from; None for all. Others should be those
            that something is measured with.
        phrases: one left-to-right model for each text that is said by three of those speakers or
            more, as for a trigger phrase; else one model in which every state can follow every
            other, for any words.
        seed: of the model of any words.
        tick: called after each utterance.

    Raises:
        AudioError: an utterance cannot be read; the message starts with its path.
        UsageError: nothing is left, or hmmlearn is not installed.

    Source: the sizes and the left-to-right model of F. Granqvist et al., "Improving on-device
    speaker verification using federated learning with privacy", 2020, section 3.
    """
    heard = set(corpus.speakers if fit is None else fit)
    frames: dict[str, FloatArray] = {}
    for utterance in corpus:
        frames[utterance.id] = _frames(utterance, pauses=phrases)
        tick()
    models = {
        name: fit_states(
            [frames[one.id] for one in group if one.speaker in heard],
            "phrase" if phrases else "any",
            seed=seed,
        )
        for name, group in _groups(corpus, frames, heard, phrases=phrases).items()
    }
    kept = [
        one
        for one in corpus
        if (_phrase(one) if phrases else "") in models and len(frames[one.id]) >= STATES + 2
    ]
    if not kept:
        raise UsageError("no utterance is left: too few speakers say the same, or all are short")
    rows = [
        models[_phrase(one) if phrases else ""].supervector(frames[one.id]).astype(np.float32)
        for one in kept
    ]
    return Supervectors(
        Vectors(
            tuple(one.id for one in kept),
            ("",) * len(kept),
            tuple(one.speaker for one in kept),
            np.stack(rows),
            PHRASES if phrases else ANY,
            _digest(models),
        ),
        corpus_table(Corpus(tuple(kept)), phrases=phrases),
        models,
        len(corpus) - len(kept),
    )


def corpus_table(corpus: Corpus, *, phrases: bool = False) -> AttributeTable:
    """Sex, language, collection and split of each utterance, by key; "" where nobody knows.

    Args:
        corpus: the utterances.
        phrases: put the phrase in the place of the collection.

    Example:
        >>> from pathlib import Path
        >>> table = corpus_table(Corpus((Utterance("a1", Path("a1.wav"), "ann", sex="F"),)))
        >>> table.values("sex", ["a1"], ["ann"])
        ('F',)
    """
    rows = {
        one.id: {
            "key": one.id,
            "speaker": one.speaker,
            "sex": one.sex or "",
            "language": one.language or "",
            "corpus": (_phrase(one) if phrases else one.corpus) or "",
            "split": one.split or "",
        }
        for one in corpus
    }
    return AttributeTable("what the corpus tells", True, _COLUMNS, rows, {})


def _frames(utterance: Utterance, *, pauses: bool) -> FloatArray:
    try:
        cepstra = mfcc(wave_of(utterance.read()))
    except AudioError as error:
        place = str(utterance.path)
        text = str(error)
        raise AudioError(text if text.startswith(place) else f"{place}: {text}") from error
    return cepstra if pauses else spoken(cepstra)


def _groups(
    corpus: Corpus, frames: Mapping[str, FloatArray], heard: set[str], *, phrases: bool
) -> dict[str, list[Utterance]]:
    """The utterances that each model is learnt from; short ones teach nothing."""
    long = [one for one in corpus if one.speaker in heard and len(frames[one.id]) >= STATES + 2]
    if not phrases:
        return {"": long}
    groups: dict[str, list[Utterance]] = {}
    for one in long:
        if one.text:
            groups.setdefault(_phrase(one), []).append(one)
    return {
        phrase: group
        for phrase, group in groups.items()
        if len({one.speaker for one in group}) >= _LEAST_SPEAKERS
    }


def _phrase(utterance: Utterance) -> str:
    # The same words in another collection come through another channel.
    return f"{utterance.corpus or ''}: {utterance.text}" if utterance.text else ""


def _digest(models: Mapping[str, StateModel]) -> str:
    digest = hashlib.sha256(f"{STATES} states of {COEFFICIENTS}".encode())
    for name in sorted(models):
        model = models[name]
        digest.update(name.encode())
        for array in (model.start, model.transitions, model.means, model.variances):
            digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
