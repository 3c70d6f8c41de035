"""Trial lists: which utterances are compared with which enrolled speakers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.corpus import Corpus
from sordino.corpus.draws import digest
from sordino.corpus.layouts.tables import lines
from sordino.corpus.utterance import Utterance
from sordino.errors import OutputError, UsageError

IntArray = npt.NDArray[np.integer]
BoolArray = npt.NDArray[np.bool_]

# Sexes of the enrolled speaker and of the speaker who is tried; None for any.
_PAIRS: Mapping[str, frozenset[tuple[str, str]] | None] = {
    "mixed": None,
    "same-sex": frozenset({("F", "F"), ("M", "M")}),
    "F-F": frozenset({("F", "F")}),
    "M-M": frozenset({("M", "M")}),
}
PAIRS = tuple(_PAIRS)
_LABELS = {"target": True, "nontarget": False}
_NONE = np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class Enrolment:
    """What a speaker is enrolled with.

    Attributes:
        model: name of the enrolment; the speaker's id in most lists.
        speaker: who it is.
        utterances: ids of the utterances, at least one.
    """

    model: str
    speaker: str
    utterances: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Trials:
    """Comparisons of utterances with enrolled speakers.

    Attributes:
        enrolments: the enrolled speakers.
        utterances: ids of the utterances that are tried.
        speakers: who speaks in each of them, shape (utterances,).
        model: which enrolment each trial is for, an index into `enrolments`, int32, (trials,).
        utterance: which utterance is tried, an index into `utterances`, int32, (trials,).

    Raises:
        UsageError: an id comes twice, an index leads nowhere, a trial comes twice, or an utterance
            is tried against an enrolment that it is part of.

    Example:
        >>> trials = Trials(
        ...     (Enrolment("ann", "ann", ("a1",)),),
        ...     ("a2", "b1"),
        ...     ("ann", "bob"),
        ...     np.array([0, 0], dtype=np.int32),
        ...     np.array([0, 1], dtype=np.int32),
        ... )
        >>> trials.is_target
        array([ True, False])
    """

    enrolments: tuple[Enrolment, ...]
    utterances: tuple[str, ...]
    speakers: tuple[str, ...]
    model: IntArray
    utterance: IntArray

    def __post_init__(self) -> None:
        if len(self.speakers) != len(self.utterances):
            raise UsageError(
                f"there are {len(self.utterances)} utterances to try and {len(self.speakers)}"
                " speakers of them"
            )
        _require_unique("model", (enrolment.model for enrolment in self.enrolments))
        _require_unique("utterance to try", self.utterances)
        for enrolment in self.enrolments:
            if not enrolment.utterances:
                raise UsageError(f"the model {enrolment.model} has no enrolment utterance")
            _require_unique(f"enrolment utterance of {enrolment.model}", enrolment.utterances)
        _require_indices("model", self.model, len(self.enrolments))
        _require_indices("utterance", self.utterance, len(self.utterances))
        if self.model.size != self.utterance.size:
            raise UsageError(
                f"there are {self.model.size} models and {self.utterance.size} utterances in the"
                " trials; expected as many of each"
            )
        self._require_sound()

    def __len__(self) -> int:
        return int(self.model.size)

    @cached_property
    def is_target(self) -> BoolArray:
        """Whether the utterance is by the enrolled speaker, shape (trials,)."""
        return np.asarray(self.enrolled == self.tried)

    @cached_property
    def enrolled(self) -> IntArray:
        """A number for the speaker who is enrolled, shape (trials,); see `tried`."""
        numbers = self._numbers
        models = [numbers[enrolment.speaker] for enrolment in self.enrolments]
        return np.array(models, dtype=np.int32)[self.model]

    @cached_property
    def tried(self) -> IntArray:
        """A number for the speaker who is tried, shape (trials,), as in `enrolled`."""
        numbers = self._numbers
        spoken = [numbers[speaker] for speaker in self.speakers]
        return np.array(spoken, dtype=np.int32)[self.utterance]

    def select(self, chosen: BoolArray) -> Trials:
        """Some of the trials, with the enrolments and utterances as they are.

        Args:
            chosen: which, shape (trials,).
        """
        return Trials(
            self.enrolments,
            self.utterances,
            self.speakers,
            self.model[chosen],
            self.utterance[chosen],
        )

    @classmethod
    def read(cls, trials: Path, enrolls: Path, corpus: Corpus) -> Trials:
        """Read lists of the VoicePrivacy Challenges and of Kaldi.

        Args:
            trials: `speaker utterance target|nontarget` in each line, or a model for the speaker.
            enrolls: an utterance in each line, which enrols its speaker; or a model and its
                utterances.
            corpus: tells who speaks in each utterance.

        Raises:
            UsageError: a line is not right, names what the corpus or the enrolments lack, or calls
                a trial a target that is none or the other way round; the message names the line.
        """
        known = corpus.by_id()
        enrolments = tuple(_read_enrolls(enrolls, known))
        models = {enrolment.model: index for index, enrolment in enumerate(enrolments)}
        tried: dict[str, int] = {}
        model, utterance = [], []
        for number, line in lines(trials):
            where = f"{trials}, line {number}"
            fields = line.split()
            if len(fields) != 3 or fields[2] not in _LABELS:
                raise UsageError(f"{where}: expected: speaker utterance target|nontarget")
            name, spoken, label = fields
            if name not in models:
                raise UsageError(f"{where}: {name} is not enrolled in {enrolls}")
            if spoken not in known:
                raise UsageError(
                    f"{where}: the utterance {spoken} is not in the corpus, whose ids look like"
                    f" {next(iter(known))}"
                )
            same = enrolments[models[name]].speaker == known[spoken].speaker
            if same != _LABELS[label]:
                raise UsageError(
                    f"{where}: is called {label}, but {spoken} is by {known[spoken].speaker}"
                )
            model.append(models[name])
            utterance.append(tried.setdefault(spoken, len(tried)))
        try:
            return cls(
                enrolments,
                tuple(tried),
                tuple(known[spoken].speaker for spoken in tried),
                np.array(model, dtype=np.int32),
                np.array(utterance, dtype=np.int32),
            )
        except UsageError as error:
            raise UsageError(f"{trials}: {error}") from error

    def write(self, trials: Path, enrolls: Path) -> None:
        """Write lists that `read` reads.

        `enrolls` has an utterance in each line, as the VoicePrivacy Challenges have it, where each
        model is named as its speaker; else a model and its utterances.

        Args:
            trials: file for the trials.
            enrolls: file for the enrolments.

        Raises:
            UsageError: an id has white space in it, which these lists cannot hold.
            OutputError: a file cannot be written.
        """
        for name in (
            *self.utterances,
            *(enrolment.model for enrolment in self.enrolments),
            *(name for enrolment in self.enrolments for name in enrolment.utterances),
        ):
            if len(name.split()) != 1 or name != name.strip():
                raise UsageError(
                    f"the id {name!r} has white space; a list of trials cannot hold it"
                )
        _write_lines(enrolls, self._enrolls_lines())
        _write_lines(trials, self._trials_lines())

    def _enrolls_lines(self) -> Iterator[str]:
        plain = all(enrolment.model == enrolment.speaker for enrolment in self.enrolments)
        for enrolment in self.enrolments:
            if plain:
                yield from enrolment.utterances
            else:
                yield " ".join((enrolment.model, *enrolment.utterances))

    def _trials_lines(self) -> Iterator[str]:
        rows = zip(
            self.model.tolist(), self.utterance.tolist(), self.is_target.tolist(), strict=True
        )
        for model, utterance, target in rows:
            label = "target" if target else "nontarget"
            yield f"{self.enrolments[model].model} {self.utterances[utterance]} {label}"

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        speakers = {enrolment.speaker for enrolment in self.enrolments} | set(self.speakers)
        return {speaker: number for number, speaker in enumerate(sorted(speakers))}

    def _require_sound(self) -> None:
        width = len(self.utterances)
        ordered = np.sort(self.model.astype(np.int64) * width + self.utterance)
        repeated = ordered[1:][ordered[1:] == ordered[:-1]]
        if repeated.size:
            raise UsageError(f"{self._named(repeated[0])} is tried twice")
        index = {utterance: number for number, utterance in enumerate(self.utterances)}
        own = [
            model * width + index[utterance]
            for model, enrolment in enumerate(self.enrolments)
            for utterance in enrolment.utterances
            if utterance in index
        ]
        codes = np.array(own, dtype=np.int64)
        places = np.minimum(np.searchsorted(ordered, codes), ordered.size - 1)
        wrong = codes[ordered[places] == codes] if ordered.size else codes[:0]
        if wrong.size:
            raise UsageError(
                f"{self._named(wrong[0])} is part of the enrolment it is tried against"
            )

    def _named(self, code: np.int64) -> str:
        model, utterance = divmod(int(code), len(self.utterances))
        return f"utterance {self.utterances[utterance]} (model {self.enrolments[model].model})"


def make_trials(
    corpus: Corpus,
    *,
    enrolments_per_speaker: int = 3,
    pairs: str = "mixed",
    targets_per_model: int | None = None,
    nontargets_per_model: int | None = None,
    seed: int = 0,
) -> Trials:
    """Make a trial list.

    A speaker with more utterances than are needed for enrolment is enrolled with some of them and
    tried with the others; all other speakers are only impostors. Who has no impostor is left out.
    Where a speaker is in several collections, each makes a model of its own. Trials stay inside
    one collection (`Utterance.corpus`), because between two the channel tells speakers apart.
    What is chosen depends on the ids and the seed, not on the order of the utterances or the
    libraries' versions; a speaker's enrolment does not depend on who else is there.

    Args:
        corpus: the utterances.
        enrolments_per_speaker: utterances in an enrolment, at least 1.
        pairs: "mixed" for all, "same-sex", "F-F" or "M-M"; all but the first leave speakers out
            whose sex is not known.
        targets_per_model: the most target trials of a model; None for all.
        nontargets_per_model: the most non-target trials of a model; None for all.
        seed: another one gives another list.

    Raises:
        UsageError: a number is too small, `pairs` is another word, or no trials can be made.

    Example:
        >>> corpus = Corpus(tuple(
        ...     Utterance(f"{who}{take}", Path(f"{who}{take}.wav"), who)
        ...     for who in ("ann", "bob", "cem") for take in range(4)
        ... ))
        >>> trials = make_trials(corpus, enrolments_per_speaker=2)
        >>> int(trials.is_target.sum()), int((~trials.is_target).sum())
        (6, 12)
    """
    if pairs not in _PAIRS:
        raise UsageError(f"the pairs {pairs!r} are not one of {', '.join(PAIRS)}")
    if enrolments_per_speaker < 1:
        raise UsageError("an enrolment needs at least 1 utterance")
    caps = {True: targets_per_model, False: nontargets_per_model}
    if any(cap is not None and cap < 1 for cap in caps.values()):
        raise UsageError("the most trials of a model must be at least 1")

    sexes = {utterance.speaker: utterance.sex for utterance in corpus if utterance.sex}
    enrolments: list[Enrolment] = []
    rest: list[Utterance] = []
    chosen: list[IntArray] = []
    for models in _collections(corpus):
        enrolled, left = _enrol(models, enrolments_per_speaker, seed)
        parts = _trials(enrolled, left, sexes, _PAIRS[pairs], caps, seed)
        chosen += [part + len(rest) for part in parts]
        enrolments += enrolled
        rest += left
    kept = [number for number, part in enumerate(chosen) if part.size]
    if not kept:
        raise UsageError(
            f"no trials can be made of {pairs} pairs inside one corpus with"
            f" {enrolments_per_speaker} enrolment utterances: too few speakers or utterances"
        )
    places = np.concatenate(chosen)
    is_used = np.zeros(len(rest), dtype=bool)
    is_used[places] = True
    used = np.flatnonzero(is_used)
    renumbered = np.cumsum(is_used, dtype=np.int32) - 1
    return Trials(
        tuple(enrolments[number] for number in kept),
        tuple(rest[number].id for number in used),
        tuple(rest[number].speaker for number in used),
        np.repeat(np.arange(len(kept), dtype=np.int32), [chosen[number].size for number in kept]),
        renumbered[places],
    )


def _collections(corpus: Corpus) -> Iterator[Mapping[str, list[Utterance]]]:
    """For each collection the utterances of each model, in the order of their names."""
    groups: dict[str, dict[str, list[Utterance]]] = {}
    for utterance in sorted(corpus, key=attrgetter("id")):
        speakers = groups.setdefault(utterance.corpus or "", {})
        speakers.setdefault(utterance.speaker, []).append(utterance)
    homes = Counter(speaker for speakers in groups.values() for speaker in speakers)
    for name, speakers in sorted(groups.items()):
        yield {
            speaker if homes[speaker] == 1 else f"{speaker}@{name}": utterances
            for speaker, utterances in sorted(speakers.items())
        }


def _enrol(
    models: Mapping[str, list[Utterance]], count: int, seed: int
) -> tuple[list[Enrolment], list[Utterance]]:
    """The enrolments of a collection, and what is left to be tried."""
    enrolments = []
    rest = []
    for model, utterances in models.items():
        drawn = sorted(utterances, key=lambda utterance: digest(seed, "enrol", utterance.id))
        if len(drawn) > count:
            names = tuple(sorted(utterance.id for utterance in drawn[:count]))
            enrolments.append(Enrolment(model, drawn[0].speaker, names))
            drawn = drawn[count:]
        rest += sorted(drawn, key=attrgetter("id"))
    return enrolments, rest


def _trials(
    enrolments: Sequence[Enrolment],
    tried: Sequence[Utterance],
    sexes: Mapping[str, str | None],
    pairs: frozenset[tuple[str, str]] | None,
    caps: Mapping[bool, int | None],
    seed: int,
) -> Iterator[IntArray]:
    """For each enrolment the places in `tried` of what it is tried with.

    None where there are no impostors. `caps` is the most trials, for targets (True) and others.
    """
    names = dict.fromkeys(utterance.speaker for utterance in tried)
    numbers = {speaker: number for number, speaker in enumerate(names)}
    speakers = np.array([numbers[utterance.speaker] for utterance in tried], dtype=np.int32)
    # By the sex of the enrolled speaker, whether an utterance may be tried.
    allowed = {
        sex: np.array(
            [pairs is None or (sex, sexes.get(u.speaker)) in pairs for u in tried], dtype=bool
        )
        for sex in ("F", "M", None)
    }
    for enrolment in enrolments:
        may = allowed[sexes.get(enrolment.speaker)]
        own = speakers == numbers[enrolment.speaker]
        parts = [
            _sample(np.flatnonzero(may & (own == target)), cap, seed, enrolment.model, target)
            for target, cap in caps.items()
        ]
        yield np.sort(np.concatenate(parts)) if all(part.size for part in parts) else _NONE


def _sample(places: IntArray, cap: int | None, seed: int, model: str, target: bool) -> IntArray:
    if cap is None or places.size <= cap:
        return places
    drawn_by = digest(seed, "target" if target else "non-target", model)
    # numpy promises the stream of a bit generator to stay, but not what `choice` makes of it.
    stream = np.random.PCG64(int.from_bytes(drawn_by[:16], "big"))
    keys = stream.random_raw(places.size)
    drawn: IntArray = places[keys <= np.partition(keys, cap - 1)[cap - 1]][:cap]
    return drawn


def _read_enrolls(path: Path, known: Mapping[str, Utterance]) -> Iterator[Enrolment]:
    models: dict[str, list[str]] = {}
    for number, line in lines(path):
        *named, _ = fields = line.split()
        utterances = fields[1:] if named else fields
        for utterance in utterances:
            if utterance not in known:
                raise UsageError(
                    f"{path}, line {number}: {utterance} is not in the corpus, whose ids look like"
                    f" {next(iter(known))}"
                )
        model = fields[0] if named else known[fields[0]].speaker
        models.setdefault(model, []).extend(utterances)
    for model, enrolled in models.items():
        speakers = sorted({known[utterance].speaker for utterance in enrolled})
        if len(speakers) > 1:
            raise UsageError(
                f"{path}: the model {model} has utterances of {speakers[0]} and {speakers[1]}"
            )
        yield Enrolment(model, speakers[0], tuple(enrolled))


def _write_lines(path: Path, content: Iterable[str]) -> None:
    try:
        with path.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            file.writelines(f"{line}\n" for line in content)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error


def _require_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UsageError(f"the {what} {name} comes twice")
        seen.add(name)


def _require_indices(what: str, values: npt.NDArray[np.generic], count: int) -> None:
    if values.dtype != np.int32 or values.ndim != 1:
        raise UsageError(f"the {what} indices should be int32 of shape (trials,)")
    if values.size and (values.min() < 0 or values.max() >= count):
        raise UsageError(f"a {what} index is outside 0 to {count - 1}")
