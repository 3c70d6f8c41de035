import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.populations.partition import by_speaker, dirichlet, resampled

SPEAKERS = ["c", "a", "b", "a", "c", "c"]


def test_speakers_are_users():
    assert [rows.tolist() for rows in by_speaker(SPEAKERS)] == [[1, 3], [2], [0, 4, 5]]
    assert by_speaker([]) == []


def test_a_resampled_user_is_one_speaker_and_all_take_turns():
    rows = resampled(SPEAKERS, 32, 5, np.random.default_rng(0))
    owners = [{SPEAKERS[row] for row in user} for user in rows]
    assert all(len(owner) == 1 and len(user) == 5 for owner, user in zip(owners, rows, strict=True))
    counts = [sum(owner == {name} for owner in owners) for name in "abc"]
    assert sum(counts) == 32
    assert max(counts) - min(counts) <= 1
    assert {int(row) for user in rows for row in user} == set(range(6))


def test_dirichlet_deals_every_row_once():
    labels = np.random.default_rng(1).integers(0, 3, 500)
    for concentration in (0.05, 1.0, 1000.0):
        rows = dirichlet(labels, 20, concentration, np.random.default_rng(0))
        assert sorted(np.concatenate(rows).tolist()) == list(range(500))
        assert min(len(user) for user in rows) > 0


def test_concentration_decides_how_even_users_are():
    labels = np.repeat([0, 1], 2000)

    def unevenness(concentration):
        rows = dirichlet(labels, 40, concentration, np.random.default_rng(0))
        shares = np.array([labels[user].mean() for user in rows])
        return shares.std()

    assert unevenness(0.1) > 0.35
    # Shares of two gamma variables of shape A: variance 1 / (4 (2 A + 1)).
    assert unevenness(100.0) == pytest.approx(np.sqrt(1 / (4 * 201)), rel=0.35)


def test_wrong_arguments_are_refused():
    generator = np.random.default_rng(0)
    for concentration in (0.0, np.inf, np.nan):
        with pytest.raises(UsageError):
            dirichlet([0, 1], 2, concentration, generator)
    with pytest.raises(UsageError):
        resampled(SPEAKERS, 0, 1, generator)
