"""One recording from file to file, in memory that does not grow with its length.

Two passes: the first changes the voice into a temporary store while the loudness of both sides
is measured, the second restores the loudness and encodes. Only changed samples are ever stored.
"""

from __future__ import annotations

import math
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import CEILING, Anonymizer, Draws
from sordino.anonymize.segments import NOBODY, Span, spans, spoken, transform_spans
from sordino.audio.formats import FORMATS
from sordino.audio.level import limited, matching_gain
from sordino.audio.loudness import LoudnessMeter
from sordino.audio.read import open_audio
from sordino.audio.resample import resample_blocks, resampled_length
from sordino.audio.write import create_audio
from sordino.corpus.rttm import Turn
from sordino.errors import SordinoError

FloatArray = npt.NDArray[np.floating]

# Lossy codecs overshoot the samples they are given.
LOSSY_CEILING = 0.89
_BLOCK_SAMPLES = 2**18
_IN_MEMORY = 2**24


@dataclass(frozen=True)
class Shape:
    """What may be changed besides the voice.

    Attributes:
        sample_rate: rate of the output in Hz, or None for the recording's own.
        mono: whether channels are averaged into one.
    """

    sample_rate: int | None = None
    mono: bool = False


@dataclass(frozen=True)
class Voices:
    """Who speaks when in a recording of several people, and as whom.

    Attributes:
        turns: who speaks when, sorted by their start.
        draws: the pseudo-speakers by speaker, with one for `NOBODY`, without which the parts that
            no turn covers become silent.
    """

    turns: tuple[Turn, ...]
    draws: Mapping[str, Draws]

    def spans(self, sample_rate: int, samples: int) -> tuple[Span, ...]:
        """The stretches with one voice each; see `sordino.anonymize.segments.spans`."""
        return spans(
            self.turns, sample_rate, samples, "voice" if NOBODY in self.draws else "silence"
        )


@dataclass(frozen=True)
class Rendered:
    """What was written.

    Attributes:
        sample_rate: in Hz.
        channels: number of channels.
        samples: per channel.
        loudness_change: output minus input, in LU; None where either is silent.
    """

    sample_rate: int
    channels: int
    samples: int
    loudness_change: float | None


def render(
    source: Path,
    target: Path,
    anonymizer: Anonymizer,
    voices: Draws | Voices,
    *,
    format_name: str,
    shape: Shape,
    scratch: Path,
    advance: Callable[[float], None] = lambda seconds: None,
) -> Rendered:
    """Anonymize a file.

    Args:
        source: the recording.
        target: the file to write; after an error it does not exist.
        anonymizer: changes the voice.
        voices: the pseudo-speaker, or those of several people with the times at which they speak.
        format_name: one of `sordino.audio.formats.FORMATS`.
        shape: rate and channels of the output.
        scratch: folder for temporary files; they hold changed samples only.
        advance: told of every stretch of sound that is changed, in seconds.

    Raises:
        SordinoError: the source cannot be read, or the target cannot be written.
        OSError: the temporary store cannot be written.
    """
    format_ = FORMATS[format_name]
    with (
        open_audio(source) as reader,
        tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, dir=str(scratch)) as store,
    ):
        rate = reader.info.sample_rate
        out_rate = shape.sample_rate or rate
        channels = 1 if shape.mono else reader.info.channels
        format_.check(out_rate, channels, reader.info.sample_type)
        before, after = LoudnessMeter(rate), LoudnessMeter(out_rate)
        block = max(1, _BLOCK_SAMPLES // reader.info.channels)
        read = partial(_read, source, block, mono=shape.mono)
        if isinstance(voices, Voices):
            parts = voices.spans(rate, sum(each.shape[1] for each in read()))
            unheard = [span for span in parts if span.speaker not in voices.draws]
            arriving = _Arriving(spoken(read(), unheard), before)
            deque(arriving, maxlen=0)  # measured before the passes begin
            transformed = transform_spans(
                anonymizer,
                lambda: spoken(read(), unheard),
                (channels, arriving.samples),
                rate,
                parts,
                voices.draws,
                scratch=scratch,
                advance=advance,
            )
        else:
            arriving = _Arriving(_mixed(reader.blocks(block), mono=shape.mono), before)
            transformed = anonymizer.transform(arriving, rate, voices)
        changed = resample_blocks(transformed, rate, out_rate)
        # Of several voices each tells of its own pass.
        tell = _untold if isinstance(voices, Voices) else advance
        samples = _store(changed, after, store, lambda count: tell(count / out_rate))
        if samples != resampled_length(arriving.samples, rate, out_rate):
            raise SordinoError(f"came out with {samples} samples for {arriving.samples}")
        sample_type = format_.sample_type(reader.info.sample_type)

        ceiling = CEILING if format_.lossless else LOSSY_CEILING
        gain = matching_gain(
            lambda: _stored(store, channels, block),
            before.loudness(),
            after.loudness(),
            ceiling=ceiling,
            sample_rate=out_rate,
        )
        final = LoudnessMeter(out_rate)
        with create_audio(
            target,
            format_,
            sample_rate=out_rate,
            channels=channels,
            sample_type=sample_type,
            frames=samples,
        ) as sink:
            stored = _stored(store, channels, block)
            for output in limited(stored, gain, ceiling=ceiling, sample_rate=out_rate):
                final.add(output)
                sink.write(output.astype(np.float32))
    change = final.loudness() - before.loudness()
    return Rendered(
        out_rate, channels, samples, round(change, 2) + 0.0 if math.isfinite(change) else None
    )


class _Arriving:
    """Blocks on their way to the anonymizer, counted and measured."""

    def __init__(self, blocks: Iterable[FloatArray], meter: LoudnessMeter) -> None:
        self._blocks = blocks
        self._meter = meter
        self.samples = 0

    def __iter__(self) -> Iterator[FloatArray]:
        for block in self._blocks:
            self.samples += block.shape[1]
            self._meter.add(block)
            yield block


def _untold(seconds: float) -> None:
    del seconds


def _read(source: Path, block: int, *, mono: bool) -> Iterator[FloatArray]:
    with open_audio(source) as reader:
        yield from _mixed(reader.blocks(block), mono=mono)


def _mixed(blocks: Iterable[FloatArray], *, mono: bool) -> Iterator[FloatArray]:
    for block in blocks:
        yield block.mean(axis=0, keepdims=True) if mono else block


def _store(
    blocks: Iterable[FloatArray],
    meter: LoudnessMeter,
    store: IO[bytes],
    advance: Callable[[int], None],
) -> int:
    samples = 0
    for block in blocks:
        stored = np.ascontiguousarray(block.T, dtype=np.float32)
        if not np.isfinite(stored).all():
            raise SordinoError("the anonymizer gave NaN or infinite samples")
        meter.add(block)
        samples += block.shape[1]
        advance(block.shape[1])
        store.write(stored.tobytes())
    return samples


def _stored(store: IO[bytes], channels: int, samples: int) -> Iterator[FloatArray]:
    store.seek(0)
    while data := store.read(4 * channels * samples):
        yield np.frombuffer(data, dtype=np.float32).reshape(-1, channels).T
