"""Speaker vectors from a known model."""

from __future__ import annotations

import numpy as np

from sordino.speaker.scoring.two_covariance import TwoCovariance


def simulate(speakers, dimension, rank, *, seed=0, most=8, least=1):
    """A model, and vectors of speakers of unequal numbers that it generates."""
    rng = np.random.default_rng(seed)
    loading = rng.normal(size=(dimension, rank))
    root = rng.normal(size=(dimension, dimension)) * 0.5 + np.eye(dimension)
    model = TwoCovariance(rng.normal(size=dimension) * 3, loading, root @ root.T)
    labels = np.repeat(np.arange(speakers), rng.integers(least, most, size=speakers))
    latent = rng.normal(size=(speakers, rank))[labels]
    noise = rng.normal(size=(labels.size, dimension)) @ root.T
    return model, model.mean + latent @ loading.T + noise, labels
