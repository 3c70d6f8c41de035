"""What a recipe for a concealer says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.training.networks.concealer import build_concealer
from sordino.training.recipes import check, fill

MECHANISMS = ("laplace", "gaussian", "privunit", "none")
PLACES = ("latent", "vector")
GOALS = ("invert", "confuse")
DRAWS = ("template", "speaker")
STARTS = ("fresh", "barycentre")
CLIPS = ("median", "private")


@dataclass(frozen=True)
class DataSettings:
    """What is learned from.

    Attributes:
        validation: share of the speakers that training does not see.
        draw: "template" to draw all vectors as often as each other; "speaker" to draw speakers
            so, however many vectors they have.
        unit_length: whether vectors are brought to length 1 first, at release too.
        seed: of everything that is drawn.
    """

    validation: float = 0.1
    draw: str = "template"
    unit_length: bool = False
    seed: int = 0


@dataclass(frozen=True)
class StartSettings:
    """What is computed, not learned.

    Attributes:
        erasure: whether what linear classifiers could use is erased before the encoder.
        networks: "fresh" for random weights; "barycentre", for the architecture "gated", for maps
            that bring each class of vectors to one Gaussian distribution; see
            `start.barycentre`.
        left_out: for "barycentre", how many directions are left out along which classes differ
            most, before there are as many as latents.
        within: for "barycentre", how far the covariance within speakers, by which vectors are
            normalised first, is drawn towards a multiple of the identity, 0 to 1; 1 leaves vectors
            as they are.
        shared: for "barycentre", how far the covariance of each class is drawn towards that of all,
            0 to 1; 1 moves means only.
    """

    erasure: bool = False
    networks: str = "fresh"
    left_out: int = 4
    within: float = 1.0
    shared: float = 0.1


@dataclass(frozen=True)
class NoiseSettings:
    """The mechanism that latents are made for, and its noise in training.

    Attributes:
        mechanism: "laplace", "gaussian", "privunit" or "none".
        epsilon: of the noise in training.
        in_training: whether there is noise in training; else epsilon is infinite there, and
            latents are bounded only.
        delta: for "gaussian".
        length: for "privunit", of latents without noise.
        clip: for the others: "median" for the median norm of training latents; "private" for that
            median, estimated at the end with differential privacy for the training speakers.
        clip_epsilon: of that estimate.
        frozen_at: share of the steps after which the running median stays as it is.
    """

    mechanism: str = "laplace"
    epsilon: float = 15.0
    in_training: bool = True
    delta: float = 1e-6
    length: float = 1.0
    clip: str = "median"
    clip_epsilon: float = 1.0
    frozen_at: float = 0.5


@dataclass(frozen=True)
class AdversarySettings:
    """Who guesses the attributes in training.

    Attributes:
        hidden: units of the hidden layer, one adversary for each number.
        sees: "latent" (the paper), "vector" (what an attacker sees), or both: then there is one of
            each number for each.
        goal: what the concealer wants of them: "invert" (the paper: wrong guesses) or "confuse"
            (even guesses).
        weight: factor on what they guess; 0 for no adversaries.
        updates: of each adversary in a step.
        learning_rate: of Adam.
        weight_decay: of Adam.
        fresh_every: steps after which an adversary forgets everything and learns anew; 0 for never.
            Several take turns.
        fresh_updates: that it then has before the next step.
    """

    hidden: tuple[int, ...] = (32,)
    sees: tuple[str, ...] = ("latent",)
    goal: str = "invert"
    weight: float = 1.0
    updates: int = 1
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    fresh_every: int = 0
    fresh_updates: int = 100


@dataclass(frozen=True)
class OptimisationSettings:
    """How the weights are found, and what else is made small.

    Attributes:
        steps: updates of encoder and decoder; 0 for a concealer that is computed, not learned.
        batch: vectors in an update.
        learning_rate: of Adam.
        weight_decay: of Adam, decoupled.
        reconstruction: factor on one less the cosine of each vector to what comes of it.
        scores: factor on the squared change of cosines between vectors.
        speakers: factor on AAM-softmax over the training speakers.
        margin: of AAM-softmax, in radians.
        scale: of AAM-softmax.
        dependence: factor on the distance correlation of protected vectors with each attribute.
        still: factor on the squared distance of the weights from where they started, for networks
            that do not start fresh.
    """

    steps: int = 5000
    batch: int = 128
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    reconstruction: float = 1.0
    scores: float = 0.0
    speakers: float = 0.0
    margin: float = 0.2
    scale: float = 30.0
    dependence: float = 0.0
    still: float = 0.0


@dataclass(frozen=True)
class ConcealerRecipe:
    """Everything that decides what comes out of a training run.

    Attributes:
        name: of the concealer.
        network: see `networks.concealer.build_concealer`.
        summary: one line about it.
        data: see `DataSettings`.
        start: see `StartSettings`.
        noise: see `NoiseSettings`.
        adversary: see `AdversarySettings`.
        optimisation: see `OptimisationSettings`.
        validate_every: steps between two measurements on speakers that training does not see.

    Raises:
        UsageError: a setting out of its range.

    Example:
        >>> network = {"architecture": "autoencoder"}
        >>> ConcealerRecipe.from_values({"name": "x", "network": network}).noise.epsilon
        15.0
    """

    name: str
    network: dict[str, Any]
    summary: str = ""
    data: DataSettings = field(default_factory=DataSettings)
    start: StartSettings = field(default_factory=StartSettings)
    noise: NoiseSettings = field(default_factory=NoiseSettings)
    adversary: AdversarySettings = field(default_factory=AdversarySettings)
    optimisation: OptimisationSettings = field(default_factory=OptimisationSettings)
    validate_every: int = 500

    def __post_init__(self) -> None:
        build_concealer(self.network, 2)
        rules = (*self._of_data(), *self._of_noise(), *self._of_adversary(), *self._of_losses())
        check(self.name, rules)

    def _of_data(self) -> Iterator[tuple[bool, str]]:
        data, start = self.data, self.start
        yield 0 < data.validation < 1, "data.validation is a share between 0 and 1"
        yield data.draw in DRAWS, _one_of("data.draw", DRAWS)
        yield 0 <= data.seed < 2**32, "data.seed is 0 or more, and less than 2 ** 32"
        yield start.networks in STARTS, _one_of("start.networks", STARTS)
        yield start.left_out >= 0, "start.left_out is 0 or more"
        yield 0 <= start.within <= 1, "start.within lies between 0 and 1"
        yield 0 <= start.shared <= 1, "start.shared lies between 0 and 1"
        yield (
            start.networks == "fresh" or self.network["architecture"] == "gated",
            "start.networks is fresh: only the architecture gated can be computed",
        )
        yield (
            start.networks != "fresh" or self.optimisation.steps > 0,
            "optimisation.steps is 1 or more: fresh networks have to learn",
        )
        yield self.validate_every >= 1, "validate_every is 1 or more"

    def _of_noise(self) -> Iterator[tuple[bool, str]]:
        noise = self.noise
        yield noise.mechanism in MECHANISMS, _one_of("noise.mechanism", MECHANISMS)
        yield noise.epsilon > 0, "noise.epsilon is more than 0"
        yield 0 < noise.delta < 1, "noise.delta lies between 0 and 1"
        yield noise.length > 0, "noise.length is more than 0"
        yield noise.clip in CLIPS, _one_of("noise.clip", CLIPS)
        yield noise.clip_epsilon > 0, "noise.clip_epsilon is more than 0"
        yield 0 < noise.frozen_at <= 1, "noise.frozen_at is a share from 0 to 1"

    def _of_adversary(self) -> Iterator[tuple[bool, str]]:
        wanted = self.adversary
        yield all(units >= 1 for units in wanted.hidden), "adversary.hidden are 1 or more"
        places = set(wanted.sees)
        yield places <= set(PLACES) and len(places) == len(wanted.sees), _some_of(PLACES)
        yield wanted.goal in GOALS, _one_of("adversary.goal", GOALS)
        yield wanted.weight >= 0, "adversary.weight is 0 or more"
        there = bool(wanted.hidden and wanted.sees)
        yield there or not wanted.weight, "adversaries with a weight have hidden units and see"
        yield wanted.updates >= 1, "adversary.updates is 1 or more"
        yield wanted.learning_rate > 0, "adversary.learning_rate is more than 0"
        yield wanted.weight_decay >= 0, "adversary.weight_decay is 0 or more"
        fresh = min(wanted.fresh_every, wanted.fresh_updates)
        yield fresh >= 0, "adversary.fresh_every and .fresh_updates are 0 or more"

    def _of_losses(self) -> Iterator[tuple[bool, str]]:
        wanted = self.optimisation
        yield wanted.steps >= 0, "optimisation.steps is 0 or more"
        yield wanted.batch >= 4, "optimisation.batch is 4 or more"
        yield wanted.learning_rate > 0, "optimisation.learning_rate is more than 0"
        yield 0 <= wanted.margin < 1.5, "optimisation.margin lies between 0 and 1.5"
        yield wanted.scale > 0, "optimisation.scale is more than 0"
        for name in (
            "weight_decay",
            "reconstruction",
            "scores",
            "speakers",
            "dependence",
            "still",
        ):
            yield getattr(wanted, name) >= 0, f"optimisation.{name} is 0 or more"
        kept = wanted.reconstruction + wanted.scores + wanted.speakers + wanted.still
        yield kept > 0, "nothing keeps speakers apart: set optimisation.reconstruction"

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> ConcealerRecipe:
        """A recipe from the dictionaries that `read_recipe` gives.

        Raises:
            UsageError: a setting is missing, unknown or out of range.
        """
        return fill(cls, values)


def _one_of(name: str, words: tuple[str, ...]) -> str:
    return f"{name} is one of {', '.join(words)}"


def _some_of(places: tuple[str, ...]) -> str:
    return f"adversary.sees lists some of {', '.join(places)}, each once"
