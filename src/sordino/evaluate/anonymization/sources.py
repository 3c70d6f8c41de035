"""Where anonymized speech comes from: a system of ours, a user's program, or a user's files."""

from __future__ import annotations

import hashlib
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePath

from sordino.anonymize.base import Anonymizer
from sordino.anonymize.pseudo.base import Source as Sound
from sordino.anonymize.sources import mean_source
from sordino.anonymize.systems import load
from sordino.audio.recording import Recording
from sordino.corpus.discover import find_recordings
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, SordinoError, UsageError
from sordino.evaluate.anonymization.finished import Outcome
from sordino.evaluate.anonymization.protocol import Side
from sordino.evaluate.anonymization.speech import fingerprint
from sordino.evaluate.results import System
from sordino.privacy.keys import SecretKey
from sordino.speaker.base import SpeakerEncoder, Vector

LONGEST_S = 600
"""How long a user's program may take for one file."""

_PLACES = ("{input}", "{output}", "{speaker}", "{utterance}", "{seed}")
_PLACE = re.compile("|".join(map(re.escape, _PLACES)))
_SHOWN = 200
_SAME_VOICES = (
    "a speaker may have one pseudo-speaker on all sides, which makes attackers stronger than"
    " those of systems with different ones"
)


class Maker(ABC):
    """Makes files; goes to worker processes."""

    @abstractmethod
    def make(self, utterance: Utterance, side: Side, target: Path) -> None:
        """Write the anonymized utterance.

        Raises:
            SordinoError: it cannot be made; there is no file then.
        """


class Source(ABC):
    """A system's speech.

    Attributes:
        name: as results call the system.
    """

    name: str

    @abstractmethod
    def system(self) -> System:
        """For the results."""

    @abstractmethod
    def sides(self) -> frozenset[Side]:
        """The forms of speech that it has."""

    @abstractmethod
    def maker(self) -> Maker | None:
        """What makes the files; None where they are there."""

    def listener(self, side: Side) -> SpeakerEncoder | None:
        """What has to hear a side's originals before it is made; None for nothing."""
        del side
        return None

    def learn(
        self, side: Side, utterances: Iterable[Utterance], vectors: Mapping[str, Vector]
    ) -> None:
        """Take what the listener has heard, before any `path` or `maker_for` of the side.

        Args:
            side: which form.
            utterances: its originals.
            vectors: theirs, by their ids; without those that could not be heard.
        """
        del side, utterances, vectors

    def maker_for(self, utterance: Utterance, side: Side) -> Maker | None:
        """What makes the file of one utterance."""
        del utterance, side
        return self.maker()

    @abstractmethod
    def path(self, utterance: Utterance, side: Side) -> Path:
        """The file of an utterance, made or still to be made.

        Raises:
            AudioError: there is none and none will be made.
        """


@dataclass(frozen=True)
class Making:
    """One file to make.

    Attributes:
        utterance: the original.
        side: which form.
        target: the file.
        maker: what makes it.
    """

    utterance: Utterance
    side: Side
    target: Path
    maker: Maker

    @property
    def key(self) -> str:
        """The file's name and its folder's: they tell the settings, the side and the original."""
        return f"{self.target.parent.name}/{self.target.name}"


def make(job: Making, advance: Callable[[float], None]) -> Outcome:
    """Make a file, in whatever process.

    Returns:
        "seconds", the length of the speech, and "took", how long it took; or "error".
    """
    try:
        job.target.parent.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        job.maker.make(job.utterance, job.side, job.target)
        took = time.perf_counter() - started
        seconds = Recording.read(job.target).duration
    except SordinoError as error:
        return {"error": str(error)}
    except OSError as error:
        return {"error": f"{error.filename}: {error.strerror}"}
    advance(seconds)
    return {"seconds": seconds, "took": took}


def evaluation_key(seed: int, side: Side) -> SecretKey:
    """The key of a side: whoever is enrolled has another pseudo-speaker in the trials.

    It is derived from the seed and so no secret: an evaluation can be repeated, and a real key
    is never used for one.
    """
    digest = hashlib.sha256(f"sordino evaluation {seed} {side}".encode()).digest()
    return SecretKey(digest)


