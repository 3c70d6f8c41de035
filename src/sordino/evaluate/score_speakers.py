"""Who speaks in trials that come with names only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.layouts.tables import lines
from sordino.corpus.trials import Enrolment, Trials
from sordino.errors import UsageError
from sordino.evaluate.score_columns import SPEAKER_LAYOUTS, Columns, read_columns

BoolArray = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.int32]


@dataclass(frozen=True)
class SpeakerTable:
    """Who speaks in which utterance, and what models are enrolled with.

    Attributes:
        path: of the table, for messages.
        speakers: of utterances, by their names.
        enrolled: utterances of models, by their names; empty where nobody says.
    """

    path: Path
    speakers: Mapping[str, str]
    enrolled: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, enrolls: Path | None = None) -> SpeakerTable:
        """Read a table of two columns, utterance and speaker, or one with such a header.

        Args:
            path: text, CSV or TSV; the column of utterances can be called path.
            enrolls: a model and its utterances in each line, or an utterance, which enrols its
                speaker.

        Raises:
            UsageError: a file cannot be read, an utterance has two speakers, or one that is
                enrolled has none.
        """
        columns = read_columns(path, SPEAKER_LAYOUTS, "speaker")
        for role in ("utterance", "speaker"):
            if role not in columns.texts:
                raise UsageError(f"{path}: has no column {role}")
        speakers: dict[str, str] = {}
        pairs = zip(columns.texts["utterance"], columns.texts["speaker"], strict=True)
        for row, (utterance, speaker) in enumerate(pairs):
            if not (utterance and speaker):
                raise UsageError(f"{columns.where(row)}: utterance or speaker is empty")
            if speakers.setdefault(utterance, speaker) != speaker:
                raise UsageError(f"{columns.where(row)}: {utterance} has two speakers")
        return cls(path, speakers, _enrolled(enrolls, speakers, path) if enrolls else {})


@dataclass(frozen=True, eq=False)
class Named:
    """Trials by the names in a list, in its order.

    Attributes:
        columns: the list, with the columns model and utterance.
        is_target: what it calls them, shape (trials,).
        models: the distinct models.
        utterances: the distinct utterances.
        model: an index into `models`, shape (trials,).
        utterance: an index into `utterances`, shape (trials,).
    """

    columns: Columns
    is_target: BoolArray
    models: tuple[str, ...]
    utterances: tuple[str, ...]
    model: Indices
    utterance: Indices

    @classmethod
    def of(cls, columns: Columns, is_target: BoolArray) -> Named:
        """From columns of text."""
        (models, model), (utterances, utterance) = (
            _indexed(columns.texts[role]) for role in ("model", "utterance")
        )
        return cls(columns, is_target, models, utterances, model, utterance)


def trials_of(named: Named, table: SpeakerTable | None) -> tuple[Trials | None, str]:
    """A list of trials with its speakers, if it can be told who they are.

    They are those of the table; else those of columns "enrolled" and "tried"; else the first
    folders of the names, as VoxCeleb has them, if every label agrees; else whom the labels join: a
    target trial says that the utterance is by the speaker of the model.

    Args:
        named: the trials.
        table: who speaks; None if nobody says.

    Returns:
        The trials, None if it cannot be told; and a sentence about it.

    Raises:
        UsageError: the table lacks somebody, or it or the columns contradict a label.
    """
    if table is not None:
        enrolled, tried = _by_table(named, table)
        return _checked(named, enrolled, tried, table), f"Speakers are those of {table.path.name}."
    texts = named.columns.texts
    if "enrolled" in texts and "tried" in texts:
        enrolled, tried = _by_columns(named)
        return _checked(named, enrolled, tried), "Speakers are those of the list's own columns."
    if all("/" in name for name in (*named.models, *named.utterances)):
        enrolled, tried = (
            [name.split("/", 1)[0] for name in names] for names in (named.models, named.utterances)
        )
        if not _contradictions(named, enrolled, tried).size:
            how = "Speakers are the first folders of the names; every label agrees."
            return _trials(named, enrolled, tried), how
    return _by_labels(named)


def _by_labels(named: Named) -> tuple[Trials | None, str]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    own = named.is_target
    heard = np.zeros(len(named.utterances), dtype=bool)
    heard[named.utterance[own]] = True
    if not heard.all():
        unknown = int((~heard).sum())
        return None, (
            f"It is not known who speaks: {unknown} of {heard.size} utterances are in no target"
            " trial. Give a table of speakers for intervals."
        )
    count = len(named.models)
    links = coo_array(
        (np.ones(int(own.sum()), dtype=bool), (named.model[own], named.utterance[own] + count)),
        shape=(count + heard.size, count + heard.size),
    )
    numbers = connected_components(links, directed=False)[1]
    # Each speaker is called as the first model of theirs.
    first: dict[int, str] = {}
    for number, name in zip(numbers[:count].tolist(), named.models, strict=True):
        first.setdefault(number, name)
    enrolled, tried = (
        [first[number] for number in part.tolist()] for part in (numbers[:count], numbers[count:])
    )
    wrong = _contradictions(named, enrolled, tried)
    if wrong.size:
        return None, (
            f"It is not known who speaks: labels contradict each other, such as that of"
            f" {named.columns.where(int(wrong[0]))}. Give a table of speakers for intervals."
        )
    how = "Speakers are the models of the list"
    joined = count - len(first)
    if joined:
        how += f", {joined} of which share utterances with others"
    return _trials(named, enrolled, tried), f"{how}."


def _by_table(named: Named, table: SpeakerTable) -> tuple[list[str], list[str]]:
    missing = [name for name in named.utterances if name not in table.speakers]
    if missing:
        raise UsageError(
            f"{table.path}: lacks {len(missing)} of {len(named.utterances)} utterances; the first"
            f" is {missing[0]}"
        )
    speakers = set(table.speakers.values())
    enrolled = []
    for model in named.models:
        speaker = _speaker_of_model(model, table, speakers)
        if speaker is None:
            raise UsageError(
                f"{table.path}: does not tell who the model {model} is; list it, or give the"
                " enrolments"
            )
        enrolled.append(speaker)
    return enrolled, [table.speakers[name] for name in named.utterances]


def _speaker_of_model(model: str, table: SpeakerTable, speakers: set[str]) -> str | None:
    if model in table.enrolled:
        return table.speakers[table.enrolled[model][0]]
    return table.speakers.get(model, model if model in speakers else None)


def _by_columns(named: Named) -> tuple[list[str], list[str]]:
    found: list[list[str]] = []
    sides = ((named.model, named.models, "enrolled"), (named.utterance, named.utterances, "tried"))
    for index, names, role in sides:
        speakers = [""] * len(names)
        for row, (at, speaker) in enumerate(
            zip(index.tolist(), named.columns.texts[role], strict=True)
        ):
            if not speaker or speakers[at] not in {"", speaker}:
                raise UsageError(f"{named.columns.where(row)}: {names[at]} has no speaker, or two")
            speakers[at] = speaker
        found.append(speakers)
    return found[0], found[1]


def _checked(
    named: Named, enrolled: Sequence[str], tried: Sequence[str], table: SpeakerTable | None = None
) -> Trials:
    wrong = _contradictions(named, enrolled, tried)
    if wrong.size:
        row = int(wrong[0])
        label = "target" if named.is_target[row] else "nontarget"
        raise UsageError(
            f"{named.columns.where(row)}: is called {label}, but"
            f" {named.models[named.model[row]]} is {enrolled[named.model[row]]} and"
            f" {named.utterances[named.utterance[row]]} is by {tried[named.utterance[row]]}"
            + (f"; {wrong.size - 1} more such trials" if wrong.size > 1 else "")
        )
    return _trials(named, enrolled, tried, table)


def _contradictions(named: Named, enrolled: Sequence[str], tried: Sequence[str]) -> Indices:
    """Rows whose label is not what their speakers say."""
    _, numbers = np.unique(np.array([*enrolled, *tried], dtype=object), return_inverse=True)
    same = numbers[: len(enrolled)][named.model] == numbers[len(enrolled) :][named.utterance]
    return np.flatnonzero(same != named.is_target).astype(np.int32)


def _trials(
    named: Named, enrolled: Sequence[str], tried: Sequence[str], table: SpeakerTable | None = None
) -> Trials:
    of = table.enrolled if table else {}
    enrolments = tuple(
        # Nobody says what it is enrolled with; in lists of pairs its name is the utterance.
        Enrolment(model, speaker, of.get(model, (model,)))
        for model, speaker in zip(named.models, enrolled, strict=True)
    )
    try:
        return Trials(enrolments, named.utterances, tuple(tried), named.model, named.utterance)
    except UsageError as error:
        raise UsageError(f"{named.columns.path}: {error}") from error


def _enrolled(path: Path, speakers: Mapping[str, str], table: Path) -> dict[str, tuple[str, ...]]:
    models: dict[str, list[str]] = {}
    for number, line in lines(path):
        first, *rest = line.split()
        utterances = rest or [first]
        unknown = next((name for name in utterances if name not in speakers), None)
        if unknown is not None:
            raise UsageError(f"{path}, line {number}: {unknown} is not in {table}")
        model = first if rest else speakers[first]
        models.setdefault(model, []).extend(utterances)
        if len({speakers[name] for name in models[model]}) > 1:
            raise UsageError(f"{path}, line {number}: {model} has utterances of two speakers")
    return {model: tuple(utterances) for model, utterances in models.items()}


def _indexed(texts: Sequence[str]) -> tuple[tuple[str, ...], Indices]:
    """The distinct texts in the order in which they come, and each text as a number of them."""
    numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return tuple(numbers), np.fromiter(map(numbers.__getitem__, texts), np.int32, len(texts))
