"""Formats, rates and channels through `sordino anonymize`, with tags planted in every source."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tinytag import TinyTag

from tests.helpers import sordino, voice

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the media extra")

MARK = "PLANTED-NAME-OF-A-SPEAKER"
SECONDS = 0.5

# ending, rates, channel counts, FFmpeg's options for the audio
CASES = {
    "pcm16.wav": ((8000, 16000, 44100, 192000), (1, 2, 6, 8), "-c:a pcm_s16le"),
    "pcm24.wav": ((16000, 48000), (1, 2), "-c:a pcm_s24le"),
    "pcm32.wav": ((16000, 96000), (1, 2), "-c:a pcm_s32le"),
    "float.wav": ((11025, 48000), (1, 2), "-c:a pcm_f32le"),
    "ulaw.wav": ((8000,), (1, 2), "-c:a pcm_mulaw"),
    "16.flac": ((8000, 22050, 192000), (1, 2, 8), "-c:a flac -sample_fmt s16"),
    "24.flac": ((44100, 96000), (1, 6), "-c:a flac -sample_fmt s32"),
    "mp3.mp3": ((8000, 16000, 22050, 44100, 48000), (1, 2), "-c:a libmp3lame"),
    "ogg.ogg": ((8000, 44100, 48000), (1, 2, 6), "-c:a libvorbis"),
    "opus.opus": ((8000, 16000, 48000), (1, 2), "-c:a libopus"),
    "m4a.m4a": ((8000, 44100, 96000), (1, 2, 6), "-c:a aac"),
    "aac.aac": ((16000,), (1,), "-c:a aac"),
    "mp4.mp4": ((44100, 48000), (1, 2), "-c:a aac"),
    "webm.webm": ((48000,), (1, 2), "-c:a libopus"),
    "mkv.mkv": ((32000,), (1,), "-c:a libvorbis"),
    "avi.avi": ((44100,), (2,), "-c:a libmp3lame"),
    "wmv.wmv": ((44100,), (1,), "-c:a wmav2"),
    "aiff.aiff": ((16000, 44100), (1, 2), "-c:a pcm_s16be"),
}
VIDEO = "-f lavfi -i testsrc=size=64x64:rate=10:duration=0.5"
SUFFIX_AFTER = {
    ".aac": ".m4a",
    ".mp4": ".m4a",
    ".webm": ".ogg",
    ".mkv": ".ogg",
    ".aiff": ".wav",
} | dict.fromkeys((".avi", ".wmv"), ".m4a")


def ffmpeg(*arguments: object) -> bytes:
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-nostdin", *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def make_source(path: Path, rate: int, channels: int, options: str) -> None:
    raw = path.with_suffix(".raw.wav")
    soundfile.write(raw, voice(SECONDS, rate, channels=channels), rate, subtype="FLOAT")
    video = VIDEO.split() if path.suffix in (".mp4", ".webm") else []
    tags = []
    for field in ("title", "artist", "comment", "album", "date", "encoded_by", "description"):
        tags += ["-metadata", f"{field}={MARK}-{field}"]
    codec = ["-c:v", "libvpx" if path.suffix == ".webm" else "mpeg4"] if video else []
    ffmpeg("-i", raw, *video, *options.split(), *codec, *tags, "-y", path)
    raw.unlink()


def decoded(path: Path, channels: int) -> np.ndarray:
    if path.suffix in (".wav", ".flac", ".mp3", ".ogg", ".opus", ".aiff"):
        return soundfile.read(path, dtype="float32", always_2d=True)[0]
    data = ffmpeg("-i", path, "-map", "0:a", "-f", "f32le", "-c:a", "pcm_f32le", "pipe:1")
    return np.frombuffer(data, np.float32).reshape(-1, channels)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> tuple[Path, Path]:
    source = tmp_path_factory.mktemp("formats") / "in"
    output = source.parent / "out"
    source.mkdir()
    for ending, (rates, channel_counts, options) in CASES.items():
        for rate in rates:
            for channels in channel_counts:
                name = f"{rate}-{channels}-{ending}"
                make_source(source / name, rate, channels, options)
    done = sordino(
        *("anonymize", "--system", "mcadams", source, "-o", output, "--jobs", "2"),
    )
    assert done.returncode == 0, done.stderr
    return source, output


CELLS = [
    (ending, rate, channels)
    for ending, (rates, channel_counts, _) in CASES.items()
    for rate in rates
    for channels in channel_counts
]


@pytest.mark.parametrize(("ending", "rate", "channels"), CELLS)
def test_cell(folders, ending, rate, channels):
    source = folders[0] / f"{rate}-{channels}-{ending}"
    output = folders[1] / source.with_suffix(SUFFIX_AFTER.get(source.suffix, source.suffix)).name
    before, after = decoded(source, channels), decoded(output, channels)
    assert after.shape == before.shape
    assert np.isfinite(after).all()
    assert np.abs(after).max() < 1.0
    power = 10 * np.log10(np.mean(after**2) / np.mean(before**2))
    assert abs(power) < 3.0
    if output.suffix != ".m4a":
        after_info = soundfile.info(output)
        if source.suffix in (".wav", ".flac"):
            before_info = soundfile.info(source)
            assert after_info.subtype == before_info.subtype
            assert after_info.samplerate == before_info.samplerate == rate


@pytest.mark.parametrize(("ending", "rate", "channels"), CELLS)
def test_no_tag_survives(folders, ending, rate, channels):
    source = folders[0] / f"{rate}-{channels}-{ending}"
    output = folders[1] / source.with_suffix(SUFFIX_AFTER.get(source.suffix, source.suffix)).name
    if source.suffix != ".aac":
        assert MARK.encode() in source.read_bytes().replace(b"\0", b"")
    data = output.read_bytes().replace(b"\0", b"")
    assert b"PLANTED" not in data
    assert b"testsrc" not in data
    tags = TinyTag.get(output, image=True)
    told = {name: value for name, value in tags.as_dict().items() if isinstance(value, list)}
    # The library that wrote the file names itself in Ogg files.
    told.pop("encoder_settings", None)
    assert told in ({}, {"encoder": ["libsndfile"]})
    assert tags.images.any is None
