"""What a recipe for a vocoder says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.training.recipes import check, fill

STEP = 320
"""Samples that crops are aligned to: a content frame, two pitch frames."""

SPEAKER_VECTORS = ("utterance", "another", "speaker", "mixed")
_LISTENER = {"source", "layers"}

SCHEDULES = ("epochs", "cosine")


@dataclass(frozen=True)
class DataSettings:
    """What is heard.

    Attributes:
        validation: share of the speakers that training does not hear.
        segment: samples in a crop, a multiple of 320.
        shortest_seconds: utterances that are shorter are left out.
        longest_seconds: of a longer utterance only the beginning is heard.
        speeds: each utterance is also played at these speeds, pitch and formants included, as
            speech of further speakers; 1 stands for what it is.
        seed: of everything that is drawn.
    """

    validation: float = 0.05
    segment: int = 8960
    shortest_seconds: float = 0.6
    longest_seconds: float = 30.0
    speeds: tuple[float, ...] = (1.0,)
    seed: int = 0


@dataclass(frozen=True)
class SpeakerSettings:
    """Which speaker vector the generator is told.

    Attributes:
        of: "utterance": of the utterance itself; "another": of another utterance of the speaker,
            drawn anew for each crop; "speaker": the mean of all of the speaker's; "mixed": that
            mean for one half of the crops, the utterance's own for the other.
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
        words: distance in the ears of a recogniser; see `listener.Listener`.
        listener: which: "source", a Whisper model (see `find_whisper`), and "layers" of its
            encoder, all where left out.
        likeness: one minus the cosine of a speaker encoder's vector of what is said in another
            speaker's voice, and that speaker's vector; the encoder is the recipe's.
        likeness_share: of a batch, which is also said by other speakers.
        acoustic: mean absolute error of the log-mel frames inside a generator of two stages.
        joint: whether the second of two stages is told what the first predicts, and not the
            natural frames; the first then learns from all losses.
        adversarial: least squares against the discriminators.
        features: mean absolute difference inside the discriminators.
        adversarial_from: step from which there are discriminators; before it the generator learns
            from spectra alone.
        resolutions: of the spectral distance: length of the Fourier transform, hop and window in
            samples.
    """

    mel: float = 45.0
    spectral: float = 0.0
    words: float = 0.0
    listener: dict[str, Any] = field(default_factory=dict)
    likeness: float = 0.0
    likeness_share: float = 0.25
    acoustic: float = 0.0
    joint: bool = False
    adversarial: float = 1.0
    features: float = 2.0
    adversarial_from: int = 1
    resolutions: tuple[tuple[int, int, int], ...] = (
        (512, 50, 240),
        (1024, 120, 600),
        (2048, 240, 1200),
    )


@dataclass(frozen=True)
class AlongSettings:
    """A content network that learns along with the generator; none where `network` is empty.

    It hears speech in changed voices, and its code is to say what the generator needs beside the
    speaker vector and the pitch.

    Attributes:
        network: see `sordino.training.networks.content.build_content`; of the architecture "conv"
            or "whisper".
        heard: samples of each crop and around it that the network hears, a multiple of 320; 0 for
            the crop alone. For a network whose frames depend on more than what is near.
        features: of a teacher, see `sordino.training.features.base.load_features`; empty for none.
        warp: the vocal tract's length is changed by a factor whose natural logarithm is at most
            so far from 0.
        equaliser_db: standard deviation of a smooth random filter's gain.
        level_db: standard deviation of the level.
        hiss_db: lowest and highest level of white noise that is added, against full scale.
        noise: standard deviation of normal noise on the code that the generator is told.
        feature_weight: factor on the mean squared difference to the teacher's features, whose
            variance is 1.
        speaker_weight: factor on the cross-entropy of a network that tells the speakers from the
            code, which the content network makes large.
        speaker_ramp: steps until that weight is reached.
        head: channels inside what guesses the features.
        adversary: channels inside what tells the speakers.
    """

    network: dict[str, Any] = field(default_factory=dict)
    heard: int = 0
    features: dict[str, Any] = field(default_factory=dict)
    warp: float = 0.25
    equaliser_db: float = 3.0
    level_db: float = 4.0
    hiss_db: tuple[float, float] = (-90.0, -50.0)
    noise: float = 0.05
    feature_weight: float = 0.3
    speaker_weight: float = 0.1
    speaker_ramp: int = 500
    head: int = 512
    adversary: int = 128


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
        content: name or folder of a content model; empty where one learns along.
        encoder: name or folder of a speaker encoder.
        tracker: of pitch; see `sordino.dsp.pitch.load_tracker`.
        summary: one line about it.
        discriminators: see `sordino.training.networks.discriminators.build_discriminators`.
        data: see `DataSettings`.
        speaker: see `SpeakerSettings`.
        losses: see `LossSettings`.
        optimisation: see `OptimisationSettings`.
        along: see `AlongSettings`.
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
    along: AlongSettings = field(default_factory=AlongSettings)
    validate_every: int = 5000

    def __post_init__(self) -> None:
        rules = (
            *self._of_data(),
            *self._of_losses(),
            *self._of_optimisation(),
            *self._of_along(),
            (self.validate_every >= 1, "validate_every is 1 or more"),
        )
        check(self.name, rules)

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
        yield (
            1 in data.speeds
            and len(set(data.speeds)) == len(data.speeds)
            and all(0.5 <= speed <= 2 for speed in data.speeds),
            "data.speeds lie between 0.5 and 2, each once, 1 among them",
        )
        yield 0 <= data.seed < 2**32, "data.seed is 0 or more, and less than 2 ** 32"
        yield speaker.of in SPEAKER_VECTORS, f"speaker.of is one of {', '.join(SPEAKER_VECTORS)}"
        yield speaker.noise >= 0, "speaker.noise is 0 or more"
        yield 0 <= speaker.dropout < 1, "speaker.dropout is a share from 0 to less than 1"

    def _of_losses(self) -> Iterator[tuple[bool, str]]:
        losses = self.losses
        for name in ("mel", "spectral", "words", "likeness", "acoustic", "adversarial", "features"):
            yield getattr(losses, name) >= 0, f"losses.{name} is 0 or more"
        yield losses.mel + losses.spectral > 0, "losses.mel or losses.spectral is more than 0"
        yield (
            (losses.words > 0) == ("source" in losses.listener)
            and set(losses.listener) <= (_LISTENER if losses.words else set()),
            "losses.words is more than 0 where losses.listener has a source, and layers",
        )
        yield 0 < losses.likeness_share <= 1, "losses.likeness_share is a share above 0"
        yield losses.adversarial_from >= 1, "losses.adversarial_from is 1 or more"
        yield (
            bool(losses.resolutions)
            and all(0 < hop <= window <= fft for fft, hop, window in losses.resolutions),
            "losses.resolutions are lists of an FFT, a hop and a window, which is longer than the"
            " hop and no longer than the FFT",
        )
        longest = max((fft for fft, _, _ in losses.resolutions), default=0)
        yield (
            not losses.spectral or longest <= self.data.segment,
            "losses.resolutions are no longer than data.segment",
        )

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

    def _of_along(self) -> Iterator[tuple[bool, str]]:
        chosen = self.along
        yield not (self.content and chosen.network), "either content or along.network is set"
        yield (
            bool(chosen.network) or chosen == AlongSettings(),
            "along has settings, but no along.network",
        )
        yield (
            chosen.heard % STEP == 0 and (chosen.heard == 0 or chosen.heard >= self.data.segment),
            f"along.heard is 0, or a multiple of {STEP} and no less than data.segment",
        )
        yield 0 <= chosen.warp <= 1, "along.warp lies between 0 and 1"
        for name in ("equaliser_db", "level_db", "noise", "feature_weight", "speaker_weight"):
            yield getattr(chosen, name) >= 0, f"along.{name} is 0 or more"
        yield chosen.hiss_db[0] <= chosen.hiss_db[1], "along.hiss_db are low and high"
        yield chosen.speaker_ramp >= 0, "along.speaker_ramp is 0 or more"
        yield min(chosen.head, chosen.adversary) >= 1, "along.head and .adversary are 1 or more"

    @property
    def trains_along(self) -> bool:
        """Whether a content network learns along with the generator."""
        return bool(self.along.network)

    @property
    def taught(self) -> bool:
        """Whether it learns from a teacher's features, too."""
        return self.trains_along and bool(self.along.features) and self.along.feature_weight > 0

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
        return fill(cls, values)
