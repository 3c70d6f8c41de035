"""What a run will do: which recording becomes which file, and who speaks in it.

Everything that can be refused is refused here, before anything is written.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from types import MappingProxyType

from sordino.anonymize.names import read_mapping
from sordino.audio.formats import FORMATS, Format, format_for, format_named
from sordino.corpus.discover import find_recordings
from sordino.corpus.rttm import Turn, Turns
from sordino.corpus.speakers import SpeakerRule
from sordino.errors import UsageError
from sordino.privacy.keys import SecretKey

RECORD_NAME = "sordino-run.json"
WORK_NAME = ".sordino-work"


@dataclass(frozen=True)
class Task:
    """One recording to anonymize.

    Attributes:
        source: the recording.
        target: the file to write.
        name: the target as run records name it: relative, with forward slashes.
        format: name of the format to write.
        speaker: id of the speaker; for a recording with turns the ids of all, joined by " + ".
        sex: of the speaker, "F", "M" or "" where it is not known.
        turns: who speaks when, where several do; empty for one speaker throughout.
    """

    source: Path
    target: Path
    name: str
    format: str
    speaker: str
    sex: str = ""
    turns: tuple[Turn, ...] = ()

    @property
    def speakers(self) -> tuple[str, ...]:
        """The ids of all who speak, in the order in which they begin."""
        return tuple(dict.fromkeys(turn.speaker for turn in self.turns)) or (self.speaker,)

    def sex_of(self, speaker: str) -> str:
        """The sex of one of them."""
        if not self.turns:
            return self.sex
        return next((turn.sex for turn in self.turns if turn.speaker == speaker), "")


@dataclass(frozen=True)
class Plan:
    """All that a run will do.

    Attributes:
        tasks: one per recording, sorted by name, so that neither the order of outputs nor their
            dates tell the order of the original names.
        format_name: format of all outputs; None for each recording's own.
        folder: what outputs are written below.
        record: the run record's path.
        work: folder for what is not finished.
        ignored: how many files were not taken for recordings, by ending.
        loops: links not followed since they lead back up.
        left_out: how many recordings the speaker rule leaves out.
        mapping: where the list of renamed files goes, or None where names are kept.
        original_names: for renamed outputs, each name's original.
    """

    tasks: tuple[Task, ...]
    format_name: str | None
    folder: Path
    record: Path
    work: Path
    ignored: Counter[str]
    loops: tuple[Path, ...]
    left_out: int
    mapping: Path | None
    original_names: dict[str, str]

    @property
    def speakers(self) -> tuple[str, ...]:
        """The ids of all speakers, sorted."""
        return tuple(sorted({speaker for task in self.tasks for speaker in task.speakers}))


def make_plan(
    inputs: Sequence[Path],
    output: Path,
    speaker_of: SpeakerRule | Turns,
    *,
    sexes: Mapping[str, str] = MappingProxyType({}),
    format_name: str | None = None,
    rename_key: SecretKey | None = None,
    mapping: Path | None = None,
) -> Plan:
    """Plan a run.

    The contents of a single input folder go straight below the output folder; with several
    inputs each folder keeps its name. A single file can be given an output file's name.

    Args:
        inputs: files and folders.
        output: folder, or a file name for a single input file.
        speaker_of: who speaks in a recording, or the turns of all recordings.
        sexes: of speakers, "F" or "M", where they are known.
        format_name: format of all outputs; None keeps each recording's own.
        rename_key: if given, names are replaced by pseudonyms made with it.
        mapping: where the list of renamed files goes; None for beside the output folder.

    Raises:
        UsageError: the inputs or the output do not fit together; nothing has been written.
    """
    if mapping is not None and rename_key is None:
        raise UsageError("--mapping goes with --rename")
    if format_name is not None and format_name not in FORMATS:
        raise UsageError(f"there is no format {format_name!r}; there are: {', '.join(FORMATS)}")
    single = _single_file_format(inputs, output, format_name, renamed=rename_key is not None)
    folder = output.parent if single else output
    recordings, ignored, loops = _collect(inputs, output, single)

    tasks: list[Task] = []
    original_names: dict[str, str] = {}
    left_out = 0
    _refuse_one_for_two(speaker_of, [source for source, _ in recordings])
    for source, inside in recordings:
        turns = speaker_of.of(source) if isinstance(speaker_of, Turns) else ()
        names = dict.fromkeys(turn.speaker for turn in turns)
        speaker = " + ".join(names) if isinstance(speaker_of, Turns) else speaker_of(source)
        if speaker is None:
            left_out += 1
            continue
        chosen = single or (FORMATS[format_name] if format_name else format_for(source))
        if single:
            relative = PurePath(output.name)
        else:
            relative = _with_suffix(inside, chosen)
            if rename_key is not None:
                relative = _pseudonymous(inside, relative.suffix.lower(), rename_key)
                original_names[relative.as_posix()] = inside.as_posix()
        tasks.append(
            Task(
                source=source,
                target=folder / relative,
                name=relative.as_posix(),
                format=chosen.name,
                speaker=speaker,
                sex=sexes.get(speaker, ""),
                turns=turns,
            )
        )
    _refuse_collisions(tasks, renamed=rename_key is not None)
    record, work = folder / RECORD_NAME, folder / WORK_NAME
    if single:
        record = output.with_name(f"{output.name}.{RECORD_NAME}")
        work = output.with_name(f"{WORK_NAME}-{output.name}")
    return Plan(
        tuple(sorted(tasks, key=lambda task: task.name)),
        format_name,
        folder,
        record,
        work,
        ignored,
        tuple(loops),
        left_out,
        _mapping_path(output, mapping) if rename_key is not None else None,
        original_names,
    )


def _single_file_format(
    inputs: Sequence[Path], output: Path, format_name: str | None, *, renamed: bool
) -> Format | None:
    if len(inputs) != 1 or not inputs[0].is_file() or output.is_dir() or not output.suffix:
        return None
    named = format_named(output)
    if named is None:
        raise UsageError(
            f"{output}: {output.suffix} files are not written; name a folder, or a file ending in"
            f" {', '.join(known.suffixes[0] for known in FORMATS.values())}"
        )
    if format_name not in (None, named.name):
        raise UsageError(f"{output}: the name says {named.name} but --format says {format_name}")
    if renamed:
        raise UsageError(f"{output}: --rename needs an output folder, not a file name")
    return named


def _collect(
    inputs: Sequence[Path], output: Path, single: Format | None
) -> tuple[list[tuple[Path, PurePath]], Counter[str], list[Path]]:
    recordings: list[tuple[Path, PurePath]] = []
    ignored: Counter[str] = Counter()
    loops: list[Path] = []
    for given in inputs:
        if given.is_dir():
            _refuse_nesting(given, output)
            found = find_recordings(given)
            above = PurePath() if len(inputs) == 1 else PurePath(Path(os.path.abspath(given)).name)
            recordings += [(path, above / path.relative_to(given)) for path in found.recordings]
            ignored += found.ignored
            loops += found.loops
        elif given.exists() or given.is_symlink():
            recordings.append((given, PurePath(given.name)))
        else:
            raise UsageError(f"input {given}: there is no such file or folder")
    if not single and output.exists() and not output.is_dir():
        raise UsageError(f"output {output}: is a file; name a folder")
    return recordings, ignored, loops


def _refuse_nesting(folder: Path, output: Path) -> None:
    inside, place = Path(os.path.realpath(folder)), Path(os.path.realpath(output))
    if inside == place:
        raise UsageError(f"output {output} is the input folder itself; choose another")
    if inside in place.parents:
        raise UsageError(f"output {output} lies inside the input folder {folder}; choose another")


def _refuse_one_for_two(speaker_of: SpeakerRule | Turns, recordings: Sequence[Path]) -> None:
    if isinstance(speaker_of, Turns):
        taken: dict[str, Path] = {}
        for recording in recordings:
            if (other := taken.setdefault(recording.stem, recording)) is not recording:
                raise UsageError(
                    f"{other} and {recording} would both have the turns of {recording.stem!r} in"
                    f" {speaker_of.place}; give each a name of its own"
                )


def _with_suffix(path: PurePath, chosen: Format) -> PurePath:
    if path.suffix.lower() in chosen.suffixes:
        return path
    return path.with_name(path.stem + chosen.suffixes[0])


def _pseudonymous(path: PurePath, suffix: str, key: SecretKey) -> PurePath:
    parts = [key.pseudonym("folder", *path.parts[:depth]) for depth in range(1, len(path.parts))]
    return PurePath(*parts, key.pseudonym("file", *path.parts) + suffix)


def _mapping_path(output: Path, mapping: Path | None) -> Path:
    folder = Path(os.path.abspath(output))
    path = mapping or folder.with_name(f"{folder.name}.names.csv")
    if Path(os.path.realpath(output)) in Path(os.path.realpath(path)).parents:
        raise UsageError(
            f"--mapping {path} lies in the output folder and would be shared with it;"
            " put it elsewhere"
        )
    # The default lies beside the output folder, which is made with all folders above it.
    if mapping is not None and not path.parent.is_dir():
        raise UsageError(f"--mapping {path}: there is no folder {path.parent}")
    if path.exists():
        read_mapping(path)
    return path


def _refuse_collisions(tasks: Sequence[Task], *, renamed: bool) -> None:
    sources = {os.path.realpath(task.source) for task in tasks}
    taken: dict[str, Task] = {}
    for task in tasks:
        place = str(Path(os.path.realpath(task.target.parent)) / task.target.name)
        if place in sources:
            raise UsageError(f"output {task.target} is one of the inputs; choose another folder")
        name = unicodedata.normalize("NFC", place)
        if sys.platform in ("win32", "darwin"):
            name = name.casefold()
        other = taken.setdefault(name, task)
        if other is not task:
            raise UsageError(
                f"{other.source} and {task.source} would both become {task.target};"
                f" use separate outputs{'' if renamed else ' or --rename'}"
            )
