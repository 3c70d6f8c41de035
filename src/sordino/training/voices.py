"""Further training voices: real recordings whose pitch, vocal-tract length and tempo are changed.

A recogniser learns to tell apart as many voices as it sees, and a few hundred speakers are few.
Each copy of a speaker is a voice of its own, the same in all of that speaker's utterances. WORLD
(Morise et al., 2016) analyses the speech; its pitch is scaled and its envelope stretched over
frequency.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from sordino.audio import Recording
from sordino.audio.resample import resample
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]

_RATE = 16000
_FRAME_MS = 5.0


@dataclass(frozen=True)
class VoiceSettings:
    """How further voices differ from the real ones; deviations are of base-2 logarithms.

    Attributes:
        copies: further voices for each speaker.
        share: how many of the crops are of further voices, 0 to 1.
        pitch: standard deviation of the pitch ratio (0.25: a quarter octave).
        tract: standard deviation of the formants' ratio, beside the part that goes with pitch.
        tract_with_pitch: how much of the pitch change the formants follow (0 to 1).
        tempo: standard deviation of the tempo.
    """

    copies: int = 0
    share: float = 0.5
    pitch: float = 0.3
    tract: float = 0.09
    tract_with_pitch: float = 0.25
    tempo: float = 0.1

    def rules(self) -> Iterator[tuple[bool, str]]:
        """What has to hold, for `sordino.training.recipes.check`."""
        yield self.copies >= 0, "voices.copies is 0 or more"
        yield 0 <= self.share <= 1, "voices.share is a share from 0 to 1"
        deviations = (self.pitch, self.tract, self.tempo)
        yield min(deviations) >= 0, "voices.pitch, .tract and .tempo are 0 or more"


@dataclass(frozen=True)
class Voice:
    """Ratios of one further voice to the real one."""

    pitch: float
    tract: float
    tempo: float


def draw_voice(settings: VoiceSettings, speaker: str, copy: int, seed: int) -> Voice:
    """The voice that a copy of a speaker has: a function of its arguments.

    Example:
        >>> draw_voice(VoiceSettings(), "anna", 1, 0) == draw_voice(VoiceSettings(), "anna", 1, 0)
        True
    """
    generator = np.random.default_rng([seed, copy, zlib.crc32(speaker.encode())])
    pitch, tract, tempo = generator.normal(size=3).clip(-2, 2)
    octaves = settings.pitch * pitch
    return Voice(
        pitch=float(2**octaves),
        tract=float(2 ** (settings.tract_with_pitch * octaves + settings.tract * tract)),
        tempo=float(2 ** (settings.tempo * tempo)),
    )


def revoice(samples: FloatArray, voices: Sequence[Voice]) -> list[FloatArray]:
    """Speak the same utterance with other voices.

    Args:
        samples: shape (n,), at 16 kHz.
        voices: what to change.

    Returns:
        For each voice an array; its length differs by the tempo.

    Raises:
        UsageError: the package pyworld-prebuilt is missing.
    """
    try:
        import pyworld
    except ImportError as error:
        raise UsageError('further voices need WORLD: pip install "sordino[train]"') from error
    pitch, times = pyworld.dio(samples, _RATE, frame_period=_FRAME_MS)
    pitch = pyworld.stonemask(samples, pitch, times, _RATE)
    envelope = pyworld.cheaptrick(samples, pitch, times, _RATE)
    noise = pyworld.d4c(samples, pitch, times, _RATE)
    logarithm = np.log(envelope)
    spoken = []
    for voice in voices:
        out = pyworld.synthesize(
            pitch * voice.pitch,
            np.exp(_stretched(logarithm, voice.tract)),
            noise,
            _RATE,
            _FRAME_MS / voice.tempo,
        )
        peak = np.abs(out).max()
        spoken.append(out * min(1.0, 0.99 / peak) if peak > 0 else out)
    return spoken


def make_voices(
    utterances: Sequence[Utterance],
    folder: Path,
    settings: VoiceSettings,
    seed: int,
    jobs: int,
    *,
    quiet: bool = False,
) -> list[Utterance]:
    """Write further voices of all utterances; what is there from an earlier call stays.

    Args:
        utterances: real speech, any format and rate.
        folder: where the recordings go, as FLAC at 16 kHz.
        settings: see `VoiceSettings`.
        seed: other seeds give other voices.
        jobs: processes.
        quiet: show no progress.

    Returns:
        The new utterances; the speaker of copy 3 of "anna" is "anna~3".
    """
    tasks = [(utterance, folder, settings, seed) for utterance in utterances]
    if settings.copies == 0:
        return []
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        done = pool.map(_make_copies, tasks, chunksize=4)
        bar = tqdm(done, desc="voices", total=len(tasks), unit="utt", disable=quiet)
        return [new for made in bar for new in made]


def _make_copies(task: tuple[Utterance, Path, VoiceSettings, int]) -> list[Utterance]:
    utterance, folder, settings, seed = task
    copies = [
        replace(
            utterance,
            id=f"{utterance.id}~{copy}",
            speaker=f"{utterance.speaker}~{copy}",
            duration=None,
            start=None,
            end=None,
            path=folder / f"{copy}" / f"{_digest(utterance.id)}.flac",
        )
        for copy in range(1, settings.copies + 1)
    ]
    missing = [(number, copy) for number, copy in enumerate(copies, 1) if not copy.path.exists()]
    if missing:
        recording = utterance.read()
        mono = recording.samples.mean(axis=0, keepdims=True, dtype=np.float64)
        samples = resample(mono, recording.sample_rate, _RATE)[0]
        voices = [draw_voice(settings, utterance.speaker, number, seed) for number, _ in missing]
        for (_, copy), spoken in zip(missing, revoice(samples, voices), strict=True):
            copy.path.parent.mkdir(parents=True, exist_ok=True)
            Recording(spoken[None].astype(np.float32), _RATE).write(copy.path)
    return copies


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _stretched(envelope: FloatArray, ratio: float) -> FloatArray:
    bins = envelope.shape[1]
    source = np.minimum(np.arange(bins) / ratio, bins - 1)
    below = source.astype(int)
    above = np.minimum(below + 1, bins - 1)
    share = source - below
    return np.ascontiguousarray(envelope[:, below] * (1 - share) + envelope[:, above] * share)
