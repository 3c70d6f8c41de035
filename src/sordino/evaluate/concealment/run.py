"""The evaluation of concealers, from vectors to results."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from sordino.conceal.concealment import Concealment
from sordino.conceal.vectors import require_vectors
from sordino.corpus.draws import digest
from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.concealment.attackers import ATTACKERS
from sordino.evaluate.concealment.guessing import Guessing
from sordino.evaluate.concealment.impossible import impossible
from sordino.evaluate.concealment.settings import Settings
from sordino.evaluate.concealment.verification import Verification
from sordino.evaluate.concealment.ways import NO_GUARANTEE, Release, Way, require_untested
from sordino.evaluate.embeddings.attribute import Attribute, attribute_of
from sordino.evaluate.embeddings.recognition import COSINE, trials_of_guessed
from sordino.evaluate.embeddings.templates import ORIGINAL, Templates, align
from sordino.evaluate.progress import Silent, Told
from sordino.evaluate.results import Attacker, Concealed, Results, System, Verified
from sordino.privacy.randomness import SeededRandomness
from sordino.speaker.vectors import Vectors
from sordino.version import __version__

FloatArray = npt.NDArray[np.float32]

_FEWEST_SEEDS = 5
_SWEEP_DRAWS = 200


def evaluate_concealment(
    original: Vectors,
    table: AttributeTable,
    attributes: Sequence[str],
    ways: Sequence[Way],
    settings: Settings | None = None,
    *,
    what: str = "",
    told: Told | None = None,
    command: str = "",
    machine: Mapping[str, str] | None = None,
) -> Results:
    """How well attackers guess attributes from concealed vectors, and what verification keeps.

    Attackers are trained on speakers whom they do not guess: ignorant ones on unprotected vectors,
    informed ones on vectors that were concealed in the same way. The noise of releases comes from
    the seed of the settings, so that figures can be repeated.

    Args:
        original: unprotected vectors, with speakers; of none whom a concealer was trained on.
        table: the attributes. With a column `corpus`, trials stay inside one collection.
        attributes: which to guess, columns of the table.
        ways: what is compared, and points of sweeps.
        settings: how; by default `Settings()`.
        what: how the original vectors were made, in one line.
        told: of the progress; nobody by default.
        command: what was typed.
        machine: facts of it.

    Returns:
        Figures that contradict a guarantee are failures, "this is a bug".

    Raises:
        UsageError: vectors, table, ways and settings do not fit each other.
    """
    started = time.monotonic()
    settings, told = settings or Settings(), told or Silent()
    if not attributes or len(set(attributes)) < len(attributes):
        raise UsageError("name at least one attribute, each once")
    _require_names(ways)
    for release in (release for way in ways for release in way.releases):
        if isinstance(release, Concealment):
            require_vectors(original, release)
        require_untested(release, original.speakers)
    templates = align(original, (), table)
    prepared = [attribute_of(table, name, templates, settings.parting) for name in attributes]
    left_out = [failure for attribute in prepared for failure in attribute.failures]
    for failure in left_out:
        told.note(f"{failure.effect}: {failure.why} ({failure.where})")
    run = _Run.of(templates, prepared, table, settings, told)
    concealed = [run.originals(), *(run.concealed(way) for way in ways)]
    bugs = [failure for one in concealed for failure in impossible(one)]
    for bug in bugs:
        told.note(f"{bug.what}: {bug.where}: {bug.why}")
    compared = [way for way in ways if not way.sweep]
    return Results(
        kind="concealment",
        created=datetime.now().astimezone().isoformat(timespec="seconds"),
        version=__version__,
        command=command,
        machine=machine or {},
        data=_data(original, templates, prepared),
        protocol=_protocol(settings, concealed, run.enrolments),
        seconds=time.monotonic() - started,
        systems=(
            System(ORIGINAL, what or "vectors as they were given", NO_GUARANTEE),
            *(System(way.name, way.what, way.guarantee) for way in compared),
        ),
        attackers=(
            *(Attacker(name, ATTACKERS[name].what) for name in _attackers(settings, ways)),
            *([_COSINE] if run.verification else []),
        ),
        concealed=tuple(concealed),
        failures=(*bugs, *left_out),
        notes=tuple(_notes(ways, run, bugs=bool(bugs))),
    )


@dataclass(frozen=True, eq=False)
class _Run:
    """What is the same for all ways of concealing."""

    templates: Templates
    guessing: tuple[Guessing, ...]
    verification: Verification | None
    why_not_verified: str
    enrolments: str
    folds: int
    settings: Settings
    told: Told

    @classmethod
    def of(
        cls,
        templates: Templates,
        attributes: Sequence[Attribute],
        table: AttributeTable,
        settings: Settings,
        told: Told,
    ) -> _Run:
        originals = templates.systems[ORIGINAL][0]
        verification, why_not, enrolments = None, "", ""
        try:
            trials, groups = trials_of_guessed(templates, table, attributes, settings.parting)
        except UsageError as error:
            why_not = f"Speaker verification was not measured: {error}."
        else:
            sizes = sorted({len(one.utterances) for one in trials.enrolments})
            enrolments = (
                f"{len(trials.enrolments)}, each the mean direction of"
                f" {' or '.join(map(str, sizes))} templates"
            )
            verification = Verification(originals, templates.keys, trials, groups, settings.seed)
        return cls(
            templates,
            tuple(Guessing(originals, attribute, settings, told) for attribute in attributes),
            verification,
            why_not,
            enrolments,
            sum(len(attribute.folds) for attribute in attributes),
            settings,
            told,
        )

    @property
    def attackers(self) -> int:
        """How many guess an attribute of concealed vectors."""
        return len(self.settings.attackers) * max(len(one.knowledge) for one in self.guessing)

    def originals(self) -> Concealed:
        """The yardstick."""
        settings = self.settings
        self.told.stage(ORIGINAL, self.folds * len(settings.attackers))
        guesses = [
            guess
            for attribute in self.guessing
            for guess in attribute.of_originals(settings.attackers, settings.draws)
        ]
        verified: list[Verified] = []
        if self.verification is not None:
            verified = list(self.verification.of_originals(settings.draws))
        return Concealed(
            ORIGINAL,
            sweep="",
            mechanism="none",
            epsilon_train=math.inf,
            epsilon=math.inf,
            delta=0.0,
            guarantee=NO_GUARANTEE,
            trainings=0,
            guesses=tuple(guesses),
            verified=tuple(verified),
        )

    def concealed(self, way: Way) -> Concealed:
        """One way, all trainings."""
        settings = self.settings
        attackers = settings.sweep_attackers if way.sweep else settings.attackers
        draws = min(settings.draws, _SWEEP_DRAWS) if way.sweep else settings.draws
        point = f" at {getattr(way, way.sweep):g}" if way.sweep else ""
        steps = len(way.releases) * len(attackers) * self.folds
        steps *= max(len(attribute.knowledge) for attribute in self.guessing) - 1
        self.told.stage(f"{way.name}{point}", steps)
        released = [
            self._released(way, number, release) for number, release in enumerate(way.releases)
        ]
        guesses = [
            guess
            for attribute in self.guessing
            for guess in attribute.of_concealed(released, attackers, draws)
        ]
        verified: list[Verified] = []
        if self.verification is not None:
            verified = list(self.verification.of_concealed([given[0] for given in released], draws))
        return Concealed(
            way.name,
            way.sweep,
            way.mechanism,
            way.epsilon_train,
            way.epsilon,
            way.delta,
            way.guarantee,
            0 if way.computed else len(way.releases),
            tuple(guesses),
            tuple(verified),
        )

    def _released(self, way: Way, training: int, release: Release) -> FloatArray:
        """Releases of all templates, shape (releases, templates, d); without noise one is all."""
        originals = self.templates.systems[ORIGINAL][0]
        copies = self.settings.copies if math.isfinite(way.epsilon) else 1
        where = (way.name, f"{way.epsilon:g}", f"{way.epsilon_train:g}", str(training))
        found = np.empty((copies, *originals.shape), dtype=np.float32)
        for copy in range(copies):
            words = digest(self.settings.seed, "release", *where, str(copy))
            randomness = SeededRandomness(int.from_bytes(words[:16], "big"))
            given = release.release(originals, randomness)
            if given.shape != originals.shape or not np.isfinite(given).all():
                raise UsageError(
                    f"{way.name}: gives vectors of shape {given.shape} or such as are not finite"
                )
            found[copy] = given
        return found


_COSINE = Attacker(COSINE, "no attacker, but the verifier: cosine to the mean of an enrolment")


def _require_names(ways: Sequence[Way]) -> None:
    seen: set[tuple[object, ...]] = set()
    for way in ways:
        place: tuple[object, ...] = (way.name,)
        if way.sweep:
            place = (way.name, way.sweep, getattr(way, way.sweep))
        if place in seen or way.name == ORIGINAL:
            raise UsageError(f"two ways of concealing are named {way.name}; use other names")
        seen.add(place)


def _attackers(settings: Settings, ways: Sequence[Way]) -> list[str]:
    used = {*settings.attackers, *(settings.sweep_attackers if any(w.sweep for w in ways) else ())}
    return [name for name in ATTACKERS if name in used]


def _data(
    original: Vectors, templates: Templates, attributes: Sequence[Attribute]
) -> dict[str, str]:
    facts = {
        "templates": str(len(original)),
        "speakers": str(np.unique(templates.speakers[templates.speakers != ""]).size),
        "dimensions": str(original.vectors.shape[1]),
    }
    if original.encoder:
        facts["encoder"] = original.encoder
    return facts | {f"attribute {attribute.name}": attribute.counts for attribute in attributes}


def _protocol(
    settings: Settings, concealed: Sequence[Concealed], enrolments: str
) -> dict[str, str]:
    if settings.train is None:
        parts = (
            f"{settings.folds} folds of speakers; each is guessed by attackers trained on the rest"
        )
    else:
        parts = "trained on {}={}; all other speakers are guessed".format(*settings.train)
    facts = {
        "speakers": parts,
        "ignorant attackers": "trained on unprotected vectors and given concealed ones, brought to"
        " the same mean length",
        "informed attackers": "trained on vectors of the training speakers that were concealed in"
        f" the same way, {settings.copies} releases of each where there is noise; once on all, and"
        " once on as many of each speaker, where numbers differ; the strongest counts, and may also"
        " be an ignorant one",
        "verification": "one side: unprotected enrolments, concealed trials; both sides: concealed"
        " enrolments and trials; by the cosine",
        "noise": "from a seed, so that figures can be repeated; real releases use the operating"
        " system's generator",
        "intervals": f"95 %, {settings.draws} draws of speakers, the same for all trainings of a"
        f" row ({min(settings.draws, _SWEEP_DRAWS)} for points of sweeps)",
        "spread": "standard deviation over trainings with other seeds",
        "seed": str(settings.seed),
    }
    if enrolments:
        facts["enrolments"] = enrolments
    bounded = sum(len(one.guesses) + len(one.verified) for one in concealed if _bounded(one))
    if bounded:
        facts["bounds"] = (
            f"{bounded} figures of {sum(map(_bounded, concealed))} ways with a guarantee were held"
            " against what their epsilon allows"
        )
    return facts


def _bounded(concealed: Concealed) -> bool:
    return math.isfinite(concealed.epsilon)


def _notes(ways: Sequence[Way], run: _Run, *, bugs: bool) -> Iterator[str]:
    if bugs:
        yield (
            "This is a bug: a figure is better than its guarantee allows (see what failed). Neither"
            " this report nor the guarantee can be relied on."
        )
    if run.why_not_verified:
        yield run.why_not_verified
    if ways:
        yield (
            "Concealers must not have been trained on the speakers who are tested here; a bundle"
            " does not say who they were, so this was not checked."
        )
    yield (
        f"The attacker who decides is the strongest of {run.attackers} (each kind with and without"
        " retraining) by the same data, which makes his figure somewhat too high."
        " No test proves that there is no better attacker."
    )
    if any(math.isfinite(way.epsilon) for way in ways):
        yield (
            "An epsilon is for one released template. Those of one person add up: an enrolment of"
            f" {run.settings.enrolments} concealed templates and one trial spend"
            f" {run.settings.enrolments + 1} times as much."
        )
    few = [
        way.name
        for way in ways
        if not (way.sweep or way.computed) and len(way.releases) < _FEWEST_SEEDS
    ]
    if few:
        yield (
            f"Fewer than {_FEWEST_SEEDS} trainings: {', '.join(few)}. How much these figures vary"
            " from training to training is hardly known."
        )
