"""What a recipe for a speaker encoder says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.training.augment.chain import AugmentationSettings
from sordino.training.recipes import check, fill
from sordino.training.voices import VoiceSettings


@dataclass(frozen=True)
class DataSettings:
    """What is heard.

    Attributes:
        validation: share of the speakers that training does not hear.
        crop_seconds: shortest and longest crop; one length per step is drawn between them.
        speeds: each further speed makes new speakers of all (0.9 and 1.1 are usual).
        seed: of everything that is drawn.
    """

    validation: float = 0.05
    crop_seconds: tuple[float, float] = (3.0, 3.0)
    speeds: tuple[float, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class PerturbationSettings:
    """How crops are changed at random, as if others had said other things; the teacher hears it.

    Attributes:
        speed_octaves: the speed, and pitch and formants with it, by at most so much.
        tilt_db: standard deviation of a smooth filter's gain.
        overlap: share of crops in which somebody else speaks at the same time.
        overlap_db: lowest and highest ratio of the two.
    """

    speed_octaves: float = 0.0
    tilt_db: float = 0.0
    overlap: float = 0.0
    overlap_db: tuple[float, float] = (0.0, 15.0)


@dataclass(frozen=True)
class TeacherSettings:
    """A ready encoder whose vectors the new one learns to give.

    Attributes:
        encoder: its name; empty for none.
        weight: factor on the distillation loss.
        shrinkage: of the covariance within speakers, by which the teacher's vectors are
            normalised before they are targets; 1 leaves their shape as it is.
        each_crop: whether the teacher is asked about each crop, and not once about an utterance.
    """

    encoder: str = ""
    weight: float = 0.0
    shrinkage: float = 0.75
    each_crop: bool = False


@dataclass(frozen=True)
class SideSettings:
    """What a classifier says of the training speakers, which a side head learns to say too.

    Attributes:
        file: of `sordino federate distill`, in its folder "side"; empty for none.
        weight: factor on the loss: gamma.
        temperature: of both distributions.
    """

    file: str = ""
    weight: float = 0.0
    temperature: float = 2.0


@dataclass(frozen=True)
class OptimisationSettings:
    """How the weights are found: AdamW, linear warm-up, then a cosine down to nothing.

    Attributes:
        steps: updates of the weights.
        batch: crops in an update, over all processes.
        learning_rate: the highest.
        warmup: steps until it is reached.
        weight_decay: of AdamW.
        margin: of AAM-softmax, in radians.
        scale: of AAM-softmax.
        classification_weight: factor on the AAM-softmax loss.
    """

    steps: int = 100000
    batch: int = 128
    learning_rate: float = 1e-3
    warmup: int = 2000
    weight_decay: float = 2e-5
    margin: float = 0.2
    scale: float = 30.0
    classification_weight: float = 1.0


@dataclass(frozen=True)
class SpeakerRecipe:
    """Everything that decides what comes out of a training run.

    Attributes:
        name: of the encoder.
        network: see `sordino.training.networks.encoder.build_encoder`.
        summary: one line about it.
        start: a ready encoder whose weights training begins with; empty for fresh ones.
        data: see `DataSettings`.
        voices: further voices made from the real ones.
        teacher: see `TeacherSettings`.
        side: see `SideSettings`.
        perturbation: see `PerturbationSettings`.
        augmentation: see `AugmentationSettings`.
        optimisation: see `OptimisationSettings`.
        validate_every: steps between two measurements of the equal error rate.

    Raises:
        UsageError: a number out of its range.

    Example:
        >>> SpeakerRecipe.from_values({"name": "x", "network": {}}).optimisation.margin
        0.2
    """

    name: str
    network: dict[str, Any]
    summary: str = ""
    start: str = ""
    data: DataSettings = field(default_factory=DataSettings)
    voices: VoiceSettings = field(default_factory=VoiceSettings)
    teacher: TeacherSettings = field(default_factory=TeacherSettings)
    side: SideSettings = field(default_factory=SideSettings)
    perturbation: PerturbationSettings = field(default_factory=PerturbationSettings)
    augmentation: AugmentationSettings = field(default_factory=AugmentationSettings)
    optimisation: OptimisationSettings = field(default_factory=OptimisationSettings)
    validate_every: int = 1000

    def __post_init__(self) -> None:
        rules = (
            *self._of_data(),
            *self._of_effects(),
            *self._of_optimisation(),
            (self.validate_every >= 1, "validate_every is 1 or more"),
        )
        check(self.name, rules)

    def _of_data(self) -> Iterator[tuple[bool, str]]:
        data = self.data
        shortest, longest = data.crop_seconds
        speeds = {1.0, *data.speeds}
        yield 0 < data.validation < 1, "data.validation is a share between 0 and 1"
        fits = 0.3 <= shortest <= longest <= 60
        yield fits, "data.crop_seconds are two lengths from 0.3 to 60 s"
        yield all(0.5 <= speed <= 2 for speed in speeds), "data.speeds lie between 0.5 and 2"
        yield len(speeds) == 1 + len(data.speeds), "data.speeds differ from each other and from 1"
        yield 0 <= data.seed < 2**32, "data.seed is 0 or more, and less than 2 ** 32"
        yield from self.voices.rules()

    def _of_effects(self) -> Iterator[tuple[bool, str]]:
        yield from self.augmentation.rules()
        changes = self.perturbation
        yield 0 <= changes.speed_octaves <= 1, "perturbation.speed_octaves lies between 0 and 1"
        yield changes.tilt_db >= 0, "perturbation.tilt_db is 0 or more"
        yield 0 <= changes.overlap <= 1, "perturbation.overlap is a share from 0 to 1"
        yield (
            changes.overlap_db[0] <= changes.overlap_db[1],
            "perturbation.overlap_db are low and high",
        )

    def _of_optimisation(self) -> Iterator[tuple[bool, str]]:
        wanted, teacher = self.optimisation, self.teacher
        yield wanted.steps >= 1, "optimisation.steps is 1 or more"
        yield wanted.batch >= 2, "optimisation.batch is 2 or more"
        yield wanted.learning_rate > 0, "optimisation.learning_rate is more than 0"
        yield wanted.warmup >= 0, "optimisation.warmup is 0 or more"
        yield wanted.weight_decay >= 0, "optimisation.weight_decay is 0 or more"
        yield 0 <= wanted.margin < 1.5, "optimisation.margin lies between 0 and 1.5"
        yield wanted.scale > 0, "optimisation.scale is more than 0"
        yield bool(teacher.encoder) == (teacher.weight > 0), "a teacher has a weight"
        yield bool(self.side.file) == (self.side.weight > 0), "a side file has a weight"
        yield self.side.temperature > 0, "side.temperature is more than 0"
        yield 0 <= teacher.shrinkage <= 1, "teacher.shrinkage lies between 0 and 1"
        weights = (wanted.classification_weight, teacher.weight)
        yield (
            min(weights) >= 0,
            "optimisation.classification_weight and teacher.weight are 0 or more",
        )
        yield max(weights) > 0, "nothing is learned: the weights of both losses are 0"
        yield (
            not (teacher.encoder and self.data.speeds),
            "a teacher does not know other speeds; use voices.tempo",
        )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> SpeakerRecipe:
        """A recipe from the dictionaries that `read_recipe` gives.

        Raises:
            UsageError: a setting is missing, unknown or out of range.
        """
        return fill(cls, values)
