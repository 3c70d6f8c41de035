"""Vectors of files and folders: which utterances there are, and one of them at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

import numpy as np
import numpy.typing as npt

from sordino.audio.read import open_audio
from sordino.corpus.discover import find_recordings
from sordino.corpus.speakers import SpeakerRule
from sordino.errors import SordinoError, UsageError
from sordino.speaker.base import BLOCK, SpeakerEncoder, Vector
from sordino.speaker.vectors import Vectors


@dataclass(frozen=True)
class Task:
    """A recording whose vector is wanted.

    Attributes:
        source: the recording.
        name: its path as results give it: relative, with forward slashes.
        speaker: id of the speaker.
    """

    source: Path
    name: str
    speaker: str


@dataclass(frozen=True)
class Gathered:
    """All recordings of some inputs.

    Attributes:
        tasks: one per recording, sorted by name.
        ignored: how many files were not taken for recordings, by ending.
        loops: links not followed since they lead back up.
        left_out: how many recordings the speaker rule leaves out.
    """

    tasks: tuple[Task, ...]
    ignored: Counter[str]
    loops: tuple[Path, ...]
    left_out: int


@dataclass(frozen=True)
class Outcome:
    """What became of a task.

    Attributes:
        vector: float32, shape (dimension,), or None if there is none.
        seconds: length of the recording.
        reason: why there is no vector.
    """

    vector: Vector | None
    seconds: float = 0.0
    reason: str = ""


def gather(inputs: Sequence[Path], speaker_of: SpeakerRule) -> Gathered:
    """Find the recordings of files and folders.

    Names count from the input folder; with several inputs each folder keeps its name.

    Args:
        inputs: files and folders.
        speaker_of: who speaks in a recording.

    Raises:
        UsageError: there is nothing, an input does not exist, or two recordings would have the
            same name.
    """
    tasks: dict[str, Task] = {}
    ignored: Counter[str] = Counter()
    loops: list[Path] = []
    left_out = 0
    for given in inputs:
        recordings = [(given, PurePath(given.name))]
        if given.is_dir():
            found = find_recordings(given)
            above = PurePath() if len(inputs) == 1 else PurePath(Path(os.path.abspath(given)).name)
            recordings = [(path, above / path.relative_to(given)) for path in found.recordings]
            ignored += found.ignored
            loops += found.loops
        elif not (given.exists() or given.is_symlink()):
            raise UsageError(f"input {given}: there is no such file or folder")
        for source, inside in recordings:
            speaker = speaker_of(source)
            if speaker is None:
                left_out += 1
                continue
            task = Task(source, _text(inside.as_posix()), _text(speaker))
            other = tasks.setdefault(task.name, task)
            if other is not task:
                raise UsageError(
                    f"{other.source} and {source} would both be called {task.name};"
                    " embed them one after the other"
                )
    if not tasks:
        raise UsageError("no recordings found in the input")
    return Gathered(tuple(tasks[name] for name in sorted(tasks)), ignored, tuple(loops), left_out)


def attempt(encoder: SpeakerEncoder, task: Task, advance: Callable[[float], None]) -> Outcome:
    """The vector of one recording; every failure becomes an outcome that says why.

    Args:
        encoder: what makes the vector.
        task: which recording.
        advance: told of every stretch of sound that is done, in seconds.
    """
    try:
        seconds = 0.0
        with open_audio(task.source) as reader:
            rate = reader.info.sample_rate

            def told() -> Iterator[npt.NDArray[np.float32]]:
                nonlocal seconds
                for block in reader.blocks(BLOCK):
                    yield block
                    seconds += block.shape[1] / rate
                    advance(block.shape[1] / rate)

            return Outcome(encoder.embed_blocks(told(), rate), seconds)
    except SordinoError as error:
        return Outcome(None, reason=str(error))
    except OSError as error:
        return Outcome(None, reason=error.strerror or type(error).__name__)
    except MemoryError:
        return Outcome(None, reason="out of memory")
    except Exception as error:
        return Outcome(
            None, reason=f"internal error, please report it ({type(error).__name__}: {error})"
        )


def collected(outcomes: Sequence[tuple[Task, Vector]], encoder: SpeakerEncoder) -> Vectors:
    """Put vectors together, sorted by name.

    A row's key is the recording's name without its ending; recordings that differ in nothing else
    keep it.
    """
    rows = sorted(outcomes, key=lambda row: row[0].name)
    stems = [str(PurePath(task.name).with_suffix("").as_posix()) for task, _ in rows]
    taken = Counter(stems) + Counter(task.name for task, _ in rows)
    keys = [
        stem if taken[stem] == 1 else task.name for stem, (task, _) in zip(stems, rows, strict=True)
    ]
    vectors = np.array([vector for _, vector in rows], dtype=np.float32)
    return Vectors(
        tuple(keys),
        tuple(task.name for task, _ in rows),
        tuple(task.speaker for task, _ in rows),
        vectors.reshape(-1, encoder.dimension),
        encoder.name,
        encoder.digest,
    )


def _text(name: str) -> str:
    # Bytes that are not UTF-8 cannot be stored in every format.
    return os.fsencode(name).decode("utf-8", "backslashreplace")
