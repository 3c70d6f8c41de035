"""How often a user takes part, counted before anything is released."""

from __future__ import annotations

import math

from sordino.errors import UsageError
from sordino.federated.regimes import Regime
from sordino.privacy.ledger import Ledger
from sordino.privacy.ledger.account import Cost
from sordino.privacy.ledger.composition import Limit
from sordino.privacy.ledger.ledger import Charge
from sordino.privacy.mechanisms.calibration import gaussian_delta, turning_point

_MOST_EPSILON = 1e5


class Participation:
    """A cap on the rounds that each user takes part in, kept in a ledger.

    In regimes with a local mechanism a round costs what one upload does. In regime central it
    costs what one release of the sum does without any amplification by sampling, so that the ledger
    is never below what was spent. In regime none it costs an infinite epsilon.

    Args:
        ledger: where it is counted; its own limits hold too.
        regime: what uploads go through.
        cap: most rounds of a user, from 1.
        purpose: what the ledger calls it.
        delta: in regime central, of one round.

    Raises:
        UsageError: the cap is below 1.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> regime = Regime.local(dimension=8, clip=1.0, epsilon=2.0)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     ledger = Ledger(Path(folder, "ledger"), create=True)
        ...     taking_part = Participation(ledger, regime, cap=2)
        ...     _ = taking_part.charge("anna")
        ...     taking_part.charge("anna").spent.epsilon
        4.0
    """

    def __init__(
        self,
        ledger: Ledger,
        regime: Regime,
        cap: int,
        *,
        purpose: str = "federated",
        delta: float = 1e-6,
    ) -> None:
        if cap < 1:
            raise UsageError(f"users take part in at least 1 round, not {cap}")
        self.cost = round_cost(regime, delta)
        self._ledger, self._cap, self._purpose = ledger, cap, purpose
        # A limit of deltas stays below 1.
        self._limit = Limit(self.cost.epsilon * cap, min(self.cost.delta * cap, 1 - 1e-9))

    def charge(self, person: str) -> Charge:
        """Count a round before its upload is made.

        Args:
            person: who takes part.

        Raises:
            UsageError: the cap is reached, or a limit of the ledger; nothing is counted.
        """
        before = self._ledger.standing(person).account.releases(self._purpose)
        if before >= self._cap:
            raise UsageError(
                f"{person!r} has taken part in {before} of at most {self._cap} rounds of"
                f" {self._purpose!r}; no upload is made"
            )
        return self._ledger.charge(person, self._purpose, self.cost, limit=self._limit)


def round_cost(regime: Regime, delta: float) -> Cost:
    """What a round costs a user who takes part in it, in the worst case.

    Args:
        regime: what uploads go through.
        delta: for central noise.

    Example:
        >>> cost = round_cost(Regime.central(dimension=8, clip=1.0, noise_multiplier=2.2305), 1e-6)
        >>> round(cost.epsilon, 3)
        2.0
    """
    if regime.local_epsilon is not None:
        return Cost(regime.local_epsilon, regime.local_delta, f"federated {regime.mechanism}")
    if regime.noise_multiplier is None:
        return Cost(math.inf, 0.0, "federated, no noise")
    z = regime.noise_multiplier

    def enough(epsilon: float) -> bool:
        return gaussian_delta(epsilon, z) <= delta

    if not enough(_MOST_EPSILON):
        return Cost(math.inf, 0.0, "federated central gaussian")
    epsilon = 0.0 if enough(0.0) else turning_point(enough, 0.0, _MOST_EPSILON)
    return Cost(epsilon, delta, "federated central gaussian")
