"""Speech and noise as networks hear them: all of it, and parts."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.audio.resample import resample
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.training.waves import (
    RATE,
    Noises,
    part_of_wave,
    read_crop,
    repeated,
    whole_wave,
)
from tests.helpers import write_voice


@pytest.fixture(params=[(16000, 1), (16000, 2), (44100, 1)], ids=["plain", "stereo", "44100"])
def utterance(request, tmp_path, speech_like):
    rate, channels = request.param
    wave = speech_like(rate, 1.0, channels=channels)
    soundfile.write(tmp_path / "a.wav", wave.T, rate, subtype="FLOAT")
    mono = wave.mean(axis=0, keepdims=True)
    return Utterance("a", tmp_path / "a.wav", "anna"), resample(mono, rate, 16000)[0]


def test_all_of_it(utterance):
    found = whole_wave(utterance[0])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, utterance[1], atol=1e-5)


@pytest.mark.parametrize(("first", "length"), [(0, 640), (3200, 4000), (15000, 3000)])
def test_a_part_is_cut_from_it(utterance, first, length):
    expected = whole_wave(utterance[0])[first : first + length]
    found = part_of_wave(utterance[0], first, length)
    assert found.shape == (length,)
    np.testing.assert_array_equal(found[: expected.size], expected)
    assert not found[expected.size :].any()


def test_a_part_of_an_utterance_inside_a_recording(utterance):
    inside = Utterance("b", utterance[0].path, "anna", start=0.25, end=0.75)
    whole = whole_wave(inside)
    assert whole.size == 8000
    np.testing.assert_allclose(part_of_wave(inside, 640, 320), whole[640:960])
    np.testing.assert_allclose(whole[2000:3000], utterance[1][6000:7000], atol=1e-3)


def test_what_is_no_sound(tmp_path):
    path = tmp_path / "a.wav"
    soundfile.write(path, np.full(1600, np.nan, np.float32), 16000, subtype="FLOAT")
    with pytest.raises(AudioError, match=r"a\.wav"):
        part_of_wave(Utterance("a", path, "anna"), 0, 320)
    path.write_bytes(b"RIFF")
    with pytest.raises(AudioError, match=r"a\.wav"):
        part_of_wave(Utterance("a", path, "anna"), 0, 320)


class TestReadCrop:
    @pytest.mark.parametrize("ending", ["flac", "wav", "aiff", "au"])
    @pytest.mark.parametrize("where", [0.0, 0.37, 0.999999, 1.0])
    def test_is_the_slice_of_the_whole(self, tmp_path, ending, where):
        path = write_voice(tmp_path / f"a.{ending}", 1.3)
        whole = soundfile.read(path, dtype="float32")[0]
        crop = read_crop(Utterance("a", path, "a"), RATE, 5000, where)
        first = min(int(where * (whole.size - 5000 + 1)), whole.size - 5000)
        assert np.array_equal(crop, whole[first : first + 5000])

    @pytest.mark.parametrize("ending", ["mp3", "ogg", "opus"])
    @pytest.mark.parametrize("where", [0.0, 0.37, 0.9])
    def test_lossy_formats_give_the_slice_as_well(self, tmp_path, ending, where):
        path = write_voice(tmp_path / f"a.{ending}", 3.0)
        whole, rate = soundfile.read(path, dtype="float32")
        whole = soxr.resample(whole, rate, RATE)
        crop = read_crop(Utterance("a", path, "a"), RATE, 8000, where)
        first = int(where * (whole.size - 8000 + 1))
        error = np.square(crop - whole[first : first + 8000]).mean()
        assert error < 1e-4 * np.square(whole).mean()

    @pytest.mark.parametrize("rate", [8000, 22050, 48000])
    def test_other_rates_are_resampled(self, tmp_path, rate):
        path = write_voice(tmp_path / "a.flac", 1.0, rate)
        whole = soxr.resample(soundfile.read(path, dtype="float32")[0], rate, RATE)
        crop = read_crop(Utterance("a", path, "a"), RATE, 4000, 0.5)
        first = int(0.5 * (whole.size - 4000 + 1))
        assert np.allclose(crop, whole[first : first + 4000], atol=1e-3)

    def test_channels_are_averaged(self, tmp_path):
        path = write_voice(tmp_path / "a.wav", 1.0, channels=2)
        whole = soundfile.read(path, dtype="float32")[0].mean(axis=1)
        crop = read_crop(Utterance("a", path, "a"), RATE, 4000, 0.0)
        assert np.allclose(crop, whole[:4000], atol=1e-7)

    @pytest.mark.parametrize(("start", "end"), [(0.25, 0.75), (None, 0.75), (0.25, None)])
    def test_parts_of_recordings_stay_inside_the_part(self, tmp_path, start, end):
        path = write_voice(tmp_path / "a.flac", 1.0)
        whole = soundfile.read(path, dtype="float32")[0]
        part = whole[round((start or 0) * RATE) : round((end or 1) * RATE)]
        utterance = Utterance("a", path, "a", start=start, end=end)
        assert np.array_equal(read_crop(utterance, RATE, 20000, 0.0), part)
        assert np.array_equal(read_crop(utterance, RATE, 1000, 1.0), part[-1000:])

    def test_video_and_others_go_through_the_general_reader(self, tmp_path):
        path = write_voice(tmp_path / "a.wav", 1.0)
        strange = path.rename(tmp_path / "a.raw-ish")
        crop = read_crop(Utterance("a", strange, "a"), RATE, 100, 0.0)
        assert crop.shape == (100,)

    def test_too_short_files_are_given_whole_and_said_again(self, tmp_path):
        path = write_voice(tmp_path / "a.flac", 0.2)
        utterance = Utterance("a", path, "anna")
        crop = read_crop(utterance, RATE, 8000, 0.7)
        assert np.array_equal(crop, soundfile.read(path, dtype="float32")[0])
        assert np.array_equal(repeated(crop, 8000), np.tile(crop, 3)[:8000])

    @pytest.mark.parametrize("kind", ["missing", "damaged", "nan"])
    def test_what_cannot_be_heard_is_named(self, tmp_path, kind):
        path = tmp_path / "bad.wav"
        if kind == "damaged":
            path.write_bytes(b"RIFF" + bytes(100))
        if kind == "nan":
            soundfile.write(path, np.full(4000, np.nan), RATE, subtype="FLOAT")
        with pytest.raises(AudioError, match=r"bad\.wav: "):
            read_crop(Utterance("a", path, "a"), RATE, 2000, 0.0)

    def test_file_that_breaks_in_the_middle_is_named(self, tmp_path):
        path = write_voice(tmp_path / "bad.flac", 4.0)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(AudioError, match=r"bad\.flac"):
            read_crop(Utterance("a", path, "a"), RATE, 2000, 1.0)

    def test_real_speech(self, speech_root):
        path = min((speech_root / "librispeech").rglob("*.flac"))
        whole, _ = soundfile.read(path, dtype="float32")
        crop = read_crop(Utterance("a", path, "a"), RATE, 16000, 0.5)
        first = int(0.5 * (whole.size - 16000 + 1))
        assert np.array_equal(crop, whole[first : first + 16000])


@given(st.integers(1, 50), st.integers(1, 300))
@settings(deadline=None)
def test_repeated_is_a_loop(size, length):
    samples = np.arange(size, dtype=np.float32)
    assert np.array_equal(repeated(samples, length), np.arange(length) % size)


@pytest.mark.parametrize("length", [3000, 40000])
def test_noises_are_parts_of_the_recordings(tmp_path, length):
    paths = [write_voice(tmp_path / f"{seed}.wav", 1.0, seed=seed) for seed in range(3)]
    noises = Noises([Utterance(path.name, path, "noise") for path in paths])
    whole = [np.tile(soundfile.read(path, dtype="float32")[0], 3) for path in paths]
    heard = set()
    for seed in range(12):
        part = noises(length, np.random.default_rng(seed))
        assert part.shape == (length,)
        starts = [
            np.flatnonzero((np.lib.stride_tricks.sliding_window_view(one, 5) == part[:5]).all(1))
            for one in whole
        ]
        (which,) = {number for number, found in enumerate(starts) if found.size}
        first = starts[which][0]
        assert np.array_equal(part, whole[which][first : first + length])
        heard.add(which)
    assert heard == {0, 1, 2}
