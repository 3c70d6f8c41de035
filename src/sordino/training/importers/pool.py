"""Pool speakers from a folder of `UTTERANCE.xvector` files with tables as Kaldi has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.corpus.layouts import kaldi
from sordino.corpus.layouts.tables import Entry, read_table
from sordino.corpus.utterance import Utterance, sex_of
from sordino.dsp.pitch import load_tracker
from sordino.dsp.pitch.base import HOP, Tracker
from sordino.errors import UsageError
from sordino.evaluate.utility.wave import wave_of

FloatArray = npt.NDArray[np.float64]
Arrays = dict[str, npt.NDArray[Any]]

_ENDING = ".xvector"
_SPEAKERS, _SEXES, _PITCH, _RECORDINGS = "utt2spk", "spk2gender", "spk2pitch", "wav.scp"
# Ten seconds of voice tell where somebody speaks to less than a semitone.
_ENOUGH_FRAMES, _FEWEST_FRAMES = 1000, 50


def read_pool(folder: Path, *, tracker: str = "swift") -> Arrays:
    """The arrays of a voice's `pool.npz`.

    Args:
        folder: has `utt2spk` and `spk2gender`, and anywhere in it a file `UTTERANCE.xvector` for
            each utterance of `utt2spk`: a speaker vector as little-endian float32 and nothing
            else. Pitch is that of `spk2pitch` (a line for each speaker: name, mean and standard
            deviation of the natural logarithm of F0 in hertz) where there is one; otherwise it is
            measured on the recordings of `wav.scp`, ten seconds of voice of each speaker.
        tracker: of pitch, for recordings.

    Returns:
        `vectors` (speakers, dimension) float32, the mean of each speaker's utterance vectors, all
        of length 1 before; `sex` (speakers,) "F", "M" or ""; `pitch_mean` and `pitch_deviation`
        (speakers,), of natural-log F0. Names are left out, and the order is that of the vectors.

    Raises:
        UsageError: a table or vector is missing, left over or not right; the message names it.
        AudioError: a recording cannot be read.

    Example:
        >>> read_pool(Path("libritts_train_other_500"))["vectors"].shape  # doctest: +SKIP
        (1160, 192)
    """
    speakers = read_table(folder / _SPEAKERS)
    units = {name: _unit_vector(file) for name, file in _vector_files(folder, speakers).items()}
    sizes = {vector.size for vector in units.values()}
    if len(sizes) != 1:
        raise UsageError(f"{folder}: holds vectors of {min(sizes)} and of {max(sizes)} numbers")
    groups: dict[str, list[FloatArray]] = {}
    for utterance, entry in speakers.items():
        groups.setdefault(entry.value, []).append(units[utterance])
    means = {name: np.mean(vectors, axis=0) for name, vectors in groups.items()}
    names = sorted(means, key=lambda name: means[name].tolist())
    registers = _registers(folder, names, tracker)
    return {
        "vectors": np.stack([means[name] for name in names]).astype(np.float32),
        "sex": np.array(_sexes(folder / _SEXES, names), dtype=np.str_),
        "pitch_mean": np.array([mean for mean, _ in registers]),
        "pitch_deviation": np.array([deviation for _, deviation in registers]),
    }


def holds_vectors(folder: Path) -> bool:
    """Whether there is any `UTTERANCE.xvector` in a folder."""
    return next(folder.rglob(f"*{_ENDING}"), None) is not None


def _vector_files(folder: Path, speakers: Mapping[str, Entry]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for file in sorted(folder.rglob(f"*{_ENDING}")):
        if file.stem in files:
            raise UsageError(f"{file}: stands in {files[file.stem].parent} too")
        if file.stem not in speakers:
            raise UsageError(f"{file}: {folder / _SPEAKERS} does not say whose it is")
        files[file.stem] = file
    for utterance, entry in speakers.items():
        if utterance not in files:
            raise UsageError(
                f"{folder / _SPEAKERS}, line {entry.line}: there is no {utterance}{_ENDING}"
            )
    return files


def _unit_vector(file: Path) -> FloatArray:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error
    if not data or len(data) % 4:
        raise UsageError(f"{file}: has {len(data)} bytes; expected four for each number")
    vector = np.frombuffer(data, dtype="<f4").astype(np.float64)
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0:
        raise UsageError(f"{file}: is no speaker vector (its length is {length:g})")
    return vector / length


def _sexes(table: Path, names: Sequence[str]) -> list[str]:
    sexes = []
    for entry in _entries(table, names):
        try:
            sexes.append(sex_of(entry.value) or "")
        except UsageError as error:
            raise UsageError(f"{table}, line {entry.line}: {error}") from error
    return sexes


def _registers(folder: Path, names: Sequence[str], tracker: str) -> list[tuple[float, float]]:
    table = folder / _PITCH
    if table.exists():
        return [_written_register(table, entry) for entry in _entries(table, names)]
    if not (folder / _RECORDINGS).exists():
        raise UsageError(
            f"{folder}: says nothing of the speakers' pitch; expected {_PITCH} (name, mean and"
            f" deviation of natural-log F0), or {_RECORDINGS} with recordings to measure it on"
        )
    recordings = kaldi.read(folder).by_speaker()
    finder = load_tracker(tracker)
    return [_measured_register(name, recordings.get(name, ()), finder) for name in names]


def _entries(table: Path, names: Sequence[str]) -> list[Entry]:
    """What a table says of each speaker; of others it may say something too."""
    entries = read_table(table)
    for name in names:
        if name not in entries:
            raise UsageError(f"{table}: lacks the speaker {name}")
    return [entries[name] for name in names]


def _written_register(table: Path, entry: Entry) -> tuple[float, float]:
    try:
        mean, deviation = (float(text) for text in entry.value.split())
    except ValueError:
        raise UsageError(
            f"{table}, line {entry.line}: expected a speaker, a mean and a deviation"
        ) from None
    return mean, deviation


def _measured_register(
    name: str, utterances: Iterable[Utterance], tracker: Tracker
) -> tuple[float, float]:
    logs: list[FloatArray] = []
    for utterance in utterances:
        wave = wave_of(utterance.read())
        f0 = tracker.track(wave[: wave.size // HOP * HOP])
        logs.append(np.log(f0[f0 > 0]))
        if sum(log.size for log in logs) >= _ENOUGH_FRAMES:
            break
    voiced = np.concatenate(logs) if logs else np.zeros(0)
    if voiced.size < _FEWEST_FRAMES:
        raise UsageError(
            f"pool speaker {name}: {voiced.size} frames of 10 ms are voiced in all recordings;"
            f" expected at least {_FEWEST_FRAMES}"
        )
    return float(voiced.mean()), float(voiced.std())
