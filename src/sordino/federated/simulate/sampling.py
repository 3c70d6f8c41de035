"""Who takes part in a round."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from sordino.errors import UsageError
from sordino.federated.task import Ints
from sordino.privacy.exact import bernoulli
from sordino.privacy.randomness import Randomness

SAMPLINGS = ("poisson", "fixed")

_BLOCK = 2**18


@dataclass(frozen=True)
class Sampling:
    """A way to choose users, of a name that accountants know.

    Attributes:
        name: "poisson", each user for itself with the same chance, or "fixed", always as many.
        cohort: how many users are expected, or how many there are.

    Raises:
        UsageError: a setting is out of range.

    Example:
        >>> from sordino.privacy.randomness import SystemRandomness
        >>> len(Sampling("fixed", 3).draw(10, SystemRandomness()))
        3
    """

    name: Literal["poisson", "fixed"]
    cohort: int

    def __post_init__(self) -> None:
        if self.name not in SAMPLINGS:
            raise UsageError(f"sampling {self.name!r} is not one of: {', '.join(SAMPLINGS)}")
        if self.cohort < 1:
            raise UsageError(f"a cohort has at least 1 user, not {self.cohort}")

    def rate(self, users: int) -> float:
        """Chance of a user to be chosen.

        Args:
            users: how many there are.

        Raises:
            UsageError: there are fewer than a cohort.
        """
        if self.cohort > users:
            raise UsageError(f"a cohort of {self.cohort} cannot be drawn from {users} users")
        return self.cohort / users

    def draw(self, users: int, randomness: Randomness) -> Ints:
        """Numbers of users, ascending; perhaps none.

        Args:
            users: how many there are.
            randomness: decides.
        """
        self.rate(users)
        if self.name == "poisson":
            chance = Fraction(self.cohort, users)
            return np.concatenate(
                [
                    start
                    + np.flatnonzero(bernoulli(chance, min(_BLOCK, users - start), randomness))
                    for start in range(0, users, _BLOCK)
                ]
            )
        # Floyd's way: as many draws as are kept, each set with the same chance.
        chosen: set[int] = set()
        for last in range(users - self.cohort, users):
            one = int(randomness.below(last + 1, 1)[0])
            chosen.add(last if one in chosen else one)
        return np.array(sorted(chosen), dtype=np.int64)
