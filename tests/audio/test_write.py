from __future__ import annotations

import gc
import json
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile
from tinytag import TinyTag

from sordino.audio import write
from sordino.audio.formats import FORMATS
from sordino.audio.write import create_audio
from sordino.errors import OutputError
from tests.helpers import open_folder, ordinary_user

RATE = 16000
NAMES = list(FORMATS)
BY_SNDFILE = [name for name in NAMES if FORMATS[name].container]
HALF_STEP = {"PCM_16": 2**-16, "PCM_24": 2**-24, "PCM_32": 2**-31, "FLOAT": 0.0}
LOSSLESS = [("wav", sample_type) for sample_type in HALF_STEP]
LOSSLESS += [("flac", "PCM_16"), ("flac", "PCM_24")]
LOSSY = [
    ("mp3", 8000, 1),
    ("mp3", 22050, 2),
    ("mp3", 48000, 2),
    ("ogg", 8000, 1),
    ("ogg", 16000, 6),
    ("ogg", 44100, 2),
    ("ogg", 192000, 1),
    ("opus", 8000, 2),
    ("opus", 16000, 5),
    ("opus", 48000, 1),
    ("m4a", 8000, 1),
    ("m4a", 11025, 2),
    ("m4a", 16000, 3),
    ("m4a", 16000, 4),
    ("m4a", 16000, 5),
    ("m4a", 16000, 6),
    ("m4a", 16000, 7),
    ("m4a", 16000, 8),
    ("m4a", 44100, 2),
    ("m4a", 96000, 1),
]
# What TinyTag tells of any file, with or without tags.
TECHNICAL = {"filename", "filesize", "duration", "channels", "samplerate", "bitrate", "bitdepth"}
TECHNICAL |= {"mime_type", "is_lossless"}


def put(
    path: Path,
    samples: np.ndarray,
    rate: int = RATE,
    *,
    name: str | None = None,
    sample_type: str | None = None,
    block: int = 10**9,
) -> Path:
    format_ = FORMATS[name or path.suffix[1:]]
    with create_audio(
        path,
        format_,
        sample_rate=rate,
        channels=len(samples),
        sample_type=sample_type or format_.default,
        frames=samples.shape[1],
    ) as sink:
        for start in range(0, samples.shape[1], block):
            sink.write(samples[:, start : start + block])
    return path


def boxes(data: bytes) -> dict[bytes, bytes]:
    """Every box of an MP4 file, by its name; of those with the same name, the first."""
    found: dict[bytes, bytes] = {}
    while len(data) >= 8:
        size, name = struct.unpack(">I4s", data[:8])
        found.setdefault(name, data[8:size])
        if name in (b"moov", b"trak", b"mdia", b"edts"):
            found = boxes(data[8:size]) | found
        data = data[size:]
    return found


@pytest.fixture(scope="module")
def decode(ffmpeg: Callable[..., bytes]) -> Callable[[Path, int], np.ndarray]:
    def run(path: Path, channels: int) -> np.ndarray:
        if path.suffix != ".m4a":
            return soundfile.read(path, dtype="float32", always_2d=True)[0].T
        data = ffmpeg("-i", path, "-f", "f32le", "pipe:1")
        return np.frombuffer(data, "<f4").reshape(-1, channels).T

    return run


@pytest.fixture(autouse=True)
def _ffmpeg_where_needed(request: pytest.FixtureRequest) -> None:
    if "m4a" in getattr(getattr(request.node, "callspec", None), "params", {}).values():
        request.getfixturevalue("ffmpeg")


# What is written.


@pytest.mark.parametrize(("name", "sample_type"), LOSSLESS)
@pytest.mark.parametrize(
    ("rate", "channels"), [(8000, 1), (11025, 2), (44100, 3), (96000, 8), (192000, 1)]
)
def test_lossless_file_holds_the_samples(
    tmp_path: Path, name: str, sample_type: str, rate: int, channels: int
) -> None:
    samples = np.random.default_rng(0).uniform(-0.99, 0.99, (channels, 3001)).astype(np.float32)
    path = put(tmp_path / f"a.{name}", samples, rate, sample_type=sample_type, block=700)
    found, found_rate = soundfile.read(path, always_2d=True)
    assert (found_rate, soundfile.info(path).subtype) == (rate, sample_type)
    assert found.shape == (3001, channels)
    assert np.abs(found.T - samples).max() <= HALF_STEP[sample_type]


