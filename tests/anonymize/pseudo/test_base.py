from __future__ import annotations

import numpy as np
import pytest

from sordino.anonymize.pseudo.base import (
    Source,
    checked_choice,
    checked_count,
    checked_number,
    group_of,
)
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import draws, pool


def test_a_source_has_length_1_and_leaves_the_vector_given_as_it_is() -> None:
    given = np.array([3.0, 4.0], dtype=np.float32)
    source = Source(given, "M")
    np.testing.assert_allclose(source.vector, [0.6, 0.8], atol=1e-15)
    assert source.vector.dtype == np.float64
    assert given.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    "vector",
    [np.zeros(3), np.array([1.0, np.nan]), np.array([np.inf]), np.ones((2, 2)), np.ones(0)],
)
def test_a_source_without_a_direction_is_refused(vector: np.ndarray) -> None:
    with pytest.raises(UsageError, match="source's vector of shape"):
        Source(vector)


def test_a_sex_that_is_another_word_is_refused() -> None:
    with pytest.raises(UsageError, match="sex of a source is 'female'; expected F, M or nothing"):
        Source(np.ones(2), "female")


@pytest.mark.parametrize(
    ("gender", "sex", "group"),
    [("same", "F", "F"), ("same", "M", "M"), ("cross", "F", "M"), ("cross", "M", "F")],
)
def test_same_and_cross_follow_the_source(gender: str, sex: str, group: str) -> None:
    voices = pool()
    source = Source(voices.vectors[0], sex)
    assert group_of(gender, voices, draws(), source) == group


def test_a_sex_that_is_not_told_is_guessed_from_the_vector() -> None:
    voices = pool()
    for row in range(0, len(voices), 5):
        source = Source(voices.vectors[row])
        assert group_of("same", voices, draws(), source) == voices.sex[row]
        assert group_of("cross", voices, draws(), source) != voices.sex[row]


@pytest.mark.parametrize("gender", ["same", "cross"])
def test_same_and_cross_need_a_source_of_the_pools_dimension(gender: str) -> None:
    voices = pool(dimension=24)
    with pytest.raises(UsageError, match=f"gender '{gender}' needs to know how the speaker"):
        group_of(gender, voices, draws(), None)
    with pytest.raises(UsageError, match="has 3 numbers and the pool's have 24"):
        group_of(gender, voices, draws(), Source(np.ones(3), "F"))


@pytest.mark.parametrize("gender", ["F", "M"])
def test_a_named_sex_is_taken(gender: str) -> None:
    assert group_of(gender, pool(), draws(), None) == gender


def test_any_is_a_fair_keyed_choice() -> None:
    voices = pool(3, 3)
    groups = [group_of("any", voices, draws(f"speaker {n}"), None) for n in range(4000)]
    assert set(groups) == {"F", "M"}
    # Five standard deviations of a fair coin.
    assert abs(groups.count("F") - 2000) < 5 * np.sqrt(1000)
    assert groups[:9] == [group_of("any", voices, draws(f"speaker {n}"), None) for n in range(9)]


@pytest.mark.parametrize("counts", [(5, 0, 0), (0, 5, 2), (0, 0, 5)])
def test_any_means_all_voices_where_the_pool_does_not_have_both_sexes(
    counts: tuple[int, int, int],
) -> None:
    assert group_of("any", pool(*counts), draws(), None) == ""


def test_settings_are_checked() -> None:
    assert checked_count(3, "voices", 0, 5) == 3
    whole = checked_count(3.0, "voices", 0, 5)
    assert (whole, type(whole)) == (3, int)
    assert checked_number(1, "spread", 0.5, 2) == 1.0
    for value in (True, 2.5, "3", -1, 6, None, float("nan"), float("inf")):
        with pytest.raises(UsageError, match=r"voices .* is not a whole number from 0 to 5"):
            checked_count(value, "voices", 0, 5)
    for value in (True, "1", 0.4, 2.1, float("nan"), None):
        with pytest.raises(UsageError, match=r"spread .* is not a number from 0.5 to 2"):
            checked_number(value, "spread", 0.5, 2)


def test_words_are_checked() -> None:
    from sordino.anonymize.pseudo.base import Gender

    assert checked_choice("F", "gender", Gender) == "F"
    for value in ("f", "", None, 1):
        with pytest.raises(UsageError, match="is not one of: same, cross, any, F, M"):
            checked_choice(value, "gender", Gender)