@dataclass(frozen=True)
class SystemMaker(Maker):
    """Runs one of the package's systems; the attacker's own speech gets a voice per utterance."""

    name: str
    parameters: tuple[tuple[str, object], ...]
    seed: int
    sound: Sound | None = field(default=None, repr=False)

    def make(self, utterance: Utterance, side: Side, target: Path) -> None:
        """See `Maker.make`."""
        anonymizer = self.anonymizer(side)
        recording = utterance.read()
        samples = anonymizer.anonymize(
            recording.samples,
            recording.sample_rate,
            speaker=utterance.speaker,
            key=evaluation_key(self.seed, side),
            utterance=utterance.id,
            source=self.sound,
        )
        Recording(samples, recording.sample_rate).write(target)

    def anonymizer(self, side: Side) -> Anonymizer:
        """The system as it is used for a side."""
        return _loaded(self.name, self.parameters, side)


# A system may be large; a process works for few sides at a time.
@lru_cache(maxsize=4)
def _loaded(name: str, parameters: tuple[tuple[str, object], ...], side: Side) -> Anonymizer:
    settings = dict(parameters)
    if side == "attack":
        settings["level"] = "utterance"
    anonymizer = load(name, **settings)
    if side != "own":
        return anonymizer
    own = anonymizer.resynthesis()
    if own is None:
        raise UsageError(f"{name} cannot resynthesise a voice as it is")
    return own


class SystemSource(Source):
    """A system of the package.

    Args:
        name: as results call it.
        system: its name.
        parameters: its settings.
        folder: where the files go.
        seed: decides the pseudo-speakers.

    Raises:
        UsageError: there is no such system or setting, or nobody gets a voice with them.
    """

    def __init__(
        self, name: str, system: str, parameters: Mapping[str, object], folder: Path, seed: int
    ) -> None:
        self.name = name
        self._anonymizer = load(system, **parameters)
        self._anonymizer.check()
        self._maker = SystemMaker(system, tuple(sorted(parameters.items())), seed)
        self._folder = folder
        self._sounds: dict[tuple[Side, str], Sound] = {}

    @property
    def parameters(self) -> Mapping[str, object]:
        """The system's settings, with all defaults."""
        return self._anonymizer.parameters()

    def system(self) -> System:
        """See `Source.system`."""
        shown = ", ".join(
            f"{name} {value}"
            for name, value in self._anonymizer.parameters().items()
            if value is not None
        )
        what = f"{self._anonymizer.name} (version {self._anonymizer.version}): {shown}"
        return System(self.name, what, self._anonymizer.protection)

    def sides(self) -> frozenset[Side]:
        """See `Source.sides`."""
        own: frozenset[Side] = frozenset()
        if self._anonymizer.resynthesis() is not None:
            own = frozenset({"own"})
        return own | {"enrol", "trial", "attack"}

    def maker(self) -> Maker:
        """See `Source.maker`."""
        return self._maker

    def listener(self, side: Side) -> SpeakerEncoder | None:
        """See `Source.listener`."""
        anonymizer = self._maker.anonymizer(side)
        return anonymizer.source_encoder() if anonymizer.needs_source else None

    def learn(
        self, side: Side, utterances: Iterable[Utterance], vectors: Mapping[str, Vector]
    ) -> None:
        """See `Source.learn`; a side knows a speaker by that side's utterances only."""
        groups: dict[str, list[Utterance]] = defaultdict(list)
        by_speaker = self._maker.anonymizer(side).level == "speaker"
        for utterance in utterances:
            groups[utterance.speaker if by_speaker else utterance.id].append(utterance)
        for group in groups.values():
            heard = [vectors[utterance.id] for utterance in group if utterance.id in vectors]
            if heard:
                sound = mean_source(heard, group[0].sex or "")
                self._sounds |= {(side, utterance.id): sound for utterance in group}

    def maker_for(self, utterance: Utterance, side: Side) -> Maker:
        """See `Source.maker_for`."""
        return replace(self._maker, sound=self._sounds.get((side, utterance.id)))

    def path(self, utterance: Utterance, side: Side) -> Path:
        """See `Source.path`."""
        anonymizer = self._maker.anonymizer(side)
        settings = (anonymizer.name, anonymizer.version, *sorted(anonymizer.parameters().items()))
        sound = self._sounds.get((side, utterance.id))
        heard = () if sound is None else (sound.sex, sound.vector.tobytes())
        return _made(self._folder, (*settings, self._maker.seed), side, utterance, *heard)


