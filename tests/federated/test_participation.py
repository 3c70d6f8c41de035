import math

import pytest

from sordino.errors import UsageError
from sordino.federated.participation import Participation, round_cost
from sordino.federated.regimes import Regime
from sordino.privacy.ledger import Ledger, Limit
from sordino.privacy.mechanisms.calibration import gaussian_delta


def test_costs_of_a_round():
    local = round_cost(Regime.local(8, 1.0, 2.0, delta=1e-7), 1e-6)
    assert (local.epsilon, local.delta) == (2.0, 1e-7)
    both = round_cost(Regime.central_local(8, 1.0, 1.0, 25.0), 1e-6)
    assert (both.epsilon, both.delta) == (25.0, 0.0)
    central = round_cost(Regime.central(8, 1.0, 2.2305), 1e-6)
    assert central.epsilon == pytest.approx(2.0, abs=1e-3)
    assert gaussian_delta(central.epsilon, 2.2305) <= 1e-6
    assert round_cost(Regime.unprotected(8, 1.0), 1e-6).epsilon == math.inf


@pytest.mark.parametrize(
    "regime",
    [
        Regime.unprotected(8, 1.0),
        Regime.central(8, 1.0, 0.7),
        Regime.local(8, 1.0, 2.0),
        Regime.central_local(8, 1.0, 0.7, 25.5),
    ],
    ids=lambda regime: regime.name,
)
def test_the_cap_holds_for_each_user(tmp_path, regime):
    ledger = Ledger(tmp_path / "ledger", create=True)
    taking_part = Participation(ledger, regime, cap=3)
    for _ in range(3):
        taking_part.charge("anna")
    taking_part.charge("ben")
    with pytest.raises(UsageError, match="3 of at most 3"):
        taking_part.charge("anna")
    # Another object, as after a crash, counts on.
    again = Participation(Ledger(tmp_path / "ledger"), regime, cap=3)
    with pytest.raises(UsageError, match="3 of at most 3"):
        again.charge("anna")
    assert ledger.standing("anna").account.releases("federated") == 3
    assert ledger.standing("ben").account.releases("federated") == 1


def test_limits_of_the_ledger_hold_too(tmp_path):
    ledger = Ledger(tmp_path / "ledger", create=True)
    ledger.set_limit(Limit(3.0))
    taking_part = Participation(ledger, Regime.local(8, 1.0, 2.0, mechanism="laplace"), cap=9)
    assert taking_part.charge("anna").spent.epsilon == 2.0
    with pytest.raises(UsageError, match="limit"):
        taking_part.charge("anna")
    assert ledger.standing("anna").account.releases() == 1


def test_a_cap_of_nothing_is_refused(tmp_path):
    with pytest.raises(UsageError, match="at least 1"):
        Participation(Ledger(tmp_path / "ledger", create=True), Regime.unprotected(8, 1.0), cap=0)
