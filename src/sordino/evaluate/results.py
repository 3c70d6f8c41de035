"""What an evaluation found: the content of results.json, from which every report is made."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
import types
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import Interval

FORMAT = 1
ALL = "all"

NEITHER, ONE, BOTH = "neither", "one", "both"
"""Which sides of a verification are concealed."""

OWN_VOICE = ", own voice"
"""What follows a system's name where figures are of speech in the speakers' own voices."""

T = TypeVar("T")


@dataclass(frozen=True)
class Measure:
    """A figure with its interval.

    Attributes:
        value: the figure; None where it is not defined, for which there is a note.
        low: lower end of the 95 % interval over speakers; None where none was computed.
        high: upper end.
    """

    value: float | None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, interval: Interval) -> Measure:
        """The figure of a bootstrap.

        Example:
            >>> Measure.of(Interval(0.2, 0.1, 0.3, 0.95, 40, 0))
            Measure(value=0.2, low=0.1, high=0.3)
        """
        return cls(interval.value, interval.low, interval.high)


@dataclass(frozen=True)
class Histogram:
    """Scores in bins of equal width.

    Attributes:
        edges: of the bins, shape (bins + 1,), ascending; infinite scores count in the outer bins.
        targets: trials of the same speaker in each bin, shape (bins,).
        nontargets: trials of different speakers.
    """

    edges: tuple[float, ...]
    targets: tuple[int, ...]
    nontargets: tuple[int, ...]


@dataclass(frozen=True)
class Privacy:
    """How well scores tell speakers apart.

    Attributes:
        targets: trials of the same speaker.
        nontargets: trials of different speakers.
        speakers: how many speakers are in them.
        eer: equal error rate, 0 to 1; 0.5 is a guess.
        eer_hull: on the convex hull of the ROC.
        min_dcf: least detection cost at a target prior of 0.01, both errors costing 1.
        cllr: cost of the scores as log-likelihood ratios, in bits; None where they are none.
        min_cllr: the same after optimal calibration: 0 to 1.
        linkability: D_sys, 0 to 1.
        disclosure: ZEBRA's expected disclosure, 0 to 0.721 bit.
        worst: ZEBRA's largest disclosure, |log10 LR|; infinite where a score separates perfectly.
        category: ZEBRA's letter for it, 0 and A to F.
        det: up to 200 pairs of false-alarm and miss rate, from few false alarms to many; may be
            empty for groups other than "all".
        histogram: of the scores.
    """

    targets: int
    nontargets: int
    speakers: int
    eer: Measure
    eer_hull: Measure
    min_dcf: Measure
    cllr: Measure | None
    min_cllr: Measure
    linkability: Measure
    disclosure: Measure
    worst: float
    category: str
    det: tuple[tuple[float, float], ...]
    histogram: Histogram


@dataclass(frozen=True)
class Identification:
    """How often a speaker is found among N: the risk that an equal error rate hides.

    Attributes:
        among: N, ascending.
        linked: probability that the right speaker ranks first of N.
        singled_out: probability that a predicate from the scores fits exactly one of N, the right
            one; None where the data do not allow it.
        blind: what a predicate that knows nothing reaches.
    """

    among: tuple[int, ...]
    linked: tuple[float, ...]
    singled_out: tuple[float | None, ...]
    blind: tuple[float, ...]


@dataclass(frozen=True)
class Attack:
    """An attacker's outcome on one group of trials.

    Attributes:
        system: who was attacked, a name in `Results.systems`.
        scenario: "OO", "OA", "AA-lazy", "AA-semi-informed", "OR", or "given" for scores made
            elsewhere.
        attacker: a name in `Results.attackers`.
        group: "all", "same-sex", "F-F", "M-M", "language: en", "corpus: vctk" and the like.
        privacy: how well it told speakers apart.
        identification: only for the group "all", where enrolments allow it.
    """

    system: str
    scenario: str
    attacker: str
    group: str
    privacy: Privacy
    identification: Identification | None = None


@dataclass(frozen=True)
class WorstCase:
    """A speaker whom an attacker recognises, most exposed first.

    Attributes:
        system: who was attacked.
        scenario: see `Attack`.
        attacker: see `Attack`.
        speaker: id.
        targets: trials of this speaker against their own enrolment.
        first: in how many of them the own enrolment scored highest of all enrolments tried with
            the utterance.
        eer: of the trials against this speaker's enrolment, 0 to 1; None below two target trials.
    """

    system: str
    scenario: str
    attacker: str
    speaker: str
    targets: int
    first: int
    eer: float | None


@dataclass(frozen=True)
class Similarity:
    """Voice similarity of speakers, before and after.

    Attributes:
        system: whose.
        attacker: which attacker's scores.
        speakers: ids, for rows and columns.
        original: original with original voices, shape (speakers, speakers), 0 to 1.
        mixed: original with protected voices.
        protected: protected with protected voices.
        distinctiveness: G_VD in dB; 0 keeps speakers as distinct as they were.
        deidentification: DeID, 1 is perfect.
    """

    system: str
    attacker: str
    speakers: tuple[str, ...]
    original: tuple[tuple[float, ...], ...]
    mixed: tuple[tuple[float, ...], ...]
    protected: tuple[tuple[float, ...], ...]
    distinctiveness: Measure
    deidentification: Measure


@dataclass(frozen=True)
class Quality:
    """A measure of what is left of the speech.

    Attributes:
        system: whose.
        measure: "wer", "cer", "uer" (unit errors; of the original: with faint noise, the floor),
            "uer-others" (unit errors between different utterances, the ceiling), "unit-loss" (0 at
            the floor, 1 at the ceiling), "dnsmos-ovrl", "dnsmos-sig", "dnsmos-bak",
            "f0-correlation", "emotion-uar", "loudness-change", "duration-change", "speed".
        unit: "%" (values are shares, 0 to 1), "MOS", "LU", "s", "x" or "".
        group: "all", "language: en", "speaker: ID", "corpus: vctk" (units), "emotion: W".
        value: the figure.
        utterances: how many it is from.
        speakers: how many speakers they are of.
    """

    system: str
    measure: str
    unit: str
    group: str
    value: Measure
    utterances: int
    speakers: int


@dataclass(frozen=True)
class AttributeAttack:
    """How well an attacker guesses an attribute, such as the sex, from vectors.

    Attributes:
        system: which vectors, a name in `Results.systems`.
        attribute: what is guessed.
        attacker: how, a name in `Results.attackers`.
        knowledge: "clean" for one trained on unprotected vectors, "retrained" for one trained on
            protected ones.
        releases: how many releases of one template the attacker averages.
        templates: how many were guessed.
        speakers: of how many speakers.
        auc: max(AUC, 1 - AUC), 0.5 is a guess; None for more than two classes.
        balanced_accuracy: mean recall of the classes.
        cllr: cost of the attribute's log-likelihood ratios, in bits; for more classes divided by
            log2 of their number, so that 1 always tells nothing.
        information: lower bound of the mutual information, in bits.
        classes: how many values the attribute has.
    """

    system: str
    attribute: str
    attacker: str
    knowledge: str
    releases: int
    templates: int
    speakers: int
    auc: Measure | None
    balanced_accuracy: Measure
    cllr: Measure | None
    information: Measure
    classes: int = 2


@dataclass(frozen=True)
class Repeated:
    """A figure of something that was trained several times, with other seeds.

    Attributes:
        mean: over the trainings; its interval is over speakers, the same for all trainings.
        each: the figure of each training.
    """

    mean: Measure
    each: tuple[float, ...]

    @property
    def spread(self) -> float | None:
        """Standard deviation over the trainings; None where there is one only.

        Example:
            >>> Repeated(Measure(0.25), (0.125, 0.375)).spread
            0.1767766952966369
        """
        return statistics.stdev(self.each) if len(self.each) > 1 else None


@dataclass(frozen=True)
class Guessed:
    """How well an attacker guesses an attribute from concealed vectors.

    Attributes:
        attribute: what is guessed.
        attacker: how, a name in `Results.attackers`.
        knowledge: "clean" for one trained on unprotected vectors of others, "retrained" for one
            trained on vectors of others that were concealed in the same way.
        templates: how many were guessed.
        speakers: of how many speakers.
        classes: how many values the attribute has.
        figure: for two classes the AUC, 0.5 is a guess, turned round where it is surely below; for
            more the balanced accuracy.
    """

    attribute: str
    attacker: str
    knowledge: str
    templates: int
    speakers: int
    classes: int
    figure: Repeated


@dataclass(frozen=True)
class Verified:
    """How well speakers are verified by concealed vectors.

    Attributes:
        sides: what is concealed: `BOTH`, `ONE` (trials; enrolments are unprotected) or `NEITHER`.
        group: which trials: "all", or "same-sex" and the like.
        targets: trials of the same speaker.
        nontargets: trials of different speakers.
        eer: equal error rate, 0 to 1.
    """

    sides: str
    group: str
    targets: int
    nontargets: int
    eer: Repeated


@dataclass(frozen=True)
class Concealed:
    """Vectors, concealed in one way.

    Attributes:
        system: a name in `Results.systems`, or the name of the sweep.
        sweep: what varies if it is a point of a sweep: "epsilon" or "epsilon_train"; else "".
        mechanism: of the release, "none" where there is no concealer.
        epsilon_train: of the noise in training; infinite for none.
        epsilon: of each released template; infinite where nothing is guaranteed.
        delta: the same.
        guarantee: in words; "no DP guarantee" where there is none.
        trainings: how many, with other seeds; 0 where chance has no part in the vectors' making.
        guesses: of all attackers.
        verified: none where no trials can be made.
    """

    system: str
    sweep: str
    mechanism: str
    epsilon_train: float
    epsilon: float
    delta: float
    guarantee: str
    trainings: int
    guesses: tuple[Guessed, ...]
    verified: tuple[Verified, ...]


@dataclass(frozen=True)
class System:
    """What was evaluated.

    Attributes:
        name: how results call it; "original" is the unprotected data.
        what: how it was made, in one line.
        guarantee: what it promises, in one sentence; empty where nobody says.
    """

    name: str
    what: str
    guarantee: str = ""


@dataclass(frozen=True)
class Attacker:
    """Who attacked.

    Attributes:
        name: how results call it.
        what: what it does and what it was trained on, in one line.
    """

    name: str
    what: str


@dataclass(frozen=True)
class Failure:
    """Something that did not work; nothing is left out without one of these.

    Attributes:
        what: what was being done, such as "anonymized by mcadams" or "recognised words".
        where: the file or utterance.
        why: the reason, in one line.
        effect: what it means for the figures, such as "12 trials left out".
    """

    what: str
    where: str
    why: str
    effect: str


@dataclass(frozen=True)
class Results:
    """An evaluation.

    Attributes:
        kind: "anonymization", "embeddings", "concealment" or "scores".
        created: when, ISO 8601 with time zone.
        version: of sordino.
        command: what was typed, so that it can be repeated.
        machine: facts such as {"processors": "2", "memory": "24 GB", "python": "3.11"}.
        data: facts of the data in the order in which they are shown.
        protocol: settings that decide the figures, in the order in which they are shown.
        seconds: how long it took.
        systems: what was evaluated, "original" first where it is there.
        attackers: who attacked.
        attacks: outcomes of speaker recognition.
        worst_cases: the most exposed speakers.
        similarities: voice similarity matrices.
        qualities: what is left of the speech.
        attributes: outcomes of attribute guessing.
        failures: everything that failed.
        notes: what a reader has to know, each a sentence.
        concealed: vectors that were concealed in several ways, original ones first, and sweeps.
    """

    kind: str
    created: str
    version: str
    command: str
    machine: Mapping[str, str]
    data: Mapping[str, str]
    protocol: Mapping[str, str]
    seconds: float
    systems: tuple[System, ...]
    attackers: tuple[Attacker, ...]
    attacks: tuple[Attack, ...] = ()
    worst_cases: tuple[WorstCase, ...] = ()
    similarities: tuple[Similarity, ...] = ()
    qualities: tuple[Quality, ...] = ()
    attributes: tuple[AttributeAttack, ...] = ()
    failures: tuple[Failure, ...] = ()
    notes: tuple[str, ...] = field(default=())
    concealed: tuple[Concealed, ...] = ()

    def to_json(self) -> str:
        """As text: JSON in which infinite numbers are the words "inf" and "-inf"."""
        content = {"format": FORMAT, **_plain(self)}
        return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Results:
        """From what `to_json` made.

        Raises:
            UsageError: the text is something else, or of another format.
        """
        try:
            content = json.loads(text)
            found = content.pop("format")
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise UsageError("these are not the results of an evaluation") from error
        if found != FORMAT:
            raise UsageError(f"the results have format {found}; this version reads {FORMAT}")
        try:
            results: Results = _typed(cls, content)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise UsageError(f"the results are damaged: {error!r}") from error
        return results


def read_results(path: Path) -> Results:
    """Read results.json.

    Raises:
        UsageError: there is none, or it is damaged; the message starts with the path.
    """
    try:
        return Results.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not text in UTF-8") from error
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        return {part.name: _plain(getattr(value, part.name)) for part in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


@lru_cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _typed(kind: Any, value: Any) -> Any:
    origin = get_origin(kind)
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        return kind(**{name: _typed(hints[name], item) for name, item in value.items()})
    if origin in {Union, types.UnionType}:
        (inner,) = (part for part in get_args(kind) if part is not type(None))
        return None if value is None else _typed(inner, value)
    if origin is tuple:
        first, *rest = get_args(kind)
        inner = [first] * len(value) if rest == [...] else [first, *rest]
        return tuple(_typed(part, item) for part, item in zip(inner, value, strict=True))
    if kind is float:
        return float(value)
    if kind in {int, str}:
        if not isinstance(value, kind):
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return value
    return value
