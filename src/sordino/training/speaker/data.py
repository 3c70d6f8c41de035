"""Crops for training: which, from where, and what happens to them.

Everything about a crop is a function of the seed, the step and the crop's place in the batch, so
that a run which is resumed, or spread over more processes, hears the same.
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
from sordino.training.augment.noise import mix
from sordino.training.augment.voice import tilted
from sordino.training.speaker.recipe import PerturbationSettings
from sordino.training.speaker.teacher import CropTeacher
from sordino.training.waves import read_crop, repeated

FloatArray = npt.NDArray[np.float32]

_HISS = 1e-5


class Batch(NamedTuple):
    """What a step learns from.

    Attributes:
        waves: shape (batch, samples).
        speakers: shape (batch,), class numbers.
        targets: the teacher's vectors, shape (batch, dimension); dimension 0 without a teacher.
    """

    waves: Tensor
    speakers: Tensor
    targets: Tensor


class Crops(Dataset[tuple[Tensor, int, Tensor]]):
    """All crops of a run; crop number `step * batch + place` is that place of that step.

    Each is the samples (n,), the class number, and the target (dimension,); where a teacher is
    asked about each crop, the third is what it is to hear, and `Collate` asks it.

    Args:
        utterances: of the training speakers.
        sample_rate: of the crops, in Hz.
        crop_seconds: shortest and longest.
        speeds: further speeds; each makes a class of its own for every speaker.
        batch: crops in a step.
        seed: decides which crops.
        targets: the teacher's vector of each utterance, shape (utterances, dimension), or None.
        perturbation: how crops are changed before the teacher hears them too.
        teacher: gives the target of each crop, in the place of `targets`.
        real: how many utterances, from the first, are real speech; the others are further voices,
            of speakers of their own. None for all.
        further_share: how many of the crops are of further voices, 0 to 1.
    """

    def __init__(
        self,
        utterances: Sequence[Utterance],
        *,
        sample_rate: int,
        crop_seconds: tuple[float, float],
        speeds: Sequence[float],
        batch: int,
        seed: int,
        targets: FloatArray | None,
        perturbation: PerturbationSettings | None = None,
        teacher: CropTeacher | None = None,
        real: int | None = None,
        further_share: float = 0.0,
    ) -> None:
        self._utterances = utterances
        self._rate = sample_rate
        self._crop_seconds = crop_seconds
        self._speeds = (1.0, *speeds)
        self._batch = batch
        self._seed = seed
        self._targets = targets
        self._perturbation = perturbation or PerturbationSettings()
        self.teacher = teacher
        names = sorted({utterance.speaker for utterance in utterances})
        number = {name: index for index, name in enumerate(names)}
        self._of_speaker: list[list[int]] = [[] for _ in names]
        for index, utterance in enumerate(utterances):
            self._of_speaker[number[utterance.speaker]].append(index)
        self._real_speakers = [
            number[name] for name in sorted({u.speaker for u in utterances[:real]})
        ]
        self._further_speakers = sorted(set(number.values()) - set(self._real_speakers))
        self._further_share = further_share if self._further_speakers else 0.0
        self.augmenter: Augmenter | None = None

    @property
    def classes(self) -> int:
        """Number of classes: speakers at all speeds."""
        return len(self._of_speaker) * len(self._speeds)

    @property
    def target_dimension(self) -> int:
        """Length of the targets; 0 without a teacher."""
        if self.teacher is not None:
            return self.teacher.dimension
        return 0 if self._targets is None else int(self._targets.shape[1])

    def length_of(self, step: int) -> int:
        """Samples in the crops of a step."""
        generator = np.random.default_rng([self._seed, 2, step])
        return round(generator.uniform(*self._crop_seconds) * self._rate)

    def __getitem__(self, number: int) -> tuple[Tensor, int, Tensor]:
        step, place = divmod(number, self._batch)
        generator = np.random.default_rng([self._seed, 3, step, place])
        further = generator.random() < self._further_share
        speaker = int(generator.choice(self._further_speakers if further else self._real_speakers))
        speed = int(generator.integers(len(self._speeds)))
        index = int(generator.choice(self._of_speaker[speaker]))
        samples = self._said(index, self.length_of(step), self._speeds[speed], generator)
        target = self._target(index, samples)
        if self.augmenter is not None:
            samples = self.augmenter.apply(samples, generator)
        label = speaker + speed * len(self._of_speaker)
        return torch.from_numpy(np.ascontiguousarray(samples)), label, torch.from_numpy(target)

    def other_speech(self, length: int, generator: np.random.Generator) -> FloatArray:
        """Speech of anybody, for the background."""
        index = int(generator.integers(len(self._utterances)))
        return self._crop(index, length, 1.0, generator)

    def _said(
        self, index: int, length: int, speed: float, generator: np.random.Generator
    ) -> FloatArray:
        changes = self._perturbation
        octaves = generator.uniform(-changes.speed_octaves, changes.speed_octaves)
        samples = self._crop(index, length, speed * 2**octaves, generator)
        if generator.random() < changes.overlap:
            ratio_db = generator.uniform(*changes.overlap_db)
            samples = mix(samples, self.other_speech(length, generator), ratio_db)
        if changes.tilt_db:
            samples = tilted(samples, self._rate, changes.tilt_db, generator)
        if self.teacher is not None:
            # The teacher does not take digital silence.
            hiss = generator.standard_normal(length, dtype=np.float32)
            samples = samples + np.float32(_HISS) * hiss
        return samples

    def _target(self, index: int, samples: FloatArray) -> FloatArray:
        if self.teacher is not None:
            return samples
        return np.zeros(0, np.float32) if self._targets is None else self._targets[index]

    def _crop(
        self, index: int, length: int, speed: float, generator: np.random.Generator
    ) -> FloatArray:
        utterance = self._utterances[index]
        needed = round(length * speed)
        samples = read_crop(utterance, self._rate, needed, generator.random())
        if speed != 1.0:
            samples = soxr.resample(samples, needed, length)[:length]
        return repeated(samples, length)


class Collate:
    """Puts crops together; asks a teacher about all of them at once.

    Args:
        teacher: where the third of each crop is not its target, but what the teacher is to hear.
        sample_rate: of the crops, in Hz.
    """

    def __init__(self, teacher: CropTeacher | None = None, sample_rate: int = 16000) -> None:
        self._teacher = teacher
        self._rate = sample_rate

    def __call__(self, items: Sequence[tuple[Tensor, int, Tensor]]) -> Batch:
        """A batch of items of `Crops`."""
        waves, speakers, targets = zip(*items, strict=True)
        judged = torch.stack(targets)
        if self._teacher is not None:
            judged = torch.from_numpy(self._teacher(judged.numpy(), self._rate))
        return Batch(torch.stack(waves), torch.tensor(speakers), judged)
