"""What a recipe for a content encoder says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.training.augment.chain import AugmentationSettings
from sordino.training.networks.content import has_trained_units
from sordino.training.recipes import check, fill
from sordino.training.voices import VoiceSettings


@dataclass(frozen=True)
class DataSettings:
    """What is heard.

    Attributes:
        validation: share of the speakers that training does not hear.
        crop_seconds: length of a crop; whole frames of 20 ms are taken.
        seed: of everything that is drawn.
    """

    validation: float = 0.05
    crop_seconds: float = 4.0
    seed: int = 0


@dataclass(frozen=True)
class PerturbationSettings:
    """How the voice in a crop is changed; the targets stay those of the original.

    Attributes:
        speed_octaves: the speed, and pitch and formants with it, by at most so much in either
            direction; each frame's target is that of the moment it comes from.
        tilt_db: standard deviation of a smooth filter's gain.
    """

    speed_octaves: float = 0.0
    tilt_db: float = 0.0


@dataclass(frozen=True)
class DecoderSettings:
    """What guesses units and features from a code; in training only.

    Networks with units of their own ("soft") need it for features only.

    Attributes:
        layers: convolutions before the guess; 0 for one made from each frame alone.
        channels: inside them.
        kernel: frames that each sees, odd.
        noise: standard deviation of normal noise on the code that it sees, so that small
            differences in the code carry nothing.
    """

    layers: int = 1
    channels: int = 256
    kernel: int = 5
    noise: float = 0.0


@dataclass(frozen=True)
class OptimisationSettings:
    """How the weights are found: AdamW, linear warm-up, then a cosine down to nothing.

    Attributes:
        steps: updates of the weights; 0 for a network that is put together from ready parts.
        batch: crops in an update, over all processes.
        learning_rate: the highest.
        warmup: steps until it is reached.
        weight_decay: of AdamW.
        unit_weight: factor on the cross-entropy to the teacher's units.
        feature_weight: factor on the squared difference to the teacher's features, whose variance
            is 1.
    """

    steps: int = 25000
    batch: int = 32
    learning_rate: float = 2e-5
    warmup: int = 1000
    weight_decay: float = 1e-2
    unit_weight: float = 1.0
    feature_weight: float = 0.0


def _no_augmentation() -> AugmentationSettings:
    return AugmentationSettings(
        rooms=0, reverberation=0, noise=0, babble=0, telephone=0, lossy=0, level_db=0
    )


@dataclass(frozen=True)
class ContentRecipe:
    """Everything that decides what comes out of a training run.

    Attributes:
        name: of the encoder.
        network: see `networks.content.build_content`. For "soft" and "units" the number of units
            need not be given; for "ssl" neither "ssl" nor "layer", where the units' features come
            from such a model.
        summary: one line about it.
        start: a ready content encoder whose weights training begins with; empty for fresh ones.
        teacher: where the model that the units are of lies, if not where it was; empty for there.
        data: see `DataSettings`.
        voices: further voices made from the real ones, which say the same at the same time.
        perturbation: see `PerturbationSettings`.
        augmentation: see `AugmentationSettings`; none where nothing is said.
        decoder: see `DecoderSettings`.
        optimisation: see `OptimisationSettings`.
        validate_every: steps between two measurements on the speakers that are not heard.

    Raises:
        UsageError: a number out of its range.

    Example:
        >>> network = {"architecture": "conv", "output": "soft"}
        >>> ContentRecipe.from_values({"name": "x", "network": network}).optimisation.unit_weight
        1.0
    """

    name: str
    network: dict[str, Any]
    summary: str = ""
    start: str = ""
    teacher: str = ""
    data: DataSettings = field(default_factory=DataSettings)
    voices: VoiceSettings = field(default_factory=lambda: VoiceSettings(tempo=0.0))
    perturbation: PerturbationSettings = field(default_factory=PerturbationSettings)
    augmentation: AugmentationSettings = field(default_factory=_no_augmentation)
    decoder: DecoderSettings = field(default_factory=DecoderSettings)
    optimisation: OptimisationSettings = field(default_factory=OptimisationSettings)
    validate_every: int = 1000

    def __post_init__(self) -> None:
        check(self.name, (*self._of_data(), *self._of_effects(), *self._of_optimisation()))

    def _of_data(self) -> Iterator[tuple[bool, str]]:
        data, voices = self.data, self.voices
        yield 0 < data.validation < 1, "data.validation is a share between 0 and 1"
        yield 0.1 <= data.crop_seconds <= 60, "data.crop_seconds is a length from 0.1 to 60 s"
        yield 0 <= data.seed < 2**32, "data.seed is 0 or more, and less than 2 ** 32"
        yield from voices.rules()
        yield (
            voices.tempo == 0 or not voices.copies,
            "voices.tempo is 0: at another tempo the targets would not be those of the speech",
        )
        yield self.validate_every >= 1, "validate_every is 1 or more"

    def _of_effects(self) -> Iterator[tuple[bool, str]]:
        changes, decoder = self.perturbation, self.decoder
        yield from self.augmentation.rules()
        yield 0 <= changes.speed_octaves <= 1, "perturbation.speed_octaves lies between 0 and 1"
        yield changes.tilt_db >= 0, "perturbation.tilt_db is 0 or more"
        yield decoder.layers >= 0, "decoder.layers is 0 or more"
        yield decoder.channels >= 1, "decoder.channels is 1 or more"
        yield decoder.kernel >= 1 and decoder.kernel % 2 == 1, "decoder.kernel is odd"
        yield decoder.noise >= 0, "decoder.noise is 0 or more"

    def _of_optimisation(self) -> Iterator[tuple[bool, str]]:
        wanted = self.optimisation
        yield wanted.steps >= 0, "optimisation.steps is 0 or more"
        yield wanted.batch >= 1, "optimisation.batch is 1 or more"
        yield wanted.learning_rate > 0, "optimisation.learning_rate is more than 0"
        yield wanted.warmup >= 0, "optimisation.warmup is 0 or more"
        yield wanted.weight_decay >= 0, "optimisation.weight_decay is 0 or more"
        weights = (wanted.unit_weight, wanted.feature_weight)
        right = min(weights) >= 0
        yield right, "optimisation.unit_weight and .feature_weight are 0 or more"
        yield max(weights) > 0, "nothing is learned: the weights of both losses are 0"
        own = has_trained_units(self.network)
        yield not own or wanted.unit_weight > 0, "optimisation.unit_weight is more than 0"
        learns = own or self.network.get("output") != "units"
        yield (
            learns or not wanted.steps,
            "nearest centroids are not trained; set optimisation.steps=0",
        )

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> ContentRecipe:
        """A recipe from the dictionaries that `read_recipe` gives.

        Raises:
            UsageError: a setting is missing, unknown or out of range.
        """
        return fill(cls, values)
