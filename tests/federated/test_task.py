import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.federated.task import ClassifierTask, Examples, LocalTraining


def users_of(counts, inputs, classes, seed=0):
    generator = np.random.default_rng(seed)
    return [
        (generator.normal(size=(count, inputs)), generator.integers(0, classes, count))
        for count in counts
    ]


def by_hand(task, parameters, vectors, labels):
    """Plain gradient descent by autograd, one user."""
    module = task.network(parameters).requires_grad_(True)
    optimiser = torch.optim.SGD(module.parameters(), task.training.learning_rate)
    inputs = torch.from_numpy(task.prepared(np.asarray(vectors, dtype=np.float32)))
    for _ in range(task.training.steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(module(inputs), torch.as_tensor(labels)).backward()
        optimiser.step()
    moved = np.concatenate([value.detach().numpy().ravel() for value in module.parameters()])
    return moved - parameters


@pytest.mark.parametrize("layer_norm", [False, True])
@pytest.mark.parametrize(("hidden", "activation"), [((), "sigmoid"), ((7, 5), "relu")])
def test_updates_of_padded_users_are_those_of_each_alone(hidden, activation, layer_norm):
    task = ClassifierTask(
        6, ("a", "b", "c"), hidden, activation, layer_norm, training=LocalTraining(4, 0.3)
    )
    users = users_of([1, 5, 3], 6, 3)
    parameters = task.initial(1)
    updates = task.updates(parameters, Examples.stacked(users))
    assert updates.shape == (3, task.dimension)
    for update, (vectors, labels) in zip(updates, users, strict=True):
        expected = by_hand(task, parameters, vectors, labels)
        np.testing.assert_allclose(update, expected, atol=2e-6)
        assert np.abs(expected).max() > 0.01


def test_padding_does_not_count():
    task = ClassifierTask(4, ("a", "b"))
    users = users_of([2], 4, 2)
    alone = Examples.stacked(users)
    among = Examples.stacked([*users, *users_of([9], 4, 2, seed=1)])
    among.vectors[0, 2:] = 1e3
    among.labels[0, 2:] = 1
    parameters = task.initial(0)
    np.testing.assert_allclose(
        task.updates(parameters, alone)[0], task.updates(parameters, among)[0], atol=1e-6
    )


def test_blocks_do_not_matter(monkeypatch):
    task = ClassifierTask(4, ("a", "b"))
    examples = Examples.stacked(users_of([3] * 10, 4, 2))
    whole = task.updates(task.initial(0), examples)
    monkeypatch.setattr("sordino.federated.task._BLOCK", 3 * task.dimension)
    np.testing.assert_allclose(task.updates(task.initial(0), examples), whole, atol=1e-6)


def test_dimension_is_the_number_of_parameters():
    for layer_norm in (False, True):
        task = ClassifierTask(5, ("a", "b", "c"), (4, 3), layer_norm=layer_norm)
        count = sum(value.numel() for value in task.network(task.initial(0)).parameters())
        assert task.dimension == count == len(task.initial(0))


def test_initial_parameters_follow_from_the_seed_and_leave_others_alone():
    task = ClassifierTask(5, ("a", "b"))
    torch.manual_seed(3)
    before = torch.rand(1)
    torch.manual_seed(3)
    first = task.initial(0)
    assert torch.rand(1) == before
    np.testing.assert_array_equal(first, task.initial(0))
    assert (first != task.initial(1)).any()


def test_each_vector_is_standardised_by_itself():
    task = ClassifierTask(5, ("a", "b"))
    vectors = np.random.default_rng(0).normal(3, 9, (4, 5)).astype(np.float32)
    prepared = task.prepared(vectors)
    np.testing.assert_allclose(prepared.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(prepared.std(axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(task.prepared(vectors[:1]), prepared[:1])
    assert np.isfinite(task.prepared(np.ones((1, 5), dtype=np.float32))).all()


def test_logits_and_accuracy():
    task = ClassifierTask(2, ("a", "b"), (), standardise=False)
    parameters = np.array([1, 0, 0, 1, 0, 0], dtype=np.float32)
    np.testing.assert_array_equal(task.logits(parameters, [[3, 1], [1, 2]]), [[3, 1], [1, 2]])
    assert task.accuracy(parameters, [[3, 1], [1, 2], [0, 1]], [0, 1, 0]) == pytest.approx(2 / 3)


def test_terms_come_back():
    task = ClassifierTask(5, ("a", "b"), (3, 2), "relu", True, False, LocalTraining(2, 0.1))
    assert ClassifierTask.from_terms(task.terms()) == task
    for broken in ({}, {**task.terms(), "inputs": 0}, {**task.terms(), "more": 1}):
        with pytest.raises(UsageError):
            ClassifierTask.from_terms(broken)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": ("a",)}, "2 different names"),
        ({"classes": ("a", "a")}, "2 different names"),
        ({"activation": "tanh"}, "tanh"),
        ({"hidden": (0,)}, "width"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        ClassifierTask(**{"inputs": 3, "classes": ("a", "b"), **settings})


def test_wrong_examples_are_refused():
    task = ClassifierTask(3, ("a", "b"))
    with pytest.raises(UsageError, match="components"):
        task.updates(task.initial(0), Examples.of(np.ones((1, 4)), [0]))
    with pytest.raises(UsageError, match="label"):
        task.updates(task.initial(0), Examples.of(np.ones((1, 3)), [2]))
    with pytest.raises(UsageError, match="shape"):
        task.updates(np.zeros(3), Examples.of(np.ones((1, 3)), [0]))
    with pytest.raises(UsageError, match="n from 1"):
        Examples.of(np.ones((0, 3)), [])
    with pytest.raises(UsageError, match="differ"):
        Examples.stacked([(np.ones((1, 3)), [0]), (np.ones((1, 4)), [0])])
    with pytest.raises(UsageError, match="step"):
        LocalTraining(0)
