"""How attacks on vectors are carried out."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.errors import UsageError
from sordino.evaluate.attributes.learners import LEARNERS


@dataclass(frozen=True)
class Settings:
    """What decides the figures.

    Attributes:
        learners: names of attackers, of `LEARNERS`.
        folds: speakers are parted so often, and each part is guessed by attackers trained on the
            others; at least 2.
        train: column of the attribute table and value of those whom attackers are trained on; all
            others are guessed. None for folds.
        enrolments: the most templates in an enrolment, at least 1.
        draws: of the bootstrap, at least 100.
        seed: of folds, training, trials and draws.

    Raises:
        UsageError: a setting is out of range, or there is no such attacker.

    Example:
        >>> Settings(folds=3).learners[0]
        'logistic-regression'
    """

    learners: tuple[str, ...] = tuple(LEARNERS)
    folds: int = 5
    train: tuple[str, str] | None = None
    enrolments: int = 3
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        unknown = [name for name in self.learners if name not in LEARNERS]
        if unknown or not self.learners:
            asked = f"no attacker {unknown[0]!r}" if unknown else "no attacker"
            raise UsageError(f"there is {asked}; there are: {', '.join(LEARNERS)}")
        if self.folds < 2:
            raise UsageError(f"{self.folds} folds are too few; at least 2 are needed")
        if self.enrolments < 1 or self.draws < 100 or self.seed < 0:
            raise UsageError(
                "at least 1 template in an enrolment, 100 draws and a seed from 0 are needed"
            )
