from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.spatial.distance import cdist, pdist

from sordino.anonymize.pseudo.base import unit
from sordino.anonymize.pseudo.codebook import codebook, nearness_limits, one_voice
from sordino.anonymize.pseudo.keyed import normal_rows
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import part, pool


def nearest_cosine(vectors: np.ndarray) -> np.ndarray:
    distances = cdist(vectors, vectors, "cosine")
    np.fill_diagonal(distances, np.inf)
    return 1 - distances.min(axis=1)


@pytest.mark.parametrize("group", ["F", "M", ""])
def test_voices_keep_away_from_each_other_and_from_real_ones(real_pool: Pool, group: str) -> None:
    book = codebook(real_pool, b"seed", group, 1500, 1.0)
    limits = nearness_limits(real_pool, group, 1500, 1.0)
    assert book.shape == (1500, real_pool.dimension)
    np.testing.assert_allclose(np.linalg.norm(book, axis=1), 1, atol=1e-12)
    assert 1 - pdist(book, "cosine").min() <= limits.other + 1e-12
    assert 1 - cdist(book, real_pool.vectors, "cosine").min() <= limits.real + 1e-12


def test_limits_are_the_median_distance_of_neighbours_in_a_pool_that_suffices() -> None:
    voices = pool(300, 300, dimension=12)
    women = voices.vectors[voices.sex == "F"]
    median = np.median(nearest_cosine(women))
    limits = nearness_limits(voices, "F", 20, 1.0)
    np.testing.assert_allclose(limits, (median, median), atol=1e-12)


def test_limits_give_way_where_a_pool_is_small_or_a_list_long() -> None:
    voices = pool(6, 6)
    median = np.median(nearest_cosine(voices.vectors[voices.sex == "F"]))
    limits = nearness_limits(voices, "F", 4096, 1.0)
    assert limits.real >= median
    assert limits.other > median
    assert nearness_limits(voices, "F", 40_000, 1.0).other > limits.other
    # Draws of another stream: about half are far enough from real voices, and about one in half
    # the number of voices of their pairs is too near.
    rng = np.random.default_rng(0)
    others = unit(voices.gaussian("F").place(rng.normal(size=(3000, 24))))
    assert ((others @ voices.vectors.T).max(axis=1) <= limits.real).mean() > 0.4
    near = (1 - pdist(others, "cosine") > limits.other).mean()
    assert 0.3 < near / (2 / 4096) < 3


def test_without_rejection_voices_would_be_too_near() -> None:
    voices = pool(100, 100)
    limits = nearness_limits(voices, "F", 500, 1.0)
    rng = np.random.default_rng(0)
    draws = unit(voices.gaussian("F").place(rng.normal(size=(500, 24))))
    assert (draws @ voices.vectors.T).max() > limits.real
    assert 1 - pdist(draws, "cosine").min() > limits.other


def test_a_list_is_what_one_candidate_after_another_gives() -> None:
    voices = pool(100, 100, dimension=12)
    count = 700
    limits = nearness_limits(voices, "F", count, 1.2)
    density = voices.gaussian("F")
    kept: dict[int, np.ndarray] = {}
    turn = 0
    while len(kept) < count:
        for place in [number for number in range(count) if number not in kept]:
            row = density.mean + 1.2 * normal_rows(b"seed", [(place, turn)], 12)[0] @ sqrtm(
                density.covariance
            )
            row /= np.linalg.norm(row)
            others = np.array(list(kept.values())).reshape(-1, 12)
            far = (others @ row <= limits.other).all()
            if far and (voices.vectors @ row <= limits.real).all():
                kept[place] = row
        turn += 1
    assert turn > 2
    expected = np.array([kept[place] for place in range(count)])
    np.testing.assert_allclose(codebook(voices, b"seed", "F", count, 1.2), expected, atol=1e-9)


def test_voices_are_like_those_of_the_density(real_pool: Pool) -> None:
    book = codebook(real_pool, b"seed", "F", 2000, 1.0)
    density = real_pool.gaussian("F")
    fresh = unit(density.place(np.random.default_rng(0).normal(size=(2000, real_pool.dimension))))
    error = fresh.std(axis=0) / np.sqrt(2000)
    # Rejection moves the mean away from real voices, but not by much.
    assert np.abs((book.mean(axis=0) - fresh.mean(axis=0)) / error).mean() < 3
    np.testing.assert_allclose(np.var(book, axis=0).sum(), np.var(fresh, axis=0).sum(), rtol=0.1)
    correlation = np.corrcoef(np.cov(book.T).ravel(), np.cov(fresh.T).ravel())[0, 1]
    assert correlation > 0.9


def test_a_list_is_the_same_again_and_another_for_another_seed() -> None:
    voices = pool()
    first = codebook(voices, b"one", "F", 50, 1.0)
    codebook.cache_clear()
    np.testing.assert_array_equal(first, codebook(pool(), b"one", "F", 50, 1.0))
    other = codebook(voices, b"two", "F", 50, 1.0)
    assert (first != other).all()
    assert (first @ other.T).max() < 0.999


def test_a_list_is_kept_for_equal_pools_and_cannot_be_written_to() -> None:
    first = codebook(pool(), b"one", "F", 50, 1.0)
    assert codebook(pool(), b"one", "F", 50, 1.0) is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0


def test_the_order_is_that_of_the_places() -> None:
    # Places that were filled at once do not depend on how long the list is, where limits do not.
    voices = pool(300, 300, dimension=12)
    short, longer = (codebook(voices, b"seed", "F", count, 1.0) for count in (20, 25))
    same = (short == longer[:20]).all(axis=1)
    assert same.mean() > 0.8


def test_more_spread_sets_voices_apart() -> None:
    voices = pool()
    cosines = [
        1 - pdist(codebook(voices, b"seed", "F", 300, spread), "cosine").mean()
        for spread in (0.5, 1.0, 2.0)
    ]
    assert cosines[0] > cosines[1] + 0.1 > cosines[2] + 0.2


@pytest.mark.parametrize("women", [3, 4, 6, 10])
def test_small_pools_of_real_voices_give_a_full_list(real_pool: Pool, women: int) -> None:
    rows = np.concatenate([np.arange(women), 30 + np.arange(women)])
    book = codebook(part(real_pool, rows), b"seed", "F", 1000, 1.0)
    assert len({tuple(voice) for voice in book}) == 1000


def test_a_pool_that_is_too_small_for_a_density_says_so() -> None:
    with pytest.raises(UsageError, match="the pool has 2 voices of women, 3 are needed; use a poo"):
        codebook(pool(2, 20), b"seed", "F", 10, 1.0)


def test_a_space_without_room_says_how_many_fit() -> None:
    voices = pool(20, 20, dimension=2)
    with pytest.raises(UsageError, match=r"leaves room for \d+ of 200 voices .* set voices to few"):
        codebook(voices, b"seed", "F", 200, 1.0)


def test_a_voice_of_its_own_keeps_away_from_real_ones(real_pool: Pool) -> None:
    limit = nearness_limits(real_pool, "M", 1, 1.0).real
    found = [one_voice(real_pool, f"{n}".encode(), "M", 1.0) for n in range(200)]
    assert (np.array(found) @ real_pool.vectors.T).max() <= limit
    assert len({tuple(voice) for voice in found}) == 200
    np.testing.assert_array_equal(found[3], one_voice(real_pool, b"3", "M", 1.0))
