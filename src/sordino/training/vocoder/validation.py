"""How near a generator comes to speakers that training does not hear, in figures and to the ear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from lightning_fabric import Fabric
from torch import Tensor

from sordino.dsp.pitch import load_tracker
from sordino.training.networks.content import ContentNetwork
from sordino.training.networks.generators import Generator
from sordino.training.networks.spectra import LogMel, MelSettings
from sordino.training.vocoder.data import Batch, Crops
from sordino.training.vocoder.frames import SAMPLE_RATE
from sordino.training.vocoder.listener import Listener
from sordino.training.vocoder.task import conditions_of
from sordino.training.vocoder_losses import MelLoss, SpectralLoss

FloatArray = npt.NDArray[np.float64]

FIELDS = ("mel_distance", "spectral_distance", "words_distance", "pitch_cents", "voicing_error")

_SAMPLES = 3
_DARKEST, _BRIGHTEST = -11.5, 1.0


class Validation:
    """Utterances of held-out speakers, spoken again with their own vectors.

    Args:
        crops: of these utterances.
        tracker: of pitch.
        rows: of an utterance that are spoken, of 20 ms each.
        listener: hears whether words are kept, on the generator's device; None for nobody.
    """

    def __init__(
        self, crops: Crops, tracker: str, rows: int, listener: Listener | None = None
    ) -> None:
        self._listener = listener
        self._own = [crops.whole(index, rows) for index in range(len(crops))]
        self._other = [
            crops.whole(index, rows, as_index=crops.stranger(index))
            for index in range(min(_SAMPLES, len(crops)))
        ]
        self._tracker = load_tracker(tracker)

    def figures(
        self, generator: Generator, device: torch.device, content: ContentNetwork | None = None
    ) -> dict[str, float]:
        """Means over the utterances.

        Args:
            generator: that speaks.
            device: that it is on.
            content: that it was trained along with; None where the crops hold their content.

        Returns:
            "mel_distance", "spectral_distance" and, with a listener, "words_distance", as the
            losses; "pitch_cents",
            the root mean square difference of pitch where both are voiced, left out where nothing
            is; "voicing_error", the share of frames where only one is.
        """
        mel, spectral = MelLoss().to(device), SpectralLoss().to(device)
        distances, pairs, words = [], [], []
        for batch in self._own:
            made = speak(generator, batch, device, content)
            natural = batch.wave.to(device)
            pair = made[None], natural[None]
            distances.append((mel(*pair).item(), spectral(*pair).item()))
            if self._listener is not None:
                words.append(self._listener(*pair).item())
            found = self._tracker.track(made.float().cpu().numpy())
            pairs.append((found, batch.f0.numpy().astype(np.float64)))
        means = np.mean(distances, axis=0)
        return {
            "mel_distance": float(means[0]),
            "spectral_distance": float(means[1]),
            **({"words_distance": float(np.mean(words))} if words else {}),
            **pitch_figures(pairs),
        }

    def show(
        self, generator: Generator, fabric: Fabric, step: int, content: ContentNetwork | None = None
    ) -> None:
        """Write what was said, in its own voice and in another's, to TensorBoard."""
        logger: Any = fabric.logger
        writer = logger.experiment
        for number, (own, other) in enumerate(zip(self._own, self._other, strict=False)):
            waves = {
                "natural": own.wave,
                "own voice": speak(generator, own, fabric.device, content).cpu(),
                "another voice": speak(generator, other, fabric.device, content).cpu(),
            }
            for name, wave in waves.items():
                tag = f"{number}/{name}"
                writer.add_audio(tag, wave.float().clamp(-1, 1)[None], step, SAMPLE_RATE)
                writer.add_image(tag, picture(wave.float()), step)


def speak(
    generator: Generator, item: Batch, device: torch.device, content: ContentNetwork | None = None
) -> Tensor:
    """What a generator makes of one item: shape (samples,), on the device.

    Args:
        generator: that speaks.
        item: what it is told.
        device: that it is on.
        content: hears what is told in the place of the item's content; None for that.
    """
    learning = generator.training
    generator.eval()
    batch = Batch(*(tensor[None].to(device) for tensor in item))
    with torch.inference_mode():
        if content is not None:
            batch = batch._replace(content=content(batch.wave))
        wave: Tensor = generator(*conditions_of(generator, batch))[0]
    generator.train(learning)
    return wave


def pitch_figures(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> dict[str, float]:
    """How far pitch tracks lie apart.

    Args:
        pairs: tracks of one length each, in Hz, 0 where unvoiced.

    Example:
        >>> pair = np.array([0.0, 200.0, 200.0]), np.array([100.0, 100.0, 200.0])
        >>> {name: round(value, 3) for name, value in pitch_figures([pair]).items()}
        {'voicing_error': 0.333, 'pitch_cents': 848.528}
    """
    found, wanted = (np.concatenate(tracks) for tracks in zip(*pairs, strict=True))
    both = (found > 0) & (wanted > 0)
    figures = {"voicing_error": float(np.mean((found > 0) != (wanted > 0)))}
    if both.any():
        cents = 1200 * np.log2(found[both] / wanted[both])
        figures["pitch_cents"] = float(np.sqrt(np.mean(cents**2)))
    return figures


def picture(wave: Tensor) -> Tensor:
    """A log-mel spectrogram in grey, low pitches at the bottom: shape (1, bands, frames), 0 to 1.

    Args:
        wave: shape (samples,).

    Example:
        >>> picture(torch.zeros(2560)).shape
        torch.Size([1, 80, 10])
    """
    mel: Tensor = LogMel(MelSettings())(wave[None])
    return ((mel - _DARKEST) / (_BRIGHTEST - _DARKEST)).clamp(0, 1).flip(1)
