"""Decode and encode through the FFmpeg program, in a process of its own.

Only for formats that libsndfile does not know. The program comes from the `media` extra
or from the PATH. It is given local files only, a fixed list of containers, and no network.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from sordino.errors import AudioError, OutputError

_CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,aac,amr,amrnb,amrwb,asf,avi,mp3,ogg,wav"
_AU_HEADER = struct.Struct(">4s5I")
_BIT_RATE_PER_CHANNEL = 96_000


def find_ffmpeg() -> str:
    """Path of an FFmpeg program: the `media` extra's, else the one on the PATH.

    The extra's is recent; versions before 6 do not trim the padding at the end of M4A files.

    Raises:
        AudioError: there is none; the message says how to get it.
    """
    try:
        from imageio_ffmpeg import get_ffmpeg_exe
    except ImportError:
        found = shutil.which("ffmpeg")
        if found:
            return found
        raise AudioError(
            "this format needs FFmpeg, which was not found;"
            " install it, or: pip install 'sordino[media]'"
        ) from None
    return str(get_ffmpeg_exe())


class FfmpegDecoder:
    """The first audio track of a file as a stream of float32 samples.

    Attributes:
        sample_rate: in Hz.
        channels: number of channels.

    Raises:
        AudioError: FFmpeg is missing, or the file has no audio track that it can decode.
    """

    def __init__(self, path: Path) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()
        command = [find_ffmpeg(), "-nostdin", "-v", "error", "-xerror"]
        command += ["-protocol_whitelist", "file,pipe", "-format_whitelist", _CONTAINERS]
        source = [b"-i", b"file:" + os.fsencode(path)]
        output = ["-map", "0:a:0", "-c:a", "pcm_f32be", "-f", "au", "pipe:1"]
        self._process = subprocess.Popen(
            [*map(os.fsencode, command), *source, *map(os.fsencode, output)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
        )
        try:
            header = self._read(_AU_HEADER.size)
            if len(header) < _AU_HEADER.size:
                raise AudioError(self._reason())
            _, offset, _, _, self.sample_rate, self.channels = _AU_HEADER.unpack(header)
            self._read(offset - _AU_HEADER.size)
        except BaseException:
            self.close()
            raise

    def blocks(self, frames: int) -> Iterator[npt.NDArray[np.float32]]:
        """Arrays (channels, samples) of at most `frames` samples.

        Raises:
            AudioError: FFmpeg failed part of the way.
        """
        size = 4 * self.channels
        while data := self._read(frames * size):
            whole = len(data) // size * size
            samples = np.frombuffer(data[:whole], dtype=">f4").astype(np.float32)
            yield samples.reshape(-1, self.channels).T
        if self._process.wait() != 0:
            raise AudioError(self._reason())

    def close(self) -> None:
        """End the program, whether or not it is done."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()
        self._log.close()

    def _read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        return self._process.stdout.read(size)

    def _reason(self) -> str:
        self._process.wait()
        return _last_message(self._log)


class AacEncoder:
    """Writes AAC in an MP4 container, without any tag.

    Args:
        path: the file to write; replaced if it exists.
        sample_rate: in Hz, one that AAC knows.
        channels: at most 8.

    Raises:
        OutputError: FFmpeg is missing or failed.
    """

    def __init__(self, path: Path, sample_rate: int, channels: int) -> None:
        try:
            program = find_ffmpeg()
        except AudioError as error:
            raise OutputError(str(error)) from error
        self._log: IO[bytes] = tempfile.TemporaryFile()
        command = [program, "-v", "error", "-f", "f32le", "-ar", str(sample_rate)]
        command += ["-ac", str(channels), "-i", "pipe:0", "-map_metadata", "-1"]
        command += ["-c:a", "aac", "-b:a", str(_BIT_RATE_PER_CHANNEL * channels)]
        command += ["-threads", "1", "-fflags", "+bitexact", "-flags:a", "+bitexact"]
        command += ["-f", "ipod", "-y"]
        self._process = subprocess.Popen(
            [*map(os.fsencode, command), b"file:" + os.fsencode(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._log,
        )

    def write(self, block: npt.NDArray[np.float32]) -> None:
        """Take in samples (channels, samples)."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(block.T, dtype="<f4").tobytes())
        except BrokenPipeError:
            self._process.wait()
            raise OutputError(_last_message(self._log)) from None

    def close(self) -> None:
        """Finish the file.

        Raises:
            OutputError: FFmpeg failed.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        failed = self._process.wait() != 0
        reason = _last_message(self._log) if failed else ""
        self._log.close()
        if failed:
            raise OutputError(reason)

    def abort(self) -> None:
        """End the program; the file is not complete."""
        self._process.kill()
        self._process.wait()
        self._log.close()


def _last_message(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line for line in log.read().decode("utf-8", "replace").splitlines() if line.strip()]
    if any("matches no streams" in line for line in lines):
        return "holds no audio track"
    detail = lines[-1].strip().rsplit(": ", 1)[-1] if lines else "no reason given"
    return f"FFmpeg could not process it ({detail})"
