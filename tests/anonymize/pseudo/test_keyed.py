from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sordino.anonymize.pseudo.keyed import (
    common_seed,
    normal_rows,
    normals,
    rotation,
    uniforms,
    voice_seed,
)
from tests.anonymize.pseudo.pools import OTHER_KEY, draws


def test_a_voices_seed_depends_on_key_labels_and_purpose() -> None:
    seeds = {
        voice_seed(draws("alice"), "a"),
        voice_seed(draws("alice"), "b"),
        voice_seed(draws("bob"), "a"),
        voice_seed(draws("alice", "1"), "a"),
        voice_seed(draws("alice", key=OTHER_KEY), "a"),
    }
    assert len(seeds) == 5
    assert voice_seed(draws("alice"), "a") in seeds


def test_a_common_seed_depends_on_key_and_purpose_only() -> None:
    assert common_seed(draws("alice"), "a") == common_seed(draws("bob", "7"), "a")
    assert common_seed(draws("alice"), "a") != common_seed(draws("alice"), "b")
    assert common_seed(draws(), "a") != common_seed(draws(key=OTHER_KEY), "a")


def test_numbers_are_known() -> None:
    # SHAKE-256 of nothing, first 8 bytes: 46 b9 dd 2b 0b a8 8d 13.
    bits = 0x138DA80B2BDDB946
    assert uniforms(b"", 1)[0] == ((bits >> 12) + 0.5) / 2**52


def test_uniform_and_normal_numbers_are_distributed_so() -> None:
    flat = uniforms(b"a seed", 20_000)
    assert flat.min() > 0
    assert flat.max() < 1
    assert stats.kstest(flat, "uniform").pvalue > 0.001
    bell = normals(b"a seed", 20_000)
    assert stats.kstest(bell, "norm").pvalue > 0.001
    np.testing.assert_allclose(stats.norm.cdf(bell), flat, rtol=1e-12)
    assert abs(np.corrcoef(bell[:-1], bell[1:])[0, 1]) < 5 / np.sqrt(20_000)


def test_extreme_bits_give_finite_numbers() -> None:
    from sordino.anonymize.pseudo import keyed

    ends = keyed._to_normal(keyed._to_uniform(b"\x00" * 8 + b"\xff" * 8))
    assert np.isfinite(ends).all()
    np.testing.assert_allclose(ends[0], -ends[1])


def test_rows_have_streams_of_their_own() -> None:
    rows = [(0, 0), (1, 0), (0, 1), (256, 0), (2**32 - 1, 3)]
    whole = normal_rows(b"seed", rows, 5)
    assert whole.shape == (5, 5)
    assert len({tuple(row) for row in whole}) == 5
    for index, row in enumerate(rows):
        np.testing.assert_array_equal(normal_rows(b"seed", [row], 5)[0], whole[index])
    assert normal_rows(b"seed", [], 5).shape == (0, 5)


@pytest.mark.parametrize("size", [1, 2, 40])
def test_a_rotation_is_orthogonal(size: int) -> None:
    matrix = rotation(b"seed", size)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(size), atol=1e-13)


def test_rotations_are_distributed_as_haar_measure_is() -> None:
    many = np.array([rotation(f"seed {n}".encode(), 3) for n in range(3000)])
    # A column is uniform on the sphere, so each coordinate is uniform in [-1, 1] (Archimedes).
    for row in range(3):
        for column in range(3):
            uniform = stats.uniform(-1, 2).cdf
            assert stats.kstest(many[:, row, column], uniform).pvalue > 1e-4
    # Half are reflections, and the trace of an orthogonal matrix has mean 0 and variance 1.
    assert abs((np.linalg.det(many) > 0).mean() - 0.5) < 5 * 0.5 / np.sqrt(3000)
    traces = np.trace(many, axis1=1, axis2=2)
    assert abs(traces.mean()) < 5 / np.sqrt(3000)
    assert abs(traces.var() - 1) < 0.15
