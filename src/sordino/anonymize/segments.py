"""Several speakers in one recording, each with a voice of their own.

Every voice gets a pass over the recording: only the stretches in which it is heard go through the
anonymizer, one after the other, with what is around them and a little silence between them. So the
work grows with the length of the recording and not with the number of speakers, the anonymizer
adapts to one person, and nothing is held in memory. What comes out is faded together in a temporary
store. Only changed samples are ever stored.
"""

from __future__ import annotations

import math
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Literal

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Anonymizer, Draws
from sordino.audio.level import MAX_GAIN_DB
from sordino.corpus.rttm import Turn
from sordino.errors import AudioError, SordinoError

Samples = npt.NDArray[np.floating]
Unassigned = Literal["voice", "silence"]
"""What becomes of the parts that no speaker covers."""

NOBODY = "\0"
"""Stands for whoever is heard where no speaker is named; no RTTM file can hold such a name."""

# Tables of turns are rounded; a turn may end this much after its recording.
_OVERSHOOT_S = 0.5
# Pauses in a turn: not worth a change of voice.
_SHORTEST_GAP_S = 0.3
_FADE_S = 0.02
_CONTEXT_S = 0.2
# Pieces begin on a grid, on which the frames of anonymizers lie as they do in the whole recording.
_GRID_S = 0.08
_IN_MEMORY = 2**24
_MAX_GAIN = 10 ** (MAX_GAIN_DB / 20)


@dataclass(frozen=True)
class Span:
    """A stretch with one voice.

    Attributes:
        start: its first sample.
        end: the sample after its last.
        speaker: whose voice it has.
        fade_in: half the length of the cross-fade around its start, in samples.
        fade_out: the same for its end.
    """

    start: int
    end: int
    speaker: str
    fade_in: int = 0
    fade_out: int = 0

    def weights(self, first: int, last: int) -> npt.NDArray[np.float64]:
        """How much of the voice is heard in each of the samples from `first` to before `last`.

        Over all spans of a recording the weights of a sample sum up to 1.
        """
        rising = _rise(first, last, self.start, self.fade_in)
        return rising * (1 - _rise(first, last, self.end, self.fade_out))


