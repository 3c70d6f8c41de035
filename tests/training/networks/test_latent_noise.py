"""Noise in training: its distribution against scipy's and the mechanisms that release."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.privacy import Gaussian, Laplace, PrivUnit
from sordino.training.networks.latent_noise import (
    WINDOW,
    DirectionNoise,
    GaussianNoise,
    LaplaceNoise,
    NoNoise,
    build_noise,
)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


class TestLaplace:
    def test_clips_as_the_paper_says(self):
        layer = LaplaceNoise(math.inf)
        layer.clip.fill_(6.0)
        layer.freeze()
        latents = torch.tensor([[1.0, -2.0, 0.0], [8.0, -4.0, 0.0]])
        expected = torch.tensor([[1.0, -2.0, 0.0], [4.0, -2.0, 0.0]])
        torch.testing.assert_close(layer(latents), expected)
        torch.testing.assert_close(layer.eval()(latents), expected)

    def test_noise_has_the_scale_of_the_mechanism(self):
        layer = LaplaceNoise(15.0)
        layer.clip.fill_(18.35)
        layer.freeze()
        noise = layer(torch.zeros(500, 64)).flatten().numpy()
        scale = Laplace(clip=18.35, epsilon=15).scale
        assert scale == pytest.approx(2 * 18.35 / 15)
        assert stats.kstest(noise, stats.laplace(scale=scale).cdf).pvalue > 0.01
        assert stats.kstest(noise, stats.laplace(scale=scale / 1.05).cdf).pvalue < 0.01

    def test_nothing_is_added_in_evaluation(self):
        layer = LaplaceNoise(1.0)
        latents = torch.randn(3, 4)
        layer(latents)
        torch.testing.assert_close(layer.eval()(latents), layer.bounded(latents))

    def test_the_clip_is_the_median_of_the_newest_norms(self):
        layer = LaplaceNoise(15.0)
        batches = [torch.randn(128, 8) * (1 + number) for number in range(13)]
        seen = []
        for batch in batches:
            layer(batch)
            seen.extend(batch.abs().sum(dim=1).tolist())
            assert layer.clip.item() == pytest.approx(np.median(seen[-WINDOW:]), rel=1e-5)

    def test_a_frozen_clip_stays_and_is_kept(self):
        layer = LaplaceNoise(15.0)
        layer(torch.ones(4, 8))
        layer.freeze()
        layer(100 * torch.ones(4, 8))
        assert layer.clip.item() == 8.0
        again = LaplaceNoise(15.0)
        again.load_state_dict(layer.state_dict())
        again(100 * torch.ones(4, 8))
        assert again.clip.item() == 8.0

    def test_settling_takes_given_latents_alone(self):
        layer = LaplaceNoise(15.0)
        layer.settle(torch.tensor([[1.0, -1.0], [5.0, 1.0], [9.0, 0.0]]))
        layer(torch.ones(4, 2))
        assert layer.clip.item() == 6.0

    def test_evaluation_does_not_move_the_clip(self):
        layer = LaplaceNoise(15.0)
        layer(torch.ones(4, 8))
        layer.eval()(100 * torch.ones(4, 8))
        assert layer.clip.item() == 8.0

    def test_the_slope_is_that_of_clipping_alone(self):
        layer = LaplaceNoise(15.0)
        layer.clip.fill_(2.0)
        layer.freeze()
        latents = torch.tensor([[3.0, -1.0]], requires_grad=True)
        layer(latents)[0, 0].backward()
        # 2 a / (a - b): its derivatives are -2 b / (a - b) ** 2 and 2 a / (a - b) ** 2.
        torch.testing.assert_close(latents.grad, torch.tensor([[0.125, 0.375]]))


def test_gaussian_noise_has_the_deviation_of_the_mechanism():
    layer = GaussianNoise(8.0, 1e-6)
    layer.clip.fill_(3.0)
    layer.freeze()
    bounded = layer.eval()(torch.tensor([[3.0, 4.0]]))
    torch.testing.assert_close(bounded, torch.tensor([[1.8, 2.4]]))
    noise = layer.train()(torch.zeros(500, 64)).flatten().numpy()
    deviation = Gaussian(clip=3.0, epsilon=8, delta=1e-6).standard_deviation
    assert stats.kstest(noise, stats.norm(scale=deviation).cdf).pvalue > 0.01
    assert torch.equal(GaussianNoise(math.inf, 1e-6)(torch.eye(2)), torch.eye(2))


class TestDirections:
    def test_draws_are_those_of_the_mechanism(self):
        layer = DirectionNoise(16, 8.0, length=2.0)
        direction = np.zeros(16)
        direction[3] = 1.0
        given = np.tile(5 * direction, (20_000, 1))
        drawn = layer(torch.from_numpy(given).float()).numpy() / 2
        mechanism = PrivUnit(dimension=16, epsilon=8)
        released = mechanism.release(given)
        np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), mechanism.norm, rtol=1e-4)
        for axis in (3, 0):
            found = stats.ks_2samp(drawn[:, axis], released[:, axis])
            assert found.pvalue > 0.01
        np.testing.assert_allclose(drawn.mean(axis=0), direction, atol=0.05)

    def test_directions_alone_without_noise(self):
        latents = torch.tensor([[3.0, 4.0]])
        expected = torch.tensor([[1.2, 1.6]])
        torch.testing.assert_close(DirectionNoise(2, math.inf, 2.0)(latents), expected)
        torch.testing.assert_close(DirectionNoise(2, 8.0, 2.0).eval()(latents), expected)

    def test_there_is_a_slope_through_the_noise(self):
        latents = torch.randn(5, 16, requires_grad=True)
        DirectionNoise(16, 8.0)(latents).sum().backward()
        assert bool((latents.grad.abs().sum(dim=1) > 0).all())


def test_what_is_built():
    kinds = {"laplace": LaplaceNoise, "gaussian": GaussianNoise, "privunit": DirectionNoise}
    for name, kind in (*kinds.items(), ("none", NoNoise)):
        assert type(build_noise(name, 8, 4.0, delta=1e-6, length=1.0)) is kind
    latents = torch.randn(2, 3)
    assert build_noise("none", 3, 4.0, delta=1e-6, length=1.0)(latents) is latents
