from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

from sordino.audio import ffmpeg as module
from sordino.audio.ffmpeg import AacEncoder, FfmpegDecoder, find_ffmpeg
from sordino.audio.formats import FORMATS
from sordino.audio.write import create_audio
from sordino.errors import AudioError, OutputError

RATE = 16000


@pytest.fixture
def m4a(
    tmp_path: Path, encode: Callable[..., None], speech_like: Callable[..., np.ndarray]
) -> Path:
    encode(speech_like(RATE, 5.0, 2), RATE, tmp_path / "a.m4a")
    return tmp_path / "a.m4a"


def a_program(folder: Path, script: str) -> str:
    if os.name == "nt":
        pytest.skip("needs a shell")
    program = folder / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return str(program)


def write_m4a(path: Path, samples: np.ndarray) -> None:
    channels, frames = samples.shape
    with create_audio(
        path, FORMATS["m4a"], sample_rate=RATE, channels=channels, sample_type="AAC", frames=frames
    ) as sink:
        for start in range(0, frames, 100_000):
            sink.write(samples[:, start : start + 100_000])


# Which program.


def test_media_extra_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    package = SimpleNamespace(get_ffmpeg_exe=lambda: "/extra/ffmpeg")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", package)
    monkeypatch.setattr(shutil, "which", lambda name: f"/path/{name}")
    assert find_ffmpeg() == "/extra/ffmpeg"


def _without_program() -> str:
    raise RuntimeError("No ffmpeg exe could be found.")


@pytest.mark.parametrize("package", [None, SimpleNamespace(get_ffmpeg_exe=_without_program)])
def test_path_comes_second(monkeypatch: pytest.MonkeyPatch, package: object) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", package)
    monkeypatch.setattr(shutil, "which", lambda name: f"/path/{name}")
    assert find_ffmpeg() == "/path/ffmpeg"


@pytest.fixture
def _no_ffmpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setattr(shutil, "which", lambda name: None)


@pytest.mark.usefixtures("_no_ffmpeg")
def test_missing_program_names_the_extra(tmp_path: Path) -> None:
    with pytest.raises(AudioError, match=r"pip install 'sordino\[media\]'"):
        find_ffmpeg()
    with pytest.raises(AudioError, match=r"pip install 'sordino\[media\]'"):
        FfmpegDecoder(tmp_path / "a.m4a")
    with pytest.raises(OutputError, match=r"pip install 'sordino\[media\]'"):
        write_m4a(tmp_path / "a.m4a", np.zeros((1, 100), np.float32))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("option", ["movie_timescale", "channel_layout"])
def test_old_program_is_named_as_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    script = f"echo \"Unrecognized option '{option}'.\" >&2; echo Option not found >&2; exit 1"
    program = a_program(tmp_path, script)
    monkeypatch.setattr(module, "find_ffmpeg", lambda: program)
    encoder = AacEncoder(tmp_path / "a.m4a", RATE, 1)
    with pytest.raises(OutputError, match=r"^needs FFmpeg 5 or newer: pip install"):
        encoder.close()


# Decoding.


def test_rate_channels_and_samples(m4a: Path, ffmpeg: Callable[..., bytes]) -> None:
    decoder = FfmpegDecoder(m4a)
    found = np.concatenate(list(decoder.blocks(3001)), axis=1)
    decoder.close()
    assert (decoder.sample_rate, decoder.channels) == (RATE, 2)
    reference = np.frombuffer(ffmpeg("-i", m4a, "-f", "f32le", "pipe:1"), "<f4")
    np.testing.assert_array_equal(found, reference.reshape(-1, 2).T)


def test_long_tags_are_not_taken_for_sound(tmp_path: Path, encode: Callable[..., None]) -> None:
    path = tmp_path / "a.mov"
    tags = ["-metadata", "title=" + 5000 * "T", "-metadata", "artist=two\nlines"]
    encode(np.full((1, 3000), 0.25), RATE, "-c:a", "pcm_s16le", *tags, path)
    decoder = FfmpegDecoder(path)
    found = np.concatenate(list(decoder.blocks(100)), axis=1)
    decoder.close()
    np.testing.assert_array_equal(found, np.full((1, 3000), 0.25))


