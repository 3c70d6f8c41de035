from __future__ import annotations

import copy
import multiprocessing
import pickle
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.audio.recording import Recording
from sordino.errors import AudioError, UsageError
from sordino.models.bundle import write_bundle
from sordino.speaker.base import mean_vector
from sordino.speaker.encoders import OnnxEncoder, load_encoder
from tests.encoders import expected, graph, metadata, write_encoder
from tests.helpers import write_voice

RATE = 16000


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> OnnxEncoder:
    """Cuts recordings at 1 s."""
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return OnnxEncoder(write_encoder(folder, maximum_samples=RATE))


def noise(samples: int, *, seed: int = 0, channels: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 0.1, (channels, samples)).astype(np.float32)


def recordings(*lengths: int) -> list[Recording]:
    return [Recording(noise(length, seed=number), RATE) for number, length in enumerate(lengths)]


def in_pieces(wave: np.ndarray, *lengths: int) -> np.ndarray:
    pieces = np.split(wave, np.cumsum(lengths)[:-1])
    assert [piece.size for piece in pieces] == list(lengths)
    return mean_vector([expected(piece) for piece in pieces], list(lengths))


def test_what_it_says_of_itself(encoder):
    assert encoder.name == "mean-energy"
    assert encoder.dimension == 3
    assert encoder.sample_rate == RATE
    assert encoder.digest == encoder.bundle.digest


def test_vector_of_a_recording(encoder):
    wave = noise(RATE)
    vector = encoder.embed(Recording(wave, RATE))
    assert vector.dtype == np.float32
    assert vector.shape == (3,)
    np.testing.assert_allclose(vector, expected(wave[0]), rtol=1e-5)


def test_channels_are_averaged(encoder):
    wave = noise(8000, channels=3)
    vector = encoder.embed(Recording(wave, RATE))
    np.testing.assert_allclose(vector, expected(wave.mean(axis=0)), rtol=1e-5)


