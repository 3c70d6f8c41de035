"""All speech that an evaluation needs: what a system has made, is made or found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.evaluate.anonymization.finished import Finished, work_off
from sordino.evaluate.anonymization.protocol import Side
from sordino.evaluate.anonymization.sources import Making, Source, make
from sordino.evaluate.anonymization.speech import in_file
from sordino.evaluate.results import Failure


@dataclass
class Made:
    """One form of a system's speech.

    Attributes:
        heard: the anonymized utterances by the originals' ids.
        failures: why others are not there.
        seconds: length of the speech that was made.
        took: seconds of work on it; 0 where the files were there.
    """

    heard: dict[str, Utterance] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    seconds: float = 0.0
    took: float = 0.0


def prepare(
    source: Source,
    side: Side,
    utterances: Iterable[Utterance],
    *,
    finished: Finished,
    workers: int,
    scratch: Path,
    tell: Callable[[], None] = lambda: None,
) -> Made:
    """Make or find one form of a system's speech.

    Args:
        source: the system.
        side: which form.
        utterances: the originals.
        finished: what earlier runs have made.
        workers: processes.
        scratch: folder for what workers tell.
        tell: called after each file that is made.
    """
    made = Made()
    places: dict[str, tuple[Utterance, Path]] = {}
    for utterance in utterances:
        try:
            places[utterance.id] = (utterance, source.path(utterance, side))
        except AudioError as error:
            made.failures[utterance.id] = _failure(source, utterance, str(error))
    jobs = [
        Making(utterance, side, path, maker)
        for utterance, path in places.values()
        if (maker := source.maker_for(utterance, side)) is not None
    ]
    if jobs:
        for job in jobs:
            if not job.target.exists():
                finished.forget(job.key)
        outcomes = work_off(jobs, make, finished, workers=workers, scratch=scratch, tell=tell)
        for job, outcome in zip(jobs, outcomes, strict=True):
            if "error" in outcome:
                name = job.utterance.id
                made.failures[name] = _failure(source, job.utterance, str(outcome["error"]))
                del places[name]
            else:
                made.seconds += float(str(outcome["seconds"]))
                made.took += float(str(outcome["took"]))
    made.heard = {name: in_file(utterance, path) for name, (utterance, path) in places.items()}
    return made


def _failure(source: Source, utterance: Utterance, why: str) -> Failure:
    return Failure(f"anonymized by {source.name}", str(utterance.path), why, "")
