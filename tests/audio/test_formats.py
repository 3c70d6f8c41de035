from __future__ import annotations

from pathlib import Path, PurePath

import numpy as np
import pytest
import soundfile

from sordino.audio.formats import (
    FORMATS,
    format_for,
    format_named,
    is_audio_name,
    read_by_ffmpeg,
)
from sordino.errors import OutputError

RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 37800, 44100, 48000)
RATES += (64000, 88200, 96000, 192000)
BY_SNDFILE = [name for name, format_ in FORMATS.items() if format_.container]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("a.wav", "wav"),
        ("a.wave", "wav"),
        ("a.aiff", "wav"),
        ("a.aif", "wav"),
        ("a.w64", "wav"),
        ("a.au", "wav"),
        ("a.sph", "wav"),
        ("a.amr", "wav"),
        ("a.flac", "flac"),
        ("a.mp3", "mp3"),
        ("a.ogg", "ogg"),
        ("a.oga", "ogg"),
        ("a.webm", "ogg"),
        ("a.opus", "opus"),
        ("a.m4a", "m4a"),
        ("a.aac", "m4a"),
        ("a.mp4", "m4a"),
        ("a.MoV", "m4a"),
        ("folder.wav/a.b.FLAC", "flac"),
    ],
)
def test_recordings_and_videos_are_known_by_their_ending(name: str, written: str) -> None:
    assert is_audio_name(PurePath(name))
    assert format_for(PurePath(name)).name == written


@pytest.mark.parametrize("name", ["notes.txt", "wav", ".wav", "a.wav.json", "a.", "folder.wav/a"])
def test_other_files_are_no_recordings(name: str) -> None:
    assert not is_audio_name(PurePath(name))
    assert format_for(PurePath(name)).name == "wav"
    assert format_named(PurePath(name)) is None


@pytest.mark.parametrize("name", list(FORMATS))
def test_each_ending_of_a_format_names_it(name: str) -> None:
    for suffix in FORMATS[name].suffixes:
        for path in (PurePath("a" + suffix), PurePath("a" + suffix.upper())):
            assert format_named(path) is format_for(path) is FORMATS[name]


@pytest.mark.parametrize("name", ["a.aiff", "a.mp4", "a.webm", "a.aac"])
def test_endings_that_are_only_read_name_no_format(name: str) -> None:
    assert format_named(PurePath(name)) is None


@pytest.mark.parametrize("suffix", ["m4a", "MP4", "mov", "aac", "webm", "mkv", "3gp", "wma", "amr"])
def test_ffmpeg_reads_what_libsndfile_does_not_know(suffix: str) -> None:
    assert suffix.upper() not in soundfile.available_formats()
    assert read_by_ffmpeg(PurePath(f"a.{suffix}"))


@pytest.mark.parametrize("suffix", ["wav", "flac", "mp3", "ogg", "opus", "aiff", "w64", "caf"])
def test_libsndfile_reads_the_rest(suffix: str) -> None:
    assert not read_by_ffmpeg(PurePath(f"a.{suffix}"))


@pytest.mark.parametrize("name", BY_SNDFILE)
def test_libsndfile_knows_every_sample_type(name: str) -> None:
    format_ = FORMATS[name]
    for sample_type in {format_.default, *format_.sample_types.values()}:
        assert soundfile.check_format(format_.container, sample_type)


@pytest.mark.parametrize("name", BY_SNDFILE)
def test_rates_are_those_that_libsndfile_writes(name: str, tmp_path: Path) -> None:
    format_ = FORMATS[name]
    for rate in RATES:
        try:
            soundfile.SoundFile(
                tmp_path / "a", "w", rate, 1, format_.default, format=format_.container
            ).close()
            written = True
        except soundfile.LibsndfileError:
            written = False
        assert written == (format_.rates is None or rate in format_.rates), rate


@pytest.mark.parametrize("name", BY_SNDFILE)
def test_libsndfile_writes_as_many_channels(name: str, tmp_path: Path) -> None:
    format_ = FORMATS[name]
    silence = np.zeros((2000, format_.max_channels))
    soundfile.write(
        tmp_path / "a", silence, 16000, format=format_.container, subtype=format_.default
    )
    assert soundfile.info(tmp_path / "a").channels == format_.max_channels


@pytest.mark.parametrize("name", ["ogg", "opus"])
def test_channels_that_lose_speech_are_taken_only_from_the_same_kind(name: str) -> None:
    format_ = FORMATS[name]
    format_.check(48000, 5)
    format_.check(48000, 8, source=format_.default)
    for source in (None, "PCM_16"):
        with pytest.raises(OutputError, match="cannot hold 6 channels"):
            format_.check(48000, 6, source=source)


@pytest.mark.parametrize(
    ("name", "rate"), [("mp3", 96000), ("opus", 44100), ("opus", 32000), ("m4a", 192000)]
)
def test_refused_rate_names_rates_and_other_formats(name: str, rate: int) -> None:
    with pytest.raises(OutputError) as caught:
        FORMATS[name].check(rate, 1)
    message = str(caught.value)
    assert message.startswith(f"{name} cannot hold {rate} Hz")
    assert "--format (wav, flac)" in message
    assert "--sample-rate of 8000, " in message
    for other in ("wav", "flac"):
        FORMATS[other].check(rate, 1)
    FORMATS[name].check(8000, 1)


@pytest.mark.parametrize(
    ("name", "channels"), [("mp3", 3), ("flac", 9), ("ogg", 6), ("opus", 6), ("m4a", 9)]
)
def test_refused_channels_name_a_way_out(name: str, channels: int) -> None:
    with pytest.raises(OutputError) as caught:
        FORMATS[name].check(16000, channels)
    assert str(caught.value) == (
        f"{name} cannot hold {channels} channels (at most {channels - 1});"
        " choose another --format or --mono"
    )
    FORMATS[name].check(16000, channels - 1)
    FORMATS["wav"].check(16000, channels)


@pytest.mark.parametrize(
    ("source", "wav", "flac"),
    [
        ("PCM_U8", "PCM_16", "PCM_16"),
        ("PCM_S8", "PCM_16", "PCM_16"),
        ("PCM_16", "PCM_16", "PCM_16"),
        ("PCM_24", "PCM_24", "PCM_24"),
        ("PCM_32", "PCM_32", "PCM_24"),
        ("FLOAT", "FLOAT", "PCM_24"),
        ("DOUBLE", "FLOAT", "PCM_24"),
        ("ULAW", "ULAW", "PCM_16"),
        ("ALAW", "ALAW", "PCM_16"),
        ("AAC", "PCM_16", "PCM_16"),
        ("VORBIS", "PCM_16", "PCM_16"),
    ],
)
def test_lossless_formats_keep_the_resolution(source: str, wav: str, flac: str) -> None:
    assert FORMATS["wav"].sample_type(source) == wav
    assert FORMATS["flac"].sample_type(source) == flac


@pytest.mark.parametrize("name", ["mp3", "ogg", "opus", "m4a"])
def test_lossy_formats_have_one_sample_type(name: str) -> None:
    assert {FORMATS[name].sample_type(t) for t in ("PCM_24", "FLOAT", "ULAW")} == {
        FORMATS[name].default
    }
