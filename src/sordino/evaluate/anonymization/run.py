"""The run: every system, every scenario, every attacker, and what is left of the speech."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.trials import Trials
from sordino.corpus.utterance import Utterance
from sordino.errors import OutputError, UsageError
from sordino.evaluate.anonymization.assess import Scored, assess
from sordino.evaluate.anonymization.attack import Trained, train
from sordino.evaluate.anonymization.ears import Ear, Tuner
from sordino.evaluate.anonymization.failing import Failing
from sordino.evaluate.anonymization.hearings import Bench, as_heard
from sordino.evaluate.anonymization.listen import Vector
from sordino.evaluate.anonymization.protocol import SCENARIOS, Protocol, Scenario, Side
from sordino.evaluate.anonymization.quality import check_measures, measured
from sordino.evaluate.anonymization.similarity import chosen_speakers, similarity
from sordino.evaluate.anonymization.sources import FolderSource, Source
from sordino.evaluate.anonymization.speech import Heard
from sordino.evaluate.anonymization.subset import usable
from sordino.evaluate.exposure import groups, left_out
from sordino.evaluate.progress import Silent, Told
from sordino.evaluate.results import (
    OWN_VOICE,
    Attack,
    Attacker,
    Failure,
    Measure,
    Quality,
    Results,
    Similarity,
    System,
    WorstCase,
)
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.encoders import OnnxEncoder, load_encoder
from sordino.speaker.onnx_file import bundle_of
from sordino.version import __version__
from sordino.workers import map_jobs

ORIGINAL = "original"
_BACKENDS = {
    "cosine": "cosine with the mean of the enrolment vectors, not trained",
    "lda": "cosine after linear discriminant analysis",
    "plda": "probabilistic linear discriminant analysis",
}
_Key = tuple[str, Side | None]


@dataclass(frozen=True)
class Data:
    """What is evaluated.

    Attributes:
        corpus: the utterances.
        trials: which are compared; their utterances are in the corpus.
        attack: the attacker's own utterances, of other speakers.
        emotions: emotion of utterances by their ids, where known.

    Raises:
        UsageError: a speaker is on both sides, or there are no targets or no non-targets.
    """

    corpus: Corpus
    trials: Trials
    attack: Corpus
    emotions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind, there in (
            ("targets", self.trials.is_target.any()),
            ("non-targets", not self.trials.is_target.all()),
        ):
            if not there:
                raise UsageError(f"the trials have no {kind}; both kinds are needed")
        tested = {enrolment.speaker for enrolment in self.trials.enrolments}
        tested |= set(self.trials.speakers)
        if both := sorted(tested & set(self.attack.speakers)):
            raise UsageError(
                f"speakers are tested and train the attacker ({len(both)}, such as {both[0]});"
                " give the attacker other speakers, or test fewer"
            )


def evaluate_anonymization(
    data: Data,
    sources: Sequence[Source],
    protocol: Protocol,
    *,
    folder: Path,
    workers: int = 1,
    told: Told | None = None,
    command: str = "",
    machine: Mapping[str, str] | None = None,
) -> Results:
    """Attack anonymized speech and measure what is left of it.

    Args:
        data: original utterances and trials.
        sources: the systems.
        protocol: settings.
        folder: for work in progress; the same folder goes on with a run that was cut short. It
            holds anonymized speech and voice vectors.
        workers: processes.
        told: told of progress.
        command: for the results: what was typed.
        machine: for the results.

    Raises:
        UsageError: names clash, or the data do not allow the run.
        AudioError: utterances cannot be used and may not be left out.
        OutputError: the folder cannot be written.
    """
    started = time.monotonic()
    names = [ORIGINAL, *(source.name for source in sources)]
    if len(set(names)) != len(names):
        raise UsageError(f"two systems have the same name, or one is called {ORIGINAL!r}")
    check_measures(protocol, data.corpus)
    _make_private(folder)
    run = _Run(data, protocol, Bench(folder, workers, told or Silent()))
    for source in sources:
        run.gather(source)
    run.hear_all()
    attacks, worst = run.attack_all(names)
    qualities = run.qualities(names)
    return Results(
        kind="anonymization",
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        version=__version__,
        command=command,
        machine=dict(machine or {}),
        data=_facts(data),
        protocol=_settings(protocol, data),
        seconds=round(time.monotonic() - started, 1),
        systems=(
            System(ORIGINAL, "the recordings as they are"),
            *(source.system() for source in sources),
        ),
        attackers=run.attackers(),
        attacks=attacks,
        worst_cases=worst,
        similarities=run.similarities(names[1:]),
        qualities=qualities,
        failures=tuple(run.failing.failures),
        notes=tuple(run.notes),
    )


def _make_private(folder: Path) -> None:
    """Make the folder for work in progress, which will hold how people sound.

    One that is there stays as it is: it may be anything.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made: {error.strerror}") from error