def test_first_of_several_tracks_is_read(tmp_path: Path, ffmpeg: Callable[..., bytes]) -> None:
    for value in (0.25, 0.5):
        soundfile.write(tmp_path / f"{value}.wav", np.full(3000, value), RATE)
    inputs = ["-i", tmp_path / "0.25.wav", "-i", tmp_path / "0.5.wav", "-map", "0", "-map", "1"]
    ffmpeg(*inputs, "-c:a", "pcm_s16le", tmp_path / "a.mov")
    decoder = FfmpegDecoder(tmp_path / "a.mov")
    found = np.concatenate(list(decoder.blocks(10**6)), axis=1)
    decoder.close()
    np.testing.assert_array_equal(found, np.full((1, 3000), 0.25))


def test_closing_ends_the_program(m4a: Path) -> None:
    decoder = FfmpegDecoder(m4a)
    next(iter(decoder.blocks(10)))
    assert decoder._process.poll() is None
    decoder.close()
    assert decoder._process.poll() is not None
    decoder.close()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 1", "FFmpeg could not process it (no reason given)"),
        ("kill -9 $$", "FFmpeg could not process it (no reason given)"),
        (
            "echo '[in#0 @ 0x55f5] [dec:aac @ 0x5e7e] bad packet' >&2; echo 'it ended' >&2; exit 1",
            "FFmpeg could not process it (bad packet)",
        ),
        (
            "echo 'file:name of a speaker.mp4: bad packet' >&2; exit 1",
            "FFmpeg could not process it (bad packet)",
        ),
        ("echo \"Stream map '' matches no streams.\" >&2; exit 1", "holds no audio track"),
    ],
)
def test_reason_is_one_line_without_addresses_or_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    program = a_program(tmp_path, script)
    monkeypatch.setattr(module, "find_ffmpeg", lambda: program)
    with pytest.raises(AudioError) as caught:
        FfmpegDecoder(tmp_path / "a.m4a")
    assert str(caught.value) == message


# Encoding.


def test_aborting_ends_the_program(tmp_path: Path, ffmpeg: Callable[..., bytes]) -> None:
    encoder = AacEncoder(tmp_path / "a.m4a", RATE, 1)
    encoder.write(np.full((1, 100_000), 0.1, np.float32))
    assert encoder._process.poll() is None
    encoder.abort()
    assert encoder._process.poll() is not None


@pytest.mark.parametrize("script", ["exit 1", "head -c 999999 > /dev/null; exit 1"])
@pytest.mark.parametrize("blocks", [0, 1, 10])
def test_failing_program_is_an_error_however_far_it_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, blocks: int
) -> None:
    program = a_program(tmp_path, script)
    monkeypatch.setattr(module, "find_ffmpeg", lambda: program)
    message = r"^FFmpeg could not process it \(no reason given\)$"
    with pytest.raises(OutputError, match=message):
        write_m4a(tmp_path / "a.m4a", np.zeros((1, blocks * 100_000), np.float32))
    assert not (tmp_path / "a.m4a").exists()


def test_network_and_other_protocols_are_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []

    def record(command: list[bytes], **options: object) -> None:
        commands.append(command)
        raise OSError("stopped here")

    monkeypatch.setattr(module, "find_ffmpeg", lambda: "ffmpeg")
    monkeypatch.setattr(subprocess, "Popen", record)
    with pytest.raises(OSError, match="stopped here"):
        FfmpegDecoder(tmp_path / "a.m4a")
    (command,) = commands
    source = command.index(b"-i")
    assert command[command.index(b"-protocol_whitelist") + 1] == b"file,pipe"
    assert command.index(b"-protocol_whitelist") < source
    containers = command[command.index(b"-format_whitelist") + 1].split(b",")
    assert not {b"hls", b"concat", b"dash", b"sdp", b"rtsp", b"lavfi", b"applehttp"} & {*containers}
    assert command[source + 1].startswith(b"file:")
