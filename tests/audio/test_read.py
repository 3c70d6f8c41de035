from __future__ import annotations

import os
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sordino.audio.read import AudioInfo, open_audio
from sordino.errors import AudioError
from tests.helpers import open_folder, ordinary_user

RATE = 16000
# Ending, container and sample type, with its quantisation step (None where lossy).
STORED = [
    ("wav", "WAV", "PCM_U8", 2**-7),
    ("wav", "WAV", "PCM_16", 2**-15),
    ("wav", "WAV", "PCM_24", 2**-23),
    ("wav", "WAV", "PCM_32", 2**-23),
    ("wav", "WAV", "FLOAT", 0.0),
    ("wav", "WAV", "DOUBLE", 0.0),
    ("wav", "WAV", "ULAW", 2**-6),
    ("wav", "WAV", "ALAW", 2**-6),
    ("wav", "WAV", "IMA_ADPCM", None),
    ("wav", "WAVEX", "PCM_24", 2**-23),
    ("wav", "RF64", "PCM_16", 2**-15),
    ("flac", "FLAC", "PCM_S8", 2**-7),
    ("flac", "FLAC", "PCM_16", 2**-15),
    ("flac", "FLAC", "PCM_24", 2**-23),
    ("mp3", "MP3", "MPEG_LAYER_III", None),
    ("ogg", "OGG", "VORBIS", None),
    ("opus", "OGG", "OPUS", None),
    ("aiff", "AIFF", "PCM_16", 2**-15),
    ("aiff", "AIFF", "FLOAT", 0.0),
    ("w64", "W64", "PCM_24", 2**-23),
    ("au", "AU", "PCM_16", 2**-15),
    ("caf", "CAF", "ALAC_16", 2**-15),
    ("sph", "NIST", "PCM_16", 2**-15),
]
CODECS = [
    ("m4a", ("-c:a", "aac")),
    ("m4a", ("-c:a", "aac", "-movflags", "+faststart")),
    ("m4a", ("-c:a", "alac")),
    ("mov", ("-c:a", "pcm_s16le")),
    ("webm", ("-c:a", "libvorbis")),
    ("mkv", ("-c:a", "flac")),
    ("mka", ("-c:a", "pcm_f32le")),
]
PLAYLISTS = {
    "hls": "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\n{}\n#EXT-X-ENDLIST\n",
    "m3u": "#EXTM3U\n{}\n",
    "concat": "ffconcat version 1.0\nfile '{}'\n",
    "sdp": "v=0\nm=audio 5004 RTP/AVP 0\na=control:file://{}\n",
    "dash": '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static"><Period>'
    '<AdaptationSet mimeType="audio/mp4"><Representation id="0"><BaseURL>{}</BaseURL>'
    "<SegmentBase/></Representation></AdaptationSet></Period></MPD>",
}


def read(path: Path, block: int = 5000) -> np.ndarray:
    with open_audio(path) as reader:
        return np.concatenate(list(reader.blocks(block)), axis=1)


def reason(path: Path) -> str:
    with pytest.raises(AudioError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write_wav(path: Path, samples: np.ndarray, rate: int = RATE, subtype: str = "PCM_16") -> bytes:
    soundfile.write(path, samples.T, rate, format="WAV", subtype=subtype)
    return path.read_bytes()


def correlations(a: np.ndarray, b: np.ndarray) -> list[float]:
    return [np.corrcoef(x, y)[0, 1] for x, y in zip(a, b, strict=True)]


# What libsndfile reads.


@pytest.mark.parametrize(("suffix", "container", "subtype", "step"), STORED)
def test_samples_are_those_that_were_stored(
    tmp_path: Path,
    speech_like: Callable[..., np.ndarray],
    suffix: str,
    container: str,
    subtype: str,
    step: float | None,
) -> None:
    samples = speech_like(RATE, 1.0, 2)
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, samples.T, RATE, format=container, subtype=subtype)
    with open_audio(path) as reader:
        found = np.concatenate(list(reader.blocks(4096)), axis=1)
        info = reader.info
    reference = soundfile.read(path, dtype="float32", always_2d=True)[0].T
    np.testing.assert_allclose(found, reference, atol=1e-6)
    assert found.dtype == np.float32
    if step is None:
        assert min(correlations(found[:, : samples.shape[1]], samples)) > 0.95
    else:
        np.testing.assert_allclose(found, samples, rtol=0, atol=step + 1e-7)
    assert info.sample_rate == RATE
    assert info.channels == 2
    assert info.sample_type == subtype
    assert info.frames == (None if container == "MP3" else len(reference.T))