@pytest.mark.parametrize("sample_type", ["ULAW", "ALAW"])
def test_telephone_wav_holds_the_samples_in_steps_of_g711(tmp_path: Path, sample_type: str) -> None:
    samples = np.linspace(-0.98, 0.98, 5001, dtype=np.float32)
    path = put(tmp_path / "a.wav", samples[None], 8000, sample_type=sample_type)
    assert soundfile.info(path).subtype == sample_type
    # G.711 has 16 steps in each octave down to about 2**-7, of 13 or 14 bits at the finest.
    octave = 2.0 ** np.floor(np.log2(np.abs(samples) + 2**-7))
    assert (np.abs(soundfile.read(path)[0] - samples) <= octave / 32 + 2**-12).all()


@pytest.mark.parametrize(("name", "sample_type"), LOSSLESS)
def test_full_scale_is_not_wrapped(tmp_path: Path, name: str, sample_type: str) -> None:
    path = put(tmp_path / f"a.{name}", np.array([[1.0, -1.0] * 50]), sample_type=sample_type)
    found = soundfile.read(path)[0]
    step = 2 * HALF_STEP[sample_type]
    np.testing.assert_allclose(found, [1.0, -1.0] * 50, rtol=0, atol=step)


@pytest.mark.parametrize(("name", "sample_type"), LOSSLESS[:2])
def test_what_is_too_soft_to_store_becomes_silence(
    tmp_path: Path, name: str, sample_type: str
) -> None:
    noise = 1e-9 * np.random.default_rng(0).standard_normal((1, 1000))
    assert not soundfile.read(put(tmp_path / f"a.{name}", noise, sample_type=sample_type))[0].any()


@pytest.mark.parametrize(("name", "rate", "channels"), LOSSY)
def test_lossy_file_keeps_length_and_every_channel(
    tmp_path: Path,
    decode: Callable[[Path, int], np.ndarray],
    speech_like: Callable[..., np.ndarray],
    name: str,
    rate: int,
    channels: int,
) -> None:
    samples = speech_like(rate, 0.45678, channels)
    path = put(tmp_path / f"a.{name}", samples, rate, block=5000)
    found = decode(path, channels)
    assert found.shape == samples.shape
    for channel, expected in zip(found, samples, strict=True):
        assert np.corrcoef(channel, expected)[0, 1] > 0.9
    if name != "m4a":
        info = soundfile.info(path)
        assert (info.samplerate, info.channels, info.subtype) == (
            rate,
            channels,
            FORMATS[name].default,
        )


@pytest.mark.parametrize("name", ["mp3", "ogg", "opus", "m4a"])
def test_real_speech_survives_lossy_formats(
    tmp_path: Path, decode: Callable[[Path, int], np.ndarray], speech_root: Path, name: str
) -> None:
    speech, rate = soundfile.read(min((speech_root / "vctk").rglob("*.flac")), dtype="float32")
    speech = 0.8 * speech[None, : 2 * rate]
    found = decode(put(tmp_path / f"a.{name}", speech, rate), 1)
    assert found.shape == speech.shape
    assert np.corrcoef(found[0], speech[0])[0, 1] > 0.97


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("samples", [1, 2, 700, 1153])
def test_short_files_keep_their_length(
    tmp_path: Path, decode: Callable[[Path, int], np.ndarray], name: str, samples: int
) -> None:
    path = put(tmp_path / f"a.{name}", np.full((1, samples), 0.1), 48000)
    assert decode(path, 1).shape == (1, samples)


@pytest.mark.parametrize("rate", [8000, 11025, 44100])
def test_m4a_tells_its_length_to_the_sample(tmp_path: Path, rate: int, ffmpeg: object) -> None:
    found = boxes(put(tmp_path / "a.m4a", np.full((1, 4321), 0.1), rate).read_bytes())
    assert struct.unpack(">I", found[b"mvhd"][12:16]) == (rate,)
    count, *edits = struct.unpack_from(">I3I", found[b"elst"], 4)
    assert count == 1
    assert edits[0] == 4321


@pytest.mark.parametrize("name", ["wav", "flac", "ogg"])
def test_long_block_is_written_in_full(
    tmp_path: Path, speech_like: Callable[..., np.ndarray], name: str
) -> None:
    samples = speech_like(RATE, 10.0)
    found = soundfile.read(put(tmp_path / f"a.{name}", samples), always_2d=True)[0].T
    assert found.shape == samples.shape
    for start in range(0, 160_000, 20_000):
        part = slice(start, start + 20_000)
        assert np.corrcoef(found[0, part], samples[0, part])[0, 1] > 0.9


