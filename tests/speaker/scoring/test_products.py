from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.speaker.scoring import products
from sordino.speaker.scoring.products import product_blocks, trial_products


def case(models, vectors, dimension, trials, kind=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((models, dimension)).astype(kind),
        rng.standard_normal((vectors, dimension)).astype(kind),
        rng.integers(models, size=trials),
        rng.integers(vectors, size=trials),
    )


def plain(left, right, rows, columns):
    return np.array([left[i] @ right[j] for i, j in zip(rows, columns, strict=True)])


@given(
    st.integers(1, 9), st.integers(1, 9), st.integers(1, 5), st.integers(0, 200), st.integers(0, 99)
)
@settings(max_examples=60)
def test_equals_a_plain_loop(models, vectors, dimension, trials, seed):
    lists = case(models, vectors, dimension, trials, seed=seed)
    np.testing.assert_allclose(trial_products(*lists), plain(*lists), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("trials", [50, 20_000], ids=["sparse", "dense"])
def test_many_small_tiles_and_blocks_equal_a_plain_loop(trials, monkeypatch):
    monkeypatch.setattr(products, "_TILE", 300)
    monkeypatch.setattr(products, "_GATHERED", 50)
    lists = case(70, 900, 7, trials)
    np.testing.assert_allclose(trial_products(*lists), plain(*lists), rtol=1e-12, atol=1e-12)


def test_more_tiles_than_16_bits_count(monkeypatch):
    monkeypatch.setattr(products, "_TILE", 1)
    monkeypatch.setattr(products, "_DENSE", 0.0)
    lists = case(70_000, 2, 3, 500)
    np.testing.assert_allclose(trial_products(*lists), plain(*lists), rtol=1e-12, atol=1e-12)


def test_wide_lists_are_cut_along_both_axes(monkeypatch):
    monkeypatch.setattr(products, "_DENSE", 0.0)
    lists = case(600, 40_000, 4, 5000)
    np.testing.assert_allclose(trial_products(*lists), plain(*lists), rtol=1e-12, atol=1e-12)


def test_both_ways_are_taken(monkeypatch):
    taken = []
    for name in ("_by_tiles", "_by_gathering"):
        monkeypatch.setattr(products, name, lambda *_, name=name: taken.append(name))
    trial_products(*case(100, 100, 2, 20))
    trial_products(*case(100, 100, 2, 5000))
    assert taken == ["_by_gathering", "_by_tiles"]


@pytest.mark.parametrize("trials", [10, 5000])
def test_float32_in_float32_out(trials):
    assert trial_products(*case(50, 50, 8, trials, np.float32)).dtype == np.float32


@pytest.mark.parametrize("kind", [np.uint8, np.int16, np.uint32, np.int64])
def test_indices_of_any_width(kind):
    left, right, rows, columns = case(200, 200, 3, 8000)
    found = trial_products(left, right, rows.astype(kind), columns.astype(kind))
    np.testing.assert_allclose(found, plain(left, right, rows, columns), rtol=1e-12, atol=1e-12)


def test_lists_that_do_not_fit_are_refused():
    left, right, rows, columns = case(3, 4, 2, 5)
    with pytest.raises(UsageError, match="each trial needs both"):
        trial_products(left, right, rows, columns[:-1])
    with pytest.raises(UsageError, match="from one encoder"):
        trial_products(left, right[:, :1], rows, columns)
    with pytest.raises(UsageError, match="utterance_index"):
        trial_products(left, right, rows, columns + 4)


def test_blocks_cover_the_whole_matrix():
    left, right = np.random.default_rng(0).normal(size=(2, 11, 3))
    blocks = list(product_blocks(left, right, 25))
    assert [block.shape[0] for _, block in blocks] == [2, 2, 2, 2, 2, 1]
    np.testing.assert_allclose(np.concatenate([b for _, b in blocks]), left @ right.T)
    assert blocks[3][0] == slice(6, 8)