@pytest.mark.parametrize("rate", [8000, 11025, 16000, 22050, 32000, 44100, 48000, 96000, 192000])
@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_every_rate_is_read(tmp_path: Path, suffix: str, rate: int) -> None:
    samples = np.arange(-50, 50, dtype=np.int16)
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, samples, rate)
    with open_audio(path) as reader:
        assert reader.info == AudioInfo(rate, 1, "PCM_16", 100)
        np.testing.assert_array_equal(
            np.concatenate(list(reader.blocks(64)), 1), samples[None] / 2**15
        )


@pytest.mark.parametrize("channels", range(1, 9))
@pytest.mark.parametrize("suffix", ["wav", "flac", "aiff", "w64"])
def test_channels_stay_in_order(tmp_path: Path, suffix: str, channels: int) -> None:
    samples = np.arange(channels * 300, dtype=np.int16).reshape(300, channels)
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, samples, RATE, subtype="PCM_16")
    np.testing.assert_array_equal(read(path, 128), samples.T / 2**15)


@pytest.fixture(scope="module")
def same_sound(
    tmp_path_factory: pytest.TempPathFactory, speech_like: Callable[..., np.ndarray]
) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("same")
    samples = speech_like(RATE, 0.3, 2).T
    paths = {}
    for suffix, container, subtype, _ in STORED:
        paths[subtype] = folder / f"{subtype}.{suffix}"
        soundfile.write(paths[subtype], samples, RATE, format=container, subtype=subtype)
    return paths


# PCM_S8 is the one in FLAC.
@pytest.mark.parametrize("subtype", ["FLOAT", "PCM_S8", "MPEG_LAYER_III", "VORBIS", "OPUS"])
@settings(max_examples=10, deadline=None)
@given(block=st.integers(1, 5000))
@example(block=1)
@example(block=1151)
def test_block_size_does_not_change_samples(
    same_sound: dict[str, Path], subtype: str, block: int
) -> None:
    path = same_sound[subtype]
    whole = soundfile.read(path, dtype="float32", always_2d=True)[0].T
    with open_audio(path) as reader:
        parts = list(reader.blocks(block))
    assert max(part.shape[1] for part in parts) <= block
    np.testing.assert_allclose(np.concatenate(parts, axis=1), whole, atol=1e-6)


def test_real_speech_is_read_as_it_is(speech_root: Path) -> None:
    for corpus in ("librispeech", "vctk"):
        path = min((speech_root / corpus).rglob("*.flac"))
        whole = soundfile.read(path, dtype="float32", always_2d=True)[0].T
        np.testing.assert_array_equal(read(path, 7777), whole)


# MP3: its length is often an estimate, and every frame needs the ones before.


@pytest.mark.parametrize("quality", ["-q:a 6", "-b:a 32k"])
@pytest.mark.parametrize("block", [100, 1152])
def test_mp3_by_another_encoder_is_read_whole_in_any_blocks(
    tmp_path: Path,
    encode: Callable[..., None],
    ffmpeg: Callable[..., bytes],
    speech_like: Callable[..., np.ndarray],
    quality: str,
    block: int,
) -> None:
    samples = np.concatenate([1e-4 * speech_like(RATE, 1), speech_like(RATE, 1)], axis=1)
    path = tmp_path / "a.mp3"
    encode(samples, RATE, "-c:a", "libmp3lame", *quality.split(), path)
    reference = np.frombuffer(ffmpeg("-i", path, "-f", "f32le", "pipe:1"), "<f4")
    found = read(path, block)
    assert found.shape == samples.shape
    np.testing.assert_allclose(found[0], reference, atol=1e-4)


