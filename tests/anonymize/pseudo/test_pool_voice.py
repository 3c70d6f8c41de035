from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sordino.anonymize.pseudo.base import Source
from sordino.anonymize.pseudo.pool import Pool
from sordino.anonymize.pseudo.pool_voice import PoolVoice
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import draws, part, pool


def rows_of(strategy: PoolVoice, whole: Pool, count: int) -> np.ndarray:
    found = [strategy.choose(whole, draws(f"{number}")) for number in range(count)]
    rows = np.argmax(np.array(found) @ whole.vectors.T, axis=1)
    np.testing.assert_array_equal(found, whole.vectors[rows])
    return rows


def test_each_voice_of_the_sex_is_as_likely() -> None:
    whole = pool(12, 9)
    for sex, number in (("F", 12), ("M", 9)):
        rows, counts = np.unique(rows_of(PoolVoice(sex), whole, 3000), return_counts=True)
        assert set(whole.sex[rows]) == {sex}
        assert len(rows) == number
        assert stats.chisquare(counts).pvalue > 0.001


def test_any_takes_a_sex_first() -> None:
    rows = rows_of(PoolVoice(), pool(2, 20), 2000)
    assert abs((rows < 2).mean() - 0.5) < 5 * 0.5 / np.sqrt(2000)


def test_a_voice_more_in_the_pool_changes_few_pseudo_speakers() -> None:
    whole = pool(40, 40)
    smaller = part(whole, np.arange(79))
    strategy = PoolVoice("M")
    changed = [
        not np.allclose(
            strategy.choose(whole, draws(f"{n}")), strategy.choose(smaller, draws(f"{n}"))
        )
        for n in range(1000)
    ]
    # One voice in forty is the new one.
    assert abs(np.mean(changed) - 1 / 40) < 5 * np.sqrt(1 / 40 / 1000)


def test_a_source_is_needed_for_its_sex_only() -> None:
    whole = pool()
    assert not PoolVoice().needs_source
    assert PoolVoice("cross").needs_source
    found = PoolVoice("cross").choose(whole, draws(), Source(whole.vectors[0], "F"))
    assert whole.sex[np.argmax(whole.vectors @ found)] == "M"


def test_a_sex_that_the_pool_does_not_have_says_so() -> None:
    with pytest.raises(UsageError, match="the pool has 0 voices of men, 1 are needed; set gender"):
        PoolVoice("M").choose(pool(5, 0), draws())