def spans(
    turns: Sequence[Turn], sample_rate: int, samples: int, unassigned: Unassigned = "voice"
) -> tuple[Span, ...]:
    """Part a recording into stretches with one voice each.

    Where several speak at once, the voice is that of whoever began first. With "voice", pauses of
    less than 0.3 s between turns belong to the turn before.

    Args:
        turns: who speaks when, sorted by their start.
        sample_rate: in Hz.
        samples: length of the recording.
        unassigned: what becomes of the parts that no turn covers.

    Raises:
        AudioError: a turn begins after the recording's end, or ends half a second after it.

    Example:
        >>> turns = [Turn("ann", 0.5, 2.0), Turn("bob", 1.0, 3.0)]
        >>> [(span.start, span.end, span.speaker) for span in spans(turns, 1000, 3000)]
        [(0, 500, '\\x00'), (500, 2000, 'ann'), (2000, 3000, 'bob')]
    """
    _refuse_beyond(turns, sample_rate, samples)
    shortest = round(_SHORTEST_GAP_S * sample_rate) if unassigned == "voice" else 1
    parts: list[tuple[int, int, str]] = []
    done = 0
    for turn in turns:
        start, end = (min(round(time * sample_rate), samples) for time in (turn.start, turn.end))
        start = max(start, done)
        if end <= start:
            continue
        if start - done < shortest:
            # The turn before goes on; a pause at the very beginning has none before it.
            if parts:
                parts[-1] = (parts[-1][0], start, parts[-1][2])
            else:
                start = 0
        else:
            parts.append((done, start, NOBODY))
        if parts and parts[-1][2] == turn.speaker:
            parts[-1] = (parts[-1][0], end, turn.speaker)
        else:
            parts.append((start, end, turn.speaker))
        done = end
    if samples - done < shortest and parts:
        parts[-1] = (parts[-1][0], samples, parts[-1][2])
    else:
        parts.append((done, samples, NOBODY))
    return _faded(parts, round(_FADE_S * sample_rate) // 2)


def spoken(blocks: Iterable[Samples], unheard: Sequence[Span]) -> Iterator[Samples]:
    """A recording in which the given spans are silent.

    Args:
        blocks: arrays (channels, samples), the recording cut into pieces.
        unheard: of its spans, in their order.
    """
    done = 0
    for block in blocks:
        last = done + block.shape[1]
        loss = np.zeros(block.shape[1])
        for low, high, weights in _weighted(unheard, done, last):
            loss[low - done : high - done] += weights
        yield block * (1 - loss) if loss.any() else block
        done = last


def transform_spans(
    anonymizer: Anonymizer,
    read: Callable[[], Iterable[Samples]],
    shape: tuple[int, int],
    sample_rate: int,
    parts: Sequence[Span],
    draws: Mapping[str, Draws],
    *,
    scratch: Path,
    block: int = 2**18,
    advance: Callable[[float], None] = lambda seconds: None,
) -> Iterator[Samples]:
    """Change the voices of one recording.

    Args:
        anonymizer: changes them.
        read: reads the recording from its beginning: arrays (channels, samples).
        shape: its channels and samples.
        sample_rate: in Hz.
        parts: its spans; see `spans`.
        draws: the pseudo-speaker of each speaker; spans of others come out silent.
        scratch: folder for temporary files; they hold changed samples only.
        block: samples in the arrays that come out.
        advance: told of every stretch of sound that is changed, in seconds.

    Yields:
        Arrays (channels, samples), as many samples in total as the recording has.

    Raises:
        SordinoError: the anonymizer gives another number of samples than it was given.
        OSError: the temporary store cannot be written.
    """
    channels, samples = shape
    with _store(scratch, channels) as mixture:
        for speaker in dict.fromkeys(span.speaker for span in parts):
            if speaker not in draws:
                continue
            own = [span for span in parts if span.speaker == speaker]
            fed = _Fed(own, sample_rate, samples)
            with _store(scratch, channels) as store:
                changed = anonymizer.transform(fed.through(read()), sample_rate, draws[speaker])
                energy = 0.0
                for first, output in fed.places(changed):
                    last = first + output.shape[1]
                    for low, high, weights in _weighted(own, first, last):
                        heard = output[:, low - first : high - first] * weights
                        energy += float(np.sum(heard**2))
                        store.add(low, heard)
                        advance(float(weights.sum()) / sample_rate)
                # Who was louder than the others still is.
                gain = min(math.sqrt(fed.energy / energy), _MAX_GAIN) if energy > 0 else 1.0
                for span in own:
                    last = span.end + span.fade_out
                    for low in range(span.start - span.fade_in, last, block):
                        count = min(block, last - low)
                        mixture.add(low, gain * store.read(low, count))
        for first in range(0, samples, block):
            yield mixture.read(first, min(block, samples - first))


class _Fed:
    """The pieces of one voice on their way through the anonymizer and back to their places.

    Attributes:
        energy: of all that the voice is heard in, as far as it has gone in.
    """

    def __init__(self, own: Sequence[Span], sample_rate: int, samples: int) -> None:
        self._own = own
        self._pieces = _pieces(own, sample_rate, samples)
        self._gap = round(_GRID_S * sample_rate)
        self._ramp = round(_FADE_S * sample_rate)
        self._samples = samples
        self.energy = 0.0

    def through(self, blocks: Iterable[Samples]) -> Iterator[Samples]:
        """The pieces one after the other, with silence between them."""
        done, number = 0, 0
        for block in blocks:
            last = done + block.shape[1]
            while number < len(self._pieces) and self._pieces[number][0] < last:
                start, end = self._pieces[number]
                low, high = max(start, done), min(end, last)
                if number and low == start:
                    yield np.zeros((len(block), self._gap))
                piece = block[:, low - done : high - done]
                for first, after, weights in _weighted(self._own, low, high):
                    heard = piece[:, first - low : after - low] * weights
                    self.energy += float(np.sum(heard**2))
                yield piece * self._ramps(number, low, high)
                if end > last:
                    break
                number += 1
            done = last
        if done != self._samples:
            raise AudioError(f"had {self._samples} samples and has {done}: is it being written?")

    def places(self, outputs: Iterable[Samples]) -> Iterator[tuple[int, Samples]]:
        """Where in the recording what comes back belongs, without the silence."""
        starts = np.cumsum([0, *(end - start + self._gap for start, end in self._pieces)])
        done, number = 0, 0
        for output in outputs:
            last = done + output.shape[1]
            while number < len(self._pieces) and starts[number] < last:
                start, end = self._pieces[number]
                low = max(int(starts[number]), done)
                high = min(int(starts[number]) + end - start, last)
                if high > low:
                    yield start + low - int(starts[number]), output[:, low - done : high - done]
                if starts[number + 1] > last:
                    break
                number += 1
            done = last
        if done != starts[-1] - self._gap:
            raise SordinoError(f"came out with {done} samples for {starts[-1] - self._gap}")

    def _ramps(self, number: int, low: int, high: int) -> npt.NDArray[np.float64]:
        # A piece that is cut out of sound would begin and end with a click.
        start, end = self._pieces[number]
        time = np.arange(low, high) + 0.5
        risen = np.ones(time.size)
        if start > 0:
            risen *= np.clip((time - start) / self._ramp, 0, 1)
        if end < self._samples:
            risen *= np.clip((end - time) / self._ramp, 0, 1)
        return risen


class _Mixture:
    """Sound in a file, to which stretches are added."""

    def __init__(self, file: IO[bytes], channels: int) -> None:
        self._file = file
        self._channels = channels

    def add(self, first: int, samples: Samples) -> None:
        there = self.read(first, samples.shape[1])
        self._file.seek(4 * self._channels * first)
        self._file.write((there + samples).astype(np.float32).T.tobytes())

    def read(self, first: int, count: int) -> npt.NDArray[np.float32]:
        self._file.seek(4 * self._channels * first)
        there = np.frombuffer(self._file.read(4 * self._channels * count), dtype=np.float32)
        padded = np.zeros(count * self._channels, dtype=np.float32)
        padded[: there.size] = there
        found: npt.NDArray[np.float32] = padded.reshape(count, self._channels).T
        return found


@contextmanager
def _store(scratch: Path, channels: int) -> Iterator[_Mixture]:
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(scratch)) as file:
        yield _Mixture(file, channels)


