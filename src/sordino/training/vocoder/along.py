"""A content network that learns along with the generator, and what keeps its code honest.

It hears each crop in a changed voice, and the generator has to say the crop in its own, of which
it is told the speaker vector and the pitch: the code cannot serve by carrying the voice, and need
not. Guesses of a teacher's features from the code keep the words in it; a network that tells the
speakers from it, and whose gradient is turned round, takes the voice out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from sordino.errors import UsageError
from sordino.training.networks.content import ContentNetwork, build_content
from sordino.training.networks.content_conv import ConvFrames
from sordino.training.networks.content_whisper import WhisperFrames
from sordino.training.vocoder.data import Batch
from sordino.training.vocoder.disguise import Disguise
from sordino.training.vocoder.frames import Standard
from sordino.training.vocoder.recipe import STEP, AlongSettings

_KERNEL = 5


class Heard(NamedTuple):
    """What came of hearing a batch.

    Attributes:
        code: for the generator, shape (batch, frames, channels).
        teacher: mean squared difference to the teacher's features, of which guessing their mean
            would give 1; 0 without a teacher.
        adversary: cross-entropy of telling the speaker from the code, in nats; 0 where nobody
            tries. Its gradient is turned round where it enters the code.
        recognised: share of the speakers that are told; 0 where nobody tries.
    """

    code: Tensor
    teacher: Tensor
    adversary: Tensor
    recognised: Tensor


class Along(nn.Module):
    """A content network with what it learns from beside the generator.

    Args:
        settings: see `AlongSettings`.
        content: to be trained.
        speakers: how many there are in training.
        standard: of the teacher's features; None without a teacher.
    """

    def __init__(
        self,
        settings: AlongSettings,
        content: ContentNetwork,
        speakers: int,
        standard: Standard | None,
    ) -> None:
        super().__init__()
        assert isinstance(content.frames, ConvFrames | WhisperFrames)
        self.content = content
        self._noise = settings.noise
        self.disguise = Disguise(settings, content.frames.filterbank.settings)
        self.teacher = (
            Teacher(content.channels, settings.head, standard)
            if standard is not None and settings.feature_weight
            else None
        )
        self.adversary = (
            Adversary(content.channels, settings.adversary, speakers)
            if settings.speaker_weight
            else None
        )

    def forward(self, batch: Batch) -> Heard:
        """Hear a batch, of which `content` are a teacher's features, as they are."""
        code = self._code(batch)
        teacher = adversary = recognised = code.new_zeros(())
        # Small differences need more than 16 bits.
        with torch.autocast(code.device.type, enabled=False):
            plain = code.float()
            if self.teacher is not None:
                teacher = self.teacher(plain, batch.content)
            if self.adversary is not None:
                scores = self.adversary(reversed_gradient(plain))
                adversary = cross_entropy(scores, batch.who)
                recognised = (scores.argmax(dim=1) == batch.who).float().mean()
        if self.training and self._noise:
            code = code + self._noise * torch.randn_like(code)
        return Heard(code, teacher, adversary, recognised)

    def _code(self, batch: Batch) -> Tensor:
        around = batch.heard.shape[1] > 0
        heard = self.disguise(batch.heard if around else batch.wave)
        code = self.content.coded(self.content.frames(*heard))
        if not around:
            return code
        rows = torch.arange(batch.wave.shape[1] // STEP, device=code.device)
        wanted = batch.place.unsqueeze(1) // STEP + rows
        items = torch.arange(len(code), device=code.device).unsqueeze(1)
        return code[items, wanted]


class Teacher(nn.Module):
    """How far a teacher's features are from what is guessed of them from each frame of the code.

    Args:
        channels: of the code.
        inside: of the layer between.
        standard: of the features.

    Shapes:
        code (batch, frames, channels) and features (batch, frames, dimension) to a mean squared
        difference without dimensions.
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, channels: int, inside: int, standard: Standard) -> None:
        super().__init__()
        self.guess = nn.Sequential(
            nn.Linear(channels, inside), nn.GELU(), nn.Linear(inside, standard.mean.size)
        )
        self.register_buffer("mean", torch.from_numpy(standard.mean))
        self.register_buffer("deviation", torch.from_numpy(standard.deviation))

    def forward(self, code: Tensor, features: Tensor) -> Tensor:
        """The mean over a batch."""
        wanted = (features - self.mean) / self.deviation
        difference: Tensor = self.guess(code) - wanted
        return difference.square().mean()


class Adversary(nn.Module):
    """Tells the speaker from mean and deviation over time of what it makes of the code.

    Args:
        channels: of the code.
        inside: channels of its two layers.
        speakers: how many there are.

    Shapes:
        (batch, frames, channels) to logits (batch, speakers).

    Example:
        >>> Adversary(8, 16, 3)(torch.zeros(2, 20, 8)).shape
        torch.Size([2, 3])
    """

    def __init__(self, channels: int, inside: int, speakers: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(channels, inside, _KERNEL, padding=_KERNEL // 2),
            nn.ReLU(),
            nn.Conv1d(inside, inside, _KERNEL, padding=_KERNEL // 2),
            nn.ReLU(),
        )
        self.logits = nn.Linear(2 * inside, speakers)

    def forward(self, code: Tensor) -> Tensor:
        """Logits of a batch."""
        frames = self.layers(code.transpose(1, 2))
        variance = frames.var(dim=2, correction=0)
        # The square root has no slope at zero, where frames are all the same.
        statistics = torch.cat([frames.mean(dim=2), (variance + 1e-5).sqrt()], dim=1)
        logits: Tensor = self.logits(statistics)
        return logits


def reversed_gradient(values: Tensor) -> Tensor:
    """The same values, through which a gradient comes back with its sign changed.

    Example:
        >>> values = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> (3 * reversed_gradient(values)).sum().backward()
        >>> values.grad
        tensor([-3., -3.])

    Source: Y. Ganin and V. Lempitsky, "Unsupervised domain adaptation by backpropagation", ICML
    2015.
    """
    found: Tensor = _Reversed.apply(values)  # type: ignore[no-untyped-call]
    return found


def build_listener(network: Mapping[str, Any]) -> ContentNetwork:
    """The content network of a recipe, with fresh weights.

    Args:
        network: see `networks.content.build_content`.

    Raises:
        UsageError: it is none that can learn along with a generator.

    Example:
        >>> build_listener({"architecture": "conv", "output": "bottleneck"}).channels
        48
    """
    content = build_content(network)
    if not isinstance(content.frames, ConvFrames | WhisperFrames):
        raise UsageError("along.network: only conv and whisper hear changed voices")
    if network.get("output") == "units":
        raise UsageError("along.network: units have no gradient; the output bottleneck has one")
    if content.hop != STEP:
        raise UsageError(f"along.network: its frames are {content.hop} samples apart, not {STEP}")
    return content


class _Reversed(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, values: Tensor) -> Tensor:
        return values.view_as(values)

    @staticmethod
    def backward(_: Any, gradient: Tensor) -> Tensor:
        return -gradient
