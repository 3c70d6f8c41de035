"""Which of many attacks on concealed vectors a report speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from sordino.evaluate.concealment.attackers import PAPER
from sordino.evaluate.results import (
    ALL,
    NEITHER,
    AttributeAttack,
    Concealed,
    Guessed,
    Measure,
    Repeated,
    Results,
)

_CLEAN = "clean"


def strongest(guesses: Sequence[Guessed]) -> Guessed | None:
    """The guess with the largest figure; None where none has one.

    Example:
        >>> made = [Guessed("sex", name, "clean", 9, 9, 2, Repeated(Measure(value), (value,)))
        ...         for name, value in (("a", 0.6), ("b", 0.7))]
        >>> strongest(made).attacker
        'b'
    """
    known = [guess for guess in guesses if guess.figure.mean.value is not None]
    return max(known, key=lambda guess: guess.figure.mean.value or 0.0, default=None)


def ignorant(concealed: Concealed, attribute: str) -> Guessed | None:
    """The strongest attacker who knows unprotected vectors only."""
    return strongest(
        [
            guess
            for guess in concealed.guesses
            if (guess.attribute, guess.knowledge) == (attribute, _CLEAN)
        ]
    )


def informed(concealed: Concealed, attribute: str) -> Guessed | None:
    """The strongest attacker of all: who knows how to retrain need not."""
    return strongest([guess for guess in concealed.guesses if guess.attribute == attribute])


def by_paper(concealed: Concealed, attribute: str) -> Guessed | None:
    """The paper's attacker: its classifier, trained on unprotected vectors."""
    return next(
        (
            guess
            for guess in concealed.guesses
            if (guess.attribute, guess.knowledge, guess.attacker) == (attribute, _CLEAN, PAPER)
        ),
        None,
    )


def error(concealed: Concealed, sides: str, group: str = ALL) -> Repeated | None:
    """The equal error rate of verification; that of unprotected vectors is for any sides."""
    return next(
        (
            found.eer
            for found in concealed.verified
            if found.sides in {sides, NEITHER} and found.group == group
        ),
        None,
    )


def attributes_of(results: Results) -> tuple[str, ...]:
    """What is guessed, in order."""
    return tuple(
        dict.fromkeys(guess.attribute for one in results.concealed for guess in one.guesses)
    )


def compared(results: Results) -> tuple[Concealed, ...]:
    """What is compared: all but the points of sweeps."""
    return tuple(one for one in results.concealed if not one.sweep)


def as_attacks(results: Results) -> tuple[AttributeAttack, ...]:
    """The guesses on what is compared, as attacks on attributes, means over trainings."""
    return tuple(
        AttributeAttack(
            system=one.system,
            attribute=guess.attribute,
            attacker=guess.attacker,
            knowledge=guess.knowledge,
            releases=1,
            templates=guess.templates,
            speakers=guess.speakers,
            auc=guess.figure.mean if guess.classes == 2 else None,
            balanced_accuracy=guess.figure.mean,
            cllr=None,
            information=Measure(None),
            classes=guess.classes,
        )
        for one in compared(results)
        for guess in one.guesses
    )
