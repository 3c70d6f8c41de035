import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.federated.adaptive import AdaptiveClip
from sordino.federated.regimes import Regime
from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.randomness import SeededRandomness, SystemRandomness

D = 40


def every_regime(clip=1.5, d=D):
    return [
        Regime.unprotected(d, clip),
        Regime.local(d, clip, 2.0),
        Regime.local(d, clip, 2.0, mechanism="laplace"),
        Regime.local(d, clip, 8.0, mechanism="privunit"),
        Regime.local(d, clip, 12.0, mechanism="privunit", norm=clip / 10),
        Regime.central(d, clip, 0.8),
        Regime.central_local(d, clip, 0.8, 25.0),
        Regime.central_local(d, clip, 0.8, 8.0, mechanism="gaussian", reclip=20.0),
    ]


def updates_of(n, d=D, size=1.0, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, d))
    return (size * rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("regime", every_regime(), ids=lambda r: f"{r.name}-{r.mechanism}")
def test_mean_is_right_and_its_noise_is_what_is_foretold(regime):
    n = 4000
    updates = np.repeat(updates_of(1, size=1.2), n, axis=0)
    randomness = SeededRandomness(5)
    points = regime.protect(updates, randomness).points
    noises = []
    for part in points.reshape(40, n // 40, D):
        mean = regime.mean(part.sum(axis=0) + regime.noise(randomness), n // 40)
        noises.append(mean - updates[0])
    together = regime.mean(points.sum(axis=0), n)
    spread = regime.noise_norm(n // 40, norm=1.2) / math.sqrt(D)
    if regime.reclip is None:
        # Unbiased: 40 means of 100 uploads, each of the spread that is foretold.
        assert np.abs(np.mean(noises, axis=0)).max() < 5 * spread / math.sqrt(40) + 1e-6
        if spread:
            assert np.std(noises) == pytest.approx(spread, rel=0.08)
    assert np.isfinite(together).all()


@pytest.mark.parametrize("regime", every_regime(), ids=lambda r: f"{r.name}-{r.mechanism}")
def test_no_upload_is_longer_than_central_noise_is_made_for(regime):
    updates = np.concatenate(
        [updates_of(200, size=9.0), updates_of(200, size=0.1), np.zeros((2, D))]
    )
    points = regime.protect(updates, SystemRandomness()).points
    assert all(regime.refusal(row) is None for row in points)
    if math.isfinite(regime.bound):
        squares = [sum(int(p) ** 2 for p in row) for row in points]
        assert max(squares) <= regime.grid.bound**2
        assert regime.grid.bound * regime.grid.step <= regime.bound


def test_after_privunit_the_bound_is_what_comes_out_and_not_the_clip():
    regime = Regime.central_local(1000, 1.0, 1.0, 25.0)
    points = regime.protect(updates_of(50, 1000), SystemRandomness()).points
    norms = np.linalg.norm(points * regime.grid.step, axis=1)
    assert norms.max() <= regime.bound * (1 + 1e-9)
    assert norms.max() > 0.95 * regime.bound
    assert regime.bound > 4 * regime.clip
    # Central noise follows the norm that is uploaded.
    noise = regime.noise(SeededRandomness(0)) * regime.grid.step
    assert noise.std() == pytest.approx(regime.bound, rel=0.1)


def test_central_noise_is_for_the_clip():
    regime = Regime.central(20_000, 2.0, 0.7)
    noise = regime.noise(SeededRandomness(1)) * regime.grid.step
    assert noise.std() == pytest.approx(1.4, rel=0.03)
    assert abs(noise.mean()) < 5 * 1.4 / math.sqrt(20_000)
    assert not Regime.unprotected(10, 1.0).noise(SystemRandomness()).any()


def test_local_gaussian_is_for_twice_the_clip():
    regime = Regime.local(20_000, 1.0, 2.0, delta=1e-6)
    points = regime.protect(np.zeros((1, 20_000)), SeededRandomness(1)).points
    # 2.2305 at epsilon 2 and delta 1e-6, for a sensitivity of 2 C.
    assert (points * regime.grid.step).std() == pytest.approx(2 * 2.2305, rel=0.03)
    assert regime.local_mechanism.standard_deviation == Gaussian(1.0, 2.0, 1e-6).standard_deviation


def test_all_regimes_clip_the_euclidean_norm_first():
    regime = Regime.local(D, 1.0, 100.0, mechanism="laplace")
    spike = np.zeros((1, D))
    spike[0, 0] = 50.0  # an L1 norm that the clip of the mechanism alone would let pass as 5
    released = np.mean(
        [regime.protect(spike, SeededRandomness(s)).points[0, 0] for s in range(200)]
    )
    assert released * regime.grid.step == pytest.approx(1.0, abs=0.1)


@given(
    st.floats(1e-6, 1e6),
    st.floats(0.01, 50),
    st.integers(2, 200),
)
def test_uploads_keep_the_bound_for_any_clip_and_length(clip, factor, dimension):
    regime = Regime.central(dimension, clip, 1.0)
    updates = updates_of(3, dimension, size=1.0).astype(np.float64) * clip * factor
    points = regime.protect(updates, SystemRandomness()).points
    assert all(sum(int(p) ** 2 for p in row) <= regime.grid.bound**2 for row in points)
    kept = points * regime.grid.step
    expected = updates * min(1.0, 1 / factor)
    assert np.abs(kept - expected).max() <= 1e-5 * clip


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("regime", every_regime(), ids=lambda r: f"{r.name}-{r.mechanism}")
def test_what_is_not_finite_is_refused(regime, value):
    updates = updates_of(3)
    updates[1, 2] = value
    with pytest.raises(UsageError, match="NaN or infinity"):
        regime.protect(updates, SystemRandomness())


def test_refusals_of_a_server():
    regime = Regime.central(4, 1.0, 1.0)
    good = regime.protect([[1.0, 0, 0, 0]], SystemRandomness()).points[0]
    assert regime.refusal(good) is None
    longer = good.copy()
    longer[1] = regime.grid.bound // 100
    assert regime.refusal(longer) == "norm beyond the bound"
    assert regime.refusal(np.full(4, np.iinfo(np.int64).min)) == "norm beyond the bound"
    assert regime.refusal(np.full(4, np.nan)) == "NaN or infinity"
    assert regime.refusal(np.zeros(4)) == "numbers of type float64"
    assert regime.refusal(np.zeros(5, dtype=np.int64)) == "shape (5,)"
    local = Regime.local(4, 1.0, 2.0)
    assert local.refusal(np.full(4, 2**40)) == "norm beyond the bound"


def test_terms_come_back_and_decide_the_digest():
    for regime in every_regime():
        assert Regime.from_terms(regime.terms()) == regime
        assert Regime.from_terms(regime.terms()).digest == regime.digest
        assert regime.with_clip(9.0).digest != regime.digest
    adaptive = Regime.central(D, 1.0, 1.0, adaptive=AdaptiveClip(bit_deviation=5.0))
    assert Regime.from_terms(adaptive.terms()) == adaptive
    for broken in ({}, {"name": "none"}, {**adaptive.terms(), "adaptive": 3}):
        with pytest.raises(UsageError):
            Regime.from_terms(broken)


def test_contradictions_are_refused():
    for settings, message in (
        ({"name": "total"}, "not one of"),
        ({"name": "none", "noise_multiplier": 1.0}, "no central noise"),
        ({"name": "none", "mechanism": "gaussian"}, "no local mechanism"),
        ({"name": "central"}, "noise multiplier"),
        ({"name": "central", "noise_multiplier": math.nan}, "noise multiplier"),
        ({"name": "local"}, "local mechanism"),
        ({"name": "local", "mechanism": "gaussian", "local_epsilon": -1.0}, "epsilon"),
    ):
        with pytest.raises(UsageError, match=message):
            Regime(dimension=D, clip=1.0, **settings)
    with pytest.raises(UsageError, match="give reclip"):
        Regime.central_local(D, 1.0, 1.0, 8.0, mechanism="gaussian")
    with pytest.raises(UsageError, match="clip"):
        Regime.unprotected(D, 0.0)
    with pytest.raises(UsageError, match="dimension"):
        Regime.unprotected(1, 1.0)
    with pytest.raises(UsageError, match="fixed clip"):
        Regime(
            "local",
            D,
            1.0,
            mechanism="laplace",
            local_epsilon=1.0,
            l1_clip=1.0,
            adaptive=AdaptiveClip(),
        )
    with pytest.raises(UsageError, match="shape"):
        Regime.unprotected(D, 1.0).protect(np.zeros(D), SystemRandomness())


def test_signs_of_an_adaptive_clip():
    regime = Regime.central(D, 1.0, 1.0, adaptive=AdaptiveClip(bit_deviation=3.0))
    updates = np.concatenate([updates_of(2, size=0.9), updates_of(3, size=1.1)])
    assert regime.protect(updates, SystemRandomness()).below.tolist() == [1, 1, -1, -1, -1]
    assert regime.update_multiplier > 1.0
    assert Regime.unprotected(D, 1.0).protect(updates, SystemRandomness()).below is None
