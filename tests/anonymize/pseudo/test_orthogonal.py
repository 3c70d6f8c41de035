from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from sordino.anonymize.pseudo.base import Source, unit
from sordino.anonymize.pseudo.keyed import rotation
from sordino.anonymize.pseudo.orthogonal import Orthogonal, turned
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import OTHER_KEY, draws, pool


def chosen(turn: str, whole: Pool, vectors: np.ndarray, **options: object) -> np.ndarray:
    strategy = Orthogonal(turn)
    return np.array(
        [
            strategy.choose(whole, draws(f"{number}", **options), Source(vector))
            for number, vector in enumerate(vectors)
        ]
    )


def test_distances_and_cosines_are_kept_on_the_shell(real_pool: Pool) -> None:
    voices = real_pool.gaussian("")
    moved = turned(real_pool, real_pool.vectors, rotation(b"seed", real_pool.dimension))
    before, after = voices.whiten(real_pool.vectors), voices.whiten(moved)
    np.testing.assert_allclose(pdist(after, "cosine"), pdist(before, "cosine"), atol=1e-9)
    shell = np.sqrt(real_pool.dimension)
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), shell, rtol=1e-9)
    np.testing.assert_allclose(pdist(after), pdist(shell * unit(before)), rtol=1e-8)
    assert abs(np.diag(unit(after) @ unit(before).T)).max() < 0.4


def test_the_chosen_voice_is_the_turned_one_with_length_1() -> None:
    whole = pool()
    vectors = whole.vectors[:4]
    found = chosen("common", whole, vectors)
    from sordino.anonymize.pseudo.keyed import common_seed

    matrix = rotation(common_seed(draws("anybody"), "orthogonal"), whole.dimension)
    np.testing.assert_allclose(found, unit(turned(whole, vectors, matrix)), atol=1e-12)


def test_after_the_last_step_speakers_are_still_about_as_far_apart(real_pool: Pool) -> None:
    found = chosen("common", real_pool, real_pool.vectors)
    before = 1 - pdist(real_pool.vectors, "cosine")
    after = 1 - pdist(found, "cosine")
    assert abs(after.mean() - before.mean()) < 0.15
    assert after.max() < 0.95


def test_a_common_turn_keeps_recordings_of_one_person_together(real_pool: Pool) -> None:
    rng = np.random.default_rng(0)
    first = real_pool.vectors[:10]
    again = unit(first + 0.3 * unit(rng.normal(size=first.shape)))
    for turn in ("common", "own"):
        one, two = chosen(turn, real_pool, first), chosen(turn, real_pool, again)
        apart = (one @ two.T)[~np.eye(10, dtype=bool)].mean()
        assert (one * two).sum(axis=1).mean() > apart + 0.4


def test_a_voice_has_nothing_to_do_with_its_source(real_pool: Pool) -> None:
    for turn in ("common", "own"):
        found = chosen(turn, real_pool, real_pool.vectors)
        cosines = found @ real_pool.vectors.T
        own, others = np.diag(cosines), cosines[~np.eye(len(cosines), dtype=bool)]
        assert abs(own.mean() - others.mean()) < 5 * others.std() / np.sqrt(len(own))


def test_turns_are_common_or_each_voices_own() -> None:
    whole = pool()
    same = np.tile(whole.vectors[0], (3, 1))
    common, own = chosen("common", whole, same), chosen("own", whole, same)
    np.testing.assert_array_equal(common, common[[0, 0, 0]])
    assert (own @ own.T)[np.triu_indices(3, 1)].max() < 0.99
    other = chosen("common", whole, same, key=OTHER_KEY)
    assert (common[0] @ other[0]) < 0.99


def test_a_known_rotation_can_be_undone() -> None:
    # What the docs warn of: with as many pairs as dimensions the turn is found by least squares.
    whole = pool()
    voices = whole.gaussian("")
    before = np.sqrt(whole.dimension) * unit(voices.whiten(whole.vectors[:30]))
    matrix = rotation(b"secret", whole.dimension)
    after = voices.whiten(turned(whole, whole.vectors[:30], matrix))
    found, *_ = np.linalg.lstsq(before, after, rcond=None)
    np.testing.assert_allclose(found.T, matrix, atol=1e-6)


def test_a_source_is_needed_and_words_are_checked() -> None:
    assert Orthogonal().needs_source
    with pytest.raises(UsageError, match="the strategy orthogonal needs to know how the speaker"):
        Orthogonal().choose(pool(), draws(), None)
    with pytest.raises(UsageError, match="has 3 numbers and the pool's have 24"):
        Orthogonal().choose(pool(), draws(), Source(np.ones(3)))
    with pytest.raises(UsageError, match="turn 'shared' is not one of: common, own"):
        Orthogonal("shared")


def test_a_pool_that_is_too_small_says_so() -> None:
    with pytest.raises(UsageError, match="the pool has 2 voices, 3 are needed"):
        Orthogonal().choose(pool(1, 1), draws(), Source(np.ones(24)))
