"""Attacks on vectors, from vectors to results."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import numpy as np

from sordino.errors import UsageError
from sordino.evaluate.attributes.learners import LEARNERS
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.embeddings.attribute import Attribute, attribute_of
from sordino.evaluate.embeddings.guessing import RETRAINED, attribute_attacks
from sordino.evaluate.embeddings.recognition import COSINE, recognise, trials_of_guessed
from sordino.evaluate.embeddings.settings import Settings
from sordino.evaluate.embeddings.templates import ORIGINAL, Protected, Templates, align
from sordino.evaluate.progress import Silent, Told
from sordino.evaluate.results import (
    Attack,
    Attacker,
    AttributeAttack,
    Measure,
    Results,
    System,
)
from sordino.speaker.vectors import Vectors
from sordino.version import __version__


def evaluate_embeddings(
    original: Vectors,
    table: AttributeTable,
    attributes: Sequence[str],
    protected: Sequence[Protected] = (),
    settings: Settings | None = None,
    *,
    what: str = "",
    told: Told | None = None,
    command: str = "",
    machine: Mapping[str, str] | None = None,
) -> Results:
    """How well attackers guess attributes from vectors, and how well vectors tell speakers apart.

    Attackers are trained on speakers whom they do not guess: on original vectors ("clean"), and
    on protected ones ("retrained"). Where a system gives several releases, attackers average
    them.

    Args:
        original: unprotected vectors, with speakers.
        table: the attributes. With a column `corpus`, trials stay inside one collection.
        attributes: which to guess, columns of the table.
        protected: what is evaluated; none tells only how exposed the originals are.
        settings: how; by default `Settings()`.
        what: how the original vectors were made, in one line.
        told: of the progress; nobody by default.
        command: what was typed.
        machine: facts of it.

    Raises:
        UsageError: vectors, table and settings do not fit each other.
    """
    started = time.monotonic()
    settings, told = settings or Settings(), told or Silent()
    if not attributes or len(set(attributes)) < len(attributes):
        raise UsageError("name at least one attribute, each once")
    templates = align(original, protected, table)
    prepared = [attribute_of(table, name, templates, settings) for name in attributes]
    for failure in (failure for attribute in prepared for failure in attribute.failures):
        told.note(f"{failure.effect}: {failure.why} ({failure.where})")
    guessed = tuple(
        attack
        for attribute in prepared
        for attack in attribute_attacks(templates, attribute, settings, told)
    )
    attacks, notes = _recognised(templates, table, prepared, settings, told)
    return Results(
        kind="embeddings",
        created=datetime.now().astimezone().isoformat(timespec="seconds"),
        version=__version__,
        command=command,
        machine=machine or {},
        data=_data(original, templates, prepared),
        protocol=_protocol(settings),
        seconds=time.monotonic() - started,
        systems=(
            System(ORIGINAL, what or "vectors as they were given"),
            *(System(given.name, given.what or _releases(given)) for given in protected),
        ),
        attackers=(
            *(Attacker(name, LEARNERS[name].what) for name in settings.learners),
            *_cosine(attacks),
        ),
        attacks=attacks,
        attributes=guessed,
        failures=tuple(failure for attribute in prepared for failure in attribute.failures),
        notes=(*strongest(guessed), *_cautions(guessed, bool(protected)), *notes),
    )


def strongest(attacks: Sequence[AttributeAttack]) -> Iterator[str]:
    """For each set of vectors and attribute a sentence on the attacker who guesses best.

    Args:
        attacks: all attacks.

    Example:
        >>> guess = Measure(0.75, 0.5, 0.875)
        >>> attack = AttributeAttack("masked", "sex", "mlp", "clean", 2, 9, 9, guess, guess, None,
        ...                          Measure(0.0))
        >>> list(strongest([attack]))
        ['sex from masked: decided by mlp, clean, 2 releases averaged: AUC 0.750 (0.500 to 0.875).']
    """
    for system, attribute in dict.fromkeys((one.system, one.attribute) for one in attacks):
        best = _best(attacks, system, attribute)
        figure = "balanced accuracy" if best.auc is None else "AUC"
        releases = "" if best.releases == 1 else f", {best.releases} releases averaged"
        yield (
            f"{attribute} from {system}: decided by {best.attacker}, {best.knowledge}{releases}:"
            f" {figure} {_text(_figure(best))}."
        )


def _best(attacks: Sequence[AttributeAttack], system: str, attribute: str) -> AttributeAttack:
    return max(
        (one for one in attacks if (one.system, one.attribute) == (system, attribute)),
        key=lambda one: _figure(one).value or 0.0,
    )


def _figure(attack: AttributeAttack) -> Measure:
    return attack.balanced_accuracy if attack.auc is None else attack.auc


def _text(measure: Measure) -> str:
    ends = "" if measure.low is None else f" ({measure.low:.3f} to {measure.high:.3f})"
    return f"{measure.value:.3f}{ends}"


def _cautions(attacks: Sequence[AttributeAttack], protected: bool) -> Iterator[str]:
    if not protected:
        yield "No protected vectors were given: these figures tell how exposed the originals are."
    for attribute in dict.fromkeys(one.attribute for one in attacks):
        best = _best(attacks, ORIGINAL, attribute)
        if best.auc is not None and best.auc.low == 0.5:
            yield (
                f"Not even from original vectors do these attackers surely guess {attribute}; that"
                " they fail on protected ones says nothing."
            )
    yield (
        "The attacker who decides is the best of several by the same data, which makes his figure"
        " somewhat too high."
    )


def _recognised(
    templates: Templates,
    table: AttributeTable,
    attributes: Sequence[Attribute],
    settings: Settings,
    told: Told,
) -> tuple[tuple[Attack, ...], tuple[str, ...]]:
    """Verification, or why there is none."""
    try:
        trials, groups = trials_of_guessed(templates, table, attributes, settings)
    except UsageError as error:
        return (), (f"Speaker verification was not measured: {error}.",)
    told.stage("speaker verification", 0)
    attacks = tuple(recognise(templates, trials, groups, settings))
    note = (
        "Speaker verification compares the first release of each template by the cosine;"
        f" {len(trials.enrolments)} enrolments are the mean directions of"
        f" {_listed(len(one.utterances) for one in trials.enrolments)} templates."
    )
    return attacks, (note,)


def _listed(numbers: Iterator[int]) -> str:
    return " or ".join(map(str, sorted(set(numbers))))


def _cosine(attacks: Sequence[Attack]) -> tuple[Attacker, ...]:
    if not attacks:
        return ()
    return (Attacker(COSINE, "cosine of a vector and the mean direction of an enrolment"),)


def _data(
    original: Vectors, templates: Templates, attributes: Sequence[Attribute]
) -> dict[str, str]:
    known = np.unique(templates.speakers[templates.speakers != ""]).size
    facts = {
        "templates": str(len(original)),
        "speakers": str(known),
        "dimensions": str(original.vectors.shape[1]),
    }
    if original.encoder:
        facts["encoder"] = original.encoder
    facts |= {f"attribute {attribute.name}": attribute.counts for attribute in attributes}
    return facts


def _protocol(settings: Settings) -> dict[str, str]:
    if settings.train is None:
        parts = (
            f"{settings.folds} folds of speakers; each is guessed by attackers trained on the rest"
        )
    else:
        parts = "trained on {}={}; all other speakers are guessed".format(*settings.train)
    return {
        "speakers": parts,
        "attackers": ", ".join(settings.learners),
        "knowledge": "clean: trained on original vectors and given protected ones, brought to the"
        f" same mean length; {RETRAINED}: trained on protected vectors of the training speakers",
        "calibration": "on thirds of the training speakers, held out in turn",
        "Cllr": "1 tells nothing; with more than two values, in units of the logarithm of their"
        " number",
        "intervals": f"95 %, {settings.draws} draws of the speakers who are guessed",
        "seed": str(settings.seed),
    }


def _releases(given: Protected) -> str:
    count = len(given.releases)
    return "1 release of each template" if count == 1 else f"{count} releases of each template"