class _Run:
    """Speech and vectors of a run, by system and side."""

    def __init__(self, data: Data, protocol: Protocol, bench: Bench) -> None:
        self.data = data
        self.protocol = protocol
        self.bench = bench
        self.failing = Failing()
        self.notes = list(left_out(data.trials, data.corpus))
        self.scenarios: dict[str, list[Scenario]] = {ORIGINAL: [SCENARIOS["OO"]]}
        self._speed: dict[str, float] = {}
        known = data.corpus.by_id()
        self._enrolled = [
            known[name]
            for name in dict.fromkeys(
                name for enrolment in data.trials.enrolments for name in enrolment.utterances
            )
        ]
        self._tried = [known[name] for name in data.trials.utterances]
        self._heard: dict[_Key, Heard] = {
            (ORIGINAL, None): as_heard([*self._enrolled, *self._tried]),
            (ORIGINAL, "attack"): as_heard(data.attack),
        }
        self._vectors: dict[tuple[str, _Key], dict[str, Vector]] = {}
        self._trained: dict[tuple[str, str, _Key], Trained] = {}
        self._ears = [Ear(name, _encoder(name, bench.folder)) for name in protocol.encoders]
        self._tuner = Tuner(protocol.fine_tune, bench.folder / "encoders", protocol.seed)

    def gather(self, source: Source) -> None:
        """Make or find a system's speech for all scenarios that it can take part in."""
        utterances: dict[Side, Sequence[Utterance]] = {
            "enrol": self._enrolled,
            "trial": self._tried,
            "attack": tuple(self.data.attack),
            "own": self._tried,
        }
        there = source.sides()
        made: dict[Side, Heard] = {}
        found: dict[Side, Mapping[str, Failure]] = {}
        wanted = [SCENARIOS[name] for name in self.protocol.scenarios if name != "OO"]
        for side in dict.fromkeys(side for scenario in wanted for side in scenario.sides):
            if side not in there:
                continue
            outcome = self.bench.make(source, side, utterances[side])
            if side in {"attack", "own"} and not outcome.heard:
                continue
            made[side], found[side] = outcome.heard, outcome.failures
            if side == "trial" and outcome.took:
                self._speed[source.name] = outcome.seconds / outcome.took
        self.scenarios[source.name] = []
        for scenario in wanted:
            if all(side in made for side in scenario.sides):
                self.scenarios[source.name].append(scenario)
            else:
                self._cannot(source, scenario)
        for side, failures in found.items():
            self._note(source.name, failures)
            self._heard[source.name, side] = made[side]
        if isinstance(source, FolderSource):
            known = (*self.data.corpus, *self.data.attack)
            if extra := source.left_over(known):
                self.notes.append(
                    f"{source.name}: {len(extra)} files belong to no utterance of the data,"
                    f" such as {extra[0]}; they are left aside."
                )

    def hear_all(self) -> None:
        """Embed all speech by all encoders, and settle what cannot be used."""
        for ear in self._ears:
            for (system, side), heard in self._heard.items():
                what = f"{system}, {side or 'test'}"
                vectors, failures = self.bench.hear(ear.encoder, what, heard)
                self._vectors[ear.name, (system, side)] = vectors
                self._note(system, failures)
        self.failing.settle(self.bench.told, leave_out=self.protocol.leave_out)

    def attackers(self) -> tuple[Attacker, ...]:
        """Who attacks."""
        return tuple(
            Attacker(_name(ear, backend), f"{ear.what}; {_BACKENDS[backend]}")
            for ear in self._all_ears()
            for backend in self.protocol.backends
        )

    def attack_all(self, names: Sequence[str]) -> tuple[tuple[Attack, ...], tuple[WorstCase, ...]]:
        """Outcomes of all attackers in all scenarios, in the order of the systems."""
        tasks = [
            (ear, system, scenario)
            for system in names
            for ear in self._all_ears()
            for scenario in self.scenarios[system]
        ]
        self.bench.told.stage("attacks", len(tasks))
        jobs: list[Scored] = []
        for task in tasks:
            jobs += self._scored(*task)
            self.bench.told.step()
        self.bench.told.stage("figures", len(jobs))
        attacks: dict[int, tuple[Attack, ...]] = {}
        worst: dict[int, tuple[WorstCase, ...]] = {}
        numbers = {id(job): number for number, job in enumerate(jobs)}
        for job, outcome in map_jobs(
            assess, jobs, self.bench.workers, lambda amount: None, self.bench.scratch
        ):
            if outcome is None:
                raise UsageError("a worker process died while it worked figures out: memory?")
            attacks[numbers[id(job)]], worst[numbers[id(job)]] = outcome.attacks, outcome.worst
            self.bench.told.step()
        return (
            tuple(attack for number in sorted(attacks) for attack in attacks[number]),
            tuple(case for number in sorted(worst) for case in worst[number]),
        )

    def similarities(self, systems: Sequence[str]) -> tuple[Similarity, ...]:
        """Voice similarity matrices by the first encoder."""
        ear = self._ears[0]
        found = []
        for system in systems:
            if (system, "trial") not in self._heard:
                continue
            original = self._vectors[ear.name, (ORIGINAL, None)]
            protected = self._vectors[ear.name, (system, "trial")]
            both = [u for u in self._tried if u.id in original and u.id in protected]
            chosen = chosen_speakers(both, self.protocol.seed)
            if not chosen:
                self.notes.append(
                    f"{system}: similarity matrices need two speakers with two utterances each."
                )
                continue
            found.append(
                similarity(
                    system,
                    _name(ear, "cosine"),
                    chosen,
                    original,
                    protected,
                    seed=self.protocol.seed,
                )
            )
        return tuple(found)

    def qualities(self, systems: Sequence[str]) -> tuple[Quality, ...]:
        """What is left of the speech."""
        originals = {u.id: u for u in self._tried if u.id in self._heard[ORIGINAL, None]}
        heard = {
            system: originals if system == ORIGINAL else self._heard[system, "trial"]
            for system in systems
            if system == ORIGINAL or (system, "trial") in self._heard
        }
        if self.protocol.own_voice:
            heard |= {
                f"{system}{OWN_VOICE}": self._heard[system, "own"]
                for system in systems
                if (system, "own") in self._heard
            }
        outcome = measured(heard, self.data.emotions, self.protocol, self.bench, self.data.attack)
        self.failing.failures += outcome.failures
        self.notes += outcome.notes
        speed = [
            Quality(system, "speed", "x", "all", Measure(round(times, 1)), len(self._tried), 0)
            for system, times in self._speed.items()
        ]
        return (*outcome.qualities, *speed)

    def _all_ears(self) -> list[Ear]:
        tuned = [ear.tuned() for ear in self._ears] if self.protocol.fine_tune else []
        return [*self._ears, *tuned]

    def _scored(self, ear: Ear, system: str, scenario: Scenario) -> Iterator[Scored]:
        train_on: _Key = (ORIGINAL if scenario.train is None else system, "attack")
        enrol: _Key = (ORIGINAL, None) if scenario.enrol is None else (system, scenario.enrol)
        trial: _Key = (ORIGINAL, None) if scenario.trial is None else (system, scenario.trial)
        gone = self.failing
        trials = usable(
            self.data.trials,
            gone.enrolled.get(ORIGINAL, set()) | gone.enrolled.get(system, set()),
            gone.tried.get(ORIGINAL, set()) | gone.tried.get(system, set()),
        )
        lost = gone.trained.get(ORIGINAL, set()) | gone.trained.get(train_on[0], set())
        training = Corpus(tuple(u for u in self.data.attack if u.id not in lost))
        # The original's, where the encoder is not trained on what the attacker has.
        listener = self._tuner.listener(ear, training, self._heard[train_on], train_on[0])
        enrolled, tried, learnt = (
            self._vectors_of(listener, key) for key in (enrol, trial, train_on)
        )
        chosen = groups(trials, self.data.corpus)
        for backend in self.protocol.backends:
            if backend == "cosine" and scenario.train is not None and not ear.is_tuned:
                continue  # nothing in it is trained
            trained = self._back_end(backend, listener, train_on, learnt, training)
            yield Scored(
                system,
                scenario.name,
                _name(ear, backend),
                trained.score(enrolled, tried, trials),
                trials,
                chosen,
                trained.calibration is not None,
                self.protocol.draws,
                self.protocol.seed,
            )

    def _back_end(
        self,
        kind: str,
        ear: Ear,
        key: _Key,
        learnt: Mapping[str, Vector],
        training: Corpus,
    ) -> Trained:
        if (kind, ear.name, key) not in self._trained:
            self._trained[kind, ear.name, key] = train(
                kind, learnt, training, seed=self.protocol.seed
            )
        return self._trained[kind, ear.name, key]

    def _vectors_of(self, ear: Ear, key: _Key) -> dict[str, Vector]:
        if (ear.name, key) not in self._vectors:
            what = f"{key[0]}, {key[1] or 'test'}"
            vectors, failures = self.bench.hear(ear.encoder, what, self._heard[key])
            for failure in failures.values():
                self.bench.told.note(f"{failure.what}: {failure.why}")
            self._vectors[ear.name, key] = vectors
        return self._vectors[ear.name, key]

    def _note(self, system: str, failures: Mapping[str, Failure]) -> None:
        self.failing.add(system, failures, self.data.trials, (u.id for u in self.data.attack))

    def _cannot(self, source: Source, scenario: Scenario) -> None:
        if scenario.name == "OR":
            why = "there is no speech that it resynthesised with the speakers' own voices"
        else:
            why = "there is none of the attacker's speech that it has anonymized"
        self.notes.append(f"{source.name}: {scenario.name} was not run, {why}.")