def test_encoder_gets_no_block_that_crashes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # libsndfile's Vorbis encoder overflows the stack at some millions of samples.
    sizes, original = [], soundfile.SoundFile.write

    def record(self: soundfile.SoundFile, data: np.ndarray) -> None:
        sizes.append(len(data))
        original(self, data)

    monkeypatch.setattr(soundfile.SoundFile, "write", record)
    put(tmp_path / "a.ogg", np.full((1, 300_000), 0.1))
    assert sum(sizes) == 300_000
    assert max(sizes) <= 100_000


# Large files.


@pytest.mark.parametrize(("name", "sample_type"), LOSSLESS[:4])
def test_rf64_begins_where_wav_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, sample_type: str
) -> None:
    samples = np.random.default_rng(0).uniform(-0.9, 0.9, (2, 1000)).astype(np.float32)
    size = 2000 * {"PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4}[sample_type]
    for limit, container in ((size, "WAV"), (size - 1, "RF64")):
        monkeypatch.setattr(write, "_WAV_LIMIT", limit)
        path = put(tmp_path / f"{container}.{name}", samples, sample_type=sample_type)
        assert soundfile.info(path).format == container
        found = soundfile.read(path, always_2d=True)[0].T
        assert np.abs(found - samples).max() <= HALF_STEP[sample_type]


def test_rf64_takes_over_below_4_gib() -> None:
    assert 2**32 - 2**24 < write._WAV_LIMIT < 2**32 - 4096


# Nothing but samples.


@pytest.fixture(scope="module")
def written_twice(
    tmp_path_factory: pytest.TempPathFactory,
    ffmpeg: Callable[..., bytes],
    speech_like: Callable[..., np.ndarray],
) -> tuple[Path, Path]:
    first, second = (tmp_path_factory.mktemp("twice") for _ in range(2))
    samples = speech_like(RATE, 1.0, 2)
    for folder in (first, second):
        for name in NAMES:
            put(folder / f"a.{name}", samples)
        put(folder / "float.wav", samples, sample_type="FLOAT")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(write, "_WAV_LIMIT", 1000)
            put(folder / "large.wav", samples, sample_type="FLOAT")
        if folder is first:
            time.sleep(1.1)
    return first, second


FILES = [*(f"a.{name}" for name in NAMES), "float.wav", "large.wav"]


@pytest.mark.parametrize("name", FILES)
def test_equal_samples_give_equal_bytes(written_twice: tuple[Path, Path], name: str) -> None:
    first, second = ((folder / name).read_bytes() for folder in written_twice)
    assert first == second


def test_float_wav_has_no_date(written_twice: tuple[Path, Path]) -> None:
    data = (written_twice[0] / "float.wav").read_bytes()
    _, version, date, peak = struct.unpack_from("<3If", data, data.index(b"PEAK") + 4)
    assert (version, date) == (1, 0)
    assert peak == np.abs(soundfile.read(written_twice[0] / "float.wav")[0][:, 0]).max()


def test_m4a_has_no_date(written_twice: tuple[Path, Path]) -> None:
    found = boxes((written_twice[0] / "a.m4a").read_bytes())
    for name in (b"mvhd", b"tkhd", b"mdhd"):
        version, created, changed = found[name][0], found[name][4:8], found[name][8:12]
        assert (version, created, changed) == (0, bytes(4), bytes(4))
    assert found[b"udta"].endswith(b"\0\0\0\x08ilst")  # a list of tags with nothing in it


# TinyTag does not know RF64.
@pytest.mark.parametrize("name", FILES[:-1])
def test_no_tag_is_written(written_twice: tuple[Path, Path], name: str) -> None:
    tags = TinyTag.get(written_twice[0] / name).as_dict()
    tags = {key: value for key, value in tags.items() if key not in TECHNICAL}
    # libsndfile puts its name, the same for all, into OGG files.
    assert tags == ({"encoder": ["libsndfile"]} if name == "a.ogg" else {})


# What cannot be written.


@pytest.mark.parametrize(
    ("name", "rate", "channels", "way_out"),
    [
        ("mp3", 96000, 1, "--sample-rate"),
        ("opus", 44100, 1, "--sample-rate"),
        ("m4a", 192000, 1, "--format"),
        ("mp3", 16000, 3, "--mono"),
        ("flac", 16000, 9, "--mono"),
        ("opus", 16000, 9, "--mono"),
    ],
)
def test_refusal_names_a_way_out_and_leaves_what_was_there(
    tmp_path: Path, name: str, rate: int, channels: int, way_out: str
) -> None:
    path = tmp_path / f"a.{name}"
    path.write_text("mine")
    with pytest.raises(OutputError, match=way_out):
        put(path, np.zeros((channels, 100)), rate)
    assert path.read_text() == "mine"


def fail_halfway(path: Path, name: str, error: BaseException) -> None:
    sample_type = FORMATS[name].default
    with create_audio(
        path, FORMATS[name], sample_rate=RATE, channels=1, sample_type=sample_type, frames=50_000
    ) as sink:
        sink.write(np.full((1, 30_000), 0.1, np.float32))
        raise error


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, OSError])
def test_error_of_the_caller_leaves_nothing(
    tmp_path: Path, name: str, error: type[BaseException]
) -> None:
    path = tmp_path / f"a.{name}"
    path.write_text("earlier")
    mine = error("mine")
    with pytest.raises(error) as caught:
        fail_halfway(path, name, mine)
    assert caught.value is mine
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", BY_SNDFILE)
def test_abandoned_file_does_not_write_into_the_next_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        fail_halfway(tmp_path / "a", name, ZeroDivisionError())
    # This file gets the descriptor of the one before.
    with (tmp_path / "b").open("wb", buffering=0) as file:
        file.write(b"mine")
        del caught
        gc.collect()
    assert (tmp_path / "b").read_bytes() == b"mine"