def _refuse_beyond(turns: Sequence[Turn], sample_rate: int, samples: int) -> None:
    length = samples / sample_rate
    for turn in turns:
        if turn.start >= length or turn.end > length + _OVERSHOOT_S:
            raise AudioError(
                f"lasts {length:.3f} s, but the RTTM file has a turn from {turn.start:g} s to"
                f" {turn.end:g} s in it"
            )


def _faded(parts: Sequence[tuple[int, int, str]], longest: int) -> tuple[Span, ...]:
    halves = [
        min(longest, (end - start) // 2, (after - end) // 2)
        for (start, end, _), (_, after, _) in pairwise(parts)
    ]
    around = zip([0, *halves], [*halves, 0], strict=True)
    return tuple(Span(*part, *fades) for part, fades in zip(parts, around, strict=True))


def _rise(first: int, last: int, edge: int, half: int) -> npt.NDArray[np.float64]:
    time = np.arange(first, last, dtype=np.float64) + (0.5 - edge)
    if half == 0:
        return (time > 0).astype(np.float64)
    risen: npt.NDArray[np.float64] = np.sin(np.pi / 4 * (1 + np.clip(time / half, -1, 1))) ** 2
    return risen


def _meeting(parts: Sequence[Span], first: int, last: int) -> Iterator[Span]:
    for span in parts[bisect_right(parts, first, key=lambda span: span.end + span.fade_out) :]:
        if span.start - span.fade_in >= last:
            return
        yield span


def _weighted(
    parts: Sequence[Span], first: int, last: int
) -> Iterator[tuple[int, int, npt.NDArray[np.float64]]]:
    """Where spans are heard between two samples, and how much."""
    for span in _meeting(parts, first, last):
        low = max(first, span.start - span.fade_in)
        high = min(last, span.end + span.fade_out)
        yield low, high, span.weights(low, high)


def _pieces(own: Sequence[Span], sample_rate: int, samples: int) -> list[tuple[int, int]]:
    context, grid = round(_CONTEXT_S * sample_rate), round(_GRID_S * sample_rate)
    pieces: list[tuple[int, int]] = []
    for span in own:
        start = max(0, span.start - context) // grid * grid
        end = min(samples, -(-(span.end + context) // grid) * grid)
        if pieces and start <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], end)
        else:
            pieces.append((start, end))
    return pieces
