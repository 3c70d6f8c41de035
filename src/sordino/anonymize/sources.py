"""How the speakers of a run sound, for systems whose pseudo-speakers depend on it.

What is found here tells who speaks. It goes to the workers in memory and is never written to disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.plan import Task
from sordino.anonymize.segments import NOBODY, Span, spans
from sordino.audio.read import open_audio
from sordino.errors import AudioError, SordinoError
from sordino.workers import map_jobs

if TYPE_CHECKING:
    from sordino.anonymize.pseudo.base import Source
    from sordino.speaker.base import SpeakerEncoder

Vector = npt.NDArray[np.float64]

_BLOCK = 2**16


@dataclass(frozen=True)
class Hearing:
    """A recording whose speakers are to be heard.

    Attributes:
        number: which of the run's tasks it is.
        task: the recording.
        encoder: tells how they sound.
    """

    number: int
    task: Task
    encoder: SpeakerEncoder


def sources_of(
    tasks: Sequence[Task],
    encoder: SpeakerEncoder,
    *,
    by_speaker: bool,
    workers: int,
    scratch: Path,
) -> list[dict[str, Source]]:
    """How those sound who speak in each recording.

    A recording that cannot be read, is silent or is too short tells nothing.

    Args:
        tasks: the recordings.
        encoder: tells how they sound.
        by_speaker: the mean over all recordings of a speaker; else each recording's own.
        workers: processes.
        scratch: folder for what workers tell of their progress.

    Returns:
        For each task the sources by speaker, without those who were not heard. `NOBODY` is whoever
        speaks where no turn says so, in one recording.
    """
    jobs = [Hearing(number, task, encoder) for number, task in enumerate(tasks)]
    heard: list[dict[str, Vector]] = [{} for _ in tasks]
    with closing(map_jobs(hear, jobs, workers, lambda amount: None, scratch)) as results:
        for job, vectors in results:
            heard[job.number] = vectors or {}
    together: dict[str, list[Vector]] = {}
    for vectors in heard:
        for speaker, vector in vectors.items():
            together.setdefault(speaker, []).append(vector)
    sexes = {speaker: task.sex_of(speaker) for task in tasks for speaker in task.speakers}
    found: list[dict[str, Source]] = []
    for vectors in heard:
        found.append({})
        for speaker, vector in vectors.items():
            own = [vector] if speaker == NOBODY or not by_speaker else together[speaker]
            found[-1][speaker] = mean_source(own, sexes.get(speaker, ""))
    if by_speaker:
        # Who is not heard in one recording may be heard in another.
        known = {speaker: source for sources in found for speaker, source in sources.items()}
        for task, sources in zip(tasks, found, strict=True):
            for speaker in set(task.speakers) & known.keys():
                sources.setdefault(speaker, known[speaker])
    return found


def mean_source(vectors: Iterable[npt.NDArray[np.floating]], sex: str = "") -> Source:
    """A source from the vectors of somebody's utterances: their mean direction.

    Args:
        vectors: at least one, of shape (dimension,); each counts as if it had length 1.
        sex: "F", "M" or "".
    """
    from sordino.anonymize.pseudo.base import Source

    directions = [_direction(vector) for vector in vectors]
    return Source(np.mean(directions, axis=0), "F" if sex == "F" else "M" if sex == "M" else "")


def heard_source(
    encoder: SpeakerEncoder,
    blocks: Iterable[npt.NDArray[np.floating]],
    sample_rate: int,
    sex: str = "",
) -> Source | None:
    """A source from one recording; None where it is silent or too short.

    Args:
        encoder: tells how the speaker sounds.
        blocks: arrays (channels, samples), one recording cut into pieces.
        sample_rate: in Hz.
        sex: "F", "M" or "".
    """
    try:
        vector = encoder.embed_blocks(blocks, sample_rate)
    except AudioError:
        return None
    return mean_source([vector], sex)


def hear(job: Hearing, advance: Callable[[float], None]) -> dict[str, Vector]:
    """The vectors, of length 1, of those who speak in a recording and can be heard."""
    del advance
    task, vectors = job.task, dict[str, Vector]()
    try:
        parts = _parts(task)
        for speaker in dict.fromkeys(span.speaker for span in parts) or (task.speaker,):
            own = [span for span in parts if span.speaker == speaker]
            with open_audio(task.source) as reader:
                blocks, rate = reader.blocks(_BLOCK), reader.info.sample_rate
                try:
                    vector = job.encoder.embed_blocks(_cut(blocks, own) if parts else blocks, rate)
                except AudioError:
                    continue
            vectors[speaker] = _direction(vector)
    except (SordinoError, OSError):
        return {}  # what is wrong with the recording is told when it is its turn
    return vectors


def _parts(task: Task) -> tuple[Span, ...]:
    if not task.turns:
        return ()
    with open_audio(task.source) as reader:
        samples = sum(block.shape[1] for block in reader.blocks(_BLOCK))
        return spans(task.turns, reader.info.sample_rate, samples)


def _cut(
    blocks: Iterable[npt.NDArray[np.floating]], own: Sequence[Span]
) -> Iterator[npt.NDArray[np.floating]]:
    done = 0
    for block in blocks:
        last = done + block.shape[1]
        for span in own:
            low, high = max(span.start, done), min(span.end, last)
            if high > low:
                yield block[:, low - done : high - done]
        done = last


def _direction(vector: npt.NDArray[np.floating]) -> Vector:
    length = float(np.linalg.norm(vector))
    return np.asarray(vector, dtype=np.float64) / (length if length > 0 else 1.0)
