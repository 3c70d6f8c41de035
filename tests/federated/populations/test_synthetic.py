import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.populations.synthetic import SyntheticPopulation


def test_a_user_is_the_same_whoever_else_is_asked_for():
    population = SyntheticPopulation(10**6, inputs=5, classes=4, seed=2)
    chosen = np.array([0, 17, 999_999])
    together = population.cohort(chosen)
    for place, user in enumerate(chosen):
        alone = population.cohort(np.array([user]))
        count = alone.counts[0]
        assert count == together.counts[place]
        np.testing.assert_array_equal(alone.vectors[0, :count], together.vectors[place, :count])
        assert set(alone.labels[0, :count].tolist()) == {int(together.labels[place, 0])}


def test_vectors_are_class_speaker_and_utterance():
    population = SyntheticPopulation(
        20_000, inputs=6, classes=3, separation=5.0, between=0.7, within=0.3, least=4, most=4
    )
    examples = population.cohort(np.arange(20_000))
    assert examples.vectors.shape == (20_000, 4, 6)
    speakers = examples.vectors.mean(axis=1)
    within = (examples.vectors - speakers[:, None]).std() * np.sqrt(4 / 3)
    assert within == pytest.approx(0.3, rel=0.01)
    means = [speakers[examples.labels[:, 0] == label].mean(axis=0) for label in range(3)]
    np.testing.assert_allclose(np.linalg.norm(means, axis=1), 5.0, rtol=0.02)
    spread = np.concatenate(
        [speakers[examples.labels[:, 0] == label] - means[label] for label in range(3)]
    ).std()
    assert spread == pytest.approx(np.sqrt(0.7**2 + 0.3**2 / 4), rel=0.01)
    shares = np.bincount(examples.labels[:, 0]) / 20_000
    np.testing.assert_allclose(shares, 1 / 3, atol=0.015)
    # Neighbouring users have nothing in common.
    normal = (speakers - np.array(means)[examples.labels[:, 0]]).ravel()
    assert abs(np.corrcoef(normal[:-6], normal[6:])[0, 1]) < 0.02


def test_held_out_speakers_are_others_and_count_the_same():
    population = SyntheticPopulation(2000, inputs=5, classes=2, least=1, most=9)
    held_out = population.held_out
    users = {row.tobytes() for row in population.cohort(np.arange(2000)).vectors[:, 0]}
    assert not users & {row.tobytes() for row in held_out.vectors}
    assert held_out.weights.sum() == pytest.approx(2000)
    assert held_out.accuracy(held_out.labels) == 1.0
    assert 0.45 < held_out.chance < 0.55


def test_seeds_differ():
    one, two = (SyntheticPopulation(10, seed=seed).cohort(np.array([3])) for seed in (0, 1))
    assert (one.vectors[0, 0] != two.vectors[0, 0]).all()


@pytest.mark.parametrize(
    "settings", [{"users": 0}, {"classes": 1}, {"least": 0}, {"least": 9, "most": 3}, {"seed": -1}]
)
def test_wrong_settings_are_refused(settings):
    with pytest.raises(UsageError):
        SyntheticPopulation(**{"users": 5, **settings})


def test_as_many_users_as_a_plan_takes():
    assert SyntheticPopulation(10**10).cohort(np.array([10**10 - 1])).counts[0] >= 3
    with pytest.raises(UsageError, match="from 1 to 10,000,000,000"):
        SyntheticPopulation(10**10 + 1)
