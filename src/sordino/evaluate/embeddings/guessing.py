"""All attacks on an attribute: who is attacked, with what knowledge, averaging how much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from sordino.evaluate.attributes.attack import (
    Guesses,
    Sample,
    TrainedAttacker,
    averaged,
    matched,
    train,
)
from sordino.evaluate.attributes.folds import Fold
from sordino.evaluate.attributes.learners import LEARNERS, Learner
from sordino.evaluate.attributes.outcome import measure_guesses
from sordino.evaluate.embeddings.attribute import Attribute
from sordino.evaluate.embeddings.settings import Settings
from sordino.evaluate.embeddings.templates import ORIGINAL, Templates
from sordino.evaluate.progress import Told
from sordino.evaluate.results import AttributeAttack

CLEAN, RETRAINED = "clean", "retrained"

Float64Array = npt.NDArray[np.float64]


def attribute_attacks(
    templates: Templates, attribute: Attribute, settings: Settings, told: Told
) -> tuple[AttributeAttack, ...]:
    """Every attacker on every set of vectors.

    Args:
        templates: the vectors.
        attribute: what is guessed.
        settings: which attackers, and how.
        told: of the progress.

    Returns:
        By system, then knowledge, then releases, then attacker.
    """
    found = [
        attack
        for name in settings.learners
        for attack in _by_learner(LEARNERS[name], templates, attribute, settings, told)
    ]
    systems = list(templates.systems)
    return tuple(
        sorted(
            found,
            key=lambda attack: (
                systems.index(attack.system),
                attack.knowledge,
                attack.releases,
                settings.learners.index(attack.attacker),
            ),
        )
    )


def release_counts(releases: int) -> tuple[int, ...]:
    """How many releases attackers average: powers of two, and all.

    Example:
        >>> release_counts(1), release_counts(6)
        ((1,), (1, 2, 4, 6))
    """
    powers = [2**power for power in range(releases.bit_length()) if 2**power < releases]
    return (*powers, releases)


def _by_learner(
    learner: Learner, templates: Templates, attribute: Attribute, settings: Settings, told: Told
) -> Iterator[AttributeAttack]:
    groups = {
        (name, count): averaged(arrays[:, attribute.rows], count)
        for name, arrays in templates.systems.items()
        for count in release_counts(len(arrays))
    }
    protected = [key for key in groups if key[0] != ORIGINAL]
    told.stage(f"{attribute.name}: {learner.name}", len(attribute.folds) * (1 + len(protected)))
    originals = groups[ORIGINAL, 1]
    attackers = _trained(learner, originals, attribute, settings, told)
    for name, count in groups:
        vectors = matched(groups[name, count][0], originals[0])
        yield _attack(name, count, CLEAN, learner, attackers, vectors, attribute, settings)
    for name, count in protected:
        attackers = _trained(learner, groups[name, count], attribute, settings, told)
        vectors = groups[name, count][0]
        yield _attack(name, count, RETRAINED, learner, attackers, vectors, attribute, settings)


def _trained(
    learner: Learner, groups: Float64Array, attribute: Attribute, settings: Settings, told: Told
) -> list[tuple[Fold, TrainedAttacker]]:
    attackers = []
    for fold in attribute.folds:
        times = len(groups)
        sample = Sample(
            groups[:, fold.train].reshape(-1, groups.shape[2]),
            np.tile(attribute.labels[fold.train], times),
            np.tile(attribute.speakers[fold.train], times),
        )
        attackers.append((fold, train(learner, sample, len(attribute.values), seed=settings.seed)))
        told.step()
    return attackers


def _attack(
    system: str,
    releases: int,
    knowledge: str,
    learner: Learner,
    attackers: list[tuple[Fold, TrainedAttacker]],
    vectors: Float64Array,
    attribute: Attribute,
    settings: Settings,
) -> AttributeAttack:
    shape = (len(attribute.rows), len(attribute.values))
    likelihoods, posteriors = np.full(shape, np.nan), np.full(shape, np.nan)
    numbers = np.zeros(shape[0], dtype=np.int64)
    for number, (fold, attacker) in enumerate(attackers):
        guesses = attacker.guess(vectors[fold.test], attribute.speakers[fold.test])
        likelihoods[fold.test] = guesses.log_likelihoods
        posteriors[fold.test] = guesses.log_posteriors
        numbers[fold.test] = number
    tested = attribute.tested
    speakers = attribute.speakers[tested]
    outcome = measure_guesses(
        attribute.labels[tested],
        Guesses(likelihoods[tested], posteriors[tested]),
        speakers,
        numbers[tested],
        draws=settings.draws,
        seed=settings.seed,
    )
    return AttributeAttack(
        system,
        attribute.name,
        learner.name,
        knowledge,
        releases,
        len(tested),
        int(np.unique(speakers).size),
        outcome.auc,
        outcome.balanced_accuracy,
        outcome.cllr,
        outcome.information,
        len(attribute.values),
    )
