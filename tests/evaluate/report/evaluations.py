"""Results of evaluations that never were: Gaussian scores, and the real metrics."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers
from sordino.evaluate.metrics.cllr import cllr, min_cllr
from sordino.evaluate.metrics.eer import (
    WeightedEER,
    equal_error_rate_convex_hull,
    min_dcf,
    roc,
)
from sordino.evaluate.metrics.identification import (
    blind_singling_out,
    linkage,
    rank_speakers,
    singling_out,
)
from sordino.evaluate.metrics.linkability import linkability
from sordino.evaluate.metrics.similarity import (
    deidentification,
    distinctiveness_gain,
    similarity_matrix,
)
from sordino.evaluate.metrics.zebra import disclosure
from sordino.evaluate.results import (
    ALL,
    Attack,
    Attacker,
    AttributeAttack,
    Failure,
    Histogram,
    Identification,
    Measure,
    Privacy,
    Quality,
    Results,
    Similarity,
    System,
    WorstCase,
)

TRIALS_A_SPEAKER = 3


class Scored:
    """Scores of every utterance against every speaker's enrolment, d' apart."""

    def __init__(self, separation: float, speakers: int = 30, seed: int = 0) -> None:
        rng = np.random.default_rng([seed, round(1000 * abs(separation)), speakers])
        self.speakers = speakers
        self.tried = np.repeat(np.arange(speakers), TRIALS_A_SPEAKER)
        own = self.tried[:, None] == np.arange(speakers)
        # Voices differ in how well they are recognised, so that speakers matter to the interval.
        ease = separation * (1 + 0.3 * rng.standard_normal(speakers))
        self.matrix = rng.standard_normal(own.shape) + np.where(own, ease[self.tried, None], 0)
        self.own = own

    def privacy(self) -> Privacy:
        targets, others = self.matrix[self.own], self.matrix[~self.own]
        found = disclosure(targets, others)
        curve = roc(targets, others)
        places = np.unique(np.linspace(0, curve.misses.size - 1, 200).astype(int))
        edges = np.histogram_bin_edges(self.matrix, 60)
        return Privacy(
            targets=targets.size,
            nontargets=others.size,
            speakers=self.speakers,
            eer=self._error(),
            eer_hull=Measure(equal_error_rate_convex_hull(targets, others).rate),
            min_dcf=Measure(min_dcf(targets, others).cost),
            cllr=Measure(cllr(targets, others)),
            min_cllr=Measure(min_cllr(targets, others)),
            linkability=Measure(linkability(targets, others).system),
            disclosure=Measure(found.expected),
            worst=found.worst,
            category=found.category,
            det=tuple(
                (float(alarm), float(miss))
                for alarm, miss in zip(
                    curve.false_alarms[places], curve.misses[places], strict=True
                )
            ),
            histogram=Histogram(
                tuple(map(float, edges)),
                tuple(map(int, np.histogram(targets, edges)[0])),
                tuple(map(int, np.histogram(others, edges)[0])),
            ),
        )

    def identification(self) -> Identification:
        ranks = rank_speakers(self.matrix, self.tried)
        among = tuple(n for n in (1, 2, 5, 10, 20, 50, 100, 200) if n <= self.speakers)
        records = self.matrix[::TRIALS_A_SPEAKER].T
        single = [
            None
            if n < 2
            else float(
                singling_out(
                    records,
                    self.matrix[1::TRIALS_A_SPEAKER].T,
                    range(self.speakers),
                    range(self.speakers),
                    n,
                ).mean()
            )
            for n in among
        ]
        return Identification(
            among,
            tuple(float(linkage(ranks, n).mean()) for n in among),
            tuple(single),
            tuple(1.0 if n < 2 else blind_singling_out(n) for n in among),
        )

    def worst_cases(self, system: str, scenario: str, attacker: str) -> list[WorstCase]:
        ranks = rank_speakers(self.matrix, self.tried)
        firsts = np.bincount(self.tried, ranks.above == 0)
        return [
            WorstCase(
                system, scenario, attacker, speaker_name(place), TRIALS_A_SPEAKER, int(first), 0.1
            )
            for place, first in sorted(enumerate(firsts), key=lambda pair: -pair[1])
        ]

    def _error(self) -> Measure:
        rate = WeightedEER(self.matrix.ravel(), self.own.ravel())
        enrolled = np.tile(np.arange(self.speakers), self.tried.size)
        tried = np.repeat(self.tried, self.speakers)
        return Measure.of(bootstrap_over_speakers(rate, enrolled, tried, draws=100))


def speaker_name(place: int) -> str:
    return f"p{225 + place}"


def separation(eer: float) -> float:
    """d' of Gaussian scores with such an equal error rate: EER = Phi(-d' / 2)."""
    from scipy.stats import norm

    return float(-2 * norm.ppf(eer))


def privacy(eer: float, speakers: int = 30, seed: int = 0) -> Privacy:
    return Scored(separation(eer), speakers, seed).privacy()


def made_up(value: float | None, low: float | None = None, high: float | None = None) -> Privacy:
    """With an error rate as wanted, and nothing else."""
    some = Measure(0.5)
    return Privacy(
        100,
        1000,
        40,
        Measure(value, low, high),
        some,
        some,
        None,
        some,
        some,
        some,
        math.inf,
        "F",
        ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)),
        Histogram((0.0, 1.0), (100,), (1000,)),
    )


def results(**changes: object) -> Results:
    """The least there can be, with changes."""
    plain = Results(
        kind="anonymization",
        created="2026-01-02T03:04:05+00:00",
        version="0.1",
        command="sordino evaluate anonymization speech/ --system mcadams -o report/",
        machine={"processors": "2"},
        data={"utterances": "150"},
        protocol={"trials": "all"},
        seconds=61.0,
        systems=(System("original", "untouched"), System("mcadams", "McAdams, low=0.8")),
        attackers=(Attacker("ecapa", "ECAPA and cosine"),),
    )
    return replace(plain, **changes)


# System: what it is, and the error on it of each scenario's strongest attacker.
SYSTEMS = {
    "mcadams-low-0.8": ("McAdams, one coefficient for all speakers", 0.36, 0.09, 0.06),
    "mcadams-random-per-speaker": ("McAdams, a coefficient a speaker", 0.41, 0.24, 0.13),
    "mcadams-random-per-utterance-with-a-rather-long-name": (
        "McAdams, a coefficient an utterance, drawn anew each time from the range 0.5 to 0.9",
        0.42,
        0.33,
        0.22,
    ),
    "neural": ("a network that nobody has seen yet", 0.49, 0.47, 0.46),
}
ATTACKERS = {
    "ecapa-small + cosine": ("the encoder that ships; cosine of mean vectors", 1.0),
    "ecapa-small + PLDA": ("the same; PLDA trained on 60 other speakers", 0.9),
    "an encoder of one's own, with a long name + LDA + cosine": ("given as a file", 1.3),
}
GROUPS = {
    "same-sex": 1.15,
    "F-F": 1.2,
    "M-M": 1.1,
    "language: en": 0.9,
    "language: de": 1.1,
    "language: zh": 1.3,
    "corpus: vctk": 0.8,
    "corpus: emodb": 1.4,
}


def realistic(speakers: int = 30) -> Results:
    """Three systems and the original, all scenarios, three attackers, and everything else."""
    names = tuple(SYSTEMS)
    attacks: list[Attack] = []
    worst: list[WorstCase] = []
    for attacker, (_, factor) in ATTACKERS.items():
        attacks += _attack("original", "OO", attacker, 0.05 * factor, speakers, 1)
    for number, (system, (_, *errors)) in enumerate(SYSTEMS.items()):
        for scenario, error in zip(("OA", "AA-lazy", "AA-semi-informed"), errors, strict=True):
            for attacker, (_, factor) in ATTACKERS.items():
                rate = min(0.495, error * (1 + (factor - 1) / 2))
                attacks += _attack(system, scenario, attacker, rate, speakers, 2 + number)
                if (scenario, factor) == ("AA-semi-informed", 0.9):
                    scored = Scored(separation(rate), speakers, 2 + number)
                    worst += scored.worst_cases(system, scenario, attacker)
    return results(
        data={"corpus": "vctk, emodb", "utterances": "1,530", "speakers": f"{speakers}"},
        protocol={"enrolment": "mean of 4 utterances", "intervals": "1,000 draws of speakers"},
        machine={"processors": "2", "memory": "24 GB", "python": "3.11"},
        seconds=733.0,
        systems=(
            System("original", "untouched"),
            *(System(name, SYSTEMS[name][0], "No guarantee: a baseline.") for name in names),
        ),
        attackers=tuple(Attacker(name, what) for name, (what, _) in ATTACKERS.items()),
        attacks=tuple(attacks),
        worst_cases=tuple(worst),
        similarities=(_similarity(names[0], speakers, 1.0), _similarity(names[2], speakers, 0.2)),
        qualities=tuple(_qualities(("original", *names), speakers)),
        failures=(
            Failure(
                "anonymized by mcadams-low-0.8",
                "vctk/p225/p225_012_mic1.flac",
                "the recording is silent",
                "12 trials left out",
            ),
            Failure("recognised words", "emodb/03/03a01Fa.wav", "no transcript", "not in the WER"),
        ),
        notes=("The sex of 2 speakers is not known; they are in no same-sex trial.",),
    )


def embeddings() -> Results:
    """Vectors and what is guessed from them."""
    attributes = []
    for system, auc in (("original", 0.99), ("laplace-eps-15", 0.71), ("erased", 0.53)):
        for attacker, less in (("logistic regression", 0.0), ("gradient boosting", 0.02)):
            for knowledge, gain in (("clean", 0.0), ("retrained", 0.08)):
                if system == "original" and knowledge == "retrained":
                    continue
                value = min(0.995, auc - less + gain)
                attributes.append(
                    AttributeAttack(
                        system,
                        "sex",
                        attacker,
                        knowledge,
                        1 if less else 5,
                        400,
                        40,
                        Measure(value, value - 0.03, min(1.0, value + 0.03)),
                        Measure(value - 0.05, value - 0.09, value - 0.02),
                        Measure(2 * (1 - value)),
                        Measure(max(0.0, 2 * value - 1.2)),
                    )
                )
    return results(
        kind="embeddings",
        systems=(
            System("original", "ecapa-small vectors"),
            System("laplace-eps-15", "Laplace noise", "epsilon 15 for each template"),
            System("erased", "linear erasure", "no DP guarantee"),
        ),
        attackers=(
            Attacker("logistic regression", "linear, L2"),
            Attacker("gradient boosting", "100 trees"),
        ),
        attributes=tuple(attributes),
    )


def scores() -> Results:
    """A score file of some other tool."""
    return results(
        kind="scores",
        systems=(System("scores.txt", "150 target and 4,350 non-target scores"),),
        attackers=(Attacker("given", "made elsewhere"),),
        attacks=(Attack("scores.txt", "given", "given", ALL, privacy(0.08)),),
    )


def _attack(
    system: str, scenario: str, attacker: str, error: float, speakers: int, seed: int
) -> list[Attack]:
    scored = Scored(separation(error), speakers, seed)
    every = Attack(system, scenario, attacker, ALL, scored.privacy(), scored.identification())
    groups = {} if scenario == "OA" else GROUPS
    return [
        every,
        *(
            Attack(system, scenario, attacker, group, _like(every.privacy, factor))
            for group, factor in groups.items()
        ),
    ]


def _like(whole: Privacy, factor: float) -> Privacy:
    assert whole.eer.value is not None
    value = min(0.48, whole.eer.value * factor)
    eer = Measure(value, max(0.0, value - 0.04), value + 0.05)
    return replace(whole, eer=eer, targets=40, nontargets=600, speakers=12)


def _similarity(system: str, speakers: int, kept: float) -> Similarity:
    pairs = np.divmod(np.arange(4 * speakers**2), speakers)
    first, second = pairs[0] % speakers, pairs[1]
    rng = np.random.default_rng(5)
    matrices = [
        similarity_matrix(
            rng.standard_normal(first.size) + 4 * part * (first == second), first, second
        )
        for part in (1.0, 0.5 * kept, 0.9 * kept)
    ]
    rows = [tuple(map(tuple, matrix.values.tolist())) for matrix in matrices]
    gain = distinctiveness_gain(matrices[0], matrices[2])
    return Similarity(
        system,
        "ecapa-small + cosine",
        tuple(map(speaker_name, range(speakers))),
        *rows,
        Measure(gain, gain - 0.8, gain + 0.7),
        Measure(deidentification(matrices[0], matrices[1])),
    )


def _qualities(systems: tuple[str, ...], speakers: int) -> list[Quality]:
    rng = np.random.default_rng(9)
    found = []
    for place, system in enumerate(systems):
        error = (0.061, 0.084, 0.152, 0.221, 0.075)[place]
        mos = (3.12, 2.71, 2.66, 2.5, 3.05)[place]
        found += [
            Quality(system, "wer", "%", ALL, Measure(error, error * 0.8, error * 1.25), 600, 24),
            Quality(system, "wer", "%", "language: en", Measure(error * 0.9), 400, 12),
            Quality(system, "dnsmos-ovrl", "MOS", ALL, Measure(mos, mos - 0.1, mos + 0.1), 600, 24),
        ]
        if place:
            found += [
                Quality(system, "f0-correlation", "", ALL, Measure(0.93, 0.9, 0.95), 600, 24),
                Quality(system, "speed", "x", ALL, Measure(38.0), 600, 24),
            ]
        found += [
            Quality(
                system,
                "wer",
                "%",
                f"speaker: {speaker_name(speaker)}",
                Measure(float(error * rng.gamma(4, 0.25))),
                20,
                1,
            )
            for speaker in range(speakers)
        ]
    return found
