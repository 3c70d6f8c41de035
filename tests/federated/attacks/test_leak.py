import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="extra train")

from sordino.errors import UsageError
from sordino.federated.attacks.leak import (
    leak,
    matching_bound,
    recovered_inputs,
    single_examples,
)
from sordino.federated.populations.synthetic import SyntheticPopulation
from sordino.federated.regimes import Regime
from sordino.federated.task import ClassifierTask, Examples, LocalTraining
from sordino.privacy.randomness import SeededRandomness

POPULATION = SyntheticPopulation(120, inputs=24, classes=3)
TASK = ClassifierTask(24, POPULATION.classes, (8,))
D = TASK.dimension
EXAMPLES = single_examples(POPULATION, 100)
SEEDS = range(2)


@pytest.mark.parametrize(
    "task",
    [
        ClassifierTask(24, POPULATION.classes, ()),
        ClassifierTask(24, POPULATION.classes, (6, 5), training=LocalTraining(1, 0.1)),
        ClassifierTask(24, POPULATION.classes, (16,), "relu", training=LocalTraining(5, 0.1)),
        ClassifierTask(24, POPULATION.classes, (8,), layer_norm=True, standardise=False),
    ],
    ids=["no layer between", "two layers", "relu, five steps", "layer norm"],
)
def test_without_noise_the_input_is_recovered(task):
    updates = task.updates(task.initial(3), EXAMPLES)
    truth = task.prepared(EXAMPLES.vectors[:, 0])
    np.testing.assert_allclose(recovered_inputs(task, updates), truth, rtol=1e-3, atol=1e-3)
    # Neither the clip nor whole numbers change that.
    regime = Regime.unprotected(task.dimension, 0.05)
    points = regime.protect(updates, SeededRandomness(0)).points
    recovered = recovered_inputs(task, regime.grid.vectors(points))
    np.testing.assert_allclose(recovered, truth, rtol=1e-2, atol=1e-2)


def test_it_is_what_a_row_over_its_bias_gives():
    one = Examples.of(EXAMPLES.vectors[0, :1], EXAMPLES.labels[0, :1])
    module = TASK.network(TASK.initial(0)).requires_grad_(True)
    logits = module(torch.from_numpy(TASK.prepared(one.vectors[0])))
    torch.nn.functional.cross_entropy(logits, torch.from_numpy(one.labels[0])).backward()
    first = module.layers[0]
    row = int(first.bias.grad.abs().argmax())
    plain = (first.weight.grad[row] / first.bias.grad[row]).numpy()
    recovered = recovered_inputs(TASK, TASK.updates(TASK.initial(0), one))[0]
    np.testing.assert_allclose(recovered, plain, rtol=1e-3, atol=1e-4)


def test_the_best_guess_beats_single_rows_in_noise():
    rng = np.random.default_rng(0)
    updates = TASK.updates(TASK.initial(0), EXAMPLES).astype(np.float64)
    truth = TASK.prepared(EXAMPLES.vectors[:, 0])
    noisy = updates + rng.normal(size=updates.shape) * 0.2 * np.abs(updates).max()

    def similarity(guess):
        dots = (guess * truth).sum(axis=1)
        return np.mean(dots / np.linalg.norm(guess, axis=1) / np.linalg.norm(truth, axis=1))

    rows, bias = noisy[:, :24], noisy[:, 8 * 24 : 8 * 24 + 1]
    assert similarity(recovered_inputs(TASK, noisy)) > similarity(rows / bias) + 0.1


def test_regime_none_leaks_everything():
    got = leak(TASK, Regime.unprotected(D, 0.3), EXAMPLES, SEEDS)
    assert got.cosine.shape == got.found.shape == (2, len(EXAMPLES))
    assert got.cosine.min() > 0.9999
    assert got.found.all()
    assert got.matched.all()


def test_central_noise_hides_users_from_those_who_see_models_only():
    regime = Regime.central(D, 0.3, 1.0)
    assert leak(TASK, regime, EXAMPLES, SEEDS).cosine.min() > 0.9999
    got = leak(TASK, regime, EXAMPLES, SEEDS, view="model")
    assert abs(got.cosine.mean()) < 0.1
    assert got.found.mean() < 0.1
    # With next to no noise they are not hidden: it is the noise that does it.
    thin = Regime.central(D, 0.3, 0.001)
    assert leak(TASK, thin, EXAMPLES, SEEDS, view="model").cosine.mean() > 0.95


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace", "privunit"])
def test_local_noise_hides_users_from_the_server(mechanism):
    regime = Regime.local(D, 0.3, 2.0, mechanism=mechanism)
    got = leak(TASK, regime, EXAMPLES, SEEDS)
    assert abs(got.cosine.mean()) < 0.1
    assert got.found.mean() < matching_bound(2.0, 1e-6, len(EXAMPLES)) + 0.05
    assert got.matched.mean() < matching_bound(2.0, 1e-6, len(EXAMPLES)) + 0.05


def test_weak_local_privacy_hides_inputs_but_not_from_who_knows_them():
    got = leak(TASK, Regime.central_local(D, 0.3, 1.0, 25.5), EXAMPLES, SEEDS)
    assert abs(got.cosine.mean()) < 0.3
    assert got.matched.mean() > 0.3


@pytest.mark.parametrize(("epsilon", "users"), [(1.0, 2), (2.0, 30), (25.0, 200)])
def test_the_bound_is_what_randomised_response_reaches(epsilon, users):
    reached = np.exp(epsilon) / (np.exp(epsilon) + users - 1)
    assert matching_bound(epsilon, 0.0, users) == pytest.approx(reached)
    assert matching_bound(epsilon, 0.01, users) > reached
    assert matching_bound(epsilon, 1.0, users) == 1


def test_a_change_of_nothing_tells_nothing():
    assert np.isfinite(recovered_inputs(TASK, np.zeros((2, D)))).all()


def test_users_with_equal_examples_count_once():
    vectors = np.repeat(np.eye(3, dtype=np.float32), 2, axis=0)[:, None]

    class Twins(SyntheticPopulation):
        def cohort(self, chosen):
            ones = np.ones(len(chosen), dtype=np.int64)
            return Examples(vectors[chosen], ones[:, None] * 0, ones)

    twins = Twins(6, inputs=3, classes=2)
    assert single_examples(twins, 6).vectors[:, 0].tolist() == np.eye(3).tolist()
    assert len(single_examples(twins, 2)) == 2
    with pytest.raises(UsageError, match="at least 2"):
        single_examples(twins, 1)


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="expected"):
        recovered_inputs(TASK, np.zeros((1, D + 1)))
    two = Examples.of(np.ones((2, 24)), [0, 1])
    with pytest.raises(UsageError, match="one example"):
        leak(TASK, Regime.unprotected(D, 1.0), two, SEEDS)
