from __future__ import annotations

import numpy as np
import pytest

from sordino.privacy.audit.pipeline import audit_pipeline
from tests.concealers import DIMENSION, laplace, weights, write_concealer


@pytest.fixture
def extremes() -> tuple[np.ndarray, np.ndarray]:
    """Vectors whose latents are as far apart as clipping lets them be."""
    direction = 50 * weights()[:, 0].astype(np.float64)
    return direction, -direction


def test_an_audit_of_the_whole_pipeline_finds_what_is_claimed(tmp_path, extremes):
    concealment = write_concealer(tmp_path / "a", laplace(clip=1.0)).at(2.0)
    found = audit_pipeline(concealment.release, *extremes, epsilon=2.0)
    assert found.holds
    assert found.epsilon > 1.2


def test_the_same_audit_catches_half_the_noise(tmp_path, extremes):
    careless = write_concealer(tmp_path / "a", laplace(clip=1.0)).at(4.0)
    assert not audit_pipeline(careless.release, *extremes, epsilon=2.0).holds


def test_the_same_audit_catches_a_missing_clip(tmp_path, extremes):
    concealment = write_concealer(tmp_path / "a", laplace(clip=1.0)).at(2.0)
    concealer, noise = concealment.concealer, concealment.release_of_latents

    def careless(x: np.ndarray) -> np.ndarray:
        latents = concealer.encode(x)
        released = latents + noise.release(np.zeros_like(latents))
        return concealer.decode(released)

    assert not audit_pipeline(careless, *extremes, epsilon=2.0).holds


def test_a_block_is_not_the_last_one(tmp_path):
    concealment = write_concealer(tmp_path / "a", laplace()).at(1.0)
    released = concealment.release(np.ones((4097, DIMENSION)))
    assert len(np.unique(released, axis=0)) == 4097
