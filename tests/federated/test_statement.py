import json

import pytest

from sordino.errors import UsageError
from sordino.federated.regimes import Regime
from sordino.federated.statement import privacy_statement
from sordino.privacy.accounting.sampled_gaussian import epsilon_of

PLAN = {"population": 10_000, "sampling_rate": 0.1, "rounds": 20, "delta": 1e-5}


def test_central_epsilon_is_the_accountants():
    statement = privacy_statement(Regime.central(8, 1.0, 0.9), **PLAN)
    assert statement["central"]["epsilon_total"] == epsilon_of(0.9, 0.1, 20, 1e-5)
    assert statement["local"] is None
    assert statement["guarantee"] is True
    assert statement["unit"] == "one user with all examples"
    assert "server" in statement["trusted"]
    json.dumps(statement, allow_nan=False)


def test_local_epsilons_add_up_over_the_cap():
    regime = Regime.local(8, 1.0, 2.0, delta=1e-7)
    statement = privacy_statement(regime, **PLAN, participation_cap=4)
    assert statement["local"]["epsilon_total"] == 8.0
    assert statement["local"]["delta_total"] == pytest.approx(4e-7)
    # Without a cap, somebody may be drawn in every round.
    assert privacy_statement(regime, **PLAN)["local"]["epsilon_total"] == 40.0


def test_central_noise_after_privunit_is_for_the_uploaded_norm():
    regime = Regime.central_local(1000, 1.0, 0.9, 25.0)
    statement = privacy_statement(regime, **PLAN)
    central = statement["central"]
    assert central["norm"] == regime.bound > 4
    assert central["standard_deviation"] == pytest.approx(0.9 * regime.bound)
    assert statement["local"]["epsilon"] == 25.0


def test_no_guarantee_is_said_so():
    nothing = privacy_statement(Regime.unprotected(8, 1.0), **PLAN)
    assert nothing["guarantee"] is False
    assert "nothing random" in nothing["why_not"]
    simulated = privacy_statement(Regime.central(8, 1.0, 0.9), **PLAN, simulation=True)
    assert simulated["guarantee"] is False
    assert "simulation, no guarantee" in simulated["why_not"]


def test_a_sampler_that_the_accountant_does_not_know_is_an_error():
    regime = Regime.central(8, 1.0, 0.9)
    for sampling, relation in (("fixed", "add-remove"), ("poisson", "replace")):
        with pytest.raises(UsageError, match="sampling"):
            privacy_statement(regime, **PLAN, sampling=sampling, relation=relation)
    with pytest.raises(UsageError):
        privacy_statement(regime, **{**PLAN, "sampling_rate": 0.0})
    with pytest.raises(UsageError):
        privacy_statement(regime, **{**PLAN, "rounds": 0})
