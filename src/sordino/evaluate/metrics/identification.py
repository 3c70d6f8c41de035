"""Who is it, out of N? Linking to the right one, and singling one out, as N grows.

Equal error rates do not tell these, since they compare two at a time. All figures are expected
values over all crowds of N that can be drawn from the speakers at hand, in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.metrics.checks import finite_numbers

FloatArray = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

# Scores compared at once.
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where the right speaker comes among all who are enrolled.

    Attributes:
        above: how many others score higher, shape (utterances,).
        level: how many others score the same, shape (utterances,).
        enrolled: how many are enrolled, the right one too.
    """

    above: Counts
    level: Counts
    enrolled: int


def rank_speakers(scores: npt.ArrayLike, right: npt.ArrayLike) -> Ranks:
    """Rank the right speaker of each utterance among all enrolled speakers.

    Args:
        scores: shape (utterances, enrolled).
        right: the column of the speaker of each utterance, shape (utterances,).

    Raises:
        UsageError: the shapes do not fit, a score is NaN or infinite, or a column does not exist.

    Example:
        >>> ranks = rank_speakers([[0.9, 0.1, 0.3], [0.5, 0.2, 0.2]], [0, 1])
        >>> ranks.above.tolist(), ranks.level.tolist()
        ([0, 1], [0, 1])
    """
    matrix = finite_numbers(scores, "scores", 2)
    columns = _columns(right, *matrix.shape)
    above, level = np.empty((2, len(matrix)), dtype=np.int64)
    step = max(1, _BLOCK // matrix.shape[1])
    for start in range(0, len(matrix), step):
        rows = matrix[start : start + step]
        part = slice(start, start + len(rows))
        own = np.take_along_axis(rows, columns[part, None], axis=1)
        above[part] = np.count_nonzero(rows > own, axis=1)
        level[part] = np.count_nonzero(rows == own, axis=1) - 1
    return Ranks(above, level, matrix.shape[1])


def linkage(ranks: Ranks, among: int, *, best: int = 1) -> FloatArray:
    """For each utterance, how likely its speaker is among the best of N enrolled.

    The N are its speaker and N - 1 others, drawn without replacement. If m of M others score
    higher, k of those drawn do with the probability of the hypergeometric distribution; equal
    scores come in any order, so that scores that are all alike give the chance, best / N. The mean
    over the utterances is the figure of a system; for its interval, see `WeightedRatio`.

    Args:
        ranks: of the right speakers.
        among: N, from 1 to the number of enrolled speakers.
        best: how many of the first count as a success, from 1.

    Returns:
        From 0 to 1, shape (utterances,).

    Raises:
        UsageError: a number is out of range.

    Example:
        >>> ranks = rank_speakers([[0.9, 0.1, 0.3], [0.5, 0.2, 0.1]], [0, 1])
        >>> [linkage(ranks, among).tolist() for among in (1, 2, 3)]
        [[1.0, 1.0], [1.0, 0.5], [1.0, 0.0]]

    Source: B. M. L. Srivastava et al., "Legally validated evaluation framework for voice
    anonymization", Interspeech 2025 (linkability, best = 1, with ties for the attacker); with
    ties at random here.
    """
    others = ranks.enrolled - 1
    _check_among(among, ranks.enrolled)
    if best < 1:
        raise UsageError(f"best is {best}; it should be from 1")
    # Success with 0, 1, ..., all others above, and its sums, for the mean over ties.
    success = np.zeros(others + 1)
    for drawn in range(min(best, among)):
        success += _hypergeometric(drawn, np.arange(others + 1), others, among - 1)
    sums = np.concatenate([[0.0], np.cumsum(success)])
    tied = (sums[ranks.above + ranks.level + 1] - sums[ranks.above]) / (ranks.level + 1)
    # A single entry is exact; only means have gone through the sums.
    return np.clip(np.where(ranks.level == 0, success[ranks.above], tied), 0.0, 1.0)


def expected_rank(ranks: Ranks, among: int) -> FloatArray:
    """For each utterance, the rank of its speaker among N enrolled, on average over the crowds.

    Args:
        ranks: of the right speakers.
        among: N, from 1 to the number of enrolled speakers.

    Returns:
        From 1 to N, shape (utterances,); (N + 1) / 2 where all scores are alike.

    Raises:
        UsageError: N is out of range.

    Example:
        >>> expected_rank(rank_speakers([[0.9, 0.1, 0.3], [0.5, 0.2, 0.1]], [0, 1]), 2).tolist()
        [1.0, 1.5]
    """
    _check_among(among, ranks.enrolled)
    share = (ranks.above + ranks.level / 2) / max(1, ranks.enrolled - 1)
    return 1 + (among - 1) * share


def singling_out(
    scores: npt.ArrayLike,
    calibration: npt.ArrayLike,
    right: npt.ArrayLike,
    heard: npt.ArrayLike,
    among: int,
) -> FloatArray:
    """For each attacker, how likely one person, whoever it is, is singled out of a crowd of N.

    An attacker has the voice of one speaker and a threshold. He succeeds where exactly one of the
    N records, one a speaker, scores above it. The N are his speaker and N - 1 others, drawn
    without replacement. The threshold is set on other records of all speakers, such that the
    number above it in a crowd of N is 1 on average. Who knows nothing singles out with the
    probability (1 - 1/N)^(N-1), near 0.37, or somewhat less where a threshold is set on few
    records: read the figure against it (`blind_singling_out`).

    Args:
        scores: of the records, one a speaker, shape (attackers, speakers), at least 2 speakers.
        calibration: of the records for the threshold, shape (attackers, records).
        right: the column in `scores` of each attacker's speaker, shape (attackers,).
        heard: the column in `scores` of the speaker of each record of `calibration`, shape
            (records,); each speaker needs one or more.
        among: N, from 2 to the number of speakers.

    Returns:
        From 0 to 1, shape (attackers,).

    Raises:
        UsageError: the shapes do not fit, a score is NaN or infinite, a column does not exist, a
            speaker has no record for the threshold, or N is out of range.

    Example:
        >>> alike = np.eye(4)
        >>> singling_out(alike, alike, range(4), range(4), 3).tolist()
        [1.0, 1.0, 1.0, 1.0]

    Source: A. Cohen and K. Nissim, "Towards formalizing the GDPR's notion of singling out", PNAS
    117(15), 2020; for voices B. M. L. Srivastava et al., as for `linkage`, where the threshold is
    set anew for each crowd drawn; here it is one for all crowds of N, so that no draws are needed.
    """
    matrix = finite_numbers(scores, "scores", 2)
    records = finite_numbers(calibration, "calibration scores", 2)
    attackers, speakers = matrix.shape
    if len(records) != attackers:
        raise UsageError(
            f"there are scores of {attackers} attackers and calibration scores of {len(records)}"
        )
    columns = _columns(right, attackers, speakers)
    owners = _columns(heard, records.shape[1], speakers)
    if speakers < 2:
        raise UsageError("there is one speaker; nobody can be singled out of a crowd of one")
    if among < 2:
        raise UsageError(f"a crowd of {among} is none; expected 2 to {speakers}")
    _check_among(among, speakers)
    shares = np.bincount(owners, minlength=speakers)
    if not shares.all():
        raise UsageError(f"speaker {int(shares.argmin())} has no record for the threshold")
    others = speakers - 1
    result = np.empty(attackers)
    for attacker, column in enumerate(columns):
        expected = np.where(owners == column, 1.0, (among - 1) / others) / shares[owners]
        fires = matrix[attacker] > _threshold(records[attacker], expected)
        own = bool(fires[column])
        found = np.array([int(fires.sum()) - own])
        result[attacker] = _hypergeometric(0 if own else 1, found, others, among - 1)[0]
    return result


def blind_singling_out(among: int) -> float:
    """How likely one of N is singled out by a guess that meets each with probability 1/N.

    Args:
        among: N, from 2.

    Raises:
        UsageError: N is out of range.

    Example:
        >>> blind_singling_out(2), round(blind_singling_out(10**6), 4)
        (0.5, 0.3679)
    """
    if among < 2:
        raise UsageError(f"a crowd of {among} is none; expected 2 or more")
    return float((1 - 1 / among) ** (among - 1))


def _threshold(records: npt.NDArray[np.floating], expected: FloatArray) -> float:
    """Midway between the lowest score that is to be above it and the next lower one.

    `expected` is how often each record's speaker is met in a crowd, by record.
    """
    order = np.argsort(-records, kind="stable")
    descending = records[order].astype(np.float64)
    met = np.cumsum(expected[order])
    # Equal scores are above together or not at all; a share of 1 is reached but for rounding.
    last = np.append(descending[1:] < descending[:-1], True)
    within = np.flatnonzero(last & (met <= 1 + 1e-9))
    if not within.size:
        return float(descending[0])
    at = int(within[-1])
    if at + 1 == descending.size:
        return -np.inf
    return float((descending[at] + descending[at + 1]) / 2)


def _hypergeometric(hits: int, marked: Counts, population: int, drawn: int) -> FloatArray:
    """How likely `drawn` of a population hold `hits` marked ones, by how many are marked."""
    from scipy.special import gammaln

    def logarithm(whole: npt.ArrayLike, part: npt.ArrayLike) -> FloatArray:
        """Of a binomial coefficient."""
        rest = np.subtract(whole, part)
        return np.asarray(
            gammaln(np.add(whole, 1.0)) - gammaln(np.add(part, 1.0)) - gammaln(rest + 1.0)
        )

    rest = population - marked
    possible = (marked >= hits) & (rest >= drawn - hits) & (drawn >= hits)
    result = np.zeros(marked.shape)
    if drawn < hits:
        return result
    chosen, left = marked[possible], rest[possible]
    result[possible] = np.exp(
        logarithm(chosen, hits) + logarithm(left, drawn - hits) - logarithm(population, drawn)
    )
    return result


def _columns(right: npt.ArrayLike, count: int, columns: int) -> Counts:
    places = np.asarray(right)
    if places.shape != (count,):
        raise UsageError(f"the right speakers have shape {places.shape}; expected ({count},)")
    if not np.issubdtype(places.dtype, np.integer):
        raise UsageError(f"the right speakers are {places.dtype}; expected numbers of columns")
    if places.min() < 0 or places.max() >= columns:
        raise UsageError(f"the right speakers should be columns from 0 to {columns - 1}")
    return places.astype(np.int64)


def _check_among(among: int, enrolled: int) -> None:
    if not 1 <= among <= enrolled:
        raise UsageError(f"there are {enrolled} speakers; a crowd of {among} cannot be drawn")