@pytest.fixture(scope="module")
def mp3(
    tmp_path_factory: pytest.TempPathFactory, speech_like: Callable[..., np.ndarray]
) -> tuple[bytes, np.ndarray]:
    path = tmp_path_factory.mktemp("mp3") / "a.mp3"
    soundfile.write(path, speech_like(RATE, 1.0)[0], RATE)
    return path.read_bytes(), soundfile.read(path, dtype="float32")[0]


@pytest.mark.parametrize(
    "tag",
    [
        b"TAG" + b"name of a speaker".ljust(125, b"\0"),
        b"APETAGEX" + b"\xff\xfb" * 500,
        b"LYRICSBEGIN" + b"la" * 500,
        bytes(2000),
    ],
    ids=["ID3v1", "APE", "Lyrics3", "padding"],
)
@pytest.mark.parametrize("picture", [0, 300_000])
def test_tags_around_an_mp3_are_no_sound(
    tmp_path: Path, mp3: tuple[bytes, np.ndarray], tag: bytes, picture: int
) -> None:
    body = b"APIC" + struct.pack(">IH", picture, 0) + b"\xff\xfb" * (picture // 2)
    sizes = bytes((len(body) >> shift) & 127 for shift in (21, 14, 7, 0))
    front = b"ID3\x03\x00\x00" + sizes + body if picture else b""
    path = tmp_path / "a.mp3"
    path.write_bytes(front + mp3[0] + tag)
    np.testing.assert_allclose(read(path)[0], mp3[1], atol=1e-6)


def test_mp3_without_its_length_is_read_whole_or_refused(
    tmp_path: Path, encode: Callable[..., None], speech_like: Callable[..., np.ndarray]
) -> None:
    # The loud start makes libsndfile's estimate of a variable bit rate far too low.
    samples = np.concatenate([speech_like(RATE, 2), 1e-4 * speech_like(RATE, 2)], axis=1)
    options = ("-c:a", "libmp3lame", "-write_xing", "0")
    encode(samples, RATE, *options, "-b:a", "64k", tmp_path / "constant.mp3")
    encode(samples, RATE, *options, "-q:a", "4", tmp_path / "variable.mp3")
    assert 4 * RATE <= read(tmp_path / "constant.mp3").shape[1] < 4.2 * RATE
    assert soundfile.info(tmp_path / "variable.mp3").frames < 3 * RATE
    assert "an MP3 that can be decoded only up to " in reason(tmp_path / "variable.mp3")


@pytest.mark.parametrize("between", [b"", b"TAG" + bytes(125), b"ID3\x04\0\0\0\0\0\0"])
def test_joined_mp3_is_refused(
    tmp_path: Path, mp3: tuple[bytes, np.ndarray], between: bytes
) -> None:
    path = tmp_path / "a.mp3"
    path.write_bytes(mp3[0] + between + mp3[0])
    assert "decoded only up to 1.000 s (damaged, joined" in reason(path)


def test_mp3_within_wav_is_read(
    tmp_path: Path, encode: Callable[..., None], speech_like: Callable[..., np.ndarray]
) -> None:
    samples = speech_like(RATE, 1.0)
    encode(samples, RATE, "-c:a", "libmp3lame", tmp_path / "a.wav")
    assert RATE <= read(tmp_path / "a.wav").shape[1] < 1.2 * RATE


# What FFmpeg reads.


@pytest.mark.parametrize(("suffix", "options"), CODECS)
@pytest.mark.parametrize(("rate", "seconds"), [(8000, 0.5), (44100, 0.30123)])
def test_ffmpeg_formats_keep_length_and_sound(
    tmp_path: Path,
    encode: Callable[..., None],
    speech_like: Callable[..., np.ndarray],
    suffix: str,
    options: tuple[str, ...],
    rate: int,
    seconds: float,
) -> None:
    samples = speech_like(rate, seconds, 2)
    path = tmp_path / f"a.{suffix}"
    encode(samples, rate, *options, path)
    with open_audio(path) as reader:
        found = np.concatenate(list(reader.blocks(1000)), axis=1)
        assert (reader.info.sample_rate, reader.info.channels) == (rate, 2)
        assert reader.info.frames is None
    assert found.shape == samples.shape
    assert min(correlations(found, samples)) > 0.95


@pytest.mark.parametrize("samples", [1, 1024, 1025])
@pytest.mark.parametrize("rate", [8000, 44100])
def test_priming_of_m4a_is_left_out(
    tmp_path: Path, encode: Callable[..., None], rate: int, samples: int
) -> None:
    path = tmp_path / "a.m4a"
    encode(np.full((1, samples), 0.1), rate, "-c:a", "aac", path)
    assert read(path).shape == (1, samples)


@pytest.mark.parametrize("block", [1, 777, 10**6])
def test_block_size_does_not_change_what_ffmpeg_reads(
    tmp_path: Path,
    encode: Callable[..., None],
    ffmpeg: Callable[..., bytes],
    speech_like: Callable[..., np.ndarray],
    block: int,
) -> None:
    path = tmp_path / "a.m4a"
    encode(speech_like(RATE, 0.3, 2), RATE, "-c:a", "aac", path)
    reference = np.frombuffer(ffmpeg("-i", path, "-f", "f32le", "pipe:1"), "<f4").reshape(-1, 2)
    with open_audio(path) as reader:
        parts = list(reader.blocks(block))
    assert max(part.shape[1] for part in parts) <= block
    np.testing.assert_array_equal(np.concatenate(parts, 1), reference.T)


@pytest.mark.parametrize(("suffix", "video"), [("mp4", "mpeg4"), ("mov", "mjpeg"), ("webm", "vp8")])
def test_sound_of_a_video_is_read(
    tmp_path: Path,
    encode: Callable[..., None],
    speech_like: Callable[..., np.ndarray],
    suffix: str,
    video: str,
) -> None:
    samples = speech_like(48000, 0.5)
    picture = ("-f", "lavfi", "-i", "testsrc=s=64x64:r=10:d=0.5", "-pix_fmt", "yuvj420p")
    path = tmp_path / f"a.{suffix}"
    encode(samples, 48000, *picture, "-c:v", video, path)
    found = read(path)
    assert found.shape == samples.shape
    assert min(correlations(found, samples)) > 0.95


def test_opus_in_webm_is_read_at_its_own_rate(
    tmp_path: Path, encode: Callable[..., None], speech_like: Callable[..., np.ndarray]
) -> None:
    encode(speech_like(RATE, 0.5), RATE, "-c:a", "libopus", tmp_path / "a.webm")
    with open_audio(tmp_path / "a.webm") as reader:
        assert reader.info.sample_rate == 48000
        assert sum(block.shape[1] for block in reader.blocks(1000)) == 24000


def test_raw_aac_is_read_with_its_padding(
    tmp_path: Path, encode: Callable[..., None], speech_like: Callable[..., np.ndarray]
) -> None:
    # Raw AAC has no place to tell how much was added at either end.
    samples = speech_like(RATE, 1.0)
    encode(samples, RATE, "-c:a", "aac", tmp_path / "a.aac")
    found = read(tmp_path / "a.aac")
    assert RATE + 1024 <= found.shape[1] < RATE + 3 * 1024
    assert min(correlations(found[:, 1024 : 1024 + RATE], samples)) > 0.98


@pytest.mark.parametrize("channels", [3, 8])
def test_channels_that_ffmpeg_reads_stay_in_order(
    tmp_path: Path,
    encode: Callable[..., None],
    speech_like: Callable[..., np.ndarray],
    channels: int,
) -> None:
    samples = speech_like(RATE, 0.5, channels)
    encode(samples, RATE, "-c:a", "pcm_s16le", tmp_path / "a.mov")
    np.testing.assert_allclose(read(tmp_path / "a.mov"), samples, atol=2**-15)


def test_video_without_sound_is_refused(tmp_path: Path, ffmpeg: Callable[..., bytes]) -> None:
    ffmpeg("-f", "lavfi", "-i", "testsrc=s=64x64:r=5:d=1", tmp_path / "a.mp4")
    assert reason(tmp_path / "a.mp4") == "holds no audio track"


@pytest.mark.parametrize("kept", [0.5, 0.99])
@pytest.mark.parametrize(
    ("suffix", "options"), [("m4a", ()), ("m4a", ("-movflags", "+faststart")), ("webm", ())]
)
def test_truncated_file_is_refused(
    tmp_path: Path,
    encode: Callable[..., None],
    speech_like: Callable[..., np.ndarray],
    suffix: str,
    options: tuple[str, ...],
    kept: float,
) -> None:
    path = tmp_path / f"a.{suffix}"
    encode(speech_like(RATE, 2.0), RATE, *options, path)
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])
    assert reason(path).startswith("FFmpeg could not process it (")


