"""Decode and encode through the FFmpeg program, in a process of its own.

Only for formats that libsndfile does not know. The program comes from the `media` extra
or from the PATH. It is given local files only, a fixed list of containers, and no network.
"""

from __future__ import annotations

import contextlib
import os
import re
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
# FFmpeg's own choices for these numbers have a low-frequency channel, which loses speech.
_LAYOUTS = {3: "3.0", 6: "hexagonal", 7: "7.0", 8: "octagonal"}


def find_ffmpeg() -> str:
    """Path of an FFmpeg program: the `media` extra's, else the one on the PATH.

    The extra's is recent; version 7 and earlier leave the padding at the end of M4A files.

    Raises:
        AudioError: there is none; the message says how to get it.
    """
    # The package is there without a program on platforms for which it has none.
    with contextlib.suppress(ImportError, RuntimeError):
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    found = shutil.which("ffmpeg")
    if found is None:
        raise AudioError(
            "this format needs FFmpeg, which was not found;"
            " install it, or: pip install 'sordino[media]'"
        )
    return found


class FfmpegDecoder:
    """The first audio track of a file as a stream of float32 samples.

    Attributes:
        sample_rate: in Hz.
        channels: number of channels.

    Raises:
        AudioError: FFmpeg is missing, or the file has no audio track that it can decode.
    """

    def __init__(self, path: Path) -> None:
        command = [find_ffmpeg(), "-nostdin", "-v", "error", "-xerror"]
        command += ["-protocol_whitelist", "file,pipe", "-format_whitelist", _CONTAINERS]
        source = [b"-i", b"file:" + os.fsencode(path)]
        output = ["-map", "0:a:0", "-c:a", "pcm_f32be", "-f", "au", "pipe:1"]
        self._process, self._log = _start(
            [*map(os.fsencode, command), *source, *map(os.fsencode, output)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
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
        # Where a WebM file is damaged FFmpeg stops, says so, and counts that as success.
        if self._process.wait() != 0 or "matroska,webm @" in _text(self._log):
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
        return _first_message(self._log)


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
        command = [program, "-v", "error", "-xerror", "-f", "f32le", "-ar", str(sample_rate)]
        command += ["-ac", str(channels)]
        if channels in _LAYOUTS:
            command += ["-channel_layout", _LAYOUTS[channels]]
        command += ["-i", "pipe:0", "-map_metadata", "-1"]
        command += ["-c:a", "aac", "-b:a", str(_BIT_RATE_PER_CHANNEL * channels)]
        command += ["-threads", "1", "-fflags", "+bitexact", "-flags:a", "+bitexact"]
        # Lengths are stored in this unit; milliseconds would cut off the last samples.
        command += ["-f", "ipod", "-movie_timescale", str(sample_rate), "-y"]
        self._process, self._log = _start(
            [*map(os.fsencode, command), b"file:" + os.fsencode(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    def write(self, block: npt.NDArray[np.float32]) -> None:
        """Take in samples (channels, samples)."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(block.T, dtype="<f4").tobytes())
        except BrokenPipeError:
            self._process.wait()
            raise OutputError(_first_message(self._log)) from None

    def close(self) -> None:
        """Finish the file.

        Raises:
            OutputError: FFmpeg failed.
        """
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        failed = self._process.wait() != 0
        reason = _first_message(self._log) if failed else ""
        self._log.close()
        if failed:
            raise OutputError(reason)

    def abort(self) -> None:
        """End the program; the file is not complete."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._log.close()


def _start(
    command: list[bytes], *, stdin: int, stdout: int
) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
    log = tempfile.TemporaryFile()
    try:
        return subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=log), log
    except BaseException:
        log.close()
        raise


def _text(log: IO[bytes]) -> str:
    log.seek(0)
    return log.read().decode("utf-8", "replace")


def _first_message(log: IO[bytes]) -> str:
    text = _text(log)
    if "matches no streams" in text:
        return "holds no audio track"
    if "Unrecognized option" in text:
        return "needs FFmpeg 5 or newer: pip install 'sordino[media]'"
    # Later lines only tell how the program ended. Each begins with its part of FFmpeg.
    detail = re.sub(r"\[[^]]* @ \w+\] ", "", text).strip().partition("\n")[0]
    return f"FFmpeg could not process it ({detail.rsplit(': ', 1)[-1] or 'no reason given'})"
