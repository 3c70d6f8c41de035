"""Who is exposed: the groups of trials, identification among N, and the most exposed speakers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.corpus.corpus import Corpus
from sordino.corpus.trials import Trials
from sordino.evaluate.metrics.eer import equal_error_rate
from sordino.evaluate.metrics.identification import (
    blind_singling_out,
    linkage,
    rank_speakers,
    singling_out,
)
from sordino.evaluate.metrics.scores import Scores, finite_scores
from sordino.evaluate.privacy import checked_scores
from sordino.evaluate.results import ALL, Identification, WorstCase

BoolArray = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.integer]

_ROUNDS = 5
_CROWDS = (1, 2, 5)


def groups(trials: Trials, corpus: Corpus) -> Mapping[str, BoolArray]:
    """Which trials belong to each group that an error rate can be told of.

    "all"; "same-sex", "F-F" and "M-M" by the sexes of both speakers; "language: en" and
    "corpus: vctk" by those of the utterance and of all that it is compared with, unless that is
    every trial. A group without targets or without non-targets is left out; see `left_out`.

    Args:
        trials: a list with targets and non-targets.
        corpus: tells of the utterances; what it does not have belongs to "all" only.

    Returns:
        Masks of shape (trials,), by name.

    Example:
        >>> from sordino.corpus.trials import make_trials
        >>> from sordino.corpus.utterance import Utterance
        >>> corpus = Corpus(tuple(
        ...     Utterance(f"{who}{take}", Path(f"{who}{take}.wav"), who, sex=sex)
        ...     for who, sex in (("ann", "F"), ("eve", "F"), ("bob", "M")) for take in range(4)
        ... ))
        >>> trials = make_trials(corpus)
        >>> {name: int(chosen.sum()) for name, chosen in groups(trials, corpus).items()}
        {'all': 9, 'same-sex': 5, 'F-F': 4}
        >>> left_out(trials, corpus)
        ('M-M has no non-target trials and is left out.',)
    """
    return {name: chosen for name, chosen in _groups(trials, corpus) if not _lacks(trials, chosen)}


def left_out(trials: Trials, corpus: Corpus) -> tuple[str, ...]:
    """Which groups `groups` leaves out, and why: a sentence each.

    Args:
        trials: as for `groups`.
        corpus: as for `groups`.
    """
    return tuple(
        f"{name} has no {lacks} trials and is left out."
        for name, chosen in _groups(trials, corpus)
        if chosen.any() and (lacks := _lacks(trials, chosen))
    )


def identification(scores: npt.ArrayLike, trials: Trials) -> Identification | None:
    """How often a speaker is found among N, as N grows.

    It takes the largest collection in which every utterance of an enrolled speaker was tried
    against every enrolment, and in which each speaker is enrolled once: only there is a crowd of
    any N a fair draw. Linking is the first rank among N enrolments, ties in any order. To single
    out, the attacker knows an enrolment and sees one utterance of each speaker; the threshold is
    set on the others, so that speakers with one utterance are not in the crowd. That is done in up
    to five rounds, in which utterances take turns, and the mean taken.

    Args:
        scores: shape (trials,).
        trials: what each is of.

    Returns:
        None where there is no such collection, or only one speaker in it.

    Raises:
        UsageError: a score is missing, too many or NaN.

    Example:
        >>> from sordino.corpus.trials import Enrolment
        >>> trials = Trials(
        ...     (Enrolment("ann", "ann", ("a1",)), Enrolment("bob", "bob", ("b1",))),
        ...     ("a2", "b2"),
        ...     ("ann", "bob"),
        ...     np.array([0, 0, 1, 1], dtype=np.int32),
        ...     np.array([0, 1, 0, 1], dtype=np.int32),
        ... )
        >>> identification([0.9, 0.2, 0.1, 0.3], trials)
        Identification(among=(2,), linked=(1.0,), singled_out=(None,), blind=(0.5,))
    """
    (values,) = finite_scores(checked_scores(scores, trials))
    crossed = _largest_crossed(values, trials)
    if crossed is None:
        return None
    enrolled = crossed.matrix.shape[1]
    among = _sizes(enrolled)
    ranks = rank_speakers(crossed.matrix, crossed.right)
    return Identification(
        among,
        tuple(float(linkage(ranks, size).mean()) for size in among),
        tuple(_singled_out(crossed, among)),
        tuple(blind_singling_out(size) for size in among),
    )


def worst_cases(
    scores: npt.ArrayLike, trials: Trials, *, system: str, scenario: str, attacker: str
) -> tuple[WorstCase, ...]:
    """Every enrolled speaker with target trials, the most exposed first.

    That is the one of the lowest error rate, then of the most first ranks. The own enrolment ranks
    first where it scores above all enrolments of others that were tried with the utterance, one at
    least.

    Args:
        scores: shape (trials,).
        trials: what each is of.
        system: who was attacked; for the records.
        scenario: likewise.
        attacker: likewise.

    Raises:
        UsageError: a score is missing, too many or NaN.

    Example:
        >>> from sordino.corpus.trials import Enrolment
        >>> trials = Trials(
        ...     (Enrolment("ann", "ann", ("a1",)), Enrolment("bob", "bob", ("b1",))),
        ...     ("a2", "a3"),
        ...     ("ann", "ann"),
        ...     np.array([0, 0, 1, 1], dtype=np.int32),
        ...     np.array([0, 1, 0, 1], dtype=np.int32),
        ... )
        >>> (worst,) = worst_cases(
        ...     [0.9, 0.2, 0.1, 0.3], trials, system="mute", scenario="OA", attacker="cosine"
        ... )
        >>> worst.speaker, worst.targets, worst.first, worst.eer
        ('ann', 2, 1, None)
    """
    (values,) = finite_scores(checked_scores(scores, trials))
    first = _ranks_first(values, trials)
    cases = []
    for _, part in _by_number(trials.enrolled):
        own = trials.is_target[part]
        if not own.any():
            continue
        targets, nontargets = values[part[own]], values[part[~own]]
        rate = None
        if targets.size >= 2 and nontargets.size:
            rate = equal_error_rate(targets, nontargets).rate
        hits = int(first[part[own]].sum())
        speaker = trials.enrolments[trials.model[part[0]]].speaker
        cases.append(WorstCase(system, scenario, attacker, speaker, targets.size, hits, rate))
    return tuple(sorted(cases, key=_exposure))


def _exposure(case: WorstCase) -> tuple[float, float, str]:
    return (1.0 if case.eer is None else case.eer, -case.first / case.targets, case.speaker)


def _groups(trials: Trials, corpus: Corpus) -> Iterator[tuple[str, BoolArray]]:
    """All groups, those without targets or non-targets too."""
    yield ALL, np.ones(len(trials), dtype=bool)
    known = corpus.by_id()
    sexes = {utterance.speaker: utterance.sex for utterance in corpus if utterance.sex}
    enrolled = [sexes.get(enrolment.speaker) for enrolment in trials.enrolments]
    tried = [sexes.get(speaker) for speaker in trials.speakers]
    pairs = {sex: _both(trials, enrolled, tried, sex) for sex in ("F", "M")}
    if any(chosen.any() for chosen in pairs.values()):
        yield "same-sex", pairs["F"] | pairs["M"]
        yield "F-F", pairs["F"]
        yield "M-M", pairs["M"]
    for name in ("language", "corpus"):
        of = {utterance.id: getattr(utterance, name) for utterance in known.values()}
        models = [_common(of, enrolment.utterances) for enrolment in trials.enrolments]
        spoken = [of.get(utterance) for utterance in trials.utterances]
        for value in sorted({value for value in spoken if value is not None}):
            chosen = _both(trials, models, spoken, value)
            if not chosen.all():
                yield f"{name}: {value}", chosen


def _both(
    trials: Trials, models: Sequence[str | None], utterances: Sequence[str | None], value: str
) -> BoolArray:
    """Trials in which the enrolment and the utterance have this value."""
    enrolled, tried = (
        np.array([one == value for one in side], dtype=bool) for side in (models, utterances)
    )
    return np.asarray(enrolled[trials.model] & tried[trials.utterance])


def _common(of: Mapping[str, str | None], utterances: Sequence[str]) -> str | None:
    """What all of some utterances have in common."""
    values = {of.get(utterance) for utterance in utterances}
    return values.pop() if len(values) == 1 else None


def _lacks(trials: Trials, chosen: BoolArray) -> str:
    own = trials.is_target[chosen]
    if not own.any():
        return "target"
    return "non-target" if own.all() else ""


@dataclass(frozen=True, eq=False)
class _Crossed:
    """Scores of utterances with all enrolments of a collection.

    Attributes:
        matrix: shape (utterances, enrolled).
        right: the column of the speaker of each utterance, shape (utterances,).
    """

    matrix: Scores
    right: Indices


def _largest_crossed(scores: Scores, trials: Trials) -> _Crossed | None:
    collection = _collections(trials)
    # Of impostors who are not enrolled, nobody asks which enrolment is theirs.
    spoken = np.zeros(len(trials.utterances), dtype=bool)
    spoken[trials.utterance[trials.is_target]] = True
    counted = spoken[trials.utterance]
    best: _Crossed | None = None
    for _, part in _by_number(np.where(counted, collection[trials.model], -1)):
        if not counted[part[0]]:
            continue
        found = _crossed(scores[part], trials, part)
        if found and (best is None or _size(found) > _size(best)):
            best = found
    return best


def _crossed(scores: Scores, trials: Trials, part: Indices) -> _Crossed | None:
    models, columns = np.unique(trials.model[part], return_inverse=True)
    utterances, rows = np.unique(trials.utterance[part], return_inverse=True)
    speakers = {trials.enrolments[model].speaker for model in models}
    if models.size < 2 or len(speakers) < models.size:
        return None
    own = trials.is_target[part]
    if part.size < models.size * utterances.size or int(own.sum()) < utterances.size:
        return None
    matrix = np.empty((utterances.size, models.size), scores.dtype)
    matrix[rows, columns] = scores
    right = np.empty(utterances.size, dtype=np.int64)
    right[rows[own]] = columns[own]
    return _Crossed(matrix, right)


def _size(crossed: _Crossed) -> tuple[int, int]:
    return crossed.matrix.shape[1], crossed.matrix.shape[0]


def _collections(trials: Trials) -> Indices:
    """A number for each enrolment; the same where trials lead from one to the other."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    models = len(trials.enrolments)
    nodes = models + len(trials.utterances)
    links = coo_array(
        (np.ones(len(trials), dtype=bool), (trials.model, trials.utterance + models)),
        shape=(nodes, nodes),
    )
    numbers: Indices = connected_components(links, directed=False)[1][:models]
    return numbers


