from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.privacy.ledger.account import (
    Account,
    Cost,
    Entry,
    canonical,
    cost_of,
    spent_of,
)
from sordino.privacy.ledger.composition import Releases
from tests.privacy.ledger.mechanisms import Noise

entries = st.builds(
    Entry,
    st.text(min_size=1),
    st.builds(
        Cost,
        st.floats(0, 1e6) | st.just(math.inf),
        st.floats(0, 1, exclude_max=True),
        st.text(),
    ),
)


@given(st.dictionaries(entries, st.integers(1, 2**62)))
def test_what_is_stored_comes_back_to_the_last_bit(known):
    account = Account(known)
    assert Account.from_bytes(account.to_bytes()) == account


def test_nothing_stored_is_nothing_spent():
    assert Account.from_bytes(None) == Account()
    assert spent_of(Account()) == (spent := spent_of(Account(), "log-in"))
    assert (spent.releases, spent.basic, spent.advanced) == (0, (0.0, 0.0), None)


def test_releases_add_up_by_purpose_and_kind():
    log_in, other, survey = (
        Entry("log-in", Cost(15.0)),
        Entry("log-in", Cost(15.0, mechanism="laplace")),
        Entry("survey", Cost(0.5, 1e-6)),
    )
    account = Account()
    for entry, number in ((log_in, 2), (survey, 1), (log_in, 3), (other, 1)):
        before = account
        account = account.with_releases(entry, number)
        assert account.releases() == before.releases() + number
    assert account.entries == {log_in: 5, other: 1, survey: 1}
    assert account.purposes() == ["log-in", "survey"]
    assert account.spending("log-in") == [Releases(15.0, 0.0, 5), Releases(15.0, 0.0, 1)]
    assert spent_of(account, "log-in").basic == (90.0, 0.0)
    assert spent_of(account).basic == (90.5, 1e-6)
    assert spent_of(account, "other").releases == 0


def test_advanced_composition_is_shown_where_it_helps():
    account = Account().with_releases(Entry("survey", Cost(0.1)), 100)
    advanced = spent_of(account, slack=1e-6).advanced
    assert advanced is not None
    assert advanced.epsilon == pytest.approx(5.756106, abs=1e-6)
    assert spent_of(account, slack=1e-9).advanced != advanced


def test_the_cost_of_a_mechanism():
    assert cost_of(Noise(np.float64(15.0), 1e-6)) == Cost(15.0, 1e-6, "noise")
    assert cost_of(Noise(math.inf)).epsilon == math.inf
    assert cost_of(Cost(3.0, 0.1, "other")) == Cost(3.0, 0.1, "other")


def test_what_guarantees_nothing_costs_everything():
    assert cost_of(Noise(15.0, guarantee=False)).epsilon == math.inf


def test_impossible_costs_of_mechanisms():
    for mechanism in (Noise(math.nan), Noise(-1.0), Noise(1.0, 1.5)):
        with pytest.raises(UsageError):
            cost_of(mechanism)


def test_statements_differ_where_anything_differs():
    said = {canonical(m) for m in (Noise(), Noise(14.0), Noise(15.0, 1e-6), Noise(name="other"))}
    assert len(said) == 4
    assert canonical(Noise()) == canonical(Noise())


def test_a_statement_that_is_not_for_json():
    with pytest.raises(UsageError, match="not for JSON"):
        canonical(Noise(name=object()))
