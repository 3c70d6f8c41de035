"""What becomes of each frame of a content network: a code, the nearest unit, or similarities."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, linear, normalize

from sordino.errors import UsageError

_AXES = {"channels": 2, "time": 1}


class Head(nn.Module):
    """The last part of a content network.

    Attributes:
        channels: of what it gives.
        bounded: whether a frame of it depends on that frame alone.

    Shapes:
        (batch, frames, width) to (batch, frames, channels).
    """

    channels: int
    bounded: bool = True


class FrameNorm(Head):
    """Frames as they are, or each brought to mean 0 and variance 1 over its own values.

    Args:
        width: values of a frame.
        normalise: which of the two.

    Example:
        >>> FrameNorm(2, normalise=True)(torch.tensor([[[1.0, 3.0]]])).round(decimals=3).tolist()
        [[[-1.0, 1.0]]]
    """

    def __init__(self, width: int, *, normalise: bool) -> None:
        super().__init__()
        self.channels = width
        self._normalise = normalise

    def forward(self, frames: Tensor) -> Tensor:
        """The code of a batch."""
        return layer_norm(frames, (self.channels,)) if self._normalise else frames


class NearestUnit(Head):
    """The nearest centroid to each frame, as a 1 among 0s.

    Args:
        units: how many centroids.
        width: values of a frame.

    Attributes:
        centroids: shape (units, width), in the space of standardised frames.
        mean: of the frames, shape (width,).
        deviation: of the frames, shape (width,).

    Example:
        >>> head = NearestUnit(2, 1)
        >>> _ = head.centroids.copy_(torch.tensor([[0.0], [1.0]]))
        >>> head(torch.tensor([[[0.2], [0.9]]])).tolist()
        [[[1.0, 0.0], [0.0, 1.0]]]
    """

    centroids: Tensor
    mean: Tensor
    deviation: Tensor

    def __init__(self, units: int, width: int) -> None:
        super().__init__()
        self.channels = units
        self.register_buffer("centroids", torch.zeros(units, width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("deviation", torch.ones(width))

    def forward(self, frames: Tensor) -> Tensor:
        """The units of a batch."""
        standard = (frames - self.mean) / self.deviation
        # The frame's own length does not change which centroid is nearest.
        distance = self.centroids.square().sum(dim=1) - 2 * standard @ self.centroids.T
        return _one_of(distance.argmin(dim=2), self.channels)


@dataclass(frozen=True)
class SoftSettings:
    """How similarities to units become content.

    Attributes:
        temperature: cosines are divided by it.
        temperature_at_inference: whether they are after training, too; a published model leaves
            them as they are.
        softmax: whether the content is the distribution over units, and not what it is made of.
        normalise_over: "channels", so that products are cosines; "time" as in a published model:
            each channel has length 1 over the utterance, and a frame depends on all others.
        hard: whether only the most similar unit is told, as a 1 among 0s.

    Raises:
        UsageError: a setting out of its range.
    """

    temperature: float = 0.1
    temperature_at_inference: bool = True
    softmax: bool = False
    normalise_over: str = "channels"
    hard: bool = False

    def __post_init__(self) -> None:
        number = isinstance(self.temperature, int | float)
        if not number or not 0 < self.temperature < float("inf"):
            raise UsageError(f"a temperature of {self.temperature!r} is not above 0")
        if self.normalise_over not in _AXES:
            raise UsageError(
                f"frames cannot be normalised over {self.normalise_over!r}; there are"
                f" {', '.join(_AXES)}"
            )


class SoftUnits(Head):
    """Similarity of each frame to a vector for each unit.

    In training the probability of unit i is softmax over i of cos(frame, w_i) / temperature (Miao
    et al., Odyssey 2022, Eq. 1).

    Args:
        units: how many.
        width: values of a frame.
        settings: see `SoftSettings`.

    Attributes:
        vectors: shape (units, width).

    Example:
        >>> head = SoftUnits(2, 2, SoftSettings(temperature=0.5))
        >>> _ = head.vectors.data.copy_(torch.eye(2))
        >>> head(torch.tensor([[[3.0, 0.0]]])).tolist()
        [[[2.0, 0.0]]]
    """

    def __init__(self, units: int, width: int, settings: SoftSettings) -> None:
        super().__init__()
        self.channels = units
        self.bounded = settings.normalise_over == "channels"
        self._settings = settings
        self.vectors = nn.Parameter(torch.randn(units, width))

    def forward(self, frames: Tensor) -> Tensor:
        """The content of a batch."""
        chosen = self._settings
        similarity = self._similarity(frames)
        if chosen.hard:
            return _one_of(similarity.argmax(dim=2), self.channels)
        if chosen.temperature_at_inference:
            similarity = similarity / chosen.temperature
        return similarity.softmax(dim=2) if chosen.softmax else similarity

    def logits(self, frames: Tensor) -> Tensor:
        """Similarities divided by the temperature, as training takes them."""
        return self._similarity(frames) / self._settings.temperature

    def _similarity(self, frames: Tensor) -> Tensor:
        # Angles need more than 16 bits, whatever the products before them do with.
        with torch.autocast(frames.device.type, enabled=False):
            axis = _AXES[self._settings.normalise_over]
            frames = normalize(frames.float(), dim=axis)
            return linear(frames, normalize(self.vectors.float(), dim=1))


def _one_of(index: Tensor, count: int) -> Tensor:
    return (index.unsqueeze(-1) == torch.arange(count, device=index.device)).float()
