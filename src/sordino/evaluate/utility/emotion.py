"""How well emotions can still be heard: unweighted average recall of a recogniser.

The recogniser is trained on original speech of other speakers, so that it knows neither the
speaker nor the anonymization: what it no longer recognises, a listener has lost as well.
"""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.metrics.attributes import balanced_accuracy
from sordino.evaluate.metrics.bootstrap import Statistic
from sordino.evaluate.results import Quality
from sordino.evaluate.utility.extra import load_extra
from sordino.evaluate.utility.functionals import functionals
from sordino.evaluate.utility.groups import Places, grouped_rows
from sordino.evaluate.utility.pitch import PitchTracker
from sordino.evaluate.utility.wave import wave_of

Row = npt.NDArray[np.float64]

# Of the Berlin Database of Emotional Speech: speaker, sentence, emotion, version.
_EMODB = re.compile(r"\d\d[ab]\d\d(?P<emotion>[WLEAFTN])[a-z]?")


@dataclass(frozen=True)
class Expression:
    """An utterance with its emotion.

    Attributes:
        utterance: which.
        emotion: its label.
        functionals: of its sound, shape (functionals,); see `expression_of`.
    """

    utterance: Utterance
    emotion: str
    functionals: Row


def expression_of(recording: Recording, tracker: PitchTracker) -> Row:
    """What an emotion is recognised by: see `functionals`.

    Args:
        recording: of any rate, length and number of channels.
        tracker: finds its pitch.

    Raises:
        AudioError: the recording is digital silence, or has no voiced frame.
        UsageError: the package swift-f0 is not installed.
    """
    return functionals(wave_of(recording), tracker.track(recording))


def recognised_emotions(
    training: Sequence[Expression], heard: Sequence[Expression]
) -> tuple[str, ...]:
    """What a recogniser takes the emotions for, each speaker's by one who has not heard them.

    Logistic regression on standardised functionals; emotions weigh the same, however rare.

    Args:
        training: original speech.
        heard: original or anonymized speech.

    Returns:
        A label for each of `heard`.

    Raises:
        UsageError: without a speaker there is original speech of less than two emotions, or the
            package scikit-learn is not installed.
    """
    found: dict[int, str] = {}
    for speaker in sorted({expression.utterance.speaker for expression in heard}):
        others = [known for known in training if known.utterance.speaker != speaker]
        if len({known.emotion for known in others}) < 2:
            raise UsageError(
                f"without speaker {speaker} there is original speech of less than two emotions to"
                " learn from; emotions need several speakers"
            )
        own = [place for place, known in enumerate(heard) if known.utterance.speaker == speaker]
        recogniser = _fitted(others)
        labels = recogniser.predict(np.stack([heard[place].functionals for place in own]))
        found |= dict(zip(own, map(str, labels), strict=True))
    return tuple(found[place] for place in range(len(heard)))


def emotion_rows(
    system: str, heard: Sequence[Expression], recognised: Sequence[str]
) -> tuple[Quality, ...]:
    """Unweighted average recall of a system, and the recall of each emotion.

    Args:
        system: whose.
        heard: what was recognised.
        recognised: the label that each got.

    Example:
        >>> ann = Utterance("a1", Path("a1"), "ann")
        >>> heard = [Expression(ann, label, np.zeros(1)) for label in ("joy", "joy", "fear")]
        >>> for row in emotion_rows("original", heard, ["joy", "fear", "fear"]):
        ...     print(row.group, row.value.value)
        all 0.75
        speaker: ann 0.75
        emotion: fear 1.0
        emotion: joy 0.5
    """
    truth = np.array([expression.emotion for expression in heard])
    named = np.array(recognised)

    def of(places: Places) -> Statistic:
        return lambda weights: balanced_accuracy(truth[places], named[places], weights)

    emotions = {
        f"emotion: {label}": np.flatnonzero(truth == label) for label in map(str, np.unique(truth))
    }
    utterances = [expression.utterance for expression in heard]
    return grouped_rows(system, "emotion-uar", "%", utterances, of, further=emotions)


def emodb_emotions(utterances: Iterable[Utterance]) -> dict[str, str]:
    """Labels of utterances of EmoDB, by their ids, from the names of their files.

    Args:
        utterances: those of other corpora are left out.

    Example:
        >>> anger = Utterance("03a01Wa", Path("03a01Wa.flac"), "03", corpus="emodb")
        >>> emodb_emotions([anger])
        {'03a01Wa': 'W'}
    """
    found = {
        utterance.id: _EMODB.fullmatch(utterance.path.stem)
        for utterance in utterances
        if (utterance.corpus or "").lower() == "emodb"
    }
    return {name: match["emotion"] for name, match in found.items() if match}


def read_emotions(table: Path, utterances: Iterable[Utterance]) -> dict[str, str]:
    """Labels of utterances, by their ids, from a table.

    Args:
        table: CSV with the columns `path` (relative to its folder) and `emotion`; an empty label
            stands for none.
        utterances: those that the table does not list are left out.

    Raises:
        UsageError: the table cannot be read, lacks a column, or lists a file with two emotions.
    """
    labels = _labels(table)
    places = {utterance.id: os.path.abspath(utterance.path) for utterance in utterances}
    return {name: labels[place] for name, place in places.items() if labels.get(place)}


def _labels(table: Path) -> Mapping[str, str]:
    folder = os.path.abspath(table.parent)
    labels: dict[str, str] = {}
    try:
        with table.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = {"path", "emotion"} - set(reader.fieldnames or ())
            if missing:
                raise UsageError(f"{table}: has no column {min(missing)!r}; it needs path, emotion")
            for row in reader:
                place = os.path.normpath(os.path.join(folder, row["path"] or ""))
                label = (row["emotion"] or "").strip()
                if labels.setdefault(place, label) != label:
                    raise UsageError(
                        f"{table}, line {reader.line_num}: {row['path']} is listed with two"
                        " emotions"
                    )
    except OSError as error:
        raise UsageError(f"{table}: {error.strerror}") from error
    except csv.Error as error:
        raise UsageError(f"{table}: is not a CSV table ({error})") from error
    return labels


def _fitted(training: Sequence[Expression]) -> Any:
    what, package = "recognised emotions", "scikit-learn"
    linear = load_extra("sklearn.linear_model", what, package)
    pipeline = load_extra("sklearn.pipeline", what, package)
    preprocessing = load_extra("sklearn.preprocessing", what, package)
    recogniser = pipeline.make_pipeline(
        preprocessing.StandardScaler(),
        linear.LogisticRegression(C=0.05, class_weight="balanced", max_iter=5000),
    )
    return recogniser.fit(
        np.stack([known.functionals for known in training]),
        np.array([known.emotion for known in training]),
    )
