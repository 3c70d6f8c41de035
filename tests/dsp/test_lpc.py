from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import lfilter

from benchmarks.plain_mcadams import plain_burg
from sordino.dsp import lpc
from sordino.dsp.frames import sqrt_hann
from sordino.dsp.lpc import burg, inverse_filter, synthesis_filter
from tests.clips import CORPORA, clips

ORDER = 20
TIME = np.arange(320)
ODD_FRAMES = {
    "constant": np.ones(320),
    "alternating": (-1.0) ** TIME,
    "sine": np.sin(0.3 * TIME),
    "slow sine": np.sin(0.001 * TIME),
    "sine near half the rate": np.sin(3.1 * TIME),
    "two close sines": np.sin(0.3 * TIME) + np.sin(0.31 * TIME),
    "four sines": sum(np.cos(w * TIME + w) for w in (0.02, 0.021, 0.5, 2.9)),
    "full-scale square": np.where(TIME // 31 % 2, 1.0, -1.0),
    "impulse": (TIME == 100).astype(float),
    "first sample": (TIME == 0).astype(float),
    "last sample": (TIME == 319).astype(float),
    "ramp": TIME / 320,
    "decay": 0.9**TIME,
    "growth": 0.9 ** TIME[::-1],
    "one bit of sixteen": np.where(TIME % 40 == 7, 2.0**-15, 0.0),
}


def speech_frames(root: Path, corpus: str) -> np.ndarray:
    hops = [clip[: clip.size // 160 * 160].reshape(-1, 160) for clip in clips(root, corpus)]
    frames = np.concatenate([np.concatenate([hop[:-1], hop[1:]], axis=1) for hop in hops])
    return np.ascontiguousarray((frames * sqrt_hann(160)).T)


def reflections(coefficients: np.ndarray) -> np.ndarray:
    """Reflection coefficients of one polynomial by stepping the order down."""
    found = []
    while coefficients.size > 1:
        last = coefficients[-1]
        found.append(last)
        if abs(last) >= 1.0:
            break
        coefficients = (coefficients - last * coefficients[::-1])[:-1] / (1.0 - last**2)
    return np.array(found)


def random_models(rng: np.random.Generator, order: int, count: int) -> np.ndarray:
    radius = 0.97 * np.sqrt(rng.random((order // 2, count)))
    poles = radius * np.exp(1j * np.pi * rng.random((order // 2, count)))
    return np.stack([np.real(np.poly(np.concatenate([p, p.conj()]))) for p in poles.T], axis=1)


def nearly_predictable(rng: np.random.Generator) -> np.ndarray:
    """Frames of one to five sines, of any frequencies, with little or no noise."""
    frequencies = 10 ** rng.uniform(-4, 0.49, (5, 1, 50))
    sines = np.cos(frequencies * TIME[:, None] + rng.uniform(0, 6, (5, 1, 50)))
    levels = 10 ** rng.uniform(-4, 0, (5, 1, 50)) * (rng.random((5, 1, 50)) < 0.6)
    noise = rng.choice([0.0, 1e-9, 1e-5], 50) * rng.normal(size=(320, 50))
    return (levels * sines).sum(axis=0) + noise


@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("order", [1, 10, 20])
def test_burg_equals_the_textbook_recursion_on_speech(
    speech_root: Path, corpus: str, order: int
) -> None:
    frames = speech_frames(speech_root, corpus)
    expected = np.stack([plain_burg(frame, order) for frame in frames.T], axis=1)
    error = np.abs(burg(frames, order) - expected).max(axis=0)
    assert (error <= 1e-7 * np.abs(expected).max(axis=0)).all()


def test_frames_without_upper_half_band_take_the_recursion_on_samples(speech_root: Path) -> None:
    # Recorded at 8 kHz: the products of samples are almost linearly dependent.
    _, trusted = lpc._burg_on_correlations(speech_frames(speech_root, "fsdd"), ORDER)
    assert 0.1 < trusted.mean() < 0.9


def test_the_recursion_on_correlations_knows_where_it_fails() -> None:
    frames = np.concatenate(
        [nearly_predictable(np.random.default_rng(8)), np.stack([*ODD_FRAMES.values()], axis=1)],
        axis=1,
    )
    fast, trusted = lpc._burg_on_correlations(frames, ORDER)
    exact = lpc._burg_on_samples(frames, ORDER)
    error = np.abs(fast - exact).max(axis=0) / np.abs(exact).max(axis=0)
    assert trusted.any()
    assert error[trusted].max() < 1e-7
    assert np.nanmax(error[~trusted]) > 1e-2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([2, 8, 20]), st.sampled_from([1e-6, 1.0, 1e4]))
def test_both_recursions_agree_where_both_apply(seed: int, order: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    models = random_models(rng, order, 8)
    noise = scale * rng.normal(size=(240, 8))
    frames = np.stack([lfilter([1.0], a, x) for a, x in zip(models.T, noise.T, strict=True)], 1)
    fast, trusted = lpc._burg_on_correlations(frames, order)
    exact = lpc._burg_on_samples(frames, order)
    error = np.abs(fast - exact).max(axis=0) / np.abs(exact).max(axis=0)
    assert (error[trusted] < 1e-8).all()
    assert trusted.any()


def test_a_known_process_is_recovered() -> None:
    rng = np.random.default_rng(1)
    models = random_models(rng, 4, 6)
    noise = rng.normal(size=(40000, 6))
    frames = np.stack([lfilter([1.0], a, x) for a, x in zip(models.T, noise.T, strict=True)], 1)
    np.testing.assert_allclose(burg(frames, 4), models, atol=0.03)


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("name", ODD_FRAMES)
def test_odd_frames_give_minimum_phase(name: str, windowed: bool) -> None:
    frame = ODD_FRAMES[name] * (sqrt_hann(160) if windowed else 1.0)
    model = burg(frame[:, None], ORDER)[:, 0]
    assert model[0] == 1.0
    assert np.abs(reflections(model)).max() <= 1.0 + 1e-6
    assert np.abs(np.roots(model)).max(initial=0.0) <= 1.0 + 1e-5


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_nearly_predictable_frames_give_minimum_phase(seed: int) -> None:
    frames = nearly_predictable(np.random.default_rng(seed))
    for windowed in (frames, frames * sqrt_hann(160)[:, None]):
        radii = [np.abs(np.roots(model)).max() for model in burg(windowed, ORDER).T]
        assert max(radii) <= 1.0 + 1e-4


@pytest.mark.parametrize(("frame", "slope"), [("constant", -1.0), ("alternating", 1.0)])
def test_an_exhausted_frame_needs_no_further_poles(frame: str, slope: float) -> None:
    model = burg(ODD_FRAMES[frame][:, None], ORDER)[:, 0]
    assert model.tolist() == [1.0, slope] + [0.0] * (ORDER - 1)


@pytest.mark.parametrize("level", [0.0, 1e-300])
def test_a_silent_frame_gives_no_poles_and_disturbs_no_other(level: float) -> None:
    frames = np.random.default_rng(2).normal(size=(320, 5))
    alone = burg(frames, ORDER)
    frames[:, 2] *= level
    together = burg(frames, ORDER)
    assert together[:, 2].tolist() == [1.0] + [0.0] * ORDER
    others = [0, 1, 3, 4]
    np.testing.assert_allclose(together[:, others], alone[:, others], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-30, 1e-5, 1e5, 1e30])
def test_the_level_does_not_matter(scale: float) -> None:
    frames = np.random.default_rng(3).normal(size=(320, 5))
    np.testing.assert_allclose(burg(scale * frames, ORDER), burg(frames, ORDER), atol=1e-10)


def test_frames_do_not_depend_on_those_beside_them() -> None:
    frames = np.random.default_rng(4).normal(size=(320, 250))
    alone = np.concatenate([burg(frames[:, i : i + 1], ORDER) for i in range(250)], axis=1)
    np.testing.assert_allclose(burg(frames, ORDER), alone, atol=1e-10)


@pytest.mark.parametrize("order", [0, -1, 320, 400])
def test_an_order_that_does_not_fit_is_refused(order: int) -> None:
    with pytest.raises(ValueError, match="does not fit frames of 320 samples"):
        burg(np.ones((320, 1)), order)


@pytest.mark.parametrize("order", [1, 7, 20])
@pytest.mark.parametrize("samples", [1, 5, 320])
def test_filters_equal_scipy(order: int, samples: int) -> None:
    rng = np.random.default_rng(order)
    models = random_models(rng, 2 * order, 9)[: order + 1]
    models[1:] /= 2.0 * np.abs(models[1:]).sum(axis=0)
    frames = rng.normal(size=(samples, 9))
    for column, (model, frame) in enumerate(zip(models.T, frames.T, strict=True)):
        residual = inverse_filter(models, frames)[:, column]
        np.testing.assert_allclose(residual, lfilter(model, [1.0], frame), atol=1e-12)
        rebuilt = synthesis_filter(models, frames)[:, column]
        np.testing.assert_allclose(rebuilt, lfilter([1.0], model, frame), atol=1e-12)


def test_synthesis_undoes_inverse_filtering() -> None:
    frames = np.random.default_rng(5).normal(size=(320, 40))
    models = burg(frames, ORDER)
    rebuilt = synthesis_filter(models, inverse_filter(models, frames))
    np.testing.assert_allclose(rebuilt, frames, atol=1e-10)
