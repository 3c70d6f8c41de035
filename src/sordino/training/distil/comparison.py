"""Speaker networks with and without a teacher, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sordino.corpus.trials import make_trials
from sordino.errors import UsageError
from sordino.training.distil.data import UNKNOWN, Bools, SideData
from sordino.training.distil.errors_over_seeds import Compared, Scores, compare_errors
from sordino.training.distil.learn import Learnt, Way, learn, softened
from sordino.training.distil.settings import DistilSettings
from sordino.training.distil.trial_scores import Tried, with_rule

Floats = npt.NDArray[np.float32]

BASELINE = "baseline"
RULE, MIDDLE = "rule", "middle layer"


@dataclass(frozen=True)
class Row:
    """A way of training or scoring, and what it reaches.

    Attributes:
        name: of the row.
        errors: in verification of speakers who were not heard.
        same_class: the same against impostors of the enrolled speaker's class only, where side
            information cannot help; None where there are no such trials.
        other_classes: against impostors of other classes only, where it can.
        speakers: part of held back vectors of training speakers whose speaker is told rightly, for
            each training.
        agreement: part of them for which the side head says what the teacher says, for each
            training; empty without a side head.
        side: part of the tried speakers' vectors whose true class the side head tells, for each
            training; empty without one.
        teacher: the same of the teacher itself; empty without one.
    """

    name: str
    errors: Compared
    same_class: Compared | None
    other_classes: Compared | None
    speakers: tuple[float, ...]
    agreement: tuple[float, ...] = ()
    side: tuple[float, ...] = ()
    teacher: tuple[float, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """All rows, and what they were measured on.

    Attributes:
        rows: the baseline first.
        facts: numbers of speakers, vectors and trials.
    """

    rows: tuple[Row, ...]
    facts: Mapping[str, int]


@dataclass(frozen=True, eq=False)
class Trained:
    """A network of a comparison, to be kept.

    Attributes:
        row: its name.
        seed: of its training.
        learnt: the network.
    """

    row: str
    seed: int
    learnt: Learnt


def compare(
    data: SideData,
    teachers: Mapping[str, Sequence[Floats]],
    settings: DistilSettings,
    *,
    seeds: int = 5,
    speakers: int | None = None,
    enrolments: int = 2,
    targets: int = 4,
    alternatives: str | None = None,
    further: bool = False,
    draws: int = 1000,
    tell: Callable[[str, int], None] = lambda row, seed: None,
    keep: Callable[[Trained], None] = lambda trained: None,
) -> Comparison:
    """Train a baseline and a network for each teacher, with several seeds, and try them.

    A seed decides the training speakers (where there are more than are asked for), weights,
    batches, and which vectors of the tried speakers enrol, for all rows alike: which those are
    moves error rates of some tens of speakers as much as a training does.

    Args:
        data: vectors, standardised, with speakers and labels.
        teachers: by the row's name, for each seed the logits of a classifier for all vectors, shape
            (n, classes).
        settings: of all trainings.
        seeds: how many trainings a row has.
        speakers: how many speakers networks are trained on at most; None for all.
        enrolments: vectors in an enrolment.
        targets: the most trials of a speaker with itself.
        alternatives: a teacher with which the two other ways are tried: the rule that refuses by
            class, and the classifier's output in a middle layer. None for neither.
        further: whether side heads learn from the vectors of all who are not tried, not only from
            those of training speakers.
        draws: of speakers for intervals.
        tell: is told what is trained.
        keep: is given each trained network.

    Raises:
        UsageError: a number is out of range, or no trials can be made.
    """
    if seeds < 1:
        raise UsageError(f"{seeds} trainings: expected at least 1")
    if any(len(each) != seeds for each in teachers.values()):
        raise UsageError("each teacher has to say something for each seed")
    tried = [_tried(data, enrolments, targets, seed) for seed in range(seeds)]
    ways: dict[str, tuple[str | None, Way]] = {BASELINE: (None, "head")}
    ways |= {name: (name, "head") for name in teachers}
    if alternatives is not None:
        ways[f"{MIDDLE}, {alternatives}"] = (alternatives, "middle")
    scores: dict[str, list[Scores]] = {}
    told: dict[str, list[_Told]] = {name: [] for name in ways}
    for seed in range(seeds):
        for name, (teacher, way) in ways.items():
            tell(name, seed)
            said = None if teacher is None else teachers[teacher][seed]
            learnt, embeddings, facts = _one(
                data, settings, said, way, speakers, seed, further=further
            )
            keep(Trained(name, seed, learnt))
            scores.setdefault(name, []).append(tried[seed].scores(embeddings))
            told[name].append(facts)
    if alternatives is not None:
        name = f"{RULE}, {alternatives}"
        scores[name] = [
            with_rule(one, its.other_class(softened(said, 1.0), settings.confidence))
            for one, its, said in zip(scores[BASELINE], tried, teachers[alternatives], strict=True)
        ]
        told[name] = [replace(one, agreement=None, side=None) for one in told[BASELINE]]
        ways[name] = (alternatives, "head")
    errors = compare_errors(scores, [its.trials for its in tried], draws=draws)
    kinds = [_by_class(data, its) for its in tried]
    same, other = (
        _among([both[kind] for both in kinds], scores, tried, draws) for kind in range(2)
    )
    rows = tuple(
        Row(
            name,
            errors[name],
            same.get(name),
            other.get(name),
            tuple(one.speakers for one in told[name]),
            tuple(one.agreement for one in told[name] if one.agreement is not None),
            tuple(one.side for one in told[name] if one.side is not None),
            () if ways[name][0] is None else tuple(_of_teacher(data, teachers[str(ways[name][0])])),
        )
        for name in ways
    )
    return Comparison(rows, _facts(data, tried[0], speakers))


@dataclass(frozen=True)
class _Told:
    speakers: float
    agreement: float | None
    side: float | None


def _tried(data: SideData, enrolments: int, targets: int, seed: int) -> Tried:
    trials = make_trials(
        data.corpus_of(data.tried),
        enrolments_per_speaker=enrolments,
        targets_per_model=targets,
        seed=seed,
    )
    return Tried.of(trials, data.keys)


def _one(
    data: SideData,
    settings: DistilSettings,
    said: Floats | None,
    way: Way,
    speakers: int | None,
    seed: int,
    *,
    further: bool = False,
) -> tuple[Learnt, Floats, _Told]:
    rows = data.training(speakers, seed)
    back = data.held_back(rows)
    heard = rows & ~back
    others = ~data.tried & ~rows
    names, numbers = np.unique(data.speakers[heard], return_inverse=True)
    learnt = learn(
        settings,
        data.vectors[heard],
        numbers.astype(np.int64),
        seed,
        teacher=None if said is None else said[heard],
        way=way,
        further=(data.vectors[others], said[others]) if further and said is not None else None,
    )
    known = None if said is None else softened(said, settings.temperature)
    embeddings = learnt.embed(data.vectors, known)
    agreement = side = None
    if said is not None:
        agreement = learnt.side_accuracy(embeddings[back], said[back].argmax(axis=1))
        labelled = data.tried & (data.labels != UNKNOWN)
        if labelled.any():
            side = learnt.side_accuracy(embeddings[labelled], data.labels[labelled])
    told = learnt.speaker_accuracy(embeddings[back], np.searchsorted(names, data.speakers[back]))
    return learnt, embeddings, _Told(told, agreement, side)


def _of_teacher(data: SideData, logits: Sequence[Floats]) -> list[float]:
    labelled = data.tried & (data.labels != UNKNOWN)
    if not labelled.any():
        return []
    return [float(np.mean(one[labelled].argmax(axis=1) == data.labels[labelled])) for one in logits]


def _facts(data: SideData, tried: Tried, speakers: int | None) -> dict[str, int]:
    rows = data.training(speakers, 0)
    targets = int(tried.trials.is_target.sum())
    return {
        "users": int(np.unique(data.speakers[data.users]).size),
        "training_speakers": int(np.unique(data.speakers[rows]).size),
        "training_vectors": int((rows & ~data.held_back(rows)).sum()),
        "held_back_vectors": int(data.held_back(rows).sum()),
        "tried_speakers": len(tried.trials.enrolments),
        "target_trials": targets,
        "nontarget_trials": len(tried.trials) - targets,
    }


def _by_class(data: SideData, tried: Tried) -> tuple[Bools, Bools]:
    """Trials with impostors of the same class, and of another: targets are in both."""
    enrolled = data.labels[tried.enrolled[:, 0]][tried.trials.model]
    tested = data.labels[tried.tested][tried.trials.utterance]
    known = (enrolled != UNKNOWN) & (tested != UNKNOWN)
    own = tried.trials.is_target
    return known & (own | (enrolled == tested)), known & (own | (enrolled != tested))


def _among(
    chosen: Sequence[Bools],
    scores: Mapping[str, list[Scores]],
    tried: Sequence[Tried],
    draws: int,
) -> dict[str, Compared]:
    for part, its in zip(chosen, tried, strict=True):
        own = its.trials.is_target[part]
        if own.all() or not own.any():
            return {}
    some = {
        name: [one[part] for one, part in zip(each, chosen, strict=True)]
        for name, each in scores.items()
    }
    trials = [its.trials.select(part) for part, its in zip(chosen, tried, strict=True)]
    return compare_errors(some, trials, draws=draws)
