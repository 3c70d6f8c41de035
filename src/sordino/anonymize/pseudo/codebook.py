"""Many voices that nobody has: drawn from a density, far from real ones and from each other."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.anonymize.pseudo.base import unit
from sordino.anonymize.pseudo.keyed import normal_rows
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]

# Draws from the density that tell how near its voices come to real ones and to each other; they
# are public, since limits must not depend on the key.
_TRIED = 1024
_TRIED_SEED = b"sordino limits of nearness"
_DRAWS_PER_VOICE, _FURTHER_DRAWS = 50, 5000
_AT_ONCE = 512


class Limits(NamedTuple):
    """How near a voice may be to others: the largest cosine allowed.

    Attributes:
        real: to any real voice of the pool.
        other: to another voice of the list.
    """

    real: float
    other: float


@lru_cache(maxsize=16)
def nearness_limits(pool: Pool, group: str, voices: int, spread: float) -> Limits:
    """How near to real voices, and to each other, voices of a list may be.

    Both limits are the median, over the real voices of the group, of the cosine to the nearest
    other one of the group: half of the real voices have a nearer neighbour. Where a pool is so
    small, or a list so long, that too few draws from the density keep to that, a limit is as high
    as half of the draws need to keep away from real voices, and as all but one in `voices` / 2
    pairs of draws need to keep away from each other.

    Args:
        pool: real voices.
        group: whose density: "F", "M", or "" for all.
        voices: how long the list is.
        spread: multiplies the density's standard deviations.

    Raises:
        UsageError: the pool is too small for a density.
    """
    draws = _candidates(pool, _TRIED_SEED, group, spread, np.arange(_TRIED), 0)
    real = pool.vectors[pool.members(group, fewest=2, remedy="use a pool with more voices")]
    between = real @ real.T
    np.fill_diagonal(between, -np.inf)
    neighbours = float(np.median(between.max(axis=1)))
    to_real = float(np.median((draws @ pool.vectors.T).max(axis=1)))
    pairs = (draws @ draws.T)[np.triu_indices(_TRIED, 1)]
    to_others = float(np.quantile(pairs, 1 - min(0.5, 2 / voices)))
    return Limits(max(neighbours, to_real), max(neighbours, to_others))


def one_voice(pool: Pool, seed: bytes, group: str, spread: float) -> FloatArray:
    """The first voice of a stream that is not near a real one.

    Args:
        pool: real voices.
        seed: decides the stream.
        group: whose density is drawn from: "F", "M", or "" for all.
        spread: multiplies the density's standard deviations.

    Returns:
        Shape (S,), of length 1.

    Raises:
        UsageError: the pool is too small for a density, or leaves no room.
    """
    limit = nearness_limits(pool, group, 1, spread).real
    place = np.zeros(1, dtype=np.intp)
    for turn in range(_FURTHER_DRAWS):
        voice: FloatArray = _candidates(pool, seed, group, spread, place, turn)[0]
        if (pool.vectors @ voice).max() <= limit:
            return voice
    raise UsageError(_no_room(0, 1))


@lru_cache(maxsize=4)
def codebook(pool: Pool, seed: bytes, group: str, voices: int, spread: float) -> FloatArray:
    """A list of voices, none of which is near another or near a real one.

    Each place in the list has a stream of candidates of its own. Place after place, and turn
    after turn for the places that are still empty, a candidate is taken if its cosines to the
    voices of the pool and to those that were taken before keep to `nearness_limits`.

    Args:
        pool: real voices.
        seed: decides the streams.
        group: whose density is drawn from: "F", "M", or "" for all.
        voices: how many.
        spread: multiplies the density's standard deviations.

    Returns:
        Shape (voices, S), each of length 1, not to be written to. It is kept for the next call.

    Raises:
        UsageError: the pool is too small for a density, or leaves no room for so many.
    """
    limits = nearness_limits(pool, group, voices, spread)
    taken = np.empty((voices, pool.dimension))
    places = np.empty(voices, dtype=np.intp)
    done = drawn = turn = 0
    empty = np.arange(voices)
    while empty.size:
        if drawn > _DRAWS_PER_VOICE * voices + _FURTHER_DRAWS:
            raise UsageError(_no_room(done, voices))
        still_empty = []
        for start in range(0, len(empty), _AT_ONCE):
            block = empty[start : start + _AT_ONCE]
            candidates = _candidates(pool, seed, group, spread, block, turn)
            fits = (candidates @ pool.vectors.T).max(axis=1) <= limits.real
            fits &= (candidates @ taken[:done].T).max(axis=1, initial=-1.0) <= limits.other
            fits = _first_come(candidates @ candidates.T > limits.other, fits)
            new = done + int(fits.sum())
            taken[done:new], places[done:new] = candidates[fits], block[fits]
            still_empty.append(block[~fits])
            done = new
        drawn += len(empty)
        turn += 1
        empty = np.concatenate(still_empty)
    book = np.empty_like(taken)
    book[places] = taken
    book.flags.writeable = False
    return book


def _candidates(
    pool: Pool, seed: bytes, group: str, spread: float, places: npt.NDArray[np.intp], turn: int
) -> FloatArray:
    streams = ((int(place), turn) for place in places)
    return unit(pool.gaussian(group).place(normal_rows(seed, streams, pool.dimension), spread))


def _first_come(near: npt.NDArray[np.bool_], fits: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    # Only candidates that are near another one need to be looked at one by one.
    kept: npt.NDArray[np.bool_] = fits.copy()
    for row in np.flatnonzero(np.tril(near, -1).any(axis=1)):
        kept[row] &= not (near[row, :row] & kept[:row]).any()
    return kept


def _no_room(found: int, wanted: int) -> str:
    return (
        f"the pool leaves room for {found} of {wanted} voices that differ; set voices to fewer"
        " or spread higher, or use a pool with more voices"
    )
