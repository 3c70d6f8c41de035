"""How much speech sounds like the speakers whose vectors a generator was told."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity


class Likeness(nn.Module):
    """One minus the cosine of what a speaker encoder makes of speech and the vectors asked for.

    A generator that only ever says speech again in its own voice may find the voice in the content,
    and learn to ignore the vector. Here it speaks for others, and is told whether that was heard.

    Args:
        encoder: waveforms (batch, samples) to vectors (batch, dimension); its weights stay as they
            are.

    Shapes:
        waveforms (batch, samples) and vectors (batch, dimension) to a number from 0 to 2.

    Example:
        >>> encoder = nn.Linear(3, 2, bias=False)
        >>> wave = torch.tensor([[0.1, 0.2, 0.3]])
        >>> round(Likeness(encoder)(wave, -encoder(wave)).item(), 4)
        2.0
    """

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder.requires_grad_(False)

    def train(self, mode: bool = True) -> Likeness:
        """Stays as it is in use: statistics of its layers are not those of generated speech."""
        super().train(mode)
        self.encoder.eval()
        return self

    def forward(self, wave: Tensor, wanted: Tensor) -> Tensor:
        """The mean over a batch."""
        with torch.autocast(wave.device.type, enabled=False):
            found: Tensor = self.encoder(wave.float())
            return (1 - cosine_similarity(found, wanted.float(), dim=1)).mean()
