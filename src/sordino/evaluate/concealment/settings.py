"""How the evaluation of concealers is carried out."""

from __future__ import annotations

from dataclasses import dataclass

from sordino.errors import UsageError
from sordino.evaluate.concealment.attackers import ATTACKERS, SWEEP
from sordino.evaluate.embeddings.settings import Settings as Parting


@dataclass(frozen=True)
class Settings:
    """What decides the figures.

    Attributes:
        attackers: names, of `ATTACKERS`.
        sweep_attackers: those who attack the points of sweeps.
        folds: speakers are parted so often, and each part is guessed by attackers trained on the
            others; at least 2.
        train: column of the attribute table and value of those whom attackers are trained on; all
            others are guessed. None for folds.
        copies: how many releases of each vector retrained attackers learn from, where releases
            differ; at least 1. Who has the concealer can make any number.
        enrolments: the most templates in an enrolment, at least 1.
        draws: of the bootstrap, at least 100.
        seed: of folds, training, trials, draws and noise.

    Raises:
        UsageError: a setting is out of range, or there is no such attacker.

    Example:
        >>> Settings(folds=3).parting.folds
        3
    """

    attackers: tuple[str, ...] = tuple(ATTACKERS)
    sweep_attackers: tuple[str, ...] = SWEEP
    folds: int = 5
    train: tuple[str, str] | None = None
    copies: int = 4
    enrolments: int = 3
    draws: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for names in (self.attackers, self.sweep_attackers):
            unknown = [name for name in names if name not in ATTACKERS]
            if unknown or not names:
                asked = f"no attacker {unknown[0]!r}" if unknown else "no attacker"
                raise UsageError(f"there is {asked}; there are: {', '.join(ATTACKERS)}")
        if self.copies < 1:
            raise UsageError("attackers learn from at least 1 release of each vector")
        _ = self.parting

    @property
    def parting(self) -> Parting:
        """How speakers are parted and tried."""
        return Parting(
            folds=self.folds,
            train=self.train,
            enrolments=self.enrolments,
            draws=self.draws,
            seed=self.seed,
        )
