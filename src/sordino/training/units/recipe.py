"""What a recipe for units says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sordino.training.recipes import check, fill

METHODS = ("minibatch", "lloyd")

# Units are kept in 16 bits.
_MOST_UNITS = 2**16


@dataclass(frozen=True)
class SampleSettings:
    """Which frames are clustered.

    Attributes:
        frames: at most so many, of whole utterances: one of each speaker, then a second one.
        seed: decides which utterances, and where k-means starts.
    """

    frames: int = 500_000
    seed: int = 0


@dataclass(frozen=True)
class ClusteringSettings:
    """How k-means goes.

    Attributes:
        method: "lloyd", all frames in every round; "minibatch" (Sculley, "Web-scale k-means
            clustering", WWW 2010), some.
        rounds: at most so many, over all frames.
        batch: frames in a mini-batch.
        starts: k-means++ beginnings, of which the best is kept.
    """

    method: str = "minibatch"
    rounds: int = 100
    batch: int = 10_000
    starts: int = 3


@dataclass(frozen=True)
class UnitsRecipe:
    """Everything that decides which units come out.

    Attributes:
        name: of the bundle.
        features: where frames come from; see `features.base.load_features`.
        units: how many.
        standardise: bring each feature to mean 0 and variance 1 before distances are measured.
        summary: one line about it.
        sample: see `SampleSettings`.
        clustering: see `ClusteringSettings`.

    Raises:
        UsageError: a number out of its range.

    Example:
        >>> features = {"source": "whisper", "model": "base"}
        >>> UnitsRecipe.from_values({"name": "x", "features": features}).units
        200
    """

    name: str
    features: dict[str, Any]
    units: int = 200
    standardise: bool = False
    summary: str = ""
    sample: SampleSettings = field(default_factory=SampleSettings)
    clustering: ClusteringSettings = field(default_factory=ClusteringSettings)

    def __post_init__(self) -> None:
        check(self.name, self._rules())

    def _rules(self) -> Iterator[tuple[bool, str]]:
        yield 2 <= self.units <= _MOST_UNITS, f"units are 2 to {_MOST_UNITS}"
        yield self.sample.frames >= self.units, "sample.frames are as many as the units, or more"
        yield 0 <= self.sample.seed < 2**32, "sample.seed is 0 or more, and less than 2 ** 32"
        chosen = self.clustering
        yield chosen.method in METHODS, f"clustering.method is one of {', '.join(METHODS)}"
        yield chosen.rounds >= 1, "clustering.rounds is 1 or more"
        yield chosen.batch >= 1, "clustering.batch is 1 or more"
        yield chosen.starts >= 1, "clustering.starts is 1 or more"

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> UnitsRecipe:
        """A recipe from the dictionaries that `read_recipe` gives.

        Raises:
            UsageError: a setting is missing, unknown or out of range.
        """
        return fill(cls, values)