@pytest.mark.parametrize("suffix", ["m4a", "webm", "aac"])
def test_damaged_file_is_refused(
    tmp_path: Path,
    encode: Callable[..., None],
    speech_like: Callable[..., np.ndarray],
    suffix: str,
) -> None:
    path = tmp_path / f"a.{suffix}"
    encode(speech_like(RATE, 2.0), RATE, path)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 2000] = np.random.default_rng(0).bytes(2000)
    path.write_bytes(data)
    message = reason(path)
    assert message.startswith("FFmpeg could not process it (")
    assert "0x" not in message.split("Element at")[0]


@pytest.mark.parametrize("kind", list(PLAYLISTS))
@pytest.mark.parametrize("suffix", ["mp4", "aac"])
@pytest.mark.parametrize("folder", [".", "/"])
def test_playlist_does_not_reach_another_file(
    tmp_path: Path,
    ffmpeg: Callable[..., bytes],
    speech_like: Callable[..., np.ndarray],
    kind: str,
    suffix: str,
    folder: str,
) -> None:
    write_wav(tmp_path / "secret.wav", speech_like(RATE, 0.2))
    path = tmp_path / f"a.{suffix}"
    target = "secret.wav" if folder == "." else tmp_path / "secret.wav"
    path.write_text(PLAYLISTS[kind].format(target))
    assert reason(path).startswith("FFmpeg could not process it (")


