"""Changed voices: what is drawn, how far it goes, and what is left when nothing is changed."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.training.networks.filterbank import (
    FilterbankSettings,
    mel_weights,
    stretched_weights,
)
from sordino.training.vocoder.disguise import Disguise
from sordino.training.vocoder.recipe import AlongSettings

BANK = FilterbankSettings(bands=40, compression="none")
OFF = {"warp": 0.0, "equaliser_db": 0.0, "level_db": 0.0, "hiss_db": (-300.0, -300.0)}


def drawn(items: int, samples: int = 320, seed: int = 0, **settings):
    torch.manual_seed(seed)
    return Disguise(AlongSettings(**{**OFF, **settings}), BANK)(torch.zeros(items, samples))


def test_nothing_is_changed_where_nothing_is_asked_for():
    found = drawn(3)
    assert found.wave.abs().max() < 1e-14
    assert torch.equal(found.gains, torch.ones(3, 40))
    plain = torch.from_numpy(mel_weights(BANK)).float()
    torch.testing.assert_close(found.weights, plain.expand(3, -1, -1))


def test_draws_are_a_function_of_the_seed_and_differ_between_items():
    settings = {"warp": 0.25, "equaliser_db": 3.0, "level_db": 3.0, "hiss_db": (-60.0, -50.0)}
    one, same, other = (drawn(8, seed=seed, **settings) for seed in (1, 1, 2))
    for mine, theirs, others in zip(one, same, other, strict=True):
        assert torch.equal(mine, theirs)
        assert not torch.equal(mine, others)
        assert not torch.equal(mine[0], mine[1])


def test_warps_are_spread_over_their_range():
    found = drawn(400, warp=0.2)
    ends = [torch.from_numpy(stretched_weights(BANK, math.exp(w))).float() for w in (-0.2, 0.2)]
    centroids = (found.weights @ torch.linspace(0, 8000, 201) / found.weights.sum(dim=2))[:, 20]
    wanted = sorted(float(end[20] @ torch.linspace(0, 8000, 201) / end[20].sum()) for end in ends)
    assert centroids.min() == pytest.approx(wanted[0], rel=1e-4)
    assert centroids.max() == pytest.approx(wanted[1], rel=1e-4)
    assert centroids.unique().numel() == 25


def test_filter_and_level_have_the_deviation_that_is_asked_for():
    filters = 10 * drawn(3000, equaliser_db=3.0).gains.log10()
    assert filters.square().mean().sqrt() == pytest.approx(3, rel=0.05)
    # Smooth: neighbours differ by little; and no level in it.
    assert filters.diff(dim=1).square().mean().sqrt() < 0.6
    assert filters.mean(dim=1).abs().max() < 0.1
    levels = 10 * drawn(3000, level_db=5.0).gains.log10()
    assert levels[:, 0].std() == pytest.approx(5, rel=0.05)
    assert torch.equal(levels, levels[:, :1].expand(-1, 40))


def test_hiss_has_the_level_that_is_asked_for():
    found = drawn(200, 4000, hiss_db=(-60.0, -40.0)).wave
    levels = 20 * np.log10(found.square().mean(dim=1).sqrt().numpy())
    assert -60.5 < levels.min() < -58
    assert -42 < levels.max() < -39.5
