"""Read recordings block by block."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from sordino.audio.ffmpeg import FfmpegDecoder
from sordino.audio.formats import MAX_RATE, MIN_RATE, read_by_ffmpeg
from sordino.errors import AudioError

Block = npt.NDArray[np.float32]


@dataclass(frozen=True)
class AudioInfo:
    """What a file says of itself.

    Attributes:
        sample_rate: in Hz.
        channels: number of channels.
        sample_type: how samples are stored, by libsndfile's names ("PCM_16", "FLOAT", ...).
        frames: samples in each channel, or None where only decoding tells.
    """

    sample_rate: int
    channels: int
    sample_type: str
    frames: int | None


class AudioReader:
    """An open recording. Made by `open_audio`."""

    def __init__(self, info: AudioInfo, source: soundfile.SoundFile | FfmpegDecoder) -> None:
        self.info = info
        self._source = source

    def blocks(self, frames: int) -> Iterator[Block]:
        """The samples, once, as float32 arrays (channels, samples) with full scale 1.

        Args:
            frames: the most samples in a block.

        Raises:
            AudioError: the file is cut short or damaged, has no samples, or holds NaN or infinity.
        """
        done = 0
        for block in self._raw_blocks(frames):
            if not np.isfinite(block).all():
                first = int(np.flatnonzero(~np.isfinite(block).all(axis=0))[0])
                at = (done + first) / self.info.sample_rate
                raise AudioError(f"holds NaN or infinite samples (first at {at:.3f} s)")
            done += block.shape[1]
            yield block
        if done == 0:
            raise AudioError("holds no samples")
        if self.info.frames is not None and done < self.info.frames:
            raise AudioError(
                f"is cut short or damaged: only {done} of {self.info.frames} samples can be decoded"
            )

    def _raw_blocks(self, frames: int) -> Iterator[Block]:
        if isinstance(self._source, FfmpegDecoder):
            yield from self._source.blocks(frames)
            return
        while True:
            try:
                data = self._source.read(frames, dtype="float32", always_2d=True)
            except soundfile.LibsndfileError as error:
                raise AudioError(f"is cut short or damaged ({_reason(error)})") from error
            if not len(data):
                return
            yield data.T


@contextmanager
def open_audio(path: Path) -> Iterator[AudioReader]:
    """Open a recording, or the sound track of a video, for reading.

    WAV, FLAC, MP3, OGG, Opus, AIFF, AU, CAF, W64 and NIST SPHERE are read by libsndfile; M4A,
    AAC, MP4, WebM and their kin by FFmpeg.

    Args:
        path: the file.

    Yields:
        A reader; its `info` is known at once, its samples come from `blocks`.

    Raises:
        AudioError: the file cannot be opened, is empty, or is not audio.

    Example:
        >>> with open_audio(Path("talk.wav")) as reader:  # doctest: +SKIP
        ...     seconds = sum(b.shape[1] for b in reader.blocks(4096)) / reader.info.sample_rate
    """
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise AudioError("is empty (0 bytes)")
            if read_by_ffmpeg(path):
                decoder = FfmpegDecoder(path)
                try:
                    info = AudioInfo(decoder.sample_rate, decoder.channels, "AAC", None)
                    yield AudioReader(_checked(info), decoder)
                finally:
                    decoder.close()
                return
            try:
                source = soundfile.SoundFile(file.fileno(), closefd=False)
            except soundfile.LibsndfileError as error:
                raise AudioError(f"is not audio that can be read ({_reason(error)})") from error
            with source:
                # The frame count of an MP3 may be an estimate.
                frames = None if source.format == "MP3" else source.frames
                info = AudioInfo(source.samplerate, source.channels, source.subtype, frames)
                yield AudioReader(_checked(info), source)
    except OSError as error:
        raise AudioError(f"cannot be opened: {error.strerror or error}") from error


def _checked(info: AudioInfo) -> AudioInfo:
    if not MIN_RATE <= info.sample_rate <= MAX_RATE:
        raise AudioError(
            f"has a sample rate of {info.sample_rate} Hz, outside {MIN_RATE} to {MAX_RATE} Hz"
        )
    if info.channels < 1:
        raise AudioError("has no channels")
    return info


def _reason(error: soundfile.LibsndfileError) -> str:
    return str(error.error_string).removeprefix("Error : ").rstrip(".")