# Files that are not whole, or not audio.


@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT", "PCM_24"])
def test_truncated_wav_is_read_to_its_end(tmp_path: Path, subtype: str) -> None:
    samples = np.random.default_rng(0).uniform(-0.9, 0.9, (2, 4000)).astype(np.float32)
    path = tmp_path / "a.wav"
    data = write_wav(path, samples, subtype=subtype)
    whole = soundfile.read(path, dtype="float32")[0].T
    size = 2 * {"PCM_16": 2, "FLOAT": 4, "PCM_24": 3}[subtype]
    path.write_bytes(data[: -1000 * size - 1])
    np.testing.assert_array_equal(read(path), whole[:, :2999])


@pytest.mark.parametrize(("whole", "size"), [(8, 0), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_wav_whose_header_was_never_finished_is_read_to_its_end(
    tmp_path: Path, whole: int, size: int
) -> None:
    path = tmp_path / "a.wav"
    data = bytearray(write_wav(path, np.full((1, 500), 0.25)))
    struct.pack_into("<I", data, 4, whole)
    struct.pack_into("<I", data, 40, size)
    path.write_bytes(data)
    np.testing.assert_array_equal(read(path), np.full((1, 500), 0.25))


@pytest.mark.parametrize("kept", [0.5, 0.97])
@pytest.mark.parametrize("block", [1000, 10**6])
def test_truncated_flac_is_refused(
    tmp_path: Path, speech_like: Callable[..., np.ndarray], kept: float, block: int
) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, speech_like(RATE, 2.0)[0], RATE)
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(AudioError, match="is cut short or damaged"):
        read(path, block)


def test_flac_of_untold_length_is_read_to_its_end(tmp_path: Path) -> None:
    samples = np.arange(-5000, 5000, dtype=np.int16)
    path = tmp_path / "a.flac"
    soundfile.write(path, samples, RATE)
    data = bytearray(path.read_bytes())
    data[21] &= 0xF0  # the 36 bits of STREAMINFO that hold the number of samples
    data[22:26] = bytes(4)
    path.write_bytes(data)
    with open_audio(path) as reader:
        assert reader.info.frames is None
        found = np.concatenate(list(reader.blocks(999)), axis=1)
    np.testing.assert_array_equal(found, samples[None] / 2**15)


@pytest.mark.parametrize("block", [3000, 5000, 9000])
def test_tag_after_flac_is_no_sound(tmp_path: Path, block: int) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, np.full(5000, 0.5), RATE)
    path.write_bytes(path.read_bytes() + b"TAG" + bytes(125))
    np.testing.assert_array_equal(read(path, block), np.full((1, 5000), 0.5))