@pytest.mark.parametrize("rate", [8000, 22050, 48000])
def test_any_rate(encoder, rate):
    def tone(at: int) -> np.ndarray:
        return (0.5 * np.sin(2 * np.pi * 700 * np.arange(at // 2) / at)).astype(np.float32)

    vector = encoder.embed(Recording(tone(rate)[None], rate))
    np.testing.assert_allclose(vector[[0, 2]], expected(tone(RATE))[[0, 2]], rtol=0.02)


@pytest.mark.parametrize(
    "lengths",
    [(8001, 8000), (16000, 16000), (16000, 8001, 8000), (16000, 16000, 16000, 10000, 10000)],
)
def test_long_recordings_are_cut(encoder, lengths):
    wave = noise(sum(lengths))
    vector = encoder.embed(Recording(wave, RATE))
    np.testing.assert_allclose(vector, in_pieces(wave[0], *lengths), rtol=1e-5)


def test_silent_pieces_do_not_count(encoder):
    wave = noise(3 * RATE)
    wave[:, RATE : 2 * RATE] = 0
    heard = mean_vector([expected(wave[0, :RATE]), expected(wave[0, 2 * RATE :])])
    np.testing.assert_allclose(encoder.embed(Recording(wave, RATE)), heard, rtol=1e-5)
    wave[:, : 2 * RATE] = 0
    only = encoder.embed(Recording(wave, RATE))
    np.testing.assert_allclose(only, expected(wave[0, 2 * RATE :]), rtol=1e-5)


def test_too_short(encoder):
    assert encoder.embed(Recording(noise(400), RATE)).shape == (3,)
    with pytest.raises(
        AudioError,
        match=r"^is too short: 0.025 s; the encoder mean-energy needs at least 0.025 s$",
    ):
        encoder.embed(Recording(noise(399), RATE))
    with pytest.raises(AudioError, match=r"0\.020 s"):
        encoder.embed(Recording(noise(882), 44100))


@pytest.mark.parametrize("samples", [100, 8000, 40000])
def test_silence(encoder, samples):
    with pytest.raises(AudioError, match="digital silence"):
        encoder.embed(Recording(np.zeros((2, samples), dtype=np.float32), RATE))


def test_files_are_as_recordings(encoder, tmp_path):
    for name, rate, seconds in (
        ("a.wav", 16000, 0.7),
        ("b.flac", 44100, 2.6),
        ("c.ogg", 8000, 1.7),
    ):
        path = write_voice(tmp_path / name, seconds, rate, channels=2)
        there = encoder.embed(Recording.read(path))
        np.testing.assert_allclose(encoder.embed_file(path), there, rtol=1e-4)


def test_errors_of_files_name_them(encoder, tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(8000), RATE)
    with pytest.raises(AudioError, match=r"a\.wav: is digital silence"):
        encoder.embed_file(tmp_path / "a.wav")


def test_memory_does_not_grow_with_a_file(encoder, tmp_path):
    peaks = []
    for minutes in (1, 5):
        path = tmp_path / f"{minutes}.wav"
        with soundfile.SoundFile(path, "w", RATE, 1, "PCM_16") as file:
            for second in range(60 * minutes):
                file.write(noise(RATE, seed=second)[0])
        tracemalloc.start()
        encoder.embed_file(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 5e6  # the file has 9.6e6 samples


def test_batches_give_what_single_recordings_give(encoder):
    many = recordings(8000, 5000, 8000, 40000, 400, 5000, 8000, 16000, 16001)
    many.append(Recording(noise(22050, channels=2), 44100))
    together = encoder.embed_many(iter(many))
    assert together.shape == (10, 3)
    assert together.dtype == np.float32
    alone = np.stack([encoder.embed(recording) for recording in many])
    np.testing.assert_allclose(together, alone, rtol=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([400, 800, 1000]), max_size=40), st.randoms())
def test_order_and_neighbours_do_not_matter(encoder, lengths, random):
    many = recordings(*lengths)
    order = list(range(len(many)))
    random.shuffle(order)
    first = encoder.embed_many(many)
    second = encoder.embed_many(many[number] for number in order)
    np.testing.assert_allclose(second, first[order], rtol=1e-6)


@pytest.fixture
def batches(encoder, monkeypatch) -> list[tuple[int, ...]]:
    """Shapes of what goes through the graph."""
    shapes: list[tuple[int, ...]] = []
    run = encoder._session.run

    def noted(inputs, outputs):
        shapes.append(inputs["wave"].shape)
        return run(inputs, outputs)

    monkeypatch.setattr(encoder._session, "run", noted)
    return shapes


def test_equal_lengths_share_a_batch_up_to_a_limit(encoder, batches, monkeypatch):
    encoder.embed_many(recordings(*[800, 1000] * 70))
    assert sorted(batches) == [(6, 800), (6, 1000), (64, 800), (64, 1000)]
    batches.clear()
    monkeypatch.setattr("sordino.speaker.encoders._BATCH_SECONDS", 1)
    encoder.embed_many(recordings(*[5000] * 7))
    assert batches == [(3, 5000), (3, 5000), (1, 5000)]
    batches.clear()
    encoder.embed_many(recordings(16000, 16000))
    assert batches == [(1, 16000), (1, 16000)]


def test_few_recordings_wait(encoder, batches, monkeypatch):
    monkeypatch.setattr("sordino.speaker.encoders._WINDOW_SECONDS", 0.5)
    waiting = longest = 0

    def given():
        nonlocal waiting, longest
        for recording in recordings(*range(400, 1400, 10)):
            waiting += recording.samples.shape[1]
            longest = max(longest, waiting - sum(np.prod(shape) for shape in batches))
            yield recording

    encoder.embed_many(given())
    assert len(batches) == 100
    assert 8000 < longest <= 8000 + 2 * 1400


def test_an_error_tells_which_recording(encoder):
    many = recordings(8000, 8000, 300, 8000)
    with pytest.raises(AudioError, match=r"^recording 2: is too short"):
        encoder.embed_many(many)
    with pytest.raises(AudioError, match=r"^recording 1: is digital silence"):
        encoder.embed_many([many[0], Recording(np.zeros((1, 800), dtype=np.float32), RATE)])
    assert encoder.embed_many([]).shape == (0, 3)


def test_no_vector_that_is_not_finite(tmp_path):
    # One frame is longer than the shortest recording that the bundle allows.
    odd = OnnxEncoder(write_encoder(tmp_path / "tiny", encoder=graph(frame=1000)))
    loud = Recording(np.full((1, 8000), 1, dtype=np.float32), RATE)
    loud.samples[:, ::2] = np.float32(1e30)
    for embed in (lambda: odd.embed(loud), lambda: odd.embed_many([recordings(8000)[0], loud])):
        with pytest.raises(
            AudioError, match=r"^(recording 1: )?the encoder gives no finite vector"
        ):
            embed()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "vocoder"}, "is a vocoder, not a speaker-encoder"),
        ({"dimension": 4}, r"does not give vector \(batch, 4\)"),
        ({"dimension": None}, "no whole number above 0 as dimension"),
        ({"sample_rate": "16k"}, "no whole number above 0 as sample_rate"),
        ({"minimum_samples": 0}, "no whole number above 0 as minimum_samples"),
        ({"maximum_samples": 799}, "less than twice minimum_samples"),
        ({"encoder": graph(wave="sound")}, "does not take wave"),
        ({"encoder": b"no graph"}, "cannot be run"),
    ],
)
def test_bundles_that_are_no_encoders(tmp_path, changes, message):
    with pytest.raises(UsageError, match=message):
        OnnxEncoder(write_encoder(tmp_path / "tiny", **changes))
    with pytest.raises(UsageError, match=r"needs|needed|model "):
        load_encoder(str(tmp_path / "tiny"))


