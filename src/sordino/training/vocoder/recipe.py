"""What a recipe for a vocoder says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.errors import UsageError
from sordino.training.recipes import fill

STEP = 320
"""Samples that crops are aligned to: a content frame, two pitch frames."""

SPEAKER_VECTORS = ("utterance", "another", "speaker")
SCHEDULES = ("epochs", "cosine")

# As a bundle's name has to be; it is needed after the last step.
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"


@dataclass(frozen=True)
class DataSettings:
    """What is heard.

    Attributes:
        validation: share of the speakers that training does not hear.
        segment: samples in a crop, a multiple of 320.
        shortest_seconds: utterances that are shorter are left out.
        longest_seconds: of a longer utterance only the beginning is heard.
        seed: of everything that is drawn.
    """

    validation: float = 0.05
    segment: int = 8960
    shortest_seconds: float = 0.6
    longest_seconds: float = 30.0
    seed: int = 0


@dataclass(frozen=True)
class SpeakerSettings:
    """Which speaker vector the generator is told.

    Attributes:
        of: "utterance": of the utterance itself; "another": of another utterance of the speaker,
            drawn anew for each crop; "speaker": the mean of all of the speaker's.
        noise: length of a random vector that is added, beside the vector's length of 1.
        dropout: share of the vector's numbers that are set to zero.
    """

    of: str = "utterance"
    noise: float = 0.0
    dropout: float = 0.0


@dataclass(frozen=True)
class LossSettings:
    """Weights of what the generator makes small.

    Attributes:
        mel: mean absolute difference of the log-mel spectrograms.
        spectral: multi-resolution spectral distance.
        acoustic: mean absolute error of the log-mel frames inside a generator of two stages.
        joint: whether the second of two stages is told what the first predicts, and not the
            natural frames; the first then learns from all losses.
        adversarial: least squares against the discriminators.
        features: mean absolute difference inside the discriminators.
        adversarial_from: step from which there are discriminators; before it the generator learns
            from spectra alone.
    """

    mel: float = 45.0
    spectral: float = 0.0
    acoustic: float = 0.0
    joint: bool = False
    adversarial: float = 1.0
    features: float = 2.0
    adversarial_from: int = 1


@dataclass(frozen=True)
class OptimisationSettings:
    """How the weights are found: AdamW for the generator, another for the discriminators.

    Attributes:
        steps: updates of the weights.
        batch: crops in an update, over all processes.
        learning_rate: the highest.
        betas: of AdamW.
        weight_decay: of AdamW.
        schedule: "epochs": times `decay` after each pass over the utterances; "cosine": a linear
            warm-up, then a half cosine down to nothing.
        decay: see `schedule`.
        warmup: see `schedule`.
        longest_gradient: gradients are cut to this length.
        average: weight of the past in a running mean of the generator's weights, which is then
            what is validated and exported; 0 for none.
    """

    steps: int = 100000
    batch: int = 32
    learning_rate: float = 2e-4
    betas: tuple[float, float] = (0.8, 0.99)
    weight_decay: float = 0.01
    schedule: str = "epochs"
    decay: float = 0.999
    warmup: int = 1000
    longest_gradient: float = 1000.0
    average: float = 0.0


@dataclass(frozen=True)
class VocoderRecipe:
    """Everything that decides what comes out of a training run.

    Attributes:
        name: of the vocoder.
        network: of the generator, without what follows from the content and the encoder; see
            `sordino.training.networks.generators.build_generator`.
        content: name or folder of a content model.
        encoder: name or folder of a speaker encoder.
        tracker: of pitch; see `sordino.dsp.pitch.load_tracker`.
        summary: one line about it.
        discriminators: see `sordino.training.networks.discriminators.build_discriminators`.
        data: see `DataSettings`.
        speaker: see `SpeakerSettings`.
        losses: see `LossSettings`.
        optimisation: see `OptimisationSettings`.
        validate_every: steps between two validations.

    Raises:
        UsageError: a number out of its range.

    Example:
        >>> network = {"architecture": "hifigan"}
        >>> VocoderRecipe.from_values({"name": "x", "network": network}).losses.mel
        45.0
    """

    name: str
    network: dict[str, Any]
    content: str = ""
    encoder: str = "ecapa-small"
    tracker: str = "yaapt"
    summary: str = ""
    discriminators: dict[str, Any] = field(default_factory=dict)
    data: DataSettings = field(default_factory=DataSettings)
    speaker: SpeakerSettings = field(default_factory=SpeakerSettings)
    losses: LossSettings = field(default_factory=LossSettings)
    optimisation: OptimisationSettings = field(default_factory=OptimisationSettings)
    validate_every: int = 5000

    def __post_init__(self) -> None:
        for right, what in (
            (
                re.fullmatch(_NAME, self.name) is not None,
                f"its name {self.name!r} has to be of letters, digits, '.', '_' and '-'",
            ),
            *self._of_data(),
            *self._of_losses(),
            *self._of_optimisation(),
            (self.validate_every >= 1, "validate_every is 1 or more"),
        ):
            if not right:
                raise UsageError(f"recipe {self.name}: {what}")

    def _of_data(self) -> Iterator[tuple[bool, str]]:
        data, speaker = self.data, self.speaker
        yield 0 < data.validation < 1, "data.validation is a share between 0 and 1"
        yield (
            data.segment >= STEP and data.segment % STEP == 0,
            f"data.segment is a multiple of {STEP}",
        )
        yield (
            data.segment / 16000 <= data.shortest_seconds <= data.longest_seconds,
            "data.shortest_seconds is no less than data.segment, and no more than"
            " data.longest_seconds",
        )
        yield 0 <= data.seed < 2**32, "data.seed is 0 or more, and less than 2 ** 32"
        yield speaker.of in SPEAKER_VECTORS, f"speaker.of is one of {', '.join(SPEAKER_VECTORS)}"
        yield speaker.noise >= 0, "speaker.noise is 0 or more"
        yield 0 <= speaker.dropout < 1, "speaker.dropout is a share from 0 to less than 1"

    def _of_losses(self) -> Iterator[tuple[bool, str]]:
        losses = self.losses
        for name in ("mel", "spectral", "acoustic", "adversarial", "features"):
            yield getattr(losses, name) >= 0, f"losses.{name} is 0 or more"
        yield losses.mel + losses.spectral > 0, "losses.mel or losses.spectral is more than 0"
        yield losses.adversarial_from >= 1, "losses.adversarial_from is 1 or more"

    def _of_optimisation(self) -> Iterator[tuple[bool, str]]:
        wanted = self.optimisation
        yield wanted.steps >= 1, "optimisation.steps is 1 or more"
        yield wanted.batch >= 1, "optimisation.batch is 1 or more"
        yield wanted.learning_rate > 0, "optimisation.learning_rate is more than 0"
        yield all(0 <= beta < 1 for beta in wanted.betas), "optimisation.betas are below 1"
        yield wanted.weight_decay >= 0, "optimisation.weight_decay is 0 or more"
        yield (
            wanted.schedule in SCHEDULES,
            f"optimisation.schedule is one of {', '.join(SCHEDULES)}",
        )
        yield 0 < wanted.decay <= 1, "optimisation.decay lies between 0 and 1"
        yield wanted.warmup >= 0, "optimisation.warmup is 0 or more"
        yield wanted.longest_gradient > 0, "optimisation.longest_gradient is more than 0"
        yield 0 <= wanted.average < 1, "optimisation.average is 0 or more, and less than 1"

    @property
    def adversarial(self) -> bool:
        """Whether there are discriminators at some step."""
        losses = self.losses
        return (
            losses.adversarial + losses.features > 0
            and losses.adversarial_from <= self.optimisation.steps
        )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> VocoderRecipe:
        """A recipe from the dictionaries that `read_recipe` gives.

        Raises:
            UsageError: a setting is missing, unknown or out of range.
        """
        for needed in ("name", "network"):
            if needed not in values:
                raise UsageError(f"the recipe has no {needed}")
        return fill(cls, values)
