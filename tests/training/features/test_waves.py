"""Speech at 16 kHz: all of it, and parts."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

from sordino.audio.resample import resample
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.training.features.waves import part_of_wave, whole_wave


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