@pytest.mark.parametrize("name", BY_SNDFILE)
@pytest.mark.parametrize("missing", [1, -1])
def test_wrong_number_of_samples_leaves_nothing(tmp_path: Path, name: str, missing: int) -> None:
    format_ = FORMATS[name]
    with (
        pytest.raises(OutputError, match=f"came out with 5000 instead of {5000 + missing} samples"),
        create_audio(
            tmp_path / "a",
            format_,
            sample_rate=RATE,
            channels=1,
            sample_type=format_.default,
            frames=5000 + missing,
        ) as sink,
    ):
        sink.write(np.full((1, 5000), 0.1, np.float32))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_place_that_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    for path in ("folder", "file/a", "missing/a"):
        with pytest.raises(OutputError, match=r"^cannot be written: "):
            put(tmp_path / path, np.zeros((1, 100)), name=name)
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file", tmp_path / "folder"]
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("name", NAMES)
def test_protected_file_stays(name: str) -> None:
    with open_folder() as folder:
        path = folder / f"a.{name}"
        path.write_text("mine")
        path.chmod(0o444)
        with (
            ordinary_user(),
            pytest.raises(OutputError, match=r"^cannot be written: Permission denied$"),
        ):
            put(path, np.zeros((1, 100)))
        assert path.read_text() == "mine"


FULL_DISK = """
import json, resource, sys
from pathlib import Path
import numpy as np
from sordino.audio.formats import FORMATS
from sordino.audio.write import create_audio
from sordino.errors import OutputError

folder, limits = Path(sys.argv[1]), json.loads(sys.argv[2])
samples = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 60_000)).astype(np.float32)
found = {}
for limit in sorted(limits, reverse=True):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    for name, format_ in FORMATS.items():
        try:
            with create_audio(
                folder / f"a.{name}", format_, sample_rate=16000, channels=1,
                sample_type=format_.default, frames=60_000,
            ) as sink:
                for start in range(0, 60_000, 1000):
                    sink.write(samples[:, start : start + 1000])
            found[f"{name} {limit}"] = "no error"
        except OutputError as error:
            found[f"{name} {limit}"] = str(error)
        except BaseException as error:
            found[f"{name} {limit}"] = repr(error)
print(json.dumps(found))
"""
LIMITS = (10, 1000, 10_000)


@pytest.fixture(scope="module")
def full_disk(
    tmp_path_factory: pytest.TempPathFactory, ffmpeg: Callable[..., bytes]
) -> tuple[Path, dict[str, str]]:
    pytest.importorskip("resource", reason="file sizes cannot be limited here")
    folder = tmp_path_factory.mktemp("full")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, folder, json.dumps(LIMITS)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return folder, json.loads(done.stdout)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limit", LIMITS)
def test_full_disk_leaves_nothing(
    full_disk: tuple[Path, dict[str, str]], name: str, limit: int
) -> None:
    folder, found = full_disk
    assert found[f"{name} {limit}"].startswith(
        "FFmpeg could not process it (" if name == "m4a" else "cannot be written"
    )
    assert not (folder / f"a.{name}").exists()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("samples", [1000, 60_000])
def test_device_without_space_is_an_error(tmp_path: Path, name: str, samples: int) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    path = tmp_path / f"a.{name}"
    path.symlink_to("/dev/full")
    with pytest.raises(OutputError):
        put(path, np.random.default_rng(0).uniform(-0.5, 0.5, (1, samples)), block=1000)
    assert not path.is_symlink()