@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
@pytest.mark.parametrize("block", [500, 10**6])
def test_damaged_ogg_is_refused(
    tmp_path: Path, speech_like: Callable[..., np.ndarray], subtype: str, block: int
) -> None:
    path = tmp_path / "a.ogg"
    soundfile.write(path, speech_like(RATE, 6.0)[0], RATE, format="OGG", subtype=subtype)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 100] = bytes(100)
    path.write_bytes(data)
    with pytest.raises(AudioError, match=r"only \d+ of 96000 samples can be decoded"):
        read(path, block)


@pytest.mark.parametrize("subtype", ["VORBIS", "OPUS"])
def test_joined_ogg_is_refused(tmp_path: Path, subtype: str) -> None:
    path = tmp_path / "a.ogg"
    data = b""
    for value in (0.1, 0.2):
        soundfile.write(path, np.full(8000, value), RATE, format="OGG", subtype=subtype)
        data += path.read_bytes()
    path.write_bytes(data)
    assert reason(path) == "holds several recordings joined end to end; split it first"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("block", [100, 10**6])
@pytest.mark.parametrize("subtype", ["FLOAT", "DOUBLE"])
def test_first_bad_sample_is_named_by_its_time(
    tmp_path: Path, bad: float, block: int, subtype: str
) -> None:
    samples = np.zeros((2, 16000))
    samples[1, 4000] = samples[0, 9000] = bad
    write_wav(tmp_path / "a.wav", samples, subtype=subtype)
    with pytest.raises(AudioError, match=r"^holds NaN or infinite samples \(first at 0\.250 s\)$"):
        read(tmp_path / "a.wav", block)


def test_samples_beyond_full_scale_are_read(tmp_path: Path) -> None:
    samples = np.array([[0.5, -3.0, 2.0]], dtype=np.float32)
    write_wav(tmp_path / "a.wav", samples, subtype="FLOAT")
    np.testing.assert_array_equal(read(tmp_path / "a.wav"), samples)


@pytest.mark.parametrize("suffix", ["wav", "flac", "mp3", "ogg", "m4a", "mp4", "xyz"])
def test_empty_file_is_refused(tmp_path: Path, suffix: str) -> None:
    (tmp_path / f"a.{suffix}").touch()
    assert reason(tmp_path / f"a.{suffix}") == "is empty (0 bytes)"


@pytest.mark.parametrize("suffix", ["wav", "flac", "mp3", "ogg", "xyz"])
@pytest.mark.parametrize("content", [b"dear diary\n" * 500, b"RIFF", b"OggS", b"fLaC", b"ID3\3"])
def test_other_content_is_refused(tmp_path: Path, suffix: str, content: bytes) -> None:
    (tmp_path / f"a.{suffix}").write_bytes(content)
    assert reason(tmp_path / f"a.{suffix}").startswith("is not audio that can be read (")


@pytest.mark.parametrize("suffix", ["m4a", "webm"])
@pytest.mark.parametrize("content", [b"dear diary\n" * 500, b"\0\0\0\x08ftyp", b"\x1aE\xdf\xa3"])
def test_other_content_is_refused_by_ffmpeg(
    tmp_path: Path, ffmpeg: Callable[..., bytes], suffix: str, content: bytes
) -> None:
    (tmp_path / f"a.{suffix}").write_bytes(content)
    assert reason(tmp_path / f"a.{suffix}").startswith("FFmpeg could not process it (")


def test_header_without_channels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    data = bytearray(write_wav(path, np.full((1, 500), 0.25)))
    struct.pack_into("<H", data, 22, 0)
    path.write_bytes(data)
    assert "channel" in reason(path).lower()