def _sizes(enrolled: int) -> tuple[int, ...]:
    """2, 5, 10, 20, 50, ... and all."""
    scale = [step * 10**power for power in range(9) for step in _CROWDS]
    return (*(size for size in scale if 2 <= size < enrolled), enrolled)


def _singled_out(crossed: _Crossed, among: Sequence[int]) -> Iterator[float | None]:
    """Only speakers with two utterances or more are in the crowd."""
    order = np.argsort(crossed.right, kind="stable")
    owners, begin, counts = np.unique(crossed.right[order], return_index=True, return_counts=True)
    several = counts >= 2
    owners, begin, counts = owners[several], begin[several], counts[several]
    if owners.size < 2:
        yield from (None for _ in among)
        return
    rounds = [
        _records(crossed, order, owners, begin, counts, take)
        for take in range(min(_ROUNDS, int(counts.max())))
    ]
    columns = np.arange(owners.size)
    for size in among:
        if size > owners.size:
            yield None
            continue
        found = [singling_out(seen, others, columns, heard, size) for seen, others, heard in rounds]
        yield float(np.mean(found))


def _records(
    crossed: _Crossed, order: Indices, owners: Indices, begin: Indices, counts: Indices, take: int
) -> tuple[Scores, Scores, Indices]:
    """Scores of one utterance of each speaker and of all others, and whose those are."""
    seen = order[begin + take % counts]
    heard = np.searchsorted(owners, crossed.right)
    rest = np.isin(crossed.right, owners)
    rest[seen] = False
    return crossed.matrix[seen][:, owners].T, crossed.matrix[rest][:, owners].T, heard[rest]


def _ranks_first(scores: Scores, trials: Trials) -> BoolArray:
    """For each target trial whether its score is above all of others' enrolments."""
    best = np.full(len(trials.utterances), -np.inf)
    others = ~trials.is_target
    np.maximum.at(best, trials.utterance[others], scores[others])
    compared = best[trials.utterance]
    return np.asarray(trials.is_target & np.isfinite(compared) & (scores > compared))


def _by_number(numbers: Indices) -> Iterator[tuple[int, Indices]]:
    """Each number with the places where it stands."""
    order = np.argsort(numbers, kind="stable")
    distinct, begin = np.unique(numbers[order], return_index=True)
    yield from zip(distinct.tolist(), np.split(order, begin[1:]), strict=True)
