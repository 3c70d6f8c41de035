from __future__ import annotations

import pickle

import numpy as np
import pytest

from sordino.anonymize.pseudo.pool import Pool
from sordino.anonymize.pseudo.ridge import fit_ridge
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import part, pool


def arrays(**changes: object) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    right: dict[str, object] = {
        "vectors": rng.normal(size=(6, 4)).astype(np.float32),
        "sex": np.array(["F", "M", "F", "M", "F", ""]),
        "pitch_mean": np.log(np.linspace(100, 200, 6)).astype(np.float32),
        "pitch_deviation": np.full(6, 0.2, dtype=np.float32),
    }
    return {name: np.asarray(value) for name, value in {**right, **changes}.items()}


def test_vectors_get_length_1_and_keep_their_direction() -> None:
    given = arrays()
    found = Pool.from_arrays(given, "voice")
    np.testing.assert_allclose(np.linalg.norm(found.vectors, axis=1), 1, atol=1e-12)
    lengths = np.linalg.norm(given["vectors"].astype(np.float64), axis=1, keepdims=True)
    np.testing.assert_allclose(found.vectors * lengths, given["vectors"], rtol=1e-6)
    assert found.vectors.dtype == np.float64
    assert found.dimension == 4
    assert len(found) == 6


def test_arrays_from_a_file_are_taken(tmp_path) -> None:
    np.savez(tmp_path / "pool.npz", **arrays())
    with np.load(tmp_path / "pool.npz", allow_pickle=False) as stored:
        assert Pool.from_arrays(stored, "voice") == Pool.from_arrays(arrays(), "voice")


def test_a_pool_cannot_be_changed_and_does_not_change_with_its_arrays() -> None:
    given = arrays(vectors=np.eye(6, 4) + 1)
    found = Pool.from_arrays(given, "voice")
    before = pickle.dumps(found)
    given["vectors"][0] = 5
    assert Pool.from_arrays(given, "voice") != found
    with pytest.raises(ValueError, match="read-only"):
        found.vectors[0] = 1
    assert found == pickle.loads(before)  # noqa: S301


@pytest.mark.parametrize("name", ["vectors", "sex", "pitch_mean", "pitch_deviation"])
def test_a_missing_array_is_named(name: str) -> None:
    given = arrays()
    del given[name]
    with pytest.raises(UsageError) as caught:
        Pool.from_arrays(given, "model x: pool.npz")
    assert str(caught.value) == (
        f"model x: pool.npz: has no array '{name}'; it needs vectors, sex, pitch_mean,"
        " pitch_deviation"
    )


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("vectors", np.ones(6), r"vectors have shape \(6,\); expected \(voices, dimension\)"),
        ("vectors", np.ones((6, 0)), r"vectors have shape \(6, 0\)"),
        ("vectors", np.ones((1, 4)), "holds 1 voices; a pool needs at least 2"),
        ("vectors", np.eye(6, 4), "vector 4 is zero; it has no direction"),
        ("vectors", np.full((6, 4), np.nan), "vectors holds NaN or infinity"),
        ("vectors", np.full((6, 4), "x"), "vectors does not hold numbers"),
        ("sex", np.array(["F"] * 5), r"sex has shape \(5,\) beside 6 vectors"),
        ("sex", np.array(["f"] * 6), 'sex holds something else than "F", "M" and ""'),
        ("sex", np.zeros(6), 'sex holds something else than "F", "M" and ""'),
        ("pitch_mean", np.full(5, 5.0), r"pitch_mean has shape \(5,\) beside 6 vectors"),
        ("pitch_mean", np.full(6, 120.0), "pitch_mean goes from 120 to 120; expected natural log"),
        ("pitch_mean", np.full(6, np.inf), "pitch_mean holds NaN or infinity"),
        ("pitch_deviation", np.full(6, -0.1), "pitch_deviation goes from -0.1 to -0.1; expected 0"),
        ("pitch_deviation", np.full(6, 1.5), "pitch_deviation goes from 1.5 to 1.5; expected 0"),
        ("pitch_deviation", np.full((6, 1), 0.2), r"pitch_deviation has shape \(6, 1\) beside"),
    ],
)
def test_arrays_that_are_no_pool_are_refused(name: str, value: np.ndarray, message: str) -> None:
    with pytest.raises(UsageError, match=f"^somewhere: {message}"):
        Pool.from_arrays(arrays(**{name: value}), "somewhere")


def test_pools_are_equal_when_all_of_their_content_is() -> None:
    one = Pool.from_arrays(arrays(), "voice")
    assert one == Pool.from_arrays(arrays(), "elsewhere")
    assert hash(one) == hash(Pool.from_arrays(arrays(), "elsewhere"))
    assert one == pickle.loads(pickle.dumps(one))  # noqa: S301
    for name, array in arrays().items():
        changed = array.copy()
        changed[0] = "M" if name == "sex" else changed[0] * 0.99 + 0.001
        assert one != Pool.from_arrays(arrays(**{name: changed}), "voice"), name
    assert one != "a pool"


def test_groups_have_the_voices_of_a_sex_or_all() -> None:
    voices = Pool.from_arrays(arrays(), "voice")
    assert voices.members("F", fewest=3, remedy="").tolist() == [0, 2, 4]
    assert voices.members("M", fewest=0, remedy="").tolist() == [1, 3]
    assert voices.members("", fewest=6, remedy="").tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("F", "the pool has 3 voices of women, 9 are needed; buy more"),
        ("M", "the pool has 2 voices of men, 9 are needed; buy more"),
        ("", "the pool has 6 voices, 9 are needed; buy more"),
    ],
)
def test_a_group_that_is_too_small_says_how_small(group: str, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Pool.from_arrays(arrays(), "voice").members(group, fewest=9, remedy="buy more")
    assert str(caught.value) == text


def test_a_sex_cannot_be_guessed_with_voices_of_one_only() -> None:
    with pytest.raises(UsageError, match="the pool has 2 voices of men, 3 are needed"):
        pool(5, 2).sex_of(np.ones(24))


def test_registers_are_what_the_regressions_predict() -> None:
    voices = pool(40, 40)
    means = fit_ridge(voices.vectors, voices.pitch_mean)
    deviations = fit_ridge(voices.vectors, voices.pitch_deviation)
    vector = voices.vectors[::7].mean(axis=0)
    register = voices.register(vector)
    assert register.mean == pytest.approx(means.predict(vector), abs=1e-12)
    assert register.deviation == pytest.approx(deviations.predict(vector), abs=1e-12)


def test_registers_stay_within_those_of_the_pool() -> None:
    voices = pool(40, 40)
    far = 50 * voices.pitch_fits[0].weights
    assert voices.register(far).mean == voices.pitch_mean.max()
    assert voices.register(-far).mean == voices.pitch_mean.min()
    far = 1e9 * voices.pitch_fits[1].weights
    assert voices.register(far).deviation == voices.pitch_deviation.max()
    assert voices.register(-far).deviation == voices.pitch_deviation.min()


def test_women_of_a_real_pool_speak_higher_than_men(real_pool: Pool) -> None:
    rows = np.arange(len(real_pool))
    half = part(real_pool, rows[::2])
    higher = [
        half.register(real_pool.vectors[woman]).mean - half.register(real_pool.vectors[man]).mean
        for woman, man in zip(rows[1:30:2], rows[31::2], strict=True)
    ]
    # An octave is 0.69.
    assert 0.3 < np.mean(higher) < 0.8


def test_the_smallest_pool_has_a_register() -> None:
    assert pool(1, 1).register(np.ones(24)).mean > 0
