"""What an evaluation of anonymized speech does: the settings that decide its figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sordino.errors import UsageError
from sordino.evaluate.privacy import FEWEST_DRAWS

Side = Literal["enrol", "trial", "attack", "own"]
"""A form of a system's speech: for enrolment, for trials, for the attacker's own training (a new
pseudo-speaker in each utterance), and resynthesised with the speaker's own voice."""

BACKENDS = ("cosine", "lda", "plda")
MEASURES = ("wer", "dnsmos", "f0", "change", "emotion")
"""What is measured where nothing is named."""

MORE_MEASURES = ("units",)
"""What else is measured where it is named."""


@dataclass(frozen=True)
class Scenario:
    """What an attacker has.

    Attributes:
        name: as results call it.
        enrol: speech of the enrolments; None for the original.
        trial: speech of the trials.
        train: speech that the attacker is trained on.
        knows: what the attacker knows, for people.
    """

    name: str
    enrol: Side | None
    trial: Side | None
    train: Side | None
    knows: str

    @property
    def sides(self) -> tuple[Side, ...]:
        """The forms of a system's speech that are needed."""
        found = dict.fromkeys((self.enrol, self.trial, self.train))
        return tuple(side for side in found if side is not None)


SCENARIOS: Mapping[str, Scenario] = {
    scenario.name: scenario
    for scenario in (
        Scenario("OO", None, None, None, "original speech on both sides"),
        Scenario("OA", None, "trial", None, "does not know that the speech is anonymized"),
        Scenario("AA-lazy", "enrol", "trial", None, "anonymizes the enrolments with the system"),
        Scenario(
            "AA-semi-informed",
            "enrol",
            "trial",
            "attack",
            "also trains on speech that the system has anonymized",
        ),
        Scenario("OR", None, "own", None, "hears speakers resynthesised with their own voice"),
    )
}


@dataclass(frozen=True)
class Protocol:
    """Settings of a run.

    Attributes:
        scenarios: names of `SCENARIOS`; "OO" is always run.
        encoders: the attackers' speaker encoders: names, folders or ONNX files.
        backends: of `BACKENDS`: "cosine" needs no training, the others are trained on the
            attacker's speakers.
        measures: of `MEASURES` and `MORE_MEASURES`: what is measured of the speech that is left.
        demanding: whether a measure that cannot be taken here ends the run; else there is a note.
        whisper: which recogniser counts word errors and hears units; None for the one that is
            there.
        utterances: how many utterances the measures hear, spread over the speakers.
        draws: of the bootstrap.
        seed: another one gives other pseudo-speakers, another sample and other draws.
        leave_out: leave utterances out that cannot be used, and say so; else they end the run.
        fine_tune: training steps of the encoders on the attacker's speech; 0 for none.
        own_voice: whether speech that systems have resynthesised with the speakers' own voices is
            measured, too: what taking it apart and putting it together costs by itself.

    Raises:
        UsageError: a name is not known, or a number is too small.
    """

    scenarios: tuple[str, ...] = tuple(SCENARIOS)
    encoders: tuple[str, ...] = ("ecapa-small",)
    backends: tuple[str, ...] = BACKENDS
    measures: tuple[str, ...] = MEASURES
    demanding: bool = False
    whisper: str | None = None
    utterances: int = 100
    draws: int = 1000
    seed: int = 0
    leave_out: bool = False
    fine_tune: int = 0
    own_voice: bool = False

    def __post_init__(self) -> None:
        for what, chosen, known in (
            ("scenario", self.scenarios, tuple(SCENARIOS)),
            ("back end", self.backends, BACKENDS),
            ("measure", self.measures, (*MEASURES, *MORE_MEASURES)),
        ):
            for name in chosen:
                if name not in known:
                    raise UsageError(f"there is no {what} {name!r}; there are: {', '.join(known)}")
        if not self.encoders or not self.backends:
            raise UsageError("an attacker needs an encoder and a back end")
        if self.utterances < 1 or self.draws < FEWEST_DRAWS or self.fine_tune < 0:
            raise UsageError(
                f"there are at least 1 utterance, {FEWEST_DRAWS} draws and 0 steps of fine-tuning"
            )
