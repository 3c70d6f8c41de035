"""All effects in the order in which the world applies them: voice, room, noise, device, line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt

from sordino.training.augment.codec import LossyFormat, compress, telephone
from sordino.training.augment.noise import coloured_noise, mix
from sordino.training.augment.reverberation import reverberate

FloatArray = npt.NDArray[np.float32]

OtherSpeech = Callable[[int, np.random.Generator], FloatArray]
"""Speech of somebody else or recorded noise: (length, generator) to samples (length,)."""


@dataclass(frozen=True)
class AugmentationSettings:
    """How often an effect is applied (0 to 1), and how strongly.

    Attributes:
        rooms: how many rooms are simulated; 0 for none.
        reverberation: share of crops heard in a room.
        noise: share with noise of a random colour, or recorded noise where there is any.
        babble: share with other voices in the background.
        telephone: share over a telephone line.
        lossy: share after a lossy codec.
        noise_db: lowest and highest ratio of speech to noise or babble.
        level_db: the level is changed by up to so much in either direction.
    """

    rooms: int = 200
    reverberation: float = 0.4
    noise: float = 0.4
    babble: float = 0.2
    telephone: float = 0.1
    lossy: float = 0.15
    noise_db: tuple[float, float] = (0.0, 20.0)
    level_db: float = 12.0

    def rules(self) -> Iterator[tuple[bool, str]]:
        """What has to hold, for `sordino.training.recipes.check`."""
        for name in ("reverberation", "noise", "babble", "telephone", "lossy"):
            yield 0 <= getattr(self, name) <= 1, f"augmentation.{name} is a share from 0 to 1"
        yield self.rooms >= 0, "augmentation.rooms is 0 or more"
        yield self.noise_db[0] <= self.noise_db[1], "augmentation.noise_db are low and high"
        yield self.level_db >= 0, "augmentation.level_db is 0 or more"


class Augmenter:
    """Applies effects to crops.

    Args:
        settings: see `AugmentationSettings`.
        sample_rate: in Hz.
        rooms: impulse responses.
        other_speech: background voices.
        recorded_noise: the user's own recordings of noise, or None.
    """

    def __init__(
        self,
        settings: AugmentationSettings,
        sample_rate: int,
        rooms: Sequence[FloatArray],
        other_speech: OtherSpeech,
        recorded_noise: OtherSpeech | None = None,
    ) -> None:
        self._settings = settings
        self._rate = sample_rate
        self._rooms = rooms
        self._other_speech = other_speech
        self._recorded_noise = recorded_noise

    def apply(self, samples: FloatArray, generator: np.random.Generator) -> FloatArray:
        """A crop as it might have been recorded elsewhere.

        Args:
            samples: shape (n,).
            generator: decides everything; the same state gives the same result.

        Returns:
            Shape (n,).
        """
        chosen = self._settings
        # Every draw is made whether it is used or not: one setting does not shift the others.
        reverberation, noise, babble, line, lossy = generator.random(5)
        ratios = generator.uniform(*chosen.noise_db, size=2)
        gain_db = generator.uniform(-chosen.level_db, chosen.level_db)
        if self._rooms and reverberation < chosen.reverberation:
            samples = reverberate(samples, self._rooms[int(generator.integers(len(self._rooms)))])
        if noise < chosen.noise:
            samples = mix(samples, self._noise(samples.size, generator), ratios[0])
        if babble < chosen.babble:
            samples = mix(samples, self._babble(samples.size, generator), ratios[1])
        samples = _levelled(samples, gain_db)
        if line < chosen.telephone:
            samples = telephone(samples, self._rate)
        if lossy < chosen.lossy:
            formats = get_args(LossyFormat)
            format_ = formats[generator.integers(len(formats))]
            samples = compress(samples, self._rate, format_, generator.uniform(0.3, 1.0))
        return samples

    def _noise(self, length: int, generator: np.random.Generator) -> FloatArray:
        if self._recorded_noise is not None and generator.random() < 0.7:
            return self._recorded_noise(length, generator)
        return coloured_noise(length, generator.uniform(-0.5, 2.0), self._rate, generator)

    def _babble(self, length: int, generator: np.random.Generator) -> FloatArray:
        voices = [self._other_speech(length, generator) for _ in range(generator.integers(3, 7))]
        return np.asarray(np.sum(voices, axis=0), dtype=np.float32)


def _levelled(samples: FloatArray, gain_db: float) -> FloatArray:
    changed = samples * np.float32(10 ** (gain_db / 20))
    peak = float(np.abs(changed).max())
    return np.asarray(changed / np.float32(max(1.0, peak)), dtype=np.float32)
