from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from sordino.anonymize.pseudo.average import Average
from sordino.anonymize.pseudo.base import Source, unit
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import draws, pool

VOICES = pool(40, 30, 10)


def source(seed: int = 5, sex: str = "F") -> Source:
    return Source(np.random.default_rng(seed).normal(size=24), sex)


def rows_by_distance(who: Source, sex: str, voices: Pool = VOICES) -> np.ndarray:
    rows = np.flatnonzero(voices.sex == sex)
    distances = cdist(who.vector[None], voices.vectors[rows], "cosine")[0]
    return rows[np.argsort(distances)]


@pytest.mark.parametrize("gender", ["same", "cross"])
@pytest.mark.parametrize("proximity", ["farthest", "nearest"])
@pytest.mark.parametrize("sex", ["F", "M"])
def test_with_all_candidates_it_is_the_mean_of_the_farthest_or_nearest(
    gender: str, proximity: str, sex: str
) -> None:
    who = source(sex=sex)
    wanted = sex if gender == "same" else {"F": "M", "M": "F"}[sex]
    order = rows_by_distance(who, wanted)
    chosen = order[-12:] if proximity == "farthest" else order[:12]
    found = Average(gender, proximity, candidates=12, averaged=12).choose(VOICES, draws(), who)
    np.testing.assert_allclose(found, unit(VOICES.vectors[chosen].mean(axis=0)), atol=1e-12)


@pytest.mark.parametrize("group", ["F", "M"])
def test_random_averages_voices_from_anywhere(group: str) -> None:
    chosen = np.zeros(len(VOICES))
    strategy = Average(group, "random", candidates=1, averaged=1)
    for number in range(1000):
        found = strategy.choose(VOICES, draws(f"speaker {number}"))
        chosen[np.argmax(VOICES.vectors @ found)] += 1
    assert set(VOICES.sex[chosen > 0]) == {group}
    # Every voice of the group is as likely.
    expected = 1000 / (VOICES.sex == group).sum()
    statistic = ((chosen[VOICES.sex == group] - expected) ** 2 / expected).sum()
    assert statistic < 90


def test_those_averaged_are_drawn_from_the_candidates_by_the_key() -> None:
    who = source()
    candidates = set(rows_by_distance(who, "F")[-10:].tolist())
    seen: set[int] = set()
    for number in range(60):
        found = Average(candidates=10, averaged=1).choose(VOICES, draws(f"{number}"), who)
        seen.add(int(np.argmax(VOICES.vectors @ found)))
    assert seen == candidates


def test_a_source_that_is_a_little_different_changes_little() -> None:
    wide = pool(300, 300, dimension=64)
    rng = np.random.default_rng(3)
    first = Source(rng.normal(size=64), "F")
    second = Source(first.vector + 0.01 * rng.normal(size=64), "F")
    other = Source(rng.normal(size=64), "F")
    strategy = Average(candidates=60, averaged=20)
    found = [strategy.choose(wide, draws(), who) for who in (first, second, other)]
    assert found[0] @ found[1] > 0.97
    assert found[0] @ found[1] > found[0] @ found[2]


def test_the_others_in_the_pool_do_not_change_the_priorities() -> None:
    who = source()
    cut = Pool(VOICES.vectors[:75], VOICES.sex[:75], VOICES.pitch_mean[:75], np.full(75, 0.2))
    strategy = Average(candidates=20, averaged=5)
    np.testing.assert_array_equal(
        strategy.choose(VOICES, draws(), who), strategy.choose(cut, draws(), who)
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"candidates": 41}, "40 voices of women, 41 are needed; set candidates .and averaged."),
        ({"gender": "cross", "candidates": 31}, "30 voices of men, 31 are needed; set candidates"),
        (
            {"proximity": "random", "averaged": 41},
            "40 voices of women, 41 are needed; set averaged",
        ),
    ],
)
def test_a_pool_that_is_too_small_says_so(settings: dict[str, object], message: str) -> None:
    strategy = Average(**{"candidates": 10, "averaged": 10, **settings})
    with pytest.raises(UsageError, match=f"the pool has {message}"):
        strategy.choose(VOICES, draws(), source())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gender": "both"}, "gender 'both' is not one of: same, cross, any, F, M"),
        ({"proximity": "near"}, "proximity 'near' is not one of: farthest, nearest, random"),
        ({"candidates": 0}, "candidates 0 is not a whole number from 1"),
        ({"averaged": 2.5}, "averaged 2.5 is not a whole number from 1"),
        ({"candidates": 9, "averaged": 10}, "averaged 10 is more than candidates 9"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Average(**settings)


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({}, True),
        ({"gender": "F"}, True),
        ({"proximity": "random"}, True),
        ({"proximity": "random", "gender": "any"}, False),
        ({"proximity": "random", "gender": "M"}, False),
    ],
)
def test_a_source_is_asked_for_where_it_matters(settings: dict[str, str], needed: bool) -> None:
    strategy = Average(candidates=10, averaged=10, **settings)
    assert strategy.needs_source is needed
    if needed:
        with pytest.raises(UsageError, match="needs to know how the speaker sounds"):
            strategy.choose(VOICES, draws(), None)
    else:
        strategy.choose(VOICES, draws(), None)


@given(
    seed=st.integers(0, 10_000), averaged=st.integers(1, 15), sex=st.sampled_from(["F", "M", ""])
)
def test_any_source_gives_a_direction(seed: int, averaged: int, sex: str) -> None:
    found = Average(candidates=15, averaged=averaged).choose(VOICES, draws(), source(seed, sex))
    assert np.isfinite(found).all()
    assert np.linalg.norm(found) == pytest.approx(1)
