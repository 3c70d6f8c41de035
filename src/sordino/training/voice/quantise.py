"""A voice in 8-bit whole numbers: smaller, and faster where convolutions take the time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from sordino.anonymize.voice import CONTENT, GENERATOR, Voice
from sordino.anonymize.windows import FRAME, RATE, UNIT
from sordino.audio.recording import Recording
from sordino.dsp.excitation import harmonic, noise
from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle, write_bundle
from sordino.training.quantise import Inputs, QuantiseSettings, quantised
from sordino.training.vocoder.frames import training_wave

Part = Literal["generator", "content"]

_PIECE_S, _MOST_S = 4, 24
_GENERATOR = QuantiseSettings()
# Transformers and small content networks spend their time in products.
_CONTENT = QuantiseSettings(operators=("Conv", "MatMul"))

FloatArray = npt.NDArray[np.float32]


def quantise_voice(
    voice: Voice,
    recordings: Iterable[Recording],
    destination: Path,
    *,
    name: str,
    parts: Sequence[Part] = ("generator",),
    replace: bool = False,
) -> Bundle:
    """Write a voice whose graphs compute in 8 bits.

    Listen to the result and measure it before it is used: what is lost depends on the networks.

    Args:
        voice: in floating point.
        recordings: speech of several people, at least a few seconds; 24 s are used.
        destination: the new folder.
        name: what the new voice will be called.
        parts: which of its graphs.
        replace: whether a voice that is there may be replaced.

    Raises:
        UsageError: it is in 8 bits already, there is no speech, or a graph has nothing to quantise.
        OutputError: the folder exists or cannot be written, or a graph does not run any more.

    Example:
        >>> speech = map(Recording.read, paths)  # doctest: +SKIP
        >>> quantise_voice(Voice.load("mine"), speech, Path("models/mine-8"), name="mine-8")
        ... # doctest: +SKIP
    """
    bundle = voice.bundle
    if bundle.metadata.get("quantised"):
        raise UsageError(f"voice {voice.name}: is in 8 bits already")
    if destination.exists() and not replace:
        raise OutputError(f"model {destination}: exists already; it is left as it is")
    waves = list(_pieces(recordings))
    if not waves:
        raise UsageError("quantising needs recordings with speech; there are none")
    files: dict[str, bytes | Path] = {file: bundle.path(file) for file in bundle.files}
    if "content" in parts:
        heard = [{"wave": wave[None]} for wave in waves]
        files[CONTENT] = quantised(bundle.path(CONTENT).read_bytes(), heard, _CONTENT)
    if "generator" in parts:
        spoken = [_conditions(voice, wave, number) for number, wave in enumerate(waves)]
        files[GENERATOR] = quantised(bundle.path(GENERATOR).read_bytes(), spoken, _GENERATOR)
    which = " and ".join(parts)
    seconds = sum(wave.size for wave in waves) / RATE
    note = (
        f"\n## 8 bits\n\nThis is {voice.name} (digest {voice.digest}) with its {which} in 8-bit"
        f" whole numbers; ranges are those of {seconds:.0f} s of speech.\n"
    )
    metadata = {
        **bundle.given,
        "name": name,
        "quantised": True,
        "summary": f"{bundle.summary} In 8 bits.",
    }
    files["CARD.md"] = (bundle.card + note).encode()
    return write_bundle(destination, metadata, files, replace=replace)


def _pieces(recordings: Iterable[Recording]) -> Iterator[FloatArray]:
    """Stretches of speech from the beginnings of recordings, in whole units."""
    seconds = 0.0
    for recording in recordings:
        wave = training_wave(recording, _PIECE_S * RATE)
        wave = wave[: wave.size // UNIT * UNIT]
        if wave.any():
            seconds += wave.size / RATE
            yield wave
        if seconds >= _MOST_S:
            return


def _conditions(voice: Voice, wave: FloatArray, number: int) -> Inputs:
    """What the generator takes for a stretch of speech, in the voice of somebody of the pool."""
    f0 = voice.tracker.track(wave)
    vectors = voice.pool.vectors
    offers = {
        "content": voice.content(wave),
        "f0": f0,
        "speaker": vectors[number * 7919 % len(vectors)],
        "harmonic": harmonic(f0, hop=FRAME, sample_rate=RATE)[0],
        "noise": noise(0, wave.size, seed=number),
    }
    return {
        name: np.ascontiguousarray(offers[name][None], dtype=np.float32) for name in voice.wants
    }
