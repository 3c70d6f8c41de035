"""Crops for training a generator: which, from where, with which speaker vector.

Everything about a crop is a function of the seed and its number, so that a run which is resumed, or
spread over more processes, hears the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import Dataset

from sordino.dsp.excitation import harmonic
from sordino.training.vocoder.frames import (
    PITCH_HOP,
    SAMPLE_RATE,
    Framed,
    content_of,
    f0_of,
    wave_of,
)
from sordino.training.vocoder.recipe import STEP, DataSettings, SpeakerSettings

FloatArray = npt.NDArray[np.float32]

_ORDER, _CROP, _WHOLE = 2, 3, 4


class Batch(NamedTuple):
    """What a step learns from; a single crop has no first dimension.

    Attributes:
        wave: shape (batch, samples), what is to be said.
        content: shape (batch, content frames, channels); a teacher's features where a content
            network learns along, of no channels where it has no teacher.
        f0: shape (batch, samples / 160), Hz, 0 where unvoiced.
        speaker: shape (batch, dimension), unit vectors.
        harmonic: shape (batch, samples); no samples where the generator does not take it.
        noise: the same.
        who: shape (batch,), the speaker's number.
        heard: shape (batch, samples), the wave with what is around it, for a content network that
            hears more than the crop; no samples where it does not.
        place: shape (batch,), samples in `heard` before the crop.
        other_f0: as `f0`, where another speaker would speak; no frames where nobody asks for it.
        other_speaker: that speaker's vector; the same.
        other_harmonic: what belongs to that pitch; the same.
    """

    wave: Tensor
    content: Tensor
    f0: Tensor
    speaker: Tensor
    harmonic: Tensor
    noise: Tensor
    who: Tensor
    heard: Tensor
    place: Tensor
    other_f0: Tensor
    other_speaker: Tensor
    other_harmonic: Tensor

    def as_other(self, items: int) -> Batch:
        """The first items, to be said by others."""
        some = Batch(*(tensor[:items] for tensor in self))
        return some._replace(
            f0=some.other_f0, speaker=some.other_speaker, harmonic=some.other_harmonic
        )


class Crops(Dataset[Batch]):
    """All crops of a run, by their numbers; each utterance comes once in every pass over all.

    Args:
        framed: utterances with their frames.
        vectors: their speaker vectors, shape (utterances, dimension).
        data: length of the crops, and the seed.
        speaker: which vector a crop comes with.
        sources: which of "harmonic" and "noise" are wanted.
        heard: samples that a content network hears of each crop and around it; 0 for the crop.
        others: whether crops are also to be said by other speakers.
    """

    def __init__(
        self,
        framed: Sequence[Framed],
        vectors: FloatArray,
        data: DataSettings,
        speaker: SpeakerSettings,
        sources: Sequence[str],
        heard: int = 0,
        others: bool = False,
    ) -> None:
        self._framed = framed
        self._vectors = vectors
        self._rows = data.segment // STEP
        self._heard = heard // STEP
        self._seed = data.seed
        self._speaker = speaker
        self._sources = tuple(sources)
        names = sorted({known.speaker for known in framed})
        numbers = {name: number for number, name in enumerate(names)}
        self._who = np.array([numbers[known.speaker] for known in framed])
        self._of_speaker = [np.flatnonzero(self._who == number) for number in range(len(names))]
        self._means = np.stack([unit(vectors[own].mean(axis=0)) for own in self._of_speaker])
        self._registers = self._measured() if others else None
        self._order: tuple[int, npt.NDArray[np.int64]] | None = None

    @property
    def speakers(self) -> int:
        """How many there are."""
        return len(self._of_speaker)

    def __len__(self) -> int:
        """Crops in a pass over all utterances."""
        return len(self._framed)

    def __getitem__(self, number: int) -> Batch:
        generator = np.random.default_rng([self._seed, _CROP, number])
        index = self._utterance(number)
        known = self._framed[index]
        first = int(generator.integers(known.rows - self._rows + 1))
        vector = self._vector(index, generator)
        made = crop(
            known, first, self._rows, vector, int(self._who[index]), self._sources, generator
        )
        if self._heard:
            wave, place = surroundings(known, first, self._rows, self._heard)
            made = made._replace(heard=_tensor(wave), place=torch.tensor(place))
        if self._registers is None:
            return made
        who, stranger = int(self._who[index]), int(generator.integers(self.speakers))
        pitch = float(np.exp(self._registers[stranger] - self._registers[who]))
        vector = self._means[stranger]
        moved = crop(known, first, self._rows, vector, who, self._sources, generator, pitch=pitch)
        return made._replace(
            other_f0=moved.f0, other_speaker=moved.speaker, other_harmonic=moved.harmonic
        )

    def whole(self, index: int, rows: int, *, as_index: int | None = None) -> Batch:
        """The beginning of an utterance, always the same.

        Args:
            index: of the utterance.
            rows: at most so many, of 20 ms.
            as_index: an utterance whose speaker vector and mean pitch are to be heard; None for
                its own.
        """
        known, as_index = self._framed[index], index if as_index is None else as_index
        generator = np.random.default_rng([self._seed, _WHOLE, index])
        pitch = 1.0 if as_index == index else self._pitch_ratio(index, as_index)
        who, vector = int(self._who[as_index]), self._vectors[as_index]
        rows = min(rows, known.rows)
        return crop(known, 0, rows, vector, who, self._sources, generator, pitch=pitch)

    def stranger(self, index: int) -> int:
        """The next utterance of another speaker; the utterance itself where there is no other."""
        order = np.roll(np.arange(len(self)), -index)
        others = order[self._who[order] != self._who[index]]
        return int(others[0]) if others.size else index

    def _measured(self) -> FloatArray:
        """Mean natural logarithm of each speaker's pitch; that of all where one has none."""
        found = []
        for own in self._of_speaker:
            track = np.concatenate([f0_of(self._framed[int(index)].read()) for index in own])
            found.append(np.log(track[track > 0]).mean() if track.any() else np.nan)
        means = np.array(found, np.float32)
        known = means[np.isfinite(means)]
        return np.where(np.isfinite(means), means, known.mean() if known.size else 0.0)

    def _pitch_ratio(self, index: int, as_index: int) -> float:
        tracks = [f0_of(self._framed[each].read()) for each in (index, as_index)]
        logs = [np.log(track[track > 0]) for track in tracks]
        if not all(log.size for log in logs):
            return 1.0
        return float(np.exp(logs[1].mean() - logs[0].mean()))

    def _utterance(self, number: int) -> int:
        turn, place = divmod(number, len(self._framed))
        if self._order is None or self._order[0] != turn:
            generator = np.random.default_rng([self._seed, _ORDER, turn])
            self._order = turn, generator.permutation(len(self._framed))
        return int(self._order[1][place])

    def _vector(self, index: int, generator: np.random.Generator) -> FloatArray:
        wanted, who = self._speaker, int(self._who[index])
        if wanted.of == "speaker":
            vector = self._means[who]
        elif wanted.of == "mixed":
            vector = self._means[who] if generator.random() < 0.5 else self._vectors[index]
        elif wanted.of == "another":
            own = self._of_speaker[who]
            others = own[own != index] if own.size > 1 else own
            vector = self._vectors[int(generator.choice(others))]
        else:
            vector = self._vectors[index]
        if wanted.noise:
            vector = vector + wanted.noise * unit(generator.standard_normal(vector.size))
        if wanted.dropout:
            vector = vector * (generator.random(vector.size) >= wanted.dropout)
        return unit(vector)


