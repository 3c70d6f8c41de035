"""The generator of a recipe, with or without a learnt bottleneck before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, nn

from sordino.errors import UsageError
from sordino.training.networks.generators import Conditions, Generator, build_generator

BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class BottleneckSettings:
    """What is behind a bottleneck.

    Attributes:
        channels: of the bottleneck.
        architecture: of the generator behind it.
        sizes: its settings.
    """

    channels: int
    architecture: type[Generator]
    sizes: Any


class Bottlenecked(Generator):
    """A generator that is told content through a few channels, which it learns to use.

    Content that says too much of the speaker, such as the features of a self-supervised model, is
    narrowed where it enters: the layer is part of the generator and of its graph.

    Args:
        conditions: what it is made from; its content is the wide one.
        settings: see `BottleneckSettings`.

    Shapes:
        see `Generator`.

    Example:
        >>> network = {"architecture": "hifigan", "content": {"channels": 768}, "speaker": 2,
        ...            "bottleneck": 4, "sizes": {"channels": 32}}
        >>> narrow = build_vocoder(network)
        >>> narrow.conditions.channels, narrow.inner.conditions.channels
        (768, 4)
    """

    def __init__(self, conditions: Conditions, settings: BottleneckSettings) -> None:
        super().__init__(conditions, settings)
        self.narrow = nn.Linear(conditions.channels, settings.channels)
        self.inner = settings.architecture(
            replace(conditions, channels=settings.channels), settings.sizes
        )
        self.inputs = self.inner.inputs
        self.context_frames = self.inner.context_frames

    def forward(
        self,
        content: Tensor,
        f0: Tensor | None = None,
        speaker: Tensor | None = None,
        harmonic: Tensor | None = None,
        noise: Tensor | None = None,
    ) -> Tensor:
        """See `Generator.forward`."""
        return self.inner(self.narrow(content), f0, speaker, harmonic, noise)  # type: ignore[no-any-return]

    def normed_layers(self) -> Iterable[nn.Module]:
        """The generator's."""
        return self.inner.normed_layers()


def build_vocoder(network: Mapping[str, Any]) -> Generator:
    """The generator that a vocoder's description stands for, with fresh weights.

    Args:
        network: as for `build_generator`; "bottleneck" beside it is a number of channels.

    Raises:
        UsageError: unknown architecture, name or size.
    """
    rest = {key: value for key, value in network.items() if key != BOTTLENECK}
    if BOTTLENECK not in network:
        return build_generator(rest)
    channels, generator = network[BOTTLENECK], build_generator(rest)
    if not isinstance(channels, int) or isinstance(channels, bool) or channels < 1:
        raise UsageError(f"a bottleneck of {channels!r}; expected a whole number above 0")
    inside = BottleneckSettings(channels, type(generator), generator.settings)
    return Bottlenecked(generator.conditions, inside)


def described_network(
    network: Mapping[str, Any], content: Mapping[str, Any], dimension: int
) -> dict[str, Any]:
    """A recipe's network with what follows from its content and its speaker encoder.

    Args:
        network: of the recipe.
        content: "channels" and "hop".
        dimension: of the speaker vectors.

    Raises:
        UsageError: the recipe says one of them itself.

    Example:
        >>> described_network({"architecture": "istft"}, {"channels": 8, "hop": 160}, 4)["speaker"]
        4
    """
    for taken in ("content", "speaker"):
        if taken in network:
            raise UsageError(f"network.{taken} is not set in a recipe: it follows from the models")
    return {
        **network,
        "content": {"channels": int(content["channels"]), "hop": int(content["hop"])},
        "speaker": dimension,
    }
