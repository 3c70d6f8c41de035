"""Pools for tests whose distribution is known, and draws."""

from __future__ import annotations

import numpy as np

from sordino.anonymize.base import Draws
from sordino.anonymize.pseudo.base import unit
from sordino.anonymize.pseudo.pool import Pool
from sordino.privacy.keys import SecretKey

KEY = SecretKey(b"a key of 32 bytes for all tests.")
OTHER_KEY = SecretKey(b"another one of 32 bytes for them")


def pool(
    women: int = 40, men: int = 40, unknown: int = 0, *, dimension: int = 24, seed: int = 0
) -> Pool:
    """Voices about two means, of which a few directions vary more; pitch follows the vector."""
    rng = np.random.default_rng(seed)
    sex = np.array(["F"] * women + ["M"] * men + [""] * unknown)
    scale = np.linspace(0.4, 0.05, dimension)
    side = np.where(sex == "F", 1.0, np.where(sex == "M", -1.0, 0.0))
    vectors = rng.normal(size=(len(sex), dimension)) * scale
    vectors[:, -1] += 0.5 * side
    vectors[:, 0] += 0.4
    pitch = np.log(150) + 0.3 * unit(vectors)[:, -1] + 0.02 * rng.normal(size=len(sex))
    return Pool(vectors, sex, pitch, rng.uniform(0.1, 0.3, len(sex)))


def draws(*labels: str, key: SecretKey = KEY) -> Draws:
    """Draws for somebody, by default alice."""
    return Draws(key, ("neural", "speaker", *(labels or ("alice",))))


def part(whole: Pool, rows: np.ndarray) -> Pool:
    """Some voices of a pool."""
    return Pool(
        whole.vectors[rows], whole.sex[rows], whole.pitch_mean[rows], whole.pitch_deviation[rows]
    )