def test_a_bundle_without_the_graph(tmp_path):
    bundle = write_bundle(tmp_path / "tiny", metadata(), {"CARD.md": b""})
    with pytest.raises(UsageError, match=r"has no file encoder\.onnx"):
        OnnxEncoder(bundle)


def test_load_by_name(tmp_path, monkeypatch):
    write_encoder(tmp_path / "tiny")
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path))
    assert load_encoder("tiny", threads=2).name == "mean-energy"
    assert load_encoder(str(tmp_path / "tiny")).maximum == 60 * RATE


def test_copies_and_pickles_give_the_same(encoder):
    recording = recordings(8000)[0]
    for other in (copy.deepcopy(encoder), pickle.loads(pickle.dumps(encoder))):  # noqa: S301
        assert other.digest == encoder.digest
        np.testing.assert_array_equal(other.embed(recording), encoder.embed(recording))


def test_other_processes(encoder, tmp_path):
    paths = [write_voice(tmp_path / f"{seed}.wav", 0.4, seed=seed) for seed in range(3)]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        there = pool.map(encoder.embed_file, paths)
    np.testing.assert_array_equal(there, [encoder.embed_file(path) for path in paths])


def test_real_speech(encoder, speech_root: Path):
    path = min(speech_root.rglob("*.flac"))
    samples, rate = soundfile.read(path, dtype="float32")
    assert rate == RATE
    vector = encoder.embed_file(path)
    assert np.isfinite(vector).all()
    np.testing.assert_allclose(vector, encoder.embed(Recording(samples[None], rate)), rtol=1e-5)


def test_no_torch(encoder):
    script = (
        "import sys\n"
        "from sordino.speaker.encoders import load_encoder\n"
        "load_encoder(sys.argv[1])\n"
        "print(sorted({'torch', 'onnx', 'huggingface_hub', 'h5py'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(encoder.bundle.folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
