from __future__ import annotations

import json

import pytest

from sordino.privacy.mechanisms.base import Mechanism
from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG
from sordino.privacy.mechanisms.unprotected import Unprotected
from sordino.privacy.mechanisms.vectors import PrivVector
from sordino.privacy.randomness import SeededRandomness, SystemRandomness

PROTECTING = [
    Laplace(clip=2.0, epsilon=5.0),
    Gaussian(clip=2.0, epsilon=5.0, delta=1e-6),
    PrivUnit(dimension=8, epsilon=5.0),
    PrivUnitG(dimension=8, epsilon=5.0),
    PrivVector(dimension=8, epsilon=5.0, clip=2.0),
]
ALL = [*PROTECTING, Unprotected(clip=2.0)]


@pytest.mark.parametrize("mechanism", ALL, ids=lambda mechanism: mechanism.name)
def test_everything_is_stated(mechanism: Mechanism) -> None:
    statement = mechanism.statement()
    assert statement["mechanism"] == mechanism.name
    assert statement["unit"] == "one template"
    assert statement["relation"] == "any pair (replace)"
    assert statement["trust_model"] == "local"
    assert {"clip", "norm", "grid", "not_covered"} <= set(statement)
    assert json.loads(json.dumps(statement, allow_nan=False)) == statement


@pytest.mark.parametrize("mechanism", PROTECTING, ids=lambda mechanism: mechanism.name)
def test_the_systems_randomness_guarantees_and_a_seed_does_not(mechanism: Mechanism) -> None:
    for statement in (mechanism.statement(), mechanism.statement(SystemRandomness())):
        assert statement["guarantee"] is True
        assert statement["why_not"] is None
        assert statement["epsilon"] == 5.0
        assert statement["delta"] == mechanism.delta
    simulated = mechanism.statement(SeededRandomness(1))
    assert simulated["guarantee"] is False
    assert "simulation, no guarantee" in str(simulated["why_not"])
