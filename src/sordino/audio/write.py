"""Write recordings block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np
import numpy.typing as npt
import soundfile

from sordino.audio.ffmpeg import AacEncoder
from sordino.audio.formats import Format
from sordino.audio.ogg import clear_serial
from sordino.audio.sndfile import reason
from sordino.errors import OutputError

# The sizes in a plain WAV header end at 4 GiB; RF64 is the same file with longer ones.
_WAV_LIMIT = 2**32 - 2**20
_HEADER = 256
# libsndfile rounds these down; its other integers are finer than float32.
_STEPS = {"PCM_16": 2**15, "PCM_24": 2**23}
# libsndfile's Vorbis encoder crashes on much longer blocks.
_MOST_FRAMES = 2**16
_BYTES = {"PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4, "ULAW": 1, "ALAW": 1}


class Sink(Protocol):
    """Takes in samples."""

    def write(self, block: npt.NDArray[np.float32]) -> None:
        """Append samples (channels, samples) within [-1, 1]."""


@contextmanager
def create_audio(
    path: Path, format_: Format, *, sample_rate: int, channels: int, sample_type: str, frames: int
) -> Iterator[Sink]:
    """Create a recording that holds samples and nothing else: no tag, name, date or device.

    The file is complete, and on disk, when the context ends without an exception; after an
    exception it is removed.

    Args:
        path: the file; replaced if it exists.
        format_: what to write.
        sample_rate: in Hz.
        channels: number of channels.
        sample_type: one of the format's.
        frames: how many samples each channel will have.

    Raises:
        OutputError: the format cannot hold this, or writing failed.
    """
    format_.check(sample_rate, channels, sample_type)
    with _output_errors():
        file = path.open("w+b")
    try:
        with file:
            container = format_.container
            if container == "WAV" and frames * channels * _BYTES[sample_type] > _WAV_LIMIT:
                container = "RF64"
            with _output_errors():
                writer = (
                    AacEncoder(path, sample_rate, channels)
                    if container is None
                    else _SndfileWriter(
                        file.fileno(), container, sample_rate, channels, sample_type
                    )
                )
            try:
                yield writer
                with _output_errors():
                    writer.close()
            except BaseException:
                writer.abort()
                raise
            with _output_errors():
                if container is not None:
                    _check_frames(file.fileno(), frames)
                if container == "OGG":
                    clear_serial(file)
                elif sample_type == "FLOAT":
                    _clear_peak_date(file)
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _output_errors() -> Iterator[None]:
    try:
        yield
    except soundfile.LibsndfileError as error:
        raise OutputError(f"cannot be written ({reason(error)}; the disk may be full)") from error
    except OSError as error:
        raise OutputError(f"cannot be written: {error.strerror or error}") from error


class _SndfileWriter:
    def __init__(
        self, descriptor: int, container: str, sample_rate: int, channels: int, sample_type: str
    ) -> None:
        self._steps = _STEPS.get(sample_type, 0)
        self._file = soundfile.SoundFile(
            descriptor,
            "w",
            samplerate=sample_rate,
            channels=channels,
            format=container,
            subtype=sample_type,
            closefd=False,
        )

    def write(self, block: npt.NDArray[np.float32]) -> None:
        samples = np.ascontiguousarray(block.T, dtype=np.float32)
        if self._steps:
            samples = np.rint(samples * self._steps) / np.float32(self._steps)
        with _output_errors():
            for start in range(0, len(samples), _MOST_FRAMES):
                self._file.write(samples[start : start + _MOST_FRAMES])

    def close(self) -> None:
        self._file.close()

    def abort(self) -> None:
        # Left to the garbage collector, libsndfile would write to the descriptor when that
        # already belongs to another file.
        with suppress(soundfile.LibsndfileError):
            self._file.close()


def _check_frames(descriptor: int, frames: int) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with soundfile.SoundFile(descriptor, closefd=False) as written:
        if written.frames != frames:
            raise OutputError(
                f"came out with {written.frames} instead of {frames} samples (the disk may be full)"
            )


def _clear_peak_date(file: BinaryIO) -> None:
    # libsndfile dates the PEAK chunk of floating-point WAV files.
    file.seek(0)
    position = file.read(_HEADER).find(b"PEAK")
    if position >= 0:
        file.seek(position + 12)
        file.write(bytes(4))
