"""A whole recording in memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.audio.formats import FORMATS, Format, format_named
from sordino.audio.read import open_audio
from sordino.audio.write import create_audio
from sordino.errors import AudioError, OutputError

_BLOCK = 2**16


@dataclass(frozen=True)
class Recording:
    """Samples and their rate. For recordings too long for memory use `open_audio`.

    Attributes:
        samples: float32, shape (channels, samples), full scale 1.
        sample_rate: in Hz.

    Raises:
        AudioError: the samples are not a finite array of that shape.

    Example:
        >>> Recording(np.zeros((2, 8000), dtype=np.float32), 16000).duration
        0.5
    """

    samples: npt.NDArray[np.float32]
    sample_rate: int

    def __post_init__(self) -> None:
        if self.samples.dtype != np.float32:
            raise AudioError(f"samples are {self.samples.dtype}; expected float32")
        if self.samples.ndim != 2 or self.samples.size == 0:
            raise AudioError(
                f"samples have shape {self.samples.shape}; expected (channels, samples)"
            )
        if not np.isfinite(self.samples).all():
            raise AudioError("samples hold NaN or infinity")

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return float(self.samples.shape[1] / self.sample_rate)

    @classmethod
    def read(cls, path: Path | str, *, longest: float = math.inf) -> Recording:
        """Read a file of any known format.

        Args:
            path: the file.
            longest: in seconds; a longer file is refused as soon as that is known, so that it
                cannot fill the memory.

        Raises:
            AudioError: see `open_audio`, or the file is too long; the message starts with the
                path.
        """
        try:
            with open_audio(Path(path)) as reader:
                blocks = _at_most(reader.blocks(_BLOCK), longest * reader.info.sample_rate)
                return cls(np.concatenate(list(blocks), axis=1), reader.info.sample_rate)
        except _TooLongError as error:
            raise AudioError(
                f"{path}: is longer than {longest:g} s; cut it or give a part of it"
            ) from error
        except AudioError as error:
            raise AudioError(f"{path}: {error}") from error

    def write(self, path: Path | str, *, sample_type: str = "PCM_16") -> None:
        """Write a file whose format follows from its name; samples beyond full scale are an error.

        Args:
            path: the file; if it exists it is replaced when the new one is complete.
            sample_type: "PCM_16", "PCM_24", "PCM_32" or "FLOAT"; the format's nearest is stored.

        Raises:
            OutputError: the name or the format cannot hold this, samples would clip, or writing
                failed; the message starts with the path.
        """
        target = Path(path)
        part = target.with_name(f".{target.name}.part")
        try:
            self._write(part, _format_of(target), sample_type)
            part.replace(target)
        except OutputError as error:
            raise OutputError(f"{path}: {error}") from error
        except OSError as error:
            part.unlink(missing_ok=True)
            raise OutputError(f"{path}: cannot be written: {error.strerror}") from error

    def _write(self, path: Path, format_: Format, sample_type: str) -> None:
        if np.abs(self.samples).max() > 1.0:
            raise OutputError("samples beyond full scale would clip; scale them first")
        channels, frames = self.samples.shape
        format_.check(self.sample_rate, channels)
        with create_audio(
            path,
            format_,
            sample_rate=self.sample_rate,
            channels=channels,
            sample_type=format_.sample_type(sample_type),
            frames=frames,
        ) as sink:
            for start in range(0, frames, _BLOCK):
                sink.write(self.samples[:, start : start + _BLOCK])


class _TooLongError(Exception):
    pass


def _at_most(
    blocks: Iterable[npt.NDArray[np.float32]], samples: float
) -> Iterator[npt.NDArray[np.float32]]:
    done = 0
    for block in blocks:
        done += block.shape[1]
        if done > samples:
            raise _TooLongError
        yield block


def _format_of(path: Path) -> Format:
    format_ = format_named(path)
    if format_ is None:
        raise OutputError(f"its ending names no format that is written ({', '.join(FORMATS)})")
    return format_
