"""What the training of a vocoder makes small."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import l1_loss

from sordino.training.networks.spectra import LogMel, MelSettings, magnitudes


def discriminator_loss(natural: Sequence[Tensor], generated: Sequence[Tensor]) -> Tensor:
    """How far discriminators are from saying 1 of natural and 0 of generated speech.

    Args:
        natural: each discriminator's scores of natural speech.
        generated: the same of generated speech.

    Returns:
        Squared errors, mean over places, sum over discriminators: no dimensions.

    Example:
        >>> discriminator_loss([torch.ones(2, 3)], [torch.full((2, 3), 0.5)]).item()
        0.25

    Source: X. Mao et al., "Least squares generative adversarial networks", ICCV 2017.
    """
    parts = [
        (1 - right).square().mean() + wrong.square().mean()
        for right, wrong in zip(natural, generated, strict=True)
    ]
    return torch.stack(parts).sum()


def adversarial_loss(generated: Sequence[Tensor]) -> Tensor:
    """How far discriminators are from taking generated speech for natural.

    Args:
        generated: each discriminator's scores.

    Example:
        >>> adversarial_loss([torch.zeros(2, 3), torch.ones(2, 3)]).item()
        1.0
    """
    return torch.stack([(1 - score).square().mean() for score in generated]).sum()


def feature_loss(
    natural: Sequence[Sequence[Tensor]], generated: Sequence[Sequence[Tensor]]
) -> Tensor:
    """Mean absolute difference of what discriminators' layers give, summed over all layers.

    Args:
        natural: of each discriminator the features of natural speech; no gradient reaches them.
        generated: the same of the generated speech.

    Example:
        >>> feature_loss([[torch.zeros(2)], [torch.ones(2)]], [[torch.ones(2)], [torch.ones(2)]])
        tensor(1.)

    Source: K. Kumar et al., "MelGAN", NeurIPS 2019, Eq. 4.
    """
    parts = [
        l1_loss(wrong, right.detach())
        for rights, wrongs in zip(natural, generated, strict=True)
        for right, wrong in zip(rights, wrongs, strict=True)
    ]
    return torch.stack(parts).sum()


class MelLoss(nn.Module):
    """Mean absolute difference of log mel spectrograms.

    Args:
        settings: of the spectrogram.

    Shapes:
        generated and natural waveforms (batch, samples) to a loss without dimensions.

    Example:
        >>> MelLoss()(torch.zeros(1, 2560), torch.zeros(1, 2560)).item()
        0.0

    Source: J. Kong, J. Kim and J. Bae, "HiFi-GAN", NeurIPS 2020, Eq. 5.
    """

    def __init__(self, settings: MelSettings | None = None) -> None:
        super().__init__()
        self.spectrogram = LogMel(settings or MelSettings())

    def forward(self, generated: Tensor, natural: Tensor) -> Tensor:
        """The mean loss of a batch."""
        return l1_loss(self.spectrogram(generated), self.spectrogram(natural))


class SpectralLoss(nn.Module):
    """Spectral convergence and log magnitude distance, mean over several resolutions.

    Args:
        resolutions: FFT length, hop and length of the Hann window of each.

    Shapes:
        generated and natural waveforms (batch, samples), at least as long as the longest FFT, to a
        loss without dimensions.

    Example:
        >>> loss = SpectralLoss()
        >>> wave = torch.randn(1, 4096)
        >>> loss(wave, wave).item()
        0.0

    Source: R. Yamamoto, E. Song and J.-M. Kim, "Parallel WaveGAN", ICASSP 2020, Eqs. 5 to 7.
    """

    def __init__(
        self,
        resolutions: Sequence[tuple[int, int, int]] = (
            (512, 50, 240),
            (1024, 120, 600),
            (2048, 240, 1200),
        ),
    ) -> None:
        super().__init__()
        self.resolutions = tuple(tuple(resolution) for resolution in resolutions)
        for number, (_, _, window) in enumerate(self.resolutions):
            self.register_buffer(f"taper{number}", torch.hann_window(window), persistent=False)

    def forward(self, generated: Tensor, natural: Tensor) -> Tensor:
        """The mean loss of a batch."""
        parts = []
        with torch.autocast(generated.device.type, enabled=False):
            for number, (fft, hop, _) in enumerate(self.resolutions):
                taper = self.get_buffer(f"taper{number}")
                is_, should = (
                    magnitudes(wave.float(), fft, hop, taper) for wave in (generated, natural)
                )
                convergence = (should - is_).norm() / should.norm()
                parts.append(convergence + l1_loss(is_.log(), should.log()))
        return torch.stack(parts).mean()