@dataclass(frozen=True)
class CommandMaker(Maker):
    """Runs a user's program, once for each file and without a shell."""

    words: tuple[str, ...]
    seed: int

    def make(self, utterance: Utterance, side: Side, target: Path) -> None:
        """See `Maker.make`."""
        part = target.with_name(f".part-{target.name}")
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            source = utterance.path
            if utterance.start is not None or utterance.end is not None:
                source = Path(scratch) / f"input{target.suffix}"
                utterance.read().write(source)
            speaker = f"{utterance.speaker}-{side}"
            if side == "attack":
                speaker += f"-{utterance.id}"
            values = (str(source), str(part), speaker, utterance.id, str(self.seed))
            try:
                self._run(dict(zip(_PLACES, values, strict=True)), part)
                part.replace(target)
            finally:
                part.unlink(missing_ok=True)

    def _run(self, values: Mapping[str, str], part: Path) -> None:
        words = [_PLACE.sub(lambda found: values[found[0]], word) for word in self.words]
        try:
            with _stopped_with_its_parent():
                done = subprocess.run(
                    words,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    errors="backslashreplace",
                    check=False,
                    timeout=LONGEST_S,
                )
        except OSError as error:
            raise UsageError(f"{words[0]}: cannot be run: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            raise AudioError(f"{words[0]} did not end within {LONGEST_S} s") from error
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
            raise AudioError(f"{words[0]} ended with status {done.returncode}: {said[:_SHOWN]}")
        if not part.exists():
            raise AudioError(f"{words[0]} wrote no {{output}}")


@contextmanager
def _stopped_with_its_parent() -> Iterator[None]:
    # A worker process is ended by SIGTERM; the program that it waits for must not live on.
    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class CommandSource(Source):
    """A user's program.

    Args:
        name: as results call it.
        template: the command line; {input} and {output} stand for the files, {speaker} for a name
            that is another one for enrolment and trials, {utterance} and {seed} for those.
        folder: where the files go.
        seed: see `Protocol.seed`.

    Raises:
        UsageError: the template is not right.
    """

    def __init__(self, name: str, template: str, folder: Path, seed: int) -> None:
        self.name = name
        self._template = template
        try:
            words = tuple(shlex.split(template))
        except ValueError as error:
            raise UsageError(f"the command {template!r} is not understood: {error}") from error
        for place in ("{input}", "{output}"):
            if not any(place in word for word in words):
                raise UsageError(f"the command {template!r} lacks {place}")
        if shutil.which(words[0]) is None:
            raise UsageError(f"the command {template!r}: there is no program {words[0]}")
        self._maker = CommandMaker(words, seed)
        self._folder = folder
        self._programs = tuple(_version(word) for word in words)

    def system(self) -> System:
        """See `Source.system`."""
        voices = "" if "{speaker}" in self._template else f"; {_SAME_VOICES}"
        return System(self.name, f"command: {self._template}{voices}")

    def sides(self) -> frozenset[Side]:
        """See `Source.sides`."""
        return frozenset({"enrol", "trial", "attack"})

    def maker(self) -> Maker:
        """See `Source.maker`."""
        return self._maker

    def path(self, utterance: Utterance, side: Side) -> Path:
        """See `Source.path`."""
        settings = (*self._maker.words, *self._programs, self._maker.seed)
        return _made(self._folder, settings, side, utterance)


class FolderSource(Source):
    """A user's files: one for each utterance, found by its id or by its place in the corpus.

    A file belongs to an utterance if its path in the folder, without the ending, is the id or the
    end of the original's path.

    Args:
        name: as results call it.
        folder: holds the anonymized files.
        others: folders for sides that have files of their own: "enrol" and "attack", which are
            else taken from `folder`, and "own", which is else not there.

    Raises:
        UsageError: a folder holds no recordings.
    """

    def __init__(self, name: str, folder: Path, others: Mapping[Side, Path] | None = None) -> None:
        self.name = name
        self._others = {side: _Files(place) for side, place in (others or {}).items()}
        self._files = _Files(folder)

    def system(self) -> System:
        """See `Source.system`."""
        apart = "; ".join(f"{side}: {files.folder}" for side, files in self._others.items())
        what = f"files in {self._files.folder}" + (f" ({apart})" if apart else "")
        voices = "" if {"enrol", "attack"} <= self._others.keys() else f"; {_SAME_VOICES}"
        return System(self.name, what + voices)

    def sides(self) -> frozenset[Side]:
        """See `Source.sides`; whether the attacker's utterances are there shows when asked."""
        own: frozenset[Side] = frozenset({"own"}) if "own" in self._others else frozenset()
        return own | {"enrol", "trial", "attack"}

    def maker(self) -> None:
        """See `Source.maker`."""
        return

    def path(self, utterance: Utterance, side: Side) -> Path:
        """See `Source.path`."""
        if side == "own" and side not in self._others:
            raise AudioError(f"{self.name}: there are no resynthesised files")
        return self._others.get(side, self._files).of(utterance)

    def left_over(self, utterances: Iterable[Utterance]) -> tuple[Path, ...]:
        """The folder's files that belong to none of these utterances, sorted."""
        taken = set()
        for utterance in utterances:
            with suppress(AudioError):
                taken.add(self._files.of(utterance))
        return tuple(sorted(set(self._files.all) - taken))


class _Files:
    """Recordings in a folder by the ends of their paths."""

    def __init__(self, folder: Path) -> None:
        if not folder.is_dir():
            raise UsageError(f"{folder}: there is no such folder")
        self.folder = folder
        self.all = find_recordings(folder).recordings
        if not self.all:
            raise UsageError(f"{folder}: holds no recordings")
        self._whole: dict[str, list[Path]] = defaultdict(list)
        self._names: dict[str, list[Path]] = defaultdict(list)
        for path in self.all:
            inside = path.relative_to(folder)
            self._whole[inside.with_suffix("").as_posix()].append(path)
            self._names[path.stem].append(path)

    def of(self, utterance: Utterance) -> Path:
        parts = PurePath(utterance.path).with_suffix("").parts
        ends = ["/".join(parts[first:]) for first in range(len(parts))]
        whole = utterance.start is None and utterance.end is None
        places = [utterance.id, *(ends if whole else [])]
        for index, names in (
            (self._whole, places),
            (self._names, [utterance.id, *([parts[-1]] if whole else [])]),
        ):
            for name in names:
                if found := index.get(name):
                    if len(found) > 1:
                        raise AudioError(
                            f"{found[0]} and {found[1]} are both called as the utterance"
                            f" {utterance.id}"
                        )
                    return found[0]
        raise AudioError(f"{self.folder}: holds no file for the utterance {utterance.id}")


def _version(word: str) -> tuple[int, int]:
    """Tells whether a program, or a file that it is given, is still the same."""
    found = Path(shutil.which(word) or word)
    try:
        known = found.stat()
    except OSError:
        return (0, 0)
    return (known.st_size, known.st_mtime_ns)


def _made(
    folder: Path, settings: tuple[object, ...], side: Side, utterance: Utterance, *heard: object
) -> Path:
    who = _digest(utterance.id, utterance.speaker, *heard)
    return folder / f"{_digest(*settings)}-{side}" / f"{fingerprint(utterance)}-{who}.flac"


def _digest(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
