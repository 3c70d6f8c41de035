"""Which templates have which value of an attribute, and which of them cannot be used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.attributes.attack import CALIBRATION_FOLDS
from sordino.evaluate.attributes.folds import Fold, IntArray, Names, given_fold, speaker_folds
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.embeddings.settings import Settings
from sordino.evaluate.embeddings.templates import Templates
from sordino.evaluate.results import Failure


@dataclass(frozen=True, eq=False)
class Attribute:
    """What is to be guessed.

    Attributes:
        name: of the attribute.
        values: sorted, at least two.
        rows: the templates that can be used, shape (used,).
        labels: numbers of their values, shape (used,).
        speakers: whose they are, shape (used,).
        folds: of the used templates.
        failures: what cannot be used.
    """

    name: str
    values: tuple[str, ...]
    rows: IntArray
    labels: IntArray
    speakers: Names
    folds: tuple[Fold, ...]
    failures: tuple[Failure, ...]

    @property
    def tested(self) -> IntArray:
        """Places of the templates that are guessed, ascending."""
        return np.sort(np.concatenate([fold.test for fold in self.folds]))

    @property
    def counts(self) -> str:
        """How many speakers and templates have each value, for people."""
        return "; ".join(
            f"{value}: {np.unique(self.speakers[self.labels == label]).size} speakers,"
            f" {int(np.sum(self.labels == label))} templates"
            for label, value in enumerate(self.values)
        )


def attribute_of(
    table: AttributeTable, name: str, templates: Templates, settings: Settings
) -> Attribute:
    """Find out who has which value; all that is left out has a failure that says so.

    Args:
        table: the attributes.
        name: of the attribute, a column.
        templates: the vectors.
        settings: how speakers are parted.

    Raises:
        UsageError: the table has no such column, there are fewer than two values with enough
            speakers, or the given split has a speaker on both sides.
    """
    speakers = templates.speakers.tolist()
    values = table.values(name, templates.keys, speakers)
    training = _training(table, settings, templates.keys, speakers)
    kept, failures = _known(table, name, values, templates)
    sides = [kept] if training is None else [kept[training[kept]], kept[~training[kept]]]
    enough, counts = _enough(values, speakers, sides, _least(settings))
    if len(enough) < 2:
        raise UsageError(_too_few(name, enough, counts, settings))
    for value in sorted(set(counts) - enough):
        rows = [row for row in kept.tolist() if values[row] == value]
        why = f"too few speakers have the value {value} ({counts[value]})"
        failures.append(_failure(name, rows, why, templates))
    names = tuple(sorted(enough))
    used = np.array([row for row in kept.tolist() if values[row] in enough], dtype=np.int64)
    labels = np.array([names.index(values[row]) for row in used.tolist()], dtype=np.int64)
    whose = templates.speakers[used]
    if training is None:
        folds = speaker_folds(whose, labels, settings.folds, settings.seed)
    else:
        folds = (given_fold(whose, training[used]),)
    return Attribute(name, names, used, labels, whose, folds, tuple(failures))


def _known(
    table: AttributeTable, name: str, values: Sequence[str], templates: Templates
) -> tuple[IntArray, list[Failure]]:
    """Templates with a speaker and a value, and what is the matter with the others."""
    kept: list[int] = []
    others: dict[str, list[int]] = {}
    whose = templates.speakers.tolist()
    for row, (key, speaker, value) in enumerate(zip(templates.keys, whose, values, strict=True)):
        if speaker and value:
            kept.append(row)
            continue
        if not speaker:
            why = "the speaker is not known"
        elif table.lists(key, speaker):
            why = f"{table.name} has no value for it"
        else:
            why = f"{table.name} does not list it"
        others.setdefault(why, []).append(row)
    failures = [_failure(name, rows, why, templates) for why, rows in others.items()]
    return np.array(kept, dtype=np.int64), failures


def _training(
    table: AttributeTable, settings: Settings, keys: Sequence[str], speakers: Sequence[str]
) -> npt.NDArray[np.bool_] | None:
    if settings.train is None:
        return None
    column, wanted = settings.train
    return np.array([value == wanted for value in table.values(column, keys, speakers)])


def _least(settings: Settings) -> int:
    """How many speakers a value needs, so that all trainings and calibrations have some of it."""
    if settings.train is not None:
        return CALIBRATION_FOLDS
    return next(
        count
        for count in range(settings.folds, settings.folds + 2 * CALIBRATION_FOLDS + 1)
        if count - -(-count // settings.folds) >= CALIBRATION_FOLDS
    )


def _enough(
    values: Sequence[str], speakers: Sequence[str], sides: Sequence[IntArray], least: int
) -> tuple[set[str], dict[str, int]]:
    """Values that have enough speakers on all sides, and the fewest speakers of each."""
    counts: list[dict[str, int]] = []
    for side in sides:
        found: defaultdict[str, set[str]] = defaultdict(set)
        for row in side.tolist():
            found[values[row]].add(speakers[row])
        counts.append({value: len(people) for value, people in found.items()})
    fewest = {
        value: min(side.get(value, 0) for side in counts) for side in counts for value in side
    }
    return {value for value, count in fewest.items() if count >= least}, fewest


def _too_few(name: str, enough: set[str], counts: dict[str, int], settings: Settings) -> str:
    if not counts:
        return f"attribute {name}: the table has no value for any vector; check the names in it"
    if len(counts) == 1:
        return (
            f"attribute {name}: all vectors have the value {min(counts)}; there is nothing to guess"
        )
    listed = ", ".join(f"{value}: {count}" for value, count in sorted(counts.items())[:8])
    less = "" if settings.train else " or fewer folds"
    return (
        f"attribute {name}: {len(enough)} of {len(counts)} values have at least {_least(settings)}"
        f" speakers ({listed}); two are needed: use more speakers{less}"
    )


def _failure(name: str, rows: Sequence[int], why: str, templates: Templates) -> Failure:
    first = templates.keys[rows[0]]
    where = first if len(rows) == 1 else f"{first} and {len(rows) - 1} more"
    effect = f"{len(rows)} of {len(templates.keys)} templates are left out of {name}"
    return Failure(f"attribute {name}", where, why, effect)
