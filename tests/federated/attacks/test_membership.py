import numpy as np
import pytest

pytest.importorskip("torch", reason="extra train")
pytest.importorskip("dp_accounting", reason="extra federated")

from sordino.errors import UsageError
from sordino.federated.attacks.intervals import area_over_users
from sordino.federated.attacks.membership import membership
from sordino.federated.populations.base import HeldOut
from sordino.federated.populations.vectors import VectorPopulation
from sordino.federated.regimes import Regime
from sordino.federated.simulate.run import Plan
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.task import ClassifierTask, LocalTraining

CLASSES = ("F", "M")
TASK = ClassifierTask(50, CLASSES, (), training=LocalTraining(5, 1.0))
PLAN = Plan(Sampling("poisson", 40), rounds=30)


def population(users=80):
    """Labels that have nothing to do with vectors: who is known was learnt by heart."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2 * users, 50)).astype(np.float32)
    labels = rng.integers(2, size=2 * users)
    rows = [[2 * user, 2 * user + 1][: 1 + user % 2] for user in range(users)]
    held_out = HeldOut(vectors[:2], labels[:2], np.ones(2))
    return VectorPopulation(vectors, labels, CLASSES, rows, held_out)


def area(regime):
    found = [membership(population(), TASK, regime, PLAN, seed) for seed in range(2)]
    return area_over_users(*(np.stack(side) for side in zip(*found, strict=True)))


def test_what_was_learnt_by_heart_tells_who_took_part():
    assert area(Regime.unprotected(TASK.dimension, 1.0)).low > 0.55


def test_noise_hides_who_took_part():
    found = area(Regime.central(TASK.dimension, 1.0, 20.0))
    assert found.low < 0.5 < found.high


def test_half_of_the_users_take_part():
    scores, inside = membership(
        population(), TASK, Regime.unprotected(TASK.dimension, 1.0), PLAN, 5
    )
    assert scores.shape == inside.shape == (80,)
    assert inside.sum() == 40
    assert (scores < 0).all()
    with pytest.raises(UsageError, match="at least 4"):
        membership(population(3), TASK, Regime.unprotected(TASK.dimension, 1.0), PLAN, 5)
