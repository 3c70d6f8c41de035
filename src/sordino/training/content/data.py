"""Crops for content encoders: what is heard, and what a teacher makes of it at the same time.

Everything about a crop is a function of the seed and the crop's number, so that a run which is
resumed, or spread over more processes, hears the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import soxr
import torch
from torch import Tensor
from torch.utils.data import Dataset

from sordino.corpus.utterance import Utterance
from sordino.training.augment.chain import Augmenter
from sordino.training.augment.voice import tilted
from sordino.training.content.recipe import PerturbationSettings
from sordino.training.features.cache import RowCache
from sordino.training.waves import RATE, part_of_wave

FloatArray = npt.NDArray[np.float32]

HOP = 320
NO_UNIT = -100
"""Stands for a frame that has no target: there is no speech any more."""


class ContentBatch(NamedTuple):
    """What a step learns from; without the first dimension, one crop of it.

    Attributes:
        waves: shape (batch, 320 * frames).
        units: of the teacher, shape (batch, frames); `NO_UNIT` after the end of an utterance.
        features: of the teacher, mean 0 and variance 1, shape (batch, frames, dimension); dimension
            0 where they are not learned.
    """

    waves: Tensor
    units: Tensor
    features: Tensor


class ContentCrops(Dataset[ContentBatch]):
    """All crops of a run.

    Args:
        utterances: real speech.
        voices: for each utterance its further voices, which say the same at the same time.
        units: of each utterance.
        features: of each utterance, already scaled, or None.
        frames: of 20 ms in a crop.
        seed: decides which crops.
        perturbation: how the voice is changed.
        voice_share: how many of the crops are of further voices.

    Attributes:
        augmenter: what happens to a crop after that; None for nothing.
    """

    def __init__(
        self,
        utterances: Sequence[Utterance],
        *,
        voices: Sequence[Sequence[Utterance]],
        units: RowCache,
        features: RowCache | None,
        frames: int,
        seed: int,
        perturbation: PerturbationSettings,
        voice_share: float = 0.0,
    ) -> None:
        self._utterances = utterances
        self._voices = voices
        self._units = units
        self._features = features
        self._frames = frames
        self._seed = seed
        self._perturbation = perturbation
        self._voice_share = voice_share
        self._of_speaker: dict[str, list[int]] = {}
        for index, utterance in enumerate(utterances):
            self._of_speaker.setdefault(utterance.speaker, []).append(index)
        self._speakers = sorted(self._of_speaker)
        self.augmenter: Augmenter | None = None

    def __getitem__(self, number: int) -> ContentBatch:
        generator = np.random.default_rng([self._seed, 3, number])
        # A speaker first: some speak for hours, and some for a minute.
        speaker = self._speakers[int(generator.integers(len(self._speakers)))]
        index = int(generator.choice(self._of_speaker[speaker]))
        original = self._utterances[index]
        octaves = generator.uniform(-1, 1) * self._perturbation.speed_octaves
        heard = times(self._frames, 2.0**octaves)
        there = self._units.count(original)
        first = int(generator.integers(max(0, there - int(heard[-1]) - 1) + 1))
        voices = self._voices[index] if index < len(self._voices) else ()
        other = generator.random() < self._voice_share
        spoken = original
        if other and voices:
            spoken = voices[int(generator.integers(len(voices)))]
        wave = self._said(spoken, first, 2.0**octaves, generator)
        units, features = self._targets(original, first, heard)
        return ContentBatch(torch.from_numpy(np.ascontiguousarray(wave)), units, features)

    def other_speech(self, length: int, generator: np.random.Generator) -> FloatArray:
        """Speech of anybody, for the background."""
        utterance = self._utterances[int(generator.integers(len(self._utterances)))]
        room = max(0, self._units.count(utterance) - length // HOP)
        return part_of_wave(utterance, HOP * int(generator.integers(room + 1)), length)

    def _said(
        self, utterance: Utterance, first: int, speed: float, generator: np.random.Generator
    ) -> FloatArray:
        length = self._frames * HOP
        wave = part_of_wave(utterance, first * HOP, round(length * speed))
        if wave.size != length:
            wave = soxr.resample(wave, wave.size, length)[:length]
            wave = np.pad(wave, (0, length - wave.size))
        if self._perturbation.tilt_db:
            wave = tilted(wave, RATE, self._perturbation.tilt_db, generator)
        if self.augmenter is not None:
            wave = self.augmenter.apply(wave, generator)
        return wave

    def _targets(
        self, utterance: Utterance, first: int, heard: npt.NDArray[np.int64]
    ) -> tuple[Tensor, Tensor]:
        rows = int(heard[-1]) + 1
        units = self._units.read(utterance, first, rows).astype(np.int64)
        known = heard < len(units)
        labels = np.full(self._frames, NO_UNIT, dtype=np.int64)
        labels[known] = units[heard[known]]
        if self._features is None:
            return torch.from_numpy(labels), torch.zeros(self._frames, 0)
        stored = self._features.read(utterance, first, rows).astype(np.float32)
        features = np.zeros((self._frames, stored.shape[1]), dtype=np.float32)
        features[known] = stored[heard[known]]
        return torch.from_numpy(labels), torch.from_numpy(features)


def times(frames: int, speed: float) -> npt.NDArray[np.int64]:
    """Which frame of the original is heard in the middle of each frame at another speed.

    Args:
        frames: how many are heard.
        speed: above 1 for faster.

    Example:
        >>> times(4, 1.5).tolist(), times(4, 0.5).tolist()
        ([0, 2, 3, 5], [0, 0, 1, 1])
    """
    return np.asarray(np.floor((np.arange(frames) + 0.5) * speed), dtype=np.int64)
