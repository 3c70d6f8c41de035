"""Files made by FFmpeg, for the formats that soundfile does not write."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import numpy as np
import pytest

FfmpegRun = Callable[..., bytes]


@pytest.fixture(scope="session")
def ffmpeg() -> FfmpegRun:
    """Runs the `media` extra's FFmpeg: `ffmpeg(*arguments, data=b"")` gives what it prints."""
    package = pytest.importorskip("imageio_ffmpeg", reason="needs the media extra")

    def run(*arguments: object, data: bytes = b"") -> bytes:
        command = [package.get_ffmpeg_exe(), "-v", "error", "-y", *map(str, arguments)]
        return subprocess.run(command, input=data, check=True, capture_output=True).stdout

    return run


@pytest.fixture(scope="session")
def encode(ffmpeg: FfmpegRun) -> Callable[..., None]:
    """Writes samples (channels, samples) by FFmpeg: `encode(samples, rate, *options, path)`."""

    def run(samples: np.ndarray, rate: int, *options: object) -> None:
        source = ["-f", "f32le", "-ar", rate, "-ac", len(samples), "-i", "pipe:0"]
        ffmpeg(*source, *options, data=np.ascontiguousarray(samples.T, "<f4").tobytes())

    return run
