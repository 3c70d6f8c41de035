"""GE2E LSTM speaker encoder (Wan et al., ICASSP 2018), in the sizes that resemblyzer released."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from sordino.training.networks.filterbank import Filterbank, FilterbankSettings

_FRAMES = 160
_STEP = 77
_HOP = 160
_COVERAGE = 0.75
_QUIETEST_DBFS = -30.0


class Ge2e(nn.Module):
    """Waveform to a unit vector: the mean over windows of 1.6 s, each through three LSTM layers.

    Windows start every 0.77 s; the last one may reach beyond the end if speech covers three
    quarters of it. Recordings whose level is below -30 dBFS are raised to it.

    Shapes:
        (batch, samples) at 16 kHz, all of one length, to (batch, 256).

    Example:
        >>> Ge2e().eval()(torch.full((2, 8000), 0.1)).shape
        torch.Size([2, 256])
    """

    def __init__(self) -> None:
        super().__init__()
        self.filterbank = Filterbank(
            FilterbankSettings(bands=40, taper="hann", scale="slaney", compression="none")
        )
        self.lstm = nn.LSTM(40, 256, num_layers=3, batch_first=True)
        self.linear = nn.Linear(256, 256)

    def forward(self, wave: Tensor) -> Tensor:
        """Speaker vectors of a batch of waveforms."""
        level = wave.square().mean(dim=1, keepdim=True).clamp(min=1e-12).sqrt()
        quietest = torch.full_like(level, 10 ** (_QUIETEST_DBFS / 20))
        tail = torch.zeros_like(wave[:, :1]).expand(-1, _FRAMES * _HOP)
        raised = torch.cat([wave * (quietest / level).clamp(min=1), tail], dim=1)
        frames = self.filterbank(raised).transpose(1, 2)

        start = window_starts(torch._shape_as_tensor(wave)[1])
        index = start.unsqueeze(1) + torch.arange(_FRAMES).unsqueeze(0)
        batch = frames.shape[0]
        windows = frames[:, index.flatten()].reshape(-1, _FRAMES, 40)
        partial = self.embed_windows(windows)
        mean = partial.reshape(batch, -1, 256).mean(dim=1)
        return nn.functional.normalize(mean, dim=1)

    def embed_windows(self, windows: Tensor) -> Tensor:
        """Unit vectors of mel windows: (windows, 160, 40) to (windows, 256)."""
        states, _ = self.lstm(windows)
        return nn.functional.normalize(torch.relu(self.linear(states[:, -1])), dim=1)


def window_starts(samples: Tensor) -> Tensor:
    """First frames of the windows that cover an utterance.

    Args:
        samples: the utterance's length, as an integer tensor without dimensions, so that an
            exported graph computes it.

    Example:
        >>> window_starts(torch.tensor(32000))
        tensor([ 0, 77])
    """
    frames = (samples + _HOP) // _HOP
    last = torch.clamp(frames - _FRAMES + _STEP, min=0) // _STEP
    covered = samples - last * (_STEP * _HOP)
    enough = (covered >= int(_COVERAGE * _FRAMES * _HOP)).to(last.dtype)
    count = torch.clamp(last + enough, min=1)
    # A tensor, not a number, so that an exported graph counts for each utterance.
    starts: Tensor = torch.arange(count) * _STEP  # type: ignore[call-overload]
    return starts