@pytest.mark.parametrize("suffix", ["wav", "aiff", "w64", "au"])
def test_file_without_samples_is_refused(tmp_path: Path, suffix: str) -> None:
    soundfile.write(tmp_path / f"a.{suffix}", np.zeros((0, 2)), RATE)
    assert reason(tmp_path / f"a.{suffix}") == "holds no samples"


@pytest.mark.parametrize("rate", [4000, 7999, 192001, 384000])
def test_rate_out_of_range_is_refused(tmp_path: Path, rate: int) -> None:
    write_wav(tmp_path / "a.wav", np.zeros((1, 100)), rate)
    assert reason(tmp_path / "a.wav") == (
        f"has a sample rate of {rate} Hz, outside 8000 to 192000 Hz"
    )


def test_rate_out_of_range_is_refused_by_ffmpeg(
    tmp_path: Path, encode: Callable[..., None]
) -> None:
    encode(np.zeros((1, 4000)), 7350, tmp_path / "a.m4a")
    assert reason(tmp_path / "a.m4a").startswith("has a sample rate of 7350 Hz, outside 8000 to")


# Files that cannot be opened, and odd names.


@pytest.mark.parametrize("suffix", ["wav", "m4a"])
def test_missing_file_and_folder_are_refused(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a.{suffix}"
    assert reason(path) == "cannot be opened: No such file or directory"
    path.mkdir()
    assert reason(path) == "is not a regular file"
    assert reason(path / "b.wav") == "cannot be opened: No such file or directory"


def test_link_to_itself_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.wav").symlink_to(tmp_path / "a.wav")
    assert reason(tmp_path / "a.wav").startswith("cannot be opened: ")


@pytest.mark.parametrize("suffix", ["wav", "m4a"])
def test_unreadable_file_is_refused(suffix: str) -> None:
    with open_folder() as folder:
        path = folder / f"a.{suffix}"
        path.write_bytes(b"RIFF")
        path.chmod(0)
        with ordinary_user():
            assert reason(path) == "cannot be opened: Permission denied"


ODD_NAMES = [
    b"two words",
    b"line\nbreak",
    b"tab\tand \x07bell",
    b"-i",
    b"pipe:0",
    b"http:x",
    b"%03d",
    b"*?[a]",
    b"quote'\"\\$;&|",
    "日本語 ñ".encode(),
    b"not \xff\xfe utf-8",
]


@pytest.fixture(scope="module", params=["flac", "m4a"])
def silence(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    encode: Callable[..., None],
) -> Path:
    path = tmp_path_factory.mktemp("silence") / f"a.{request.param}"
    encode(np.zeros((1, 3000)), RATE, path)
    return path


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_read(
    tmp_path: Path, silence: Path, monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = Path(os.fsdecode(name) + silence.suffix)
    try:
        odd.write_bytes(silence.read_bytes())
    except OSError:
        pytest.skip("this file system has no such names")
    assert read(odd).shape == (1, 3000)


# What goes wrong outside is left alone, and nothing stays open.


@pytest.mark.parametrize("suffix", ["wav", "m4a"])
def test_errors_of_the_caller_pass_through(
    tmp_path: Path, encode: Callable[..., None], suffix: str
) -> None:
    path = tmp_path / f"a.{suffix}"
    encode(np.zeros((1, 3000)), RATE, path)
    full = OSError(28, "No space left on device")
    with pytest.raises(OSError, match="No space left") as caught, open_audio(path):
        raise full
    assert caught.value is full


@pytest.mark.parametrize("suffix", ["wav", "flac", "m4a"])
def test_reading_may_stop_early(
    tmp_path: Path,
    encode: Callable[..., None],
    speech_like: Callable[..., np.ndarray],
    suffix: str,
) -> None:
    path = tmp_path / f"a.{suffix}"
    encode(speech_like(RATE, 6.0), RATE, path)
    with path.open("rb") as file:
        free = file.fileno()
    with open_audio(path) as reader:
        assert next(iter(reader.blocks(10))).shape == (1, 10)
    with path.open("rb") as file:
        assert file.fileno() == free
