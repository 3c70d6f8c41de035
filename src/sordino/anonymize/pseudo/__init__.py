"""Pseudo-speakers: whose voice somebody gets, as a vector that a vocoder speaks with.

A strategy maps a pool of real voices, the key and (some of them) the speaker's own vector to the
vector of a pseudo-speaker. All vectors here have length 1, those of the pool, of sources and of
pseudo-speakers; a vocoder is trained with such vectors and fed with them.
"""

from __future__ import annotations

from collections.abc import Mapping

from sordino.anonymize.named import make_known
from sordino.anonymize.pseudo.average import Average
from sordino.anonymize.pseudo.base import Strategy
from sordino.anonymize.pseudo.density import Density
from sordino.anonymize.pseudo.orthogonal import Orthogonal
from sordino.anonymize.pseudo.pool_voice import PoolVoice
from sordino.errors import UsageError

STRATEGIES: Mapping[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Density, Average, Orthogonal, PoolVoice)
}


def make_strategy(name: str, **settings: object) -> Strategy:
    """Make a strategy by its name.

    Args:
        name: one of `STRATEGIES`.
        settings: the strategy's own; those not given have its defaults.

    Raises:
        UsageError: there is no such strategy, or it has no such setting or value.

    Example:
        >>> make_strategy("average", candidates=20, averaged=10).settings()
        {'gender': 'same', 'proximity': 'farthest', 'candidates': 20, 'averaged': 10}
    """
    if name not in STRATEGIES:
        raise UsageError(
            f"there is no pseudo-speaker strategy {name!r}; there are: {', '.join(STRATEGIES)}"
        )
    return make_known(STRATEGIES[name], settings, f"pseudo-speaker strategy {name}")
