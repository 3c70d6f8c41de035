"""The speaker's own voice, turned about the middle of all voices."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Draws
from sordino.anonymize.pseudo.base import Source, Strategy, checked_choice, checked_source, unit
from sordino.anonymize.pseudo.keyed import common_seed, rotation, voice_seed
from sordino.anonymize.pseudo.pool import Pool

FloatArray = npt.NDArray[np.float64]
Turn = Literal["common", "own"]


class Orthogonal(Strategy):
    """The source's vector, turned by a keyed rotation or reflection.

    It is turned in the space in which the pool's voices vary equally in all directions, about
    their mean, on the shell on which nearly all voices of that distribution lie; then it is
    brought back and to length 1.

    With turn "common" it is one rotation for everybody under a key: on the shell, whoever sounds
    alike keeps sounding alike and whoever differs keeps differing, by exactly as much. That keeps
    speakers apart, and it is also the weakness: who has recordings of about as many people as a
    vector has numbers, before and after, can work the rotation out and undo it for everybody.
    With turn "own" each pseudo-speaker has a rotation of its own: any voice is as likely as any
    other, whatever the source.

    Args:
        turn: "common" or "own".

    Raises:
        UsageError: another word.

    Example:
        >>> Orthogonal().settings()
        {'turn': 'common'}

    Source: X. Miao et al., "Speaker anonymization using orthogonal Householder neural network",
    2023, with a keyed transform in a whitened space in place of a trained network.
    """

    name = "orthogonal"

    def __init__(self, turn: Turn = "common") -> None:
        self._turn: Turn = checked_choice(turn, "turn", Turn)

    @property
    def needs_source(self) -> bool:
        """See `Strategy.needs_source`."""
        return True

    def settings(self) -> Mapping[str, object]:
        """See `Strategy.settings`."""
        return {"turn": self._turn}

    def choose(self, pool: Pool, draws: Draws, source: Source | None = None) -> FloatArray:
        """See `Strategy.choose`."""
        vector = checked_source(source, pool, "the strategy orthogonal").vector
        seed = (common_seed if self._turn == "common" else voice_seed)(draws, "orthogonal")
        return unit(turned(pool, vector[None], _rotation(seed, pool.dimension))[0])


def turned(pool: Pool, vectors: FloatArray, matrix: FloatArray) -> FloatArray:
    """Turn vectors on a shell in the pool's whitened space.

    Without the shell, voices would crowd around the mean: a pool of fewer voices than dimensions
    does not vary in all of them, and a rotation moves what it varies in to where there is little.

    Args:
        pool: its mean is the middle, its shrunk covariance the measure.
        vectors: shape (n, S).
        matrix: shape (S, S), orthogonal.

    Returns:
        Shape (n, S), not brought to length 1. Whitened, the length of each row is the square root
        of S, and cosines between rows are those between the whitened `vectors`.
    """
    voices = pool.gaussian("")
    shell = np.sqrt(pool.dimension) * unit(voices.whiten(vectors))
    return voices.place(shell @ matrix.T)


@lru_cache(maxsize=4)
def _rotation(seed: bytes, size: int) -> FloatArray:
    matrix = rotation(seed, size)
    matrix.flags.writeable = False
    return matrix
