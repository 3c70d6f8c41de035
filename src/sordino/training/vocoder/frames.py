"""What a generator hears of an utterance and what it is to say, frame by frame, kept on disk.

One file for each utterance holds a row for each 20 ms: the samples, the content, the pitch. It is
read by mapping it into memory, so that a crop costs no more than its own bytes. A file is complete
or not there: making them can be cut short and gone on with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from sordino.anonymize.input_level import FLOOR, TARGET, amplitudes
from sordino.audio.recording import Recording
from sordino.audio.resample import resample
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.models.find import load_model
from sordino.training.features.cache import half
from sordino.training.files import mapped, save_array
from sordino.training.vocoder.recipe import STEP

if TYPE_CHECKING:
    from sordino.dsp.pitch.base import Tracker
    from sordino.models.bundle import Bundle
    from sordino.speaker.encoders import OnnxEncoder

FloatArray = npt.NDArray[np.float32]

SAMPLE_RATE = 16000
PITCH_HOP = 160

_FULL_SCALE = 32767
_HIGHEST_PEAK = 0.999
_STANDARD_UTTERANCES, _STANDARD_STRIDE = 500, 10
_LEAST_DEVIATION = 1e-3


@dataclass(frozen=True)
class Sources:
    """Where frames come from; it can be pickled.

    Attributes:
        content: name or folder of a content model; empty for none.
        encoder: name or folder of a speaker encoder.
        tracker: of pitch.
        shortest: in samples; shorter utterances are left out, and silent ones.
        longest: in samples; of longer ones only the beginning is heard.
        features: what a teacher says instead of a content model: a description for
            `load_features`, in JSON; empty for nothing.
        device: that the teacher runs on; see `load_features`.
    """

    content: str
    encoder: str
    tracker: str
    shortest: int
    longest: int
    features: str = ""
    device: str = "auto"


@dataclass(frozen=True)
class Standard:
    """Mean and standard deviation of a teacher's features.

    Attributes:
        mean: shape (dimension,).
        deviation: shape (dimension,), above 0.
    """

    mean: FloatArray
    deviation: FloatArray


@dataclass(frozen=True)
class Framed:
    """An utterance whose frames are on disk.

    Attributes:
        utterance: what it is.
        path: of the frames.
        rows: how many there are, of 20 ms each.
        speed: at which it is played; at another one it is another speaker's.
    """

    utterance: Utterance
    path: Path
    rows: int
    speed: float = 1.0

    @property
    def speaker(self) -> str:
        """Who speaks."""
        return _at_speed(self.utterance.speaker, self.speed)

    def read(self, first: int = 0, rows: int | None = None) -> npt.NDArray[np.void]:
        """Some of the rows; see `row_type`."""
        stored = np.load(self.path, mmap_mode="r", allow_pickle=False)
        last = self.rows if rows is None else first + rows
        return np.array(stored[first:last])


def row_type(channels: int, hop: int) -> np.dtype[np.void]:
    """What a row of frames holds: `wave` (16-bit), `f0` (Hz, 0 where unvoiced), `content`.

    Args:
        channels: of the content.
        hop: samples between two content frames; 320 is a multiple of it.

    Example:
        >>> row_type(200, 320)["content"].shape
        (1, 200)
    """
    return np.dtype(
        [
            ("wave", "<i2", (STEP,)),
            ("f0", "<f4", (STEP // PITCH_HOP,)),
            ("content", "<f2", (STEP // hop, channels)),
        ]
    )


def wave_of(rows: npt.NDArray[np.void]) -> FloatArray:
    """The samples of rows, shape (rows * 320,)."""
    return np.asarray(rows["wave"].reshape(-1) / np.float32(_FULL_SCALE), dtype=np.float32)


def f0_of(rows: npt.NDArray[np.void]) -> FloatArray:
    """The pitch of rows in Hz, shape (rows * 2,)."""
    return np.asarray(rows["f0"].reshape(-1), dtype=np.float32)


def content_of(rows: npt.NDArray[np.void]) -> FloatArray:
    """The content of rows, shape (content frames, channels)."""
    content = rows["content"]
    shape = (content.shape[0] * content.shape[1], content.shape[2])
    return np.asarray(content.reshape(shape), dtype=np.float32)


def standard_of(framed: Sequence[Framed]) -> Standard:
    """Mean and deviation of a teacher's features, over every tenth row of at most 500 utterances.

    Args:
        framed: utterances whose frames hold features in the place of content.
    """
    count = 0
    sums: npt.NDArray[np.float64] | float = 0.0
    squares: npt.NDArray[np.float64] | float = 0.0
    for known in framed[:: max(1, len(framed) // _STANDARD_UTTERANCES)]:
        features = content_of(known.read()[::_STANDARD_STRIDE]).astype(np.float64)
        count += len(features)
        sums = sums + features.sum(axis=0)
        squares = squares + np.square(features).sum(axis=0)
    mean = np.asarray(sums) / count
    variance = np.maximum(np.asarray(squares) / count - mean**2, 0.0)
    # A value that never changes teaches nothing, whatever it is divided by.
    deviation = np.sqrt(variance) + _LEAST_DEVIATION
    return Standard(mean.astype(np.float32), deviation.astype(np.float32))


def training_wave(recording: Recording, longest: int, speed: float = 1.0) -> FloatArray:
    """One channel at 16 kHz, at the level that networks hear at run time.

    Where the peaks would then be beyond full scale it stays below that level.

    Args:
        recording: any.
        longest: samples to take from the beginning.
        speed: at which it is played, with pitch and formants as on a turntable.

    Returns:
        Shape (samples,), a multiple of 320; zeros where it is silent.

    Example:
        >>> hiss = np.random.default_rng(0).normal(size=(2, 8000)).astype(np.float32)
        >>> wave = training_wave(Recording(hiss, 8000), 10000)
        >>> wave.shape, round(float(wave.std()), 2)
        ((9920,), 0.08)
    """
    mono = recording.samples.mean(axis=0, keepdims=True, dtype=np.float64)
    wave = resample(mono, round(recording.sample_rate * speed), SAMPLE_RATE)[0][:longest]
    wave = wave[: wave.size // STEP * STEP]
    sound = amplitudes(wave[None])
    sound = sound[sound > FLOOR]
    if not sound.size:
        return np.zeros(wave.size, np.float32)
    gain = TARGET * sound.sum() / (sound**2).sum()
    gain = min(gain, _HIGHEST_PEAK / float(np.abs(wave).max()))
    return np.asarray(gain * wave, dtype=np.float32)


def content_facts(bundle: Bundle) -> dict[str, int | None]:
    """What a content model says of its content: "hop", "channels", "context".

    Raises:
        UsageError: its frames do not fit those of training.
    """
    about = bundle.metadata.get("content")
    about = about if isinstance(about, dict) else {}
    hop, channels = about.get("hop"), about.get("channels")
    if hop not in {PITCH_HOP, STEP} or not isinstance(channels, int) or channels < 1:
        raise UsageError(
            f"model {bundle.name}: a vocoder needs content with a hop of {PITCH_HOP} or {STEP}"
            f" samples; its hop is {hop!r}, with {channels!r} channels"
        )
    return {"hop": hop, "channels": channels, "context": about.get("context")}


def make_frames(
    utterances: Sequence[Utterance],
    folder: Path,
    sources: Sources,
    jobs: int,
    *,
    speeds: Sequence[float] = (1.0,),
    quiet: bool = False,
) -> tuple[list[Framed], FloatArray]:
    """Make the frames and speaker vectors of utterances; what is there from before stays.

    Args:
        utterances: speech, any format and rate.
        folder: where files go.
        sources: models and lengths.
        jobs: processes.
        speeds: at which each utterance is played, in the order in which they come.
        quiet: show no progress.

    Returns:
        The utterances that are long enough and not silent; and their speaker vectors, each of
        length 1, shape (utterances, dimension).

    Raises:
        UsageError: there is no such model, or no utterance is left.
        AudioError: an utterance cannot be read, or has no speaker vector; the message starts with
            its path.
    """
    tasks = [(utterance, speed, folder, sources) for speed in speeds for utterance in utterances]
    missing = [task for task in tasks if not _place(folder, task[0], task[1]).exists()]
    with tqdm(
        total=len(tasks),
        initial=len(tasks) - len(missing),
        desc="frames",
        unit="utt",
        disable=quiet,
    ) as bar:
        for _ in mapped(_make, missing, jobs):
            bar.update()
    framed, vectors = [], []
    for utterance, speed, *_ in tasks:
        path = _place(folder, utterance, speed)
        rows = int(np.load(path, mmap_mode="r", allow_pickle=False).shape[0])
        if rows:
            framed.append(Framed(utterance, path, rows, speed))
            vectors.append(np.load(_vector_place(path), allow_pickle=False))
    if not framed:
        raise UsageError(
            f"no utterance lasts {sources.shortest / SAMPLE_RATE:g} s and is not silent"
        )
    return framed, np.stack(vectors)


def _make(task: tuple[Utterance, float, Path, Sources]) -> None:
    utterance, speed, folder, sources = task
    tools = _opened(sources)
    recording = utterance.read()
    try:
        wave = training_wave(recording, sources.longest, speed)
        heard = wave.size >= sources.shortest and wave.any()
        rows = tools.rows(wave if heard else wave[:0])
        vector = tools.vector(wave) if rows.size else np.zeros(0, np.float32)
    except AudioError as error:
        raise AudioError(f"{utterance.path}: {error}") from error
    path = _place(folder, utterance, speed)
    save_array(_vector_place(path), vector)
    save_array(path, rows)


class _Tools:
    """The models of `Sources`, opened.

    Args:
        content: waves to content frames, or to a teacher's features.
        rows: see `row_type`.
        encoder: of speakers.
        tracker: of pitch.
    """

    def __init__(
        self,
        content: Callable[[FloatArray], FloatArray],
        rows: np.dtype[np.void],
        encoder: OnnxEncoder,
        tracker: Tracker,
    ) -> None:
        self._content = content
        self._encoder = encoder
        self._tracker = tracker
        self._type = rows

    def rows(self, wave: FloatArray) -> npt.NDArray[np.void]:
        rows = np.zeros(wave.size // STEP, self._type)
        if rows.size:
            content = self._content(wave)
            f0 = self._tracker.track(wave)
            rows["wave"] = np.round(wave * _FULL_SCALE).reshape(-1, STEP)
            rows["f0"] = f0.reshape(rows["f0"].shape)
            rows["content"] = half(content).reshape(rows["content"].shape)
        return rows

    def vector(self, wave: FloatArray) -> FloatArray:
        vector = self._encoder.embed(Recording(wave[None], SAMPLE_RATE))
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)


@lru_cache(maxsize=1)
def _opened(sources: Sources) -> _Tools:
    # Once in each process: tasks reach workers one by one.
    from sordino.dsp.pitch import load_tracker
    from sordino.speaker.encoders import load_encoder

    content, rows = _content_tool(sources)
    return _Tools(content, rows, load_encoder(sources.encoder), load_tracker(sources.tracker))


def _content_tool(
    sources: Sources,
) -> tuple[Callable[[FloatArray], FloatArray], np.dtype[np.void]]:
    if sources.features:
        from sordino.training.features.base import load_features

        teacher = load_features(json.loads(sources.features), device=sources.device)
        return teacher.features, row_type(teacher.dimension, STEP)
    if not sources.content:
        return lambda wave: np.zeros((wave.size // STEP, 0), np.float32), row_type(0, STEP)
    from sordino.models.session import Session

    session = Session(load_model(sources.content, "content"), "content.onnx")
    about = content_facts(session.bundle)

    def content(wave: FloatArray) -> FloatArray:
        (found,) = session.run({"wave": wave[None]}, ["content"])
        return np.asarray(found[0])

    return content, row_type(int(about["channels"] or 0), int(about["hop"] or 0))


def _place(folder: Path, utterance: Utterance, speed: float) -> Path:
    name = _at_speed(utterance.id, speed)
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:24]}.npy"


def _at_speed(name: str, speed: float) -> str:
    return name if speed == 1 else f"{name} x{speed:g}"


def _vector_place(path: Path) -> Path:
    return path.with_suffix(".vector.npy")
