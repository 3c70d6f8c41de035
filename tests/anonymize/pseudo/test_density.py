from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sordino.anonymize.pseudo.base import Source
from sordino.anonymize.pseudo.density import Density
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import OTHER_KEY, draws, part, pool


def voices_of(strategy: Density, whole: Pool, count: int, **options: object) -> np.ndarray:
    return np.array([strategy.choose(whole, draws(f"{n}", **options)) for n in range(count)])


def test_each_voice_of_the_list_is_as_likely() -> None:
    found = voices_of(Density(gender="F", voices=16), pool(), 4000)
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == 16
    assert stats.chisquare(counts).pvalue > 0.001


def test_any_takes_both_sexes_fairly_and_their_lists_differ() -> None:
    whole = pool()
    found = voices_of(Density(voices=8), whole, 2000)
    different, counts = np.unique(found, axis=0, return_counts=True)
    assert len(different) == 16
    assert stats.chisquare(counts).pvalue > 0.001
    women = np.unique(voices_of(Density(gender="F", voices=8), whole, 200), axis=0)
    assert (different @ women.T > 1 - 1e-12).sum() == 8


def test_collisions_are_as_rare_as_is_promised() -> None:
    found = voices_of(Density(gender="F", voices=200), pool(), 300)
    _, counts = np.unique(found, axis=0, return_counts=True)
    pairs = int((counts * (counts - 1) // 2).sum())
    expected = 300 * 299 / (2 * 200)
    assert abs(pairs - expected) < 5 * np.sqrt(expected)


def test_without_a_list_no_two_voices_are_the_same() -> None:
    found = voices_of(Density(gender="F", voices=0), pool(), 300)
    assert len(np.unique(found, axis=0)) == 300


@pytest.mark.parametrize("count", [0, 4096])
def test_it_does_not_collapse_where_averages_do(real_pool: Pool, count: int) -> None:
    from sordino.anonymize.pseudo.average import Average

    women = real_pool.vectors[real_pool.sex == "F"]
    sources = [Source(vector, "F") for vector in women[20:]]
    rest = part(real_pool, np.r_[0:20, 30:50])
    averages = np.array(
        [
            Average(candidates=16, averaged=10).choose(rest, draws(f"{number}"), source)
            for number, source in enumerate(sources)
        ]
    )
    upper = np.triu_indices(10, 1)
    sampled = voices_of(Density(gender="F", voices=count), real_pool, 10)
    real = (women @ women.T)[np.triu_indices(30, 1)]
    assert (averages @ averages.T)[upper].mean() > 0.85
    assert abs((sampled @ sampled.T)[upper].mean() - real.mean()) < 0.1


def test_same_sex_follows_the_source(real_pool: Pool) -> None:
    for row in range(0, 60, 10):
        source = Source(real_pool.vectors[row])
        same = Density(gender="same", voices=64).choose(real_pool, draws(), source)
        cross = Density(gender="cross", voices=64).choose(real_pool, draws(), source)
        assert real_pool.sex_of(same).sex == real_pool.sex[row]
        assert real_pool.sex_of(cross).sex != real_pool.sex[row]


def test_another_key_gives_voices_that_have_nothing_to_do_with_the_first(real_pool: Pool) -> None:
    for count in (0, 256):
        strategy = Density(gender="F", voices=count)
        first = voices_of(strategy, real_pool, 40)
        second = voices_of(strategy, real_pool, 40, key=OTHER_KEY)
        own = (first * second).sum(axis=1)
        others = (first @ second.T)[~np.eye(40, dtype=bool)]
        assert abs(own.mean() - others.mean()) < 5 * others.std() / np.sqrt(40)
        assert own.max() < 0.9


def test_a_voice_given_out_can_be_written_to_without_harm() -> None:
    whole = pool()
    first = Density(voices=8).choose(whole, draws())
    copy = first.copy()
    first[:] = 0
    np.testing.assert_array_equal(Density(voices=8).choose(whole, draws()), copy)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gender": "x"}, "gender 'x' is not one of"),
        ({"voices": -1}, "voices -1 is not a whole number from 0 to 16,384"),
        ({"voices": 20_000}, "voices 20000 is not a whole number from 0 to 16,384"),
        ({"spread": 0.4}, "spread 0.4 is not a number from 0.5 to 2"),
    ],
)
def test_settings_out_of_range_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Density(**settings)


def test_a_pool_that_is_too_small_says_so() -> None:
    for count in (0, 10):
        with pytest.raises(UsageError, match="the pool has 1 voices of men, 3 are needed"):
            Density(gender="M", voices=count).choose(pool(9, 1), draws())


def test_a_pool_of_people_whose_sex_is_unknown_will_do() -> None:
    found = voices_of(Density(voices=32), pool(0, 0, 30), 50)
    assert len(np.unique(found, axis=0)) > 15
