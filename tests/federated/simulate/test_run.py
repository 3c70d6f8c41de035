import dataclasses

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.adaptive import AdaptiveClip
from sordino.federated.client import client_round
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.populations.synthetic import SyntheticPopulation
from sordino.federated.regimes import Regime
from sordino.federated.server import Server
from sordino.federated.simulate.run import Plan, simulate
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.task import ClassifierTask, LocalTraining

POPULATION = SyntheticPopulation(400, inputs=8, classes=3, separation=4.0)
TASK = ClassifierTask(8, POPULATION.classes, (), training=LocalTraining(2, 0.5))
D = TASK.dimension
PLAN = Plan(Sampling("poisson", 60), rounds=6, optimiser=ServerOptimiser(momentum=0.5))


def test_a_simulation_learns_what_devices_and_a_server_do():
    everybody = Plan(Sampling("fixed", 400), rounds=2)
    regime = Regime.unprotected(D, 0.2)
    simulated = simulate(POPULATION, TASK, regime, everybody, seed=4)
    server = Server(TASK.initial(4), regime, 400)
    for _ in range(2):
        request = server.open()
        for user in range(400):
            examples = POPULATION.cohort(np.array([user]))
            upload = client_round(
                TASK,
                request.parameters,
                examples,
                regime,
                request.round,
                nonce=request.nonce,
                sender=str(user),
            )
            assert server.accept(upload) is None
        server.close()
    np.testing.assert_allclose(simulated.parameters, server.parameters, atol=1e-6)


def test_regimes_keep_the_papers_order():
    plan = Plan(Sampling("poisson", 200), rounds=10)
    budget = (
        Regime.unprotected(D, 0.3),
        Regime.central(D, 0.3, 2.0),
        Regime.central_local(D, 0.3, 2.0, 12.0),
        Regime.local(D, 0.3, 1.0),
    )
    runs = [
        [simulate(POPULATION, TASK, regime, plan, seed) for seed in range(3)] for regime in budget
    ]
    ratios = [np.mean([one.snr for run in regime for one in run.rounds]) for regime in runs]
    assert ratios[0] > ratios[1] > ratios[2] > ratios[3]
    accuracy = [np.mean([run.rounds[-1].accuracy for run in regime]) for regime in runs]
    assert accuracy[0] > POPULATION.held_out.chance + 0.3
    assert accuracy[0] > accuracy[3] > POPULATION.held_out.chance
    assert abs(accuracy[0] - accuracy[1]) < 0.05


@pytest.mark.parametrize(
    "regime",
    [
        Regime.central(D, 0.3, 1.0),
        Regime.local(D, 0.3, 2.0),
        Regime.central_local(D, 0.3, 1.0, 20.0),
    ],
    ids=lambda regime: regime.name,
)
def test_measured_noise_is_what_the_regime_foretells(regime):
    plan = Plan(Sampling("poisson", 100), rounds=30)
    rounds = simulate(POPULATION, TASK, regime, plan, seed=0).rounds
    ratio = np.sqrt(np.mean([(one.noise / one.noise_expected) ** 2 for one in rounds]))
    assert ratio == pytest.approx(1, abs=0.12)


def test_without_noise_there_is_none():
    rounds = simulate(POPULATION, TASK, Regime.unprotected(D, 0.3), PLAN, seed=0).rounds
    assert all(one.snr == float("inf") and one.noise < 1e-6 for one in rounds)
    assert all(0 < one.alignment <= 1 and one.norm <= 0.3 + 1e-6 for one in rounds)


def test_seeds_decide_everything():
    regime = Regime.local(D, 0.3, 4.0)
    one, same, other = (
        simulate(POPULATION, TASK, regime, PLAN, seed).parameters for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).all()


def test_a_training_that_is_cut_short_learns_the_same(tmp_path):
    regime = Regime.central(D, 0.3, 1.0, adaptive=AdaptiveClip(bit_deviation=5.0))
    whole = simulate(POPULATION, TASK, regime, PLAN, seed=1)
    path = tmp_path / "checkpoint.npz"

    class KilledError(Exception):
        pass

    def kill(one):
        if one.round == 3:
            raise KilledError

    with pytest.raises(KilledError):
        simulate(POPULATION, TASK, regime, PLAN, seed=1, checkpoint=path, every=2, tell=kill)
    seen = []
    again = simulate(POPULATION, TASK, regime, PLAN, seed=1, checkpoint=path, tell=seen.append)
    assert [one.round for one in seen] == [2, 3, 4, 5]
    np.testing.assert_array_equal(again.parameters, whole.parameters)
    assert again.rounds == whole.rounds
    assert len({one.clip for one in again.rounds}) == 6
    # Finished: nothing is done again.
    done = simulate(POPULATION, TASK, regime, PLAN, seed=1, checkpoint=path, tell=kill)
    assert done.rounds == whole.rounds
    for changed in (dataclasses.replace(PLAN, rounds=9), PLAN):
        with pytest.raises(UsageError, match="other settings"):
            simulate(POPULATION, TASK, regime.with_clip(0.4), changed, seed=1, checkpoint=path)


def test_blocks_of_a_cohort_do_not_matter(monkeypatch):
    regime = Regime.central(D, 0.3, 1.0)
    whole = simulate(POPULATION, TASK, regime, PLAN, seed=1).parameters
    monkeypatch.setattr("sordino.federated.simulate.run._BLOCK", 7 * D)
    parts = simulate(POPULATION, TASK, regime, PLAN, seed=1).parameters
    np.testing.assert_allclose(parts, whole, atol=1e-5)


class Astray(SyntheticPopulation):
    """Some users hold what nothing can be learnt from."""

    def cohort(self, chosen):
        examples = super().cohort(chosen)
        examples.vectors[chosen % 10 == 0, 0, 0] = np.inf
        return examples


def test_users_whose_training_goes_astray_are_left_out():
    population = Astray(400, inputs=8, classes=3, separation=4.0)
    with np.errstate(invalid="ignore"):
        rounds = simulate(population, TASK, Regime.central(D, 0.3, 0.5), PLAN, seed=0).rounds
    assert all(one.refused > 0 for one in rounds)
    assert rounds[-1].accuracy > 0.5


def test_what_does_not_fit_is_refused():
    other = ClassifierTask(9, POPULATION.classes, ())
    with pytest.raises(UsageError, match="other vectors"):
        simulate(POPULATION, other, Regime.unprotected(other.dimension, 1.0), PLAN, 0)
    plan = Plan(Sampling("poisson", 401), rounds=1)
    with pytest.raises(UsageError, match="cannot be drawn"):
        simulate(POPULATION, TASK, Regime.unprotected(D, 1.0), plan, 0)
    with pytest.raises(UsageError, match="at least 1 round"):
        Plan(Sampling("poisson", 4), rounds=0)
