"""What is left of the speech: every measure over a sample of utterances, for every system."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.corpus.utterance import Utterance
from sordino.errors import SordinoError, UsageError
from sordino.evaluate.anonymization.finished import Outcome, work_off
from sordino.evaluate.anonymization.hearings import Bench
from sordino.evaluate.anonymization.protocol import Protocol
from sordino.evaluate.anonymization.speech import Heard, fingerprint
from sordino.evaluate.anonymization.subset import spread
from sordino.evaluate.anonymization.units import UnitErrors, learn_units
from sordino.evaluate.results import Failure, Quality
from sordino.evaluate.utility.change import Change, change_of, change_rows
from sordino.evaluate.utility.emotion import (
    Expression,
    emotion_rows,
    expression_of,
    recognised_emotions,
)
from sordino.evaluate.utility.naturalness import Listener, Opinion, opinion_rows
from sordino.evaluate.utility.pitch import PitchTracker, intonation, intonation_rows
from sordino.evaluate.utility.transcriber import Transcriber
from sordino.evaluate.utility.units import UNITS
from sordino.evaluate.utility.wer import text_errors, text_rows
from sordino.evaluate.utility.whisper_models import find_whisper

ORIGINAL = "original"
_FEWEST_SPEAKERS = 3
_NO_TEXT = (
    "no utterance has a text, so that word errors cannot be counted; unit errors need none"
    " (--measure units)"
)
_WINDOW_S = 30.0
_HOP_S = 3.0
_PACKAGES = {
    "wer": ("faster_whisper", "faster-whisper"),
    "dnsmos": ("speechmos", "speechmos"),
    "f0": ("swift_f0", "swift-f0"),
    "emotion": ("swift_f0", "swift-f0"),
    "units": ("faster_whisper", "faster-whisper"),
}
_TITLES = {
    "wer": "word errors",
    "dnsmos": "naturalness",
    "f0": "intonation",
    "change": "length and loudness",
    "emotion": "emotions",
    "units": "units",
}
_Pairs = Sequence[tuple[Utterance, Any]]
_Work = Callable[[Utterance, Utterance], Any]


@dataclass
class Measured:
    """What was found.

    Attributes:
        qualities: the figures.
        failures: utterances that could not be measured.
        notes: what a reader has to know.
    """

    qualities: list[Quality] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Hearing:
    """An utterance to measure.

    Attributes:
        utterance: which.
        original: what it was made of, for measures that compare.
        what: the measure with its settings, which its outcome depends on.
        measure: gives something that JSON can hold.
    """

    utterance: Utterance
    original: Utterance
    what: str
    measure: _Work

    @property
    def key(self) -> str:
        """Depends on the measure and on both recordings."""
        return f"{self.what} {fingerprint(self.utterance)} {fingerprint(self.original)}"


def hear(job: Hearing, advance: Callable[[float], None]) -> Outcome:
    """Measure one utterance, in whatever process: "found", or "error"."""
    del advance
    try:
        return {"found": job.measure(job.utterance, job.original)}
    except SordinoError as error:
        return {"error": str(error)}


@dataclass(frozen=True)
class _Measure:
    """How something is measured.

    Attributes:
        key: what an outcome depends on besides the recordings.
        work: an utterance and its original to something that JSON can hold.
        rows: a system and its outcomes to figures; the original comes first.
        of_original: whether the original speech has such a figure.
    """

    key: str
    work: _Work
    rows: Callable[[str, _Pairs], Iterable[Quality]]
    of_original: bool = True


def check_measures(protocol: Protocol, utterances: Iterable[Utterance]) -> None:
    """Refuse at once measures that were asked for and cannot be taken.

    Args:
        protocol: which measures.
        utterances: that will be heard.

    Raises:
        UsageError: a package, a recogniser or the texts are not there.
    """
    if not protocol.demanding:
        return
    for name in protocol.measures:
        _require(name)
    heard = tuple(utterances)
    if "wer" in protocol.measures:
        texts = [utterance for utterance in heard if utterance.text]
        if not texts:
            raise UsageError(_NO_TEXT)
        find_whisper(protocol.whisper, {utterance.language for utterance in texts})
    if "units" in protocol.measures:
        find_whisper(protocol.whisper, {utterance.language for utterance in heard})


def measured(
    heard: Mapping[str, Heard],
    emotions: Mapping[str, str],
    protocol: Protocol,
    bench: Bench,
    others: Iterable[Utterance] = (),
) -> Measured:
    """Measure a sample of what each system has made, and of the original.

    Args:
        heard: utterances by system, "original" first, by the originals' ids.
        emotions: labels of utterances by id, where known.
        protocol: which measures, and how many utterances.
        bench: where the work is done.
        others: original speech of other people, for measures that learn from it.

    Raises:
        UsageError: a measure that was asked for cannot be taken, such as for want of a package.
    """
    outcome = Measured()
    originals = heard[ORIGINAL]
    there = [u for name, u in originals.items() if all(name in h for h in heard.values())]
    for name in protocol.measures:
        try:
            _require(name)
            if chosen := _chosen(name, there, emotions, protocol):
                measure = _measure(name, chosen, emotions, protocol, bench, outcome.notes, others)
                for system, speech in heard.items():
                    if system != ORIGINAL or measure.of_original:
                        pairs = _outcomes(name, measure, system, speech, chosen, bench, outcome)
                        outcome.qualities += measure.rows(system, pairs) if pairs else ()
        except UsageError as error:
            if protocol.demanding:
                raise
            outcome.notes.append(f"Without {_TITLES[name]}: {error}.")
    return outcome


def _require(name: str) -> None:
    module, package = _PACKAGES.get(name, ("", ""))
    if module and find_spec(module) is None:
        raise UsageError(
            f'this needs the package {package}; install the extra: pip install "sordino[evaluate]"'
        )


def _chosen(
    name: str, there: Sequence[Utterance], emotions: Mapping[str, str], protocol: Protocol
) -> tuple[Utterance, ...]:
    if name == "wer":
        there = [utterance for utterance in there if utterance.text]
        if not there:
            raise UsageError(_NO_TEXT)
    if name == "emotion":
        # All of them: a recogniser has to learn from the same utterances.
        there = [utterance for utterance in there if utterance.id in emotions]
        speakers = {utterance.speaker for utterance in there}
        if there and len(speakers) < _FEWEST_SPEAKERS:
            raise UsageError(f"{len(speakers)} speakers have emotions; it takes three")
        return tuple(there)
    return spread(there, protocol.utterances, protocol.seed)


def _measure(
    name: str,
    chosen: Sequence[Utterance],
    emotions: Mapping[str, str],
    protocol: Protocol,
    bench: Bench,
    notes: list[str],
    others: Iterable[Utterance],
) -> _Measure:
    if name in {"wer", "units"}:
        languages = {utterance.language for utterance in chosen}
        files = find_whisper(protocol.whisper, languages, tell=bench.told.note)
    if name == "units":
        notes.append(
            f"Units are {UNITS} kinds of frames from the encoder of {files.name}, found in the"
            " attacker's original speech."
        )
        return _unit_errors(learn_units(others, Transcriber(files), bench, seed=protocol.seed))
    if name == "wer":
        notes.append(f"Words were recognised by {files.name}.")
        # Short windows are four times as fast, but lose words of short and accented utterances.
        return _words(Transcriber(files, pad=_WINDOW_S))
    if name == "dnsmos":
        return _Measure(
            f"dnsmos {_HOP_S:g}", partial(_opinion, Listener(hop=_HOP_S)), _opinion_rows
        )
    if name == "f0":
        work = partial(_correlation, PitchTracker())
        return _Measure("f0", work, _intonation_rows, of_original=False)
    if name == "change":
        return _Measure("change", _change, _change_rows, of_original=False)
    return _emotions(emotions)


def _outcomes(
    name: str,
    measure: _Measure,
    system: str,
    heard: Heard,
    chosen: Sequence[Utterance],
    bench: Bench,
    measured: Measured,
) -> _Pairs:
    """What a measure gives for each original utterance, less those that failed."""
    title = f"{_TITLES[name]} of {system}"
    jobs = [Hearing(heard[one.id], one, measure.key, measure.work) for one in chosen]
    bench.told.stage(title, len(jobs))
    outcomes = work_off(
        jobs,
        hear,
        bench.finished("measures"),
        workers=bench.workers,
        scratch=bench.scratch,
        tell=bench.told.step,
    )
    pairs = []
    for job, outcome in zip(jobs, outcomes, strict=True):
        if "error" in outcome:
            # What a system has made lies in a folder that goes when the report is written.
            place, why = str(job.original.path), str(outcome["error"])
            measured.failures.append(Failure(title, place, why, f"left out of the {title}"))
        else:
            pairs.append((job.original, outcome["found"]))
    return pairs


def _utterances(pairs: _Pairs) -> list[Utterance]:
    return [utterance for utterance, _ in pairs]


def _words(transcriber: Transcriber) -> _Measure:
    def rows(system: str, pairs: _Pairs) -> Iterable[Quality]:
        errors = [text_errors(u.text or "", str(text), u.language) for u, text in pairs]
        return text_rows(system, _utterances(pairs), errors)

    return _Measure(transcriber.key, partial(_text, transcriber), rows)


def _unit_errors(units: UnitErrors) -> _Measure:
    def rows(system: str, pairs: _Pairs) -> Iterable[Quality]:
        return (units.original_rows if system == ORIGINAL else units.rows)(system, pairs)

    return _Measure(units.key, units.work, rows)


def _emotions(labels: Mapping[str, str]) -> _Measure:
    training: list[Expression] = []

    def rows(system: str, pairs: _Pairs) -> Iterable[Quality]:
        heard = [Expression(u, labels[u.id], _unpacked(found)) for u, found in pairs]
        if system == ORIGINAL:
            training.extend(heard)
        return emotion_rows(system, heard, recognised_emotions(training, heard))

    return _Measure("expression", partial(_expression, PitchTracker()), rows)


def _opinion_rows(system: str, pairs: _Pairs) -> Iterable[Quality]:
    return opinion_rows(system, _utterances(pairs), [Opinion(*found) for _, found in pairs])


def _intonation_rows(system: str, pairs: _Pairs) -> Iterable[Quality]:
    return intonation_rows(system, _utterances(pairs), [float(found) for _, found in pairs])


def _change_rows(system: str, pairs: _Pairs) -> Iterable[Quality]:
    return change_rows(system, _utterances(pairs), [Change(*found) for _, found in pairs])


def _text(transcriber: Transcriber, utterance: Utterance, original: Utterance) -> str:
    return transcriber.transcribe(utterance.read(), original.language)


def _opinion(listener: Listener, utterance: Utterance, original: Utterance) -> list[float]:
    del original
    opinion = listener.opinion(utterance.read())
    return [opinion.overall, opinion.speech, opinion.background]


def _change(utterance: Utterance, original: Utterance) -> list[float]:
    change = change_of(original.read(), utterance.read())
    return [change.duration, change.loudness]


def _correlation(tracker: PitchTracker, utterance: Utterance, original: Utterance) -> float:
    return intonation(tracker.track(original.read()), tracker.track(utterance.read()))


def _expression(tracker: PitchTracker, utterance: Utterance, original: Utterance) -> str:
    del original
    functionals = expression_of(utterance.read(), tracker)
    return base64.b64encode(functionals.astype("<f8").tobytes()).decode("ascii")


def _unpacked(text: object) -> npt.NDArray[np.float64]:
    return np.frombuffer(base64.b64decode(str(text)), dtype="<f8").astype(np.float64)