def _encoder(name: str, folder: Path) -> SpeakerEncoder:
    if name.lower().endswith(".onnx"):
        return OnnxEncoder(bundle_of(Path(name), folder / "encoders"))
    return load_encoder(name)


def _name(ear: Ear, backend: str) -> str:
    return f"{ear.title} + {backend if backend == 'cosine' else backend.upper()}"


def _facts(data: Data) -> dict[str, str]:
    trials = data.trials
    languages = sorted({u.language for u in data.corpus if u.language})
    corpora = sorted({u.corpus for u in data.corpus if u.corpus})
    speakers = {enrolment.speaker for enrolment in trials.enrolments} | set(trials.speakers)
    facts = {
        "utterances": str(len(data.corpus)),
        "speakers": str(len(data.corpus.speakers)),
        "enrolments": str(len(trials.enrolments)),
        "trials": f"{int(trials.is_target.sum())} of the same speaker,"
        f" {int((~trials.is_target).sum())} of different ones, {len(speakers)} speakers",
        "attacker's data": f"{len(data.attack)} utterances of {len(data.attack.speakers)} speakers",
    }
    if languages:
        facts["languages"] = ", ".join(languages)
    if corpora:
        facts["corpora"] = ", ".join(corpora)
    return facts


def _settings(protocol: Protocol, data: Data) -> dict[str, str]:
    sizes = sorted({len(enrolment.utterances) for enrolment in data.trials.enrolments})
    enrolled = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return {
        "enrolment": f"{enrolled} utterances a speaker; the mean of their vectors",
        "impostors": "from the same corpus as the enrolled speaker",
        "pseudo-speakers": "in sordino's systems enrolment and trials have different ones and the"
        " attacker's training speech has one per utterance; for others see the systems",
        "intervals": f"95 %, bootstrap over speakers, {protocol.draws} draws",
        "words and quality": f"at most {protocol.utterances} utterances of the trials, spread over"
        " the speakers",
        "fine-tuning of encoders": f"{protocol.fine_tune} steps" if protocol.fine_tune else "none",
        "seed": str(protocol.seed),
    }
