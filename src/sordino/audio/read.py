"""Read recordings block by block."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import soundfile

from sordino.audio.ffmpeg import FfmpegDecoder
from sordino.audio.formats import LARGEST_SAMPLE, MAX_RATE, MIN_RATE, read_by_ffmpeg
from sordino.audio.ogg import is_chained
from sordino.audio.sndfile import reason
from sordino.errors import AudioError

Block = npt.NDArray[np.float32]

# What libsndfile gives where a header does not tell the length.
_UNKNOWN_FRAMES = 2**63 - 1
_TAGS_SIZE = 512


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

    def __init__(self, info: AudioInfo, source: _SndfileDecoder | FfmpegDecoder) -> None:
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
        for block in self._source.blocks(frames):
            sound = np.abs(block) <= LARGEST_SAMPLE
            if not sound.all():
                first = int(np.flatnonzero(~sound.all(axis=0))[0])
                at = (done + first) / self.info.sample_rate
                kind = "absurdly large" if np.isfinite(block).all() else "NaN or infinite"
                raise AudioError(f"holds {kind} samples (first at {at:.3f} s)")
            done += block.shape[1]
            yield block
        if done == 0:
            raise AudioError("holds no samples")
        if self.info.frames is not None and done < self.info.frames:
            raise AudioError(
                f"is cut short or damaged: only {done} of {self.info.frames} samples can be decoded"
            )


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
        AudioError: the file cannot be opened, is empty, or is not audio that can be read whole.

    Example:
        >>> with open_audio(Path("talk.wav")) as reader:  # doctest: +SKIP
        ...     seconds = sum(b.shape[1] for b in reader.blocks(4096)) / reader.info.sample_rate
    """
    check_regular(path)
    try:
        file = path.open("rb", buffering=0)
    except OSError as error:
        raise AudioError(_unopened(error)) from error
    with file:
        try:
            if os.fstat(file.fileno()).st_size == 0:
                raise AudioError("is empty (0 bytes)")
            decoder = FfmpegDecoder(path) if read_by_ffmpeg(path) else _SndfileDecoder(file)
        except OSError as error:
            raise AudioError(_unopened(error)) from error
        with closing(decoder):
            if isinstance(decoder, FfmpegDecoder):
                info = AudioInfo(decoder.sample_rate, decoder.channels, "AAC", None)
            else:
                info = decoder.info
            yield AudioReader(_checked(info), decoder)


def check_regular(path: Path) -> None:
    """Refuse what is not a file with content of its own, before opening it can hang.

    Raises:
        AudioError: a folder, pipe, device or socket, or it cannot be looked at.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise AudioError(_unopened(error)) from error
    if not stat.S_ISREG(mode):
        raise AudioError("is not a regular file")


class _SndfileDecoder:
    """A file that libsndfile knows; the counterpart of `FfmpegDecoder`."""

    def __init__(self, file: BinaryIO) -> None:
        if is_chained(file):
            raise AudioError("holds several recordings joined end to end; split it first")
        file.seek(0)
        self._raw = file
        try:
            self._file = _Forward(file.fileno(), closefd=False)
        except soundfile.LibsndfileError as error:
            raise AudioError(f"is not audio that can be read ({reason(error)})") from error
        self._mpeg = self._file.subtype.startswith("MPEG")
        # The frame count of an MP3 may be an estimate.
        known = not self._mpeg and self._file.frames != _UNKNOWN_FRAMES
        frames = self._file.frames if known else None
        self.info = AudioInfo(
            self._file.samplerate, self._file.channels, self._file.subtype, frames
        )

    def blocks(self, frames: int) -> Iterator[Block]:
        done, total = 0, self.info.frames or _UNKNOWN_FRAMES
        while done < total:
            wanted = min(frames, total - done)
            try:
                data = self._file.read(wanted, dtype="float32", always_2d=True)
            except soundfile.LibsndfileError as error:
                raise AudioError(f"is cut short or damaged ({reason(error)})") from error
            if not len(data):
                break
            done += len(data)
            yield data.T
        # Where libsndfile's estimate is too low it stops early, without an error.
        if self._mpeg and not _only_tags(self._raw.read(_TAGS_SIZE)):
            raise AudioError(
                f"is an MP3 that can be decoded only up to {done / self.info.sample_rate:.3f} s"
                " (damaged, joined, or without a length in its header); convert it to WAV first"
            )

    def close(self) -> None:
        self._file.close()


class _Forward(soundfile.SoundFile):  # type: ignore[misc]
    # SoundFile seeks to where it is after each read, which spoils MP3 (frames depend on earlier
    # ones) and damaged files, unless a file cannot seek.
    def seekable(self) -> bool:
        return False


def _only_tags(rest: bytes) -> bool:
    # An ID3 tag of version 1, which has a fixed size, an APE or Lyrics3 tag, or padding.
    short = rest.startswith(b"TAG") and len(rest) < _TAGS_SIZE
    return short or rest.startswith((b"APETAGEX", b"LYRICSBEGIN")) or not rest.strip(b"\0")


def _checked(info: AudioInfo) -> AudioInfo:
    if not MIN_RATE <= info.sample_rate <= MAX_RATE:
        raise AudioError(
            f"has a sample rate of {info.sample_rate} Hz, outside {MIN_RATE} to {MAX_RATE} Hz"
        )
    if info.channels < 1:
        raise AudioError("has no channels")
    return info


def _unopened(error: OSError) -> str:
    return f"cannot be opened: {error.strerror or error}"
