"""How well vectors tell speakers apart: by the cosine, before and after they are protected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.corpus import Corpus
from sordino.corpus.trials import Trials, make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.embeddings.attribute import Attribute
from sordino.evaluate.embeddings.settings import Settings
from sordino.evaluate.embeddings.templates import ORIGINAL, FloatArray, Templates
from sordino.evaluate.privacy import measure
from sordino.evaluate.results import ALL, Attack
from sordino.speaker.scoring.cosine import mean_models, score_trials

COSINE = "cosine"

_COLLECTIONS = "corpus"


def vector_trials(
    templates: Templates,
    chosen: npt.NDArray[np.bool_],
    collections: tuple[str, ...],
    most: int,
    seed: int,
) -> Trials:
    """Trials between templates.

    Args:
        templates: with speakers.
        chosen: which templates take part, shape (templates,).
        collections: where each comes from, or "": trials stay inside one collection.
        most: templates in an enrolment; fewer where the second largest speaker has no more.
        seed: of the choice.

    Raises:
        UsageError: no trials can be made.
    """
    used = [row for row in np.flatnonzero(chosen).tolist() if templates.speakers[row]]
    if not used:
        raise UsageError("no template has a known speaker")
    corpus = Corpus(
        tuple(
            Utterance(
                templates.keys[row],
                Path(templates.keys[row]),
                str(templates.speakers[row]),
                corpus=collections[row] or None,
            )
            for row in used
        )
    )
    sizes = sorted(map(len, corpus.by_speaker().values()), reverse=True)
    spare = sizes[min(1, len(sizes) - 1)] - 1
    return make_trials(corpus, enrolments_per_speaker=max(1, min(most, spare)), seed=seed)


def trials_of_guessed(
    templates: Templates,
    table: AttributeTable,
    attributes: Sequence[Attribute],
    settings: Settings,
) -> tuple[Trials, dict[str, npt.NDArray[np.bool_]]]:
    """Trials between the templates that no attacker is trained on by a given split.

    Args:
        templates: with speakers.
        table: with a column `corpus`, trials stay inside one collection.
        attributes: for groups.
        settings: enrolments, split and seed.

    Returns:
        The trials, and by name ("same-sex" and the like) which of them belong to a group, shape
        (trials,).

    Raises:
        UsageError: no trials can be made.
    """
    speakers = [str(speaker) for speaker in templates.speakers]
    collections = ("",) * len(speakers)
    if _COLLECTIONS in table.columns:
        collections = table.values(_COLLECTIONS, templates.keys, speakers)
    chosen = np.ones(len(speakers), dtype=bool)
    if settings.train is not None:
        column, value = settings.train
        chosen = np.array(
            [found != value for found in table.values(column, templates.keys, speakers)]
        )
    trials = vector_trials(templates, chosen, collections, settings.enrolments, settings.seed)
    groups = {}
    for attribute in attributes:
        names = (attribute.values[label] for label in attribute.labels)
        same = same_value(trials, dict(zip(attribute.speakers.tolist(), names, strict=True)))
        targets = int((same & trials.is_target).sum())
        if 0 < targets < int(same.sum()):
            groups[f"same-{attribute.name}"] = same
    return trials, groups


def recognise(
    templates: Templates,
    trials: Trials,
    groups: Mapping[str, npt.NDArray[np.bool_]],
    settings: Settings,
) -> Iterator[Attack]:
    """Verification of original and protected vectors; of several releases the first.

    Args:
        templates: the vectors.
        trials: of `vector_trials`.
        groups: which trials belong to each further group, shape (trials,).
        settings: draws and seed.

    Yields:
        For the original vectors "OO"; for each system "OA", with original enrolments, and
        "AA-lazy", with protected ones.
    """
    place = {key: row for row, key in enumerate(templates.keys)}
    enrolled = [
        np.array([place[key] for key in enrolment.utterances]) for enrolment in trials.enrolments
    ]
    tried = np.array([place[key] for key in trials.utterances])
    everybody = np.ones(len(trials), dtype=bool)
    models = {name: mean_models(arrays[0], enrolled) for name, arrays in templates.systems.items()}

    def attack(system: str, scenario: str, enrolments: FloatArray) -> Iterator[Attack]:
        vectors = templates.systems[system][0][tried]
        scores = score_trials(enrolments, vectors, trials.model, trials.utterance)
        for group, chosen in {ALL: everybody, **groups}.items():
            privacy = measure(
                scores[chosen],
                trials.select(chosen),
                draws=settings.draws,
                seed=settings.seed,
                detail=group == ALL,
            )
            yield Attack(system, scenario, COSINE, group, privacy)

    yield from attack(ORIGINAL, "OO", np.asarray(models[ORIGINAL], np.float32))
    for name in templates.systems:
        if name != ORIGINAL:
            yield from attack(name, "OA", np.asarray(models[ORIGINAL], np.float32))
            yield from attack(name, "AA-lazy", np.asarray(models[name], np.float32))


def same_value(trials: Trials, values: Mapping[str, str]) -> npt.NDArray[np.bool_]:
    """Trials between speakers with the same known value of an attribute, shape (trials,).

    Args:
        trials: any.
        values: by speaker; "" where it is not known.
    """
    enrolled = np.array([values.get(enrolment.speaker, "") for enrolment in trials.enrolments])
    tried = np.array([values.get(speaker, "") for speaker in trials.speakers])
    first, second = enrolled[trials.model], tried[trials.utterance]
    return np.asarray((first == second) & (first != ""))
