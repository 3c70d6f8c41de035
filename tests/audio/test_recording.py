from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.audio.recording import Recording
from sordino.errors import AudioError, OutputError


def test_duration_is_in_seconds() -> None:
    assert Recording(np.zeros((2, 12000), np.float32), 8000).duration == 1.5
    assert Recording(np.zeros((8, 1), np.float32), 192000).duration == pytest.approx(1 / 192000)


@pytest.mark.parametrize("shape", [(5,), (0, 5), (2, 0), (0, 0), (1, 2, 3), ()])
def test_shape_is_checked(shape: tuple[int, ...]) -> None:
    with pytest.raises(AudioError, match=r"expected \(channels, samples\)"):
        Recording(np.zeros(shape, np.float32), 16000)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_must_be_finite(bad: float) -> None:
    samples = np.zeros((2, 100), np.float32)
    samples[1, 50] = bad
    with pytest.raises(AudioError, match="NaN or infinity"):
        Recording(samples, 16000)


@pytest.mark.parametrize("suffix", ["wav", "flac", "aiff"])
def test_whole_file_is_read(
    tmp_path: Path, speech_like: Callable[..., np.ndarray], suffix: str
) -> None:
    # Longer than the blocks that it is read in.
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, speech_like(44100, 4.0, 2).T, 44100)
    recording = Recording.read(path)
    expected, rate = soundfile.read(path, dtype="float32")
    np.testing.assert_array_equal(recording.samples, expected.T)
    assert (recording.sample_rate, recording.duration) == (rate, 4.0)
    assert recording.samples.dtype == np.float32


@pytest.mark.parametrize("content", [None, b"", b"no sound\n" * 99])
def test_reading_error_starts_with_the_path(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "a.wav"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AudioError) as caught:
        Recording.read(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("name", "container", "subtype"),
    [
        ("a.wav", "WAV", "PCM_16"),
        ("a.WAVE", "WAV", "PCM_16"),
        ("a.flac", "FLAC", "PCM_16"),
        ("a.mp3", "MP3", "MPEG_LAYER_III"),
        ("a.oga", "OGG", "VORBIS"),
        ("a.opus", "OGG", "OPUS"),
    ],
)
def test_format_follows_from_the_name(
    tmp_path: Path, name: str, container: str, subtype: str
) -> None:
    Recording(np.full((2, 5000), 0.1, np.float32), 24000).write(tmp_path / name)
    info = soundfile.info(tmp_path / name)
    assert (info.format, info.subtype) == (container, subtype)
    assert (info.samplerate, info.channels, info.frames) == (24000, 2, 5000)


@pytest.mark.parametrize("name", ["a.aiff", "a.webm", "a.mp4", "a.txt", "a", ".wav"])
def test_name_without_a_written_format_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match="wav, flac, mp3, ogg, opus, m4a"):
        Recording(np.zeros((1, 100), np.float32), 16000).write(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "sample_type", "subtype", "half_step"),
    [
        ("a.wav", "PCM_16", "PCM_16", 2**-16),
        ("a.wav", "PCM_24", "PCM_24", 2**-24),
        ("a.wav", "FLOAT", "FLOAT", 0.0),
        ("a.flac", "PCM_16", "PCM_16", 2**-16),
        ("a.flac", "PCM_24", "PCM_24", 2**-24),
        ("a.flac", "FLOAT", "PCM_24", 2**-24),
    ],
)
def test_long_recording_is_written_in_full(
    tmp_path: Path, name: str, sample_type: str, subtype: str, half_step: float
) -> None:
    samples = np.random.default_rng(0).uniform(-0.99, 0.99, (2, 150_000)).astype(np.float32)
    Recording(samples, 16000).write(tmp_path / name, sample_type=sample_type)
    found = soundfile.read(tmp_path / name)[0].T
    assert soundfile.info(tmp_path / name).subtype == subtype
    assert found.shape == samples.shape
    assert np.abs(found - samples).max() <= half_step


@pytest.mark.parametrize("peak", [1.0001, -1.5])
def test_samples_beyond_full_scale_are_not_clipped_silently(tmp_path: Path, peak: float) -> None:
    path = tmp_path / "a.wav"
    with pytest.raises(OutputError, match="would clip") as caught:
        Recording(np.array([[0.1, peak]], np.float32), 16000).write(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert not path.exists()


def test_writing_error_starts_with_the_path(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    with pytest.raises(OutputError, match="cannot hold 3 channels") as caught:
        Recording(np.zeros((3, 100), np.float32), 16000).write(path)
    assert str(caught.value).startswith(f"{path}: mp3 cannot")


def test_failed_write_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    Recording(np.zeros((1, 8000), np.float32), 16000).write(str(path))
    before = path.read_bytes()
    with pytest.raises(OutputError, match="cannot hold"):
        Recording(np.zeros((1, 8000), np.float32), 96000).write(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    assert Recording.read(str(path)).sample_rate == 16000


def test_samples_of_another_type_are_refused() -> None:
    with pytest.raises(AudioError, match="int16; expected float32"):
        Recording(np.zeros((1, 8), np.int16), 16000)


def test_a_file_that_is_too_long_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    Recording(np.zeros((1, 16000), np.float32), 16000).write(path)
    assert Recording.read(path, longest=1.0).duration == 1.0
    with pytest.raises(AudioError, match=r"x\.wav: is longer than 0\.99 s; cut it"):
        Recording.read(path, longest=0.99)
