from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sordino.audio.resample import resample
from sordino.training.augment.codec import LossyFormat, compress, telephone
from tests.helpers import voice

RATE = 16000
FORMATS = get_args(LossyFormat)


@pytest.fixture(scope="module")
def speech():
    return (2 * voice(1.5, RATE)[:, 0]).clip(-1, 1).astype(np.float32)


def g711(samples: np.ndarray) -> np.ndarray:
    """Coding to 8 bits and back by segments, as ITU-T G.711 defines mu-law; full scale 1."""
    magnitude = np.minimum(np.round(np.abs(samples) * 8159), 8158) + 33
    segment = np.floor(np.log2(magnitude)).astype(int) - 5
    step = 2.0 ** (segment + 1)
    code = np.floor(magnitude / step) - 16
    return np.sign(samples) * ((code + 16.5) * step - 33) / 8159


def test_nothing_above_four_kilohertz_passes_the_line(speech):
    rng = np.random.default_rng(0)
    noise = (0.2 * rng.standard_normal(4 * RATE)).astype(np.float32)
    spectrum = np.abs(np.fft.rfft(telephone(noise, RATE) * np.hanning(noise.size))) ** 2
    frequency = np.fft.rfftfreq(noise.size, 1 / RATE)
    above = spectrum[frequency > 4100].mean() / spectrum[frequency < 3500].mean()
    assert 10 * np.log10(above) < -60


def test_steps_are_as_fine_as_those_of_g711(speech):
    narrow = resample(speech[None], RATE, 8000)[0].clip(-1, 1)
    heard = telephone(narrow.astype(np.float32), 8000).astype(np.float64)
    error, reference = heard - narrow, g711(narrow) - narrow
    assert np.square(error).mean() < 1.3 * np.square(reference).mean()
    assert np.square(error).mean() > 0.3 * np.square(reference).mean()


@given(samples=arrays(np.float32, 50, elements=st.floats(-1, 1, width=32)))
@settings(max_examples=50, deadline=None)
def test_error_of_a_step_is_bounded_by_the_curve(samples):
    heard = telephone(samples, 8000)
    # The curve's slope is ln(256) (1 + 255 |x|) / 255 of full scale; 127 steps, half a step off.
    bound = np.log(256) * (1 + 255 * np.abs(samples)) / 255 / 127 / 2
    assert (np.abs(heard - samples) <= 1.05 * bound + 1e-6).all()


def test_line_has_at_most_255_levels():
    ramp = np.linspace(-1, 1, 20001).astype(np.float32)
    levels = np.unique(telephone(ramp, 8000))
    assert levels.size == 255
    assert np.allclose(levels, -levels[::-1])


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100])
def test_line_keeps_length_and_time(rate):
    speech = voice(1.0, rate)[:, 0].astype(np.float32)
    heard = telephone(speech, rate)
    assert heard.shape == speech.shape
    assert np.corrcoef(heard, speech)[0, 1] > 0.98


@pytest.mark.parametrize("level", [0.3, 0.7, 1.0])
@pytest.mark.parametrize("format_", FORMATS)
def test_formats_keep_length_and_time(speech, format_, level):
    heard = compress(speech, RATE, format_, level)
    assert heard.shape == speech.shape
    assert heard.dtype == np.float32
    assert np.corrcoef(heard, speech)[0, 1] > (0.7 if level == 1 else 0.98)
    assert not np.array_equal(heard, speech)


@pytest.mark.parametrize("format_", FORMATS)
def test_same_sound_comes_out_each_time(speech, format_):
    first = compress(speech, RATE, format_, 0.6)
    assert np.array_equal(first, compress(speech, RATE, format_, 0.6))


@pytest.mark.parametrize("format_", FORMATS)
def test_more_compression_is_further_from_the_input(speech, format_):
    errors = [
        np.square(compress(speech, RATE, format_, level) - speech).mean() for level in (0.0, 1.0)
    ]
    assert errors[0] < errors[1]


@pytest.mark.parametrize("length", [1, 100, 8000])
@pytest.mark.parametrize("format_", FORMATS)
def test_odd_input_stays_finite_and_within_full_scale(format_, length):
    loud = np.full(length, 3.0, dtype=np.float32)
    for heard in (compress(loud, RATE, format_, 0.5), telephone(loud, RATE)):
        assert heard.shape == (length,)
        assert np.isfinite(heard).all()
        assert np.abs(heard).max() <= 1