def crop(
    known: Framed,
    first: int,
    rows: int,
    vector: FloatArray,
    who: int,
    sources: Sequence[str],
    generator: np.random.Generator,
    *,
    pitch: float = 1.0,
) -> Batch:
    """Rows of an utterance as a generator takes them.

    Args:
        known: the utterance.
        first: row.
        rows: how many.
        vector: of the speaker, shape (dimension,).
        who: the speaker's number.
        sources: which of "harmonic" and "noise" are wanted.
        generator: draws the phase of the one and the other.
        pitch: factor on F0.
    """
    before, after = int(first > 0), int(first + rows < known.rows)
    around = known.read(first - before, before + rows + after)
    inner = around[before : before + rows]
    samples = rows * STEP
    phase, beside = float(generator.random()), STEP // PITCH_HOP
    track = np.pad(np.float32(pitch) * f0_of(around), (beside * (1 - before), beside * (1 - after)))
    f0 = track[beside:-beside]
    tones: npt.NDArray[np.floating] = np.zeros(0, np.float32)
    hiss = np.zeros(0, np.float32)
    if "harmonic" in sources:
        tones, _ = harmonic(
            f0,
            hop=PITCH_HOP,
            sample_rate=SAMPLE_RATE,
            before=float(track[beside - 1]),
            after=float(track[-beside]),
            phase=phase,
        )
    if "noise" in sources:
        hiss = generator.standard_normal(samples, dtype=np.float32)
    nothing = torch.zeros(0)
    return Batch(
        wave=_tensor(wave_of(inner)),
        content=_tensor(content_of(inner)),
        f0=_tensor(f0),
        speaker=_tensor(vector),
        harmonic=_tensor(tones),
        noise=_tensor(hiss),
        who=torch.tensor(who),
        heard=nothing,
        place=torch.tensor(0),
        other_f0=nothing,
        other_speaker=nothing,
        other_harmonic=nothing,
    )


def surroundings(known: Framed, first: int, rows: int, heard: int) -> tuple[FloatArray, int]:
    """Rows of an utterance and what is around them, as much on both sides as there is.

    Args:
        known: the utterance; where it is too short, silence follows it.
        first: row.
        rows: how many.
        heard: rows that are wanted, no fewer.

    Returns:
        Samples, shape (heard * 320,), and how many there are before the first row.
    """
    start = min(first - (heard - rows) // 2, known.rows - heard)
    start = max(0, start)
    wave = wave_of(known.read(start, heard))
    return np.pad(wave, (0, heard * STEP - wave.size)), (first - start) * STEP


def unit(vector: npt.NDArray[np.floating]) -> FloatArray:
    """A vector at length 1; a zero vector stays.

    Example:
        >>> unit(np.array([3.0, 4.0])).tolist()
        [0.6000000238418579, 0.800000011920929]
    """
    return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)


def _tensor(array: npt.NDArray[np.floating]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32))
