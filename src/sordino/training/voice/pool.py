"""The pool of a voice: speakers of a corpus as vectors with sex and register, without their names.

What is measured of an utterance is kept on disk; measuring can be cut short and gone on with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from sordino.audio.recording import Recording
from sordino.corpus.corpus import Corpus
from sordino.corpus.draws import digest
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.training.files import mapped, save_array
from sordino.training.vocoder.frames import SAMPLE_RATE, training_wave

if TYPE_CHECKING:
    from sordino.dsp.pitch.base import Tracker
    from sordino.speaker.encoders import OnnxEncoder

FloatArray = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]

# Ten seconds of voice tell where somebody speaks to less than a semitone.
_FEWEST_VOICED = 50


@dataclass(frozen=True)
class PoolSettings:
    """Who is in the pool.

    Attributes:
        speakers: at most so many of each sex; 0 for all.
        utterances: at most so many of a speaker.
        shortest_seconds: utterances that are shorter are left out.
        longest_seconds: of a longer utterance only the beginning is heard.
        seed: decides which.
    """

    speakers: int = 0
    utterances: int = 20
    shortest_seconds: float = 1.0
    longest_seconds: float = 30.0
    seed: int = 0

    def __post_init__(self) -> None:
        for right, what in (
            (self.speakers >= 0, "speakers is 0 or more"),
            (self.utterances >= 1, "utterances is 1 or more"),
            (
                0.3 <= self.shortest_seconds <= self.longest_seconds,
                "shortest_seconds is 0.3 or more, and no more than longest_seconds",
            ),
            (0 <= self.seed < 2**32, "seed is 0 or more, and less than 2 ** 32"),
        ):
            if not right:
                raise UsageError(f"pool: {what}")

    def ear(self, encoder: str, tracker: str) -> Ear:
        """What the pool is measured with.

        Args:
            encoder: name or folder of a speaker encoder.
            tracker: of pitch.
        """
        return Ear(
            encoder,
            tracker,
            shortest=round(self.shortest_seconds * SAMPLE_RATE),
            longest=round(self.longest_seconds * SAMPLE_RATE),
        )


@dataclass(frozen=True)
class Ear:
    """What utterances of a pool are measured with; it can be pickled.

    Attributes:
        encoder: name or folder of a speaker encoder.
        tracker: of pitch.
        shortest: in samples; shorter utterances are left out, and silent ones.
        longest: in samples; of longer ones only the beginning is heard.
    """

    encoder: str
    tracker: str
    shortest: int
    longest: int


def chosen(corpus: Corpus, settings: PoolSettings) -> list[Utterance]:
    """The utterances of a pool.

    Speakers and utterances are drawn by a hash of their ids: another order of the corpus changes
    nothing, and a larger pool holds the smaller one.

    Example:
        >>> corpus = Corpus(tuple(Utterance(f"a{n}", Path("a.wav"), "anna") for n in range(9)))
        >>> len(chosen(corpus, PoolSettings(utterances=4)))
        4
    """
    by_sex: dict[str, list[str]] = {}
    groups = corpus.by_speaker()
    for name, utterances in groups.items():
        by_sex.setdefault(utterances[0].sex or "", []).append(name)
    found: list[Utterance] = []
    for names in by_sex.values():
        ranked = sorted(names, key=lambda name: digest(settings.seed, "pool", name))
        for name in ranked[: settings.speakers or None]:
            own = sorted(groups[name], key=lambda u: digest(settings.seed, "pool", u.id))
            found += own[: settings.utterances]
    return found


def make_pool(
    utterances: Sequence[Utterance], folder: Path, ear: Ear, jobs: int, *, quiet: bool = False
) -> Arrays:
    """Measure the speakers of a pool; what was measured before stays.

    Args:
        utterances: of all speakers; see `chosen`.
        folder: where measurements are kept.
        ear: what to measure with.
        jobs: processes.
        quiet: show no progress.

    Returns:
        `vectors` (speakers, dimension) float32, the mean of each speaker's utterance vectors, all
        of length 1 before; `sex` (speakers,) "F", "M" or ""; `pitch_mean` and `pitch_deviation`
        (speakers,), of natural-log F0 over voiced frames. The order says nothing of who it is:
        it is that of the vectors.

    Raises:
        UsageError: nobody is left who speaks half a second with a voice.
        AudioError: an utterance cannot be read; the message starts with its path.
    """
    tasks = [(utterance, folder, ear) for utterance in utterances]
    with tqdm(total=len(tasks), desc="pool", unit="utt", disable=quiet) as bar:
        measured = []
        for measurement in mapped(_measure, tasks, jobs):
            measured.append(measurement)
            bar.update()
    speakers: dict[str, list[FloatArray]] = {}
    sexes = {utterance.speaker: utterance.sex or "" for utterance in utterances}
    for utterance, measurement in zip(utterances, measured, strict=True):
        if measurement.size:
            speakers.setdefault(utterance.speaker, []).append(measurement)
    summed = {name: np.mean(parts, axis=0) for name, parts in speakers.items()}
    counts = {name: float(np.sum(parts, axis=0)[0]) for name, parts in speakers.items()}
    voiced = [name for name, count in counts.items() if count >= _FEWEST_VOICED]
    if not voiced:
        raise UsageError("the pool is empty: nobody in it speaks half a second with a voice")
    voiced.sort(key=lambda name: summed[name][3:].tolist())
    registers = [_register(summed[name]) for name in voiced]
    return {
        "vectors": np.stack([summed[name][3:] for name in voiced]).astype(np.float32),
        "sex": np.array([sexes[name] for name in voiced], dtype=np.str_),
        "pitch_mean": np.array([mean for mean, _ in registers]),
        "pitch_deviation": np.array([deviation for _, deviation in registers]),
    }


def described_pool(pool: Mapping[str, npt.NDArray[Any]]) -> str:
    """Who is in a pool, in words.

    Example:
        >>> described_pool({"sex": np.array(["F", "M", "M", ""])})
        '4 speakers: 1 F, 2 M, 1 whose sex is not known'
    """
    sexes = pool["sex"].tolist()
    words = {"F": "F", "M": "M", "": "whose sex is not known"}
    parts = [f"{sexes.count(sex)} {word}" for sex, word in words.items() if sex in sexes]
    return f"{len(sexes)} speakers: {', '.join(parts)}"


def _register(sums: FloatArray) -> tuple[float, float]:
    mean = sums[1] / sums[0]
    return float(mean), float(np.sqrt(max(0.0, sums[2] / sums[0] - mean**2)))


def _measure(task: tuple[Utterance, Path, Ear]) -> FloatArray:
    """Voiced frames, sum and sum of squares of log F0, and the vector; nothing if too short."""
    utterance, folder, ear = task
    path = folder / f"{hashlib.sha256(utterance.id.encode()).hexdigest()[:24]}.npy"
    if path.exists():
        known: FloatArray = np.load(path, allow_pickle=False)
        return known
    encoder, tracker = _opened(ear)
    recording = utterance.read()
    wave = training_wave(recording, ear.longest)
    found = np.zeros(0)
    if wave.size >= ear.shortest and wave.any():
        try:
            vector = encoder.embed(Recording(wave[None], SAMPLE_RATE)).astype(np.float64)
            f0 = tracker.track(wave)
        except AudioError as error:
            raise AudioError(f"{utterance.path}: {error}") from error
        logs = np.log(f0[f0 > 0])
        sums = [logs.size, logs.sum(), (logs**2).sum()]
        found = np.concatenate([sums, vector / max(float(np.linalg.norm(vector)), 1e-12)])
    save_array(path, found)
    return found


@lru_cache(maxsize=1)
def _opened(ear: Ear) -> tuple[OnnxEncoder, Tracker]:
    # Once in each process: tasks reach workers one by one.
    from sordino.dsp.pitch import load_tracker
    from sordino.speaker.encoders import load_encoder

    return load_encoder(ear.encoder), load_tracker(ear.tracker)
