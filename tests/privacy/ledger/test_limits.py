from __future__ import annotations

import math

import pytest

from sordino.errors import UsageError
from sordino.privacy.ledger.account import Account, Cost, Entry
from sordino.privacy.ledger.composition import Limit
from sordino.privacy.ledger.limits import Standing, from_bytes, spend, to_bytes

LOG_IN, SURVEY = Entry("log-in", Cost(15.0)), Entry("survey", Cost(1.0, 1e-6))


def test_what_is_stored_comes_back():
    limits = {"log-in": Limit(90.0, 2e-6, 1e-6), None: Limit(math.inf), "ünïcode": Limit(0.1)}
    assert from_bytes(to_bytes(limits)) == limits
    assert from_bytes(None) == {}


def test_nothing_is_spent_without_a_limit():
    for limits in ({}, {"survey": Limit(100.0)}):
        with pytest.raises(UsageError, match="no limit is set for 'log-in'; set one"):
            spend(Standing(Account(), limits), LOG_IN, 1)


@pytest.mark.parametrize("scope", ["log-in", None])
def test_a_limit_is_reached_and_not_passed(scope):
    limits = {scope: Limit(30.0)}
    account = spend(Standing(Account(), limits), LOG_IN, 2)
    assert account.releases("log-in") == 2
    with pytest.raises(UsageError, match="would pass the limit"):
        spend(Standing(account, limits), LOG_IN, 1)
    with pytest.raises(UsageError, match="3 more releases"):
        spend(Standing(Account(), limits), LOG_IN, 3)


def test_a_limit_for_all_purposes_counts_all():
    limits = {None: Limit(16.0, delta=1e-6)}
    account = spend(Standing(Account(), limits), LOG_IN, 1)
    account = spend(Standing(account, limits), SURVEY, 1)
    with pytest.raises(UsageError, match=r"all purposes: epsilon 16 -> 17 of 16, delta 1e-06 -> 2"):
        spend(Standing(account, limits), SURVEY, 1)


def test_a_limit_for_another_purpose_does_not_count():
    limits = {"survey": Limit(1.0, delta=1e-6), "log-in": Limit(15.0)}
    account = spend(Standing(Account(), limits), LOG_IN, 1)
    assert spend(Standing(account, limits), SURVEY, 1).releases() == 2


def test_every_limit_has_to_be_kept():
    account = Account()
    for limits, given in (
        ({"log-in": Limit(15.0), None: Limit(14.0)}, None),
        ({"log-in": Limit(14.0), None: Limit(15.0)}, None),
        ({"log-in": Limit(15.0)}, Limit(14.0)),
        ({"log-in": Limit(14.0)}, Limit(15.0)),
        ({}, Limit(14.0)),
    ):
        with pytest.raises(UsageError, match="would pass"):
            spend(Standing(account, limits), LOG_IN, 1, given)
    all_kept = Standing(account, {"log-in": Limit(15.0), None: Limit(15.0)})
    assert spend(all_kept, LOG_IN, 1, Limit(15.0)).releases() == 1
    assert spend(Standing(account, {}), LOG_IN, 1, Limit(15.0)).releases() == 1
