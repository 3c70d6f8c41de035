"""Rows of utterances on disk, a file for each: made once, whatever ends the run that makes them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, OutputError
from sordino.training.files import save_array
from sordino.training.waves import whole_wave

FloatArray = npt.NDArray[np.float32]
Rows = npt.NDArray[np.generic]
Compute = Callable[[Sequence[FloatArray]], Sequence[Sequence[Rows]]]

# Enough that many have the same number of frames, and little enough for memory.
_TOGETHER = 64


class RowCache:
    """Arrays whose first dimension is frames, one for each utterance.

    A file is complete or not there. Its name depends on the utterance's id, its times in the
    recording and the recording's size, and not on where the recording lies.

    Args:
        folder: where they are; made when the first is written. What decides the rows has to be in
            its name, or settled for all that is in the folder above.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as place:
        ...     _ = Path(place, "a.wav").write_bytes(b"...")
        ...     utterance = Utterance("a", Path(place, "a.wav"), "anna")
        ...     cache = RowCache(Path(place, "rows"))
        ...     cache.store(utterance, np.arange(6).reshape(3, 2))
        ...     cache.read(utterance, 1, 2).tolist()
        [[2, 3], [4, 5]]
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, utterance: Utterance) -> Path:
        """The file of an utterance, whether it is there or not.

        Raises:
            AudioError: there is no recording.
        """
        try:
            size = utterance.path.stat().st_size
        except OSError as error:
            raise AudioError(f"{utterance.path}: {error.strerror}") from error
        facts = f"{utterance.id!r} {utterance.start} {utterance.end} {size}"
        name = hashlib.sha256(facts.encode()).hexdigest()[:24]
        return self.folder / name[:2] / f"{name}.npy"

    def has(self, utterance: Utterance) -> bool:
        """Whether an utterance has been stored."""
        return self.path(utterance).exists()

    def store(self, utterance: Utterance, rows: Rows) -> None:
        """Write the rows of an utterance.

        Raises:
            OutputError: they cannot be written.
        """
        save_array(self.path(utterance), rows)

    def count(self, utterance: Utterance) -> int:
        """How many rows an utterance has."""
        return int(self._open(utterance).shape[0])

    def read(self, utterance: Utterance, first: int = 0, rows: int | None = None) -> Rows:
        """Rows of an utterance from a place on; only they are read.

        Args:
            utterance: one that is stored.
            first: the first row.
            rows: how many at most; None for all.
        """
        last = None if rows is None else first + rows
        return np.array(self._open(utterance)[first:last])

    def _open(self, utterance: Utterance) -> Rows:
        path = self.path(utterance)
        try:
            found: Rows = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise OutputError(f"{path}: cannot be read; remove it, and go on") from error
        return found


def fill_caches(
    caches: Sequence[RowCache],
    utterances: Sequence[Utterance],
    compute: Compute,
    *,
    label: str,
    quiet: bool = False,
) -> None:
    """Compute and store the rows of the utterances that are not in all of some caches.

    Args:
        caches: where to.
        utterances: of any length.
        compute: waves at 16 kHz to rows for each cache, for each wave.
        label: shown with the progress.
        quiet: show none.

    Raises:
        AudioError: an utterance cannot be read or is too short; the message starts with its path.
        OutputError: rows cannot be written.
    """
    missing = [one for one in utterances if not all(cache.has(one) for cache in caches)]
    with tqdm(
        total=len(utterances),
        initial=len(utterances) - len(missing),
        desc=label,
        unit="utt",
        disable=quiet,
    ) as bar:
        for chunk in _chunks(missing):
            waves = [whole_wave(utterance) for utterance in chunk]
            for utterance, found in zip(chunk, _computed(compute, chunk, waves), strict=True):
                for cache, rows in zip(caches, found, strict=True):
                    cache.store(utterance, rows)
            bar.update(len(chunk))


def _computed(
    compute: Compute, chunk: Sequence[Utterance], waves: Sequence[FloatArray]
) -> Sequence[Sequence[Rows]]:
    try:
        return compute(waves)
    except AudioError:
        # Alone each of them tells whether it was the one.
        for utterance, wave in zip(chunk, waves, strict=True):
            try:
                compute([wave])
            except AudioError as error:
                raise AudioError(f"{utterance.path}: {error}") from error
        raise


def half(rows: FloatArray) -> npt.NDArray[np.float16]:
    """Rows in 16 bits; what is out of their range becomes the last number that is in it.

    Example:
        >>> half(np.array([1e6, 0.5], np.float32)).tolist()
        [65504.0, 0.5]
    """
    largest = np.float32(np.finfo(np.float16).max)
    return rows.clip(-largest, largest).astype(np.float16)


def _chunks(utterances: Sequence[Utterance]) -> Iterator[Sequence[Utterance]]:
    # Similar lengths come together, where they are known.
    ordered = sorted(utterances, key=lambda utterance: utterance.duration or 0.0)
    for start in range(0, len(ordered), _TOGETHER):
        yield ordered[start : start + _TOGETHER]
