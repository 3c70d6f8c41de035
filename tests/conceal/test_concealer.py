from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

import sordino.conceal
from sordino.conceal.concealer import Concealer
from sordino.conceal.erasure import Erasure
from sordino.errors import UsageError
from sordino.models.bundle import write_bundle
from sordino.privacy.mechanisms.clip import clip_l1, clip_l2
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.mechanisms.privunit import PrivUnit
from sordino.privacy.randomness import SeededRandomness
from tests.concealers import DIMENSION, LATENT, description, graph, laplace, weights
from tests.concealers import write_concealer as write


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(50, DIMENSION))


def test_a_concealer_by_name_or_folder(tmp_path, monkeypatch):
    write(tmp_path / "tiny")
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path))
    found = sordino.conceal.load("tiny")
    assert found == sordino.conceal.load(str(tmp_path / "tiny"))
    assert (found.name, len(found.digest), found.has_networks) == ("tiny-concealer", 64, True)
    assert found.description == description()


def test_without_noise_the_rest_of_the_pipeline_runs(tmp_path, rows):
    matrix = weights().astype(np.float64)
    latents = rows @ matrix
    concealer = write(tmp_path / "laplace", laplace())
    assert np.linalg.norm(latents, ord=1, axis=1).min() < 2 < np.linalg.norm(latents, axis=1).max()
    expected = clip_l1(latents, 2.0) @ matrix.T
    for epsilon in (None, math.inf):
        found = concealer.conceal(rows, epsilon)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, atol=1e-5)
    about = laplace(mechanism="gaussian", delta=1e-6)
    found = write(tmp_path / "gaussian", about).conceal(rows)
    np.testing.assert_allclose(found, clip_l2(latents, 2.0) @ matrix.T, atol=1e-5)
    directions = latents / np.linalg.norm(latents, axis=1, keepdims=True)
    found = write(tmp_path / "privunit", description(length=3.0)).conceal(rows)
    np.testing.assert_allclose(found, 3 * directions @ matrix.T, atol=1e-5)
    found = write(tmp_path / "none", description(mechanism="none")).conceal(rows)
    np.testing.assert_allclose(found, latents @ matrix.T, atol=1e-5)


def test_an_erasure_goes_first(tmp_path, rows):
    keeps = np.ones(DIMENSION)
    keeps[3] = 0
    erasure = Erasure(np.diag(keeps), 5.0 - 5.0 * keeps)
    erased = rows.copy()
    erased[:, 3] = 5
    matrix = weights().astype(np.float64)
    concealer = write(tmp_path / "a", description(mechanism="none"), erasure=erasure)
    np.testing.assert_allclose(concealer.conceal(rows), erased @ matrix @ matrix.T, atol=1e-5)
    alone = description(latent=DIMENSION, mechanism="none")
    concealer = write(tmp_path / "b", alone, erasure=erasure, alone=True)
    np.testing.assert_allclose(concealer.conceal(rows), erased, rtol=1e-6)
    assert not concealer.has_networks
    unit = description(latent=DIMENSION, mechanism="none", unit_length=True)
    concealer = write(tmp_path / "c", unit, erasure=erasure, alone=True)
    np.testing.assert_allclose(concealer.conceal(rows), concealer.conceal(7 * rows), rtol=1e-6)
    with pytest.raises(UsageError, match="vector 1 is zero; it has no direction"):
        concealer.conceal(rows * (np.arange(50) != 1)[:, None])


def test_laplace_noise_is_added_to_clipped_latents(tmp_path, rows):
    concealer = write(tmp_path / "a", laplace())
    many = np.tile(rows[:1], (20000, 1))
    latents = concealer.conceal(many, 5.0, randomness=SeededRandomness(1)) @ weights()
    noise = latents - clip_l1(rows[:1] @ weights(), 2.0)
    scale = 2 * 2.0 / 5.0
    np.testing.assert_allclose(noise.mean(axis=0), 0, atol=5 * scale * math.sqrt(2 / 20000))
    np.testing.assert_allclose(np.abs(noise).mean(axis=0), scale, rtol=0.04)
    np.testing.assert_allclose((noise**2).mean(axis=0), 2 * scale**2, rtol=0.1)
    assert np.abs(np.corrcoef(noise.T) - np.eye(LATENT)).max() < 0.05


def test_privunit_releases_directions(tmp_path, rows):
    concealer = write(tmp_path / "a", description(length=2.0))
    many = np.tile(9 * rows[:1], (20000, 1))
    latents = concealer.conceal(many, 6.0, randomness=SeededRandomness(1)) @ weights()
    mechanism = PrivUnit(dimension=LATENT, epsilon=6.0)
    np.testing.assert_allclose(np.linalg.norm(latents, axis=1), 2 * mechanism.norm, rtol=1e-5)
    direction = rows[0] @ weights()
    direction /= np.linalg.norm(direction)
    error = 5 * 2 * mechanism.norm / math.sqrt(20000)
    np.testing.assert_allclose(latents.mean(axis=0), 2 * direction, atol=error)


@pytest.mark.parametrize("name", ["privunit", "privunit-g", "laplace", "gaussian"])
def test_each_mechanism_states_what_it_guarantees(tmp_path, rows, name):
    about = laplace(mechanism=name, **({"delta": 1e-6} if name == "gaussian" else {}))
    concealer = write(tmp_path / "a", about)
    first, second = concealer.conceal(rows, 4.0), concealer.conceal(rows, 4.0)
    assert first.shape == rows.shape
    assert (first != second).any(axis=1).all()
    said = json.loads(json.dumps(concealer.statement(4.0), allow_nan=False))
    assert (said["mechanism"], said["epsilon"], said["guarantee"]) == (name, 4.0, True)
    assert said["delta"] == (1e-6 if name == "gaussian" else 0)
    assert said["relation"] == "any pair (replace)"
    assert said["concealer"] == {"name": "tiny-concealer", "digest": concealer.digest}
    assert said["encoder"] == {"name": "tiny-encoder", "digest": "c0ffee"}
    assert (said["attributes"], said["epsilon_train"]) == (["sex"], 15.0)
    assert said["clip_origin"] == "median of training norms, not private"
    assert said["forbids"]["verification_eer_below"] == pytest.approx(0.018, abs=1e-3)
    assert any("trained the concealer" in line for line in said["not_covered"])
    assert concealer.statement(4.0) == concealer.statement(4.0)


@pytest.mark.parametrize("epsilon", [None, math.inf])
def test_without_noise_nothing_is_guaranteed(tmp_path, epsilon):
    concealer = write(tmp_path / "a", laplace(epsilon_train=math.inf))
    said = json.loads(json.dumps(concealer.statement(epsilon), allow_nan=False))
    assert (said["guarantee"], said["epsilon"], said["epsilon_train"]) == (False, "inf", "inf")
    assert said["why_not"].startswith("no DP guarantee")
    assert said["forbids"] == {"attribute_auc_above": 1.0, "verification_eer_below": 0.0}
    assert concealer.at(epsilon).name == "tiny-concealer (no DP guarantee)"
    for mechanism in ("privunit", "none"):
        about = description(mechanism=mechanism)
        said = write(tmp_path / mechanism, about).statement(epsilon)
        assert said["why_not"].startswith("no DP guarantee")


def test_a_seed_is_a_simulation(tmp_path, rows):
    concealer = write(tmp_path / "a", laplace())
    one, other = (concealer.conceal(rows, 3, randomness=SeededRandomness(5)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    said = concealer.at(3).statement(SeededRandomness(5))
    assert (said["guarantee"], said["why_not"][:10]) == (False, "simulation")


def test_many_rows_go_through_in_blocks(tmp_path):
    concealer = write(tmp_path / "a", laplace(clip=1e6))
    rows = np.random.default_rng(0).normal(size=(9000, DIMENSION))
    matrix = weights().astype(np.float64)
    np.testing.assert_allclose(concealer.conceal(rows), rows @ matrix @ matrix.T, atol=1e-4)
    assert concealer.conceal(rows[:0], 3.0).shape == (0, DIMENSION)
    assert concealer.conceal(rows, 3.0).shape == rows.shape


def test_another_mechanism_needs_what_it_bounds(tmp_path, rows):
    concealer = write(tmp_path / "laplace", laplace(length=1.5))
    assert concealer.at(8, "privunit").release_of_latents.length == 1.5
    assert concealer.conceal(rows, 8, "privunit").shape == rows.shape
    for mechanism, message in (
        ("gaussian", "gaussian needs a clip of l2 norms, and the concealer, made for laplace, has"),
        ("magic", "there is no mechanism 'magic'; there are: laplace, gaussian, privunit"),
    ):
        with pytest.raises(UsageError, match=message):
            concealer.conceal(rows, 8, mechanism)
    with pytest.raises(UsageError, match="does not say of what length its decoder"):
        write(tmp_path / "b", laplace()).conceal(rows, 8, "privunit")
    none = write(tmp_path / "c", description(mechanism="none"))
    with pytest.raises(UsageError, match="made for no release of its own; name one with a mech"):
        none.conceal(rows, 8)
    erasure = Erasure(np.eye(DIMENSION), np.zeros(DIMENSION))
    alone = description(latent=DIMENSION, mechanism="none")
    concealer = write(tmp_path / "d", alone, erasure=erasure, alone=True)
    assert concealer.at(8, "privunit").epsilon == 8


@pytest.mark.parametrize("epsilon", [0, -1, math.nan])
def test_epsilon_is_above_0(tmp_path, rows, epsilon):
    with pytest.raises(UsageError, match="is not above 0"):
        write(tmp_path / "a").conceal(rows, epsilon)


def test_vectors_are_checked(tmp_path, rows):
    concealer = write(tmp_path / "a")
    odd = rows.copy()
    odd[7, 2] = np.nan
    for vectors, message in (
        (rows[0], r"shape \(12,\) and type float64; expected numbers \(n, 12\)"),
        (rows.astype(str), "expected numbers"),
        (rows[:, :5], "have 5 numbers; the concealer tiny-concealer takes those of tiny-encoder"),
        (odd, "vector 7 holds NaN or infinity"),
        (np.full((1, DIMENSION), 1e200), "numbers too large for single precision"),
        (np.full((1, DIMENSION), 3e38), "encoder.onnx gives NaN or infinity"),
    ):
        with pytest.raises(UsageError, match=message):
            concealer.conceal(vectors, 3)
    with pytest.raises(UsageError, match=r"latents have shape \(50, 12\); expected \(n, 6\)"):
        concealer.decode(rows)


@pytest.mark.parametrize("beside", ["rows", "chance"])
def test_a_latent_depends_on_its_vector_only(tmp_path, rows, beside):
    matrix = weights()
    networks = (
        graph(matrix, "vector", "latent", beside=beside),
        graph(matrix.T, "latent", "vector"),
    )
    concealer = write(tmp_path / "a", networks=networks)
    with pytest.raises(UsageError, match=r"encoder.onnx gives a vector another latent each time"):
        concealer.conceal(rows, 3)


def test_graphs_are_checked(tmp_path, rows):
    matrix = weights()
    right = graph(matrix, "vector", "latent"), graph(matrix.T, "latent", "vector")
    for number, (networks, message) in enumerate(
        (
            ((graph(matrix, "wave", "latent"), right[1]), r"does not take vector \(n, 12\)"),
            ((graph(matrix, "vector", "code"), right[1]), r"does not give latent \(n, 6\)"),
            ((graph(matrix[:5], "vector", "latent"), right[1]), r"does not take vector"),
            ((right[0], graph(matrix, "latent", "vector")), r"does not take latent \(n, 6\)"),
            ((right[0], graph(matrix.T[:, :3], "latent", "vector")), r"not give vector \(n, 12\)"),
            ((right[0], b"no graph"), "decoder.onnx cannot be run"),
        )
    ):
        concealer = write(tmp_path / str(number), networks=networks)
        with pytest.raises(UsageError, match=message):
            concealer.conceal(rows, 3)


def test_a_bundle_of_another_kind_or_with_parts_missing(tmp_path):
    concealer = write(tmp_path / "a")
    given = concealer.bundle.given
    files = {name: concealer.bundle.path(name) for name in concealer.bundle.files}
    alone = {name: path for name, path in files.items() if name != "decoder.onnx"}
    card = {"CARD.md": files["CARD.md"]}
    for number, (metadata, parts, message) in enumerate(
        (
            ({**given, "kind": "voice"}, files, "is a voice, not a concealer"),
            (given, alone, "has encoder.onnx alone"),
            (given, card, "has neither networks nor an erasure"),
            (given, {**card, "erasure.npz": b""}, "another latent than dimension"),
            ({**given, "latent": 0}, files, "model.json gives no whole number above 0 as latent"),
            ({**given, "attributes": "sex"}, files, "gives no list of attributes"),
            ({**given, "mechanism": None}, files, "gives no section 'mechanism'"),
        )
    ):
        bundle = write_bundle(tmp_path / f"other-{number}", metadata, parts)
        with pytest.raises(UsageError, match=message):
            Concealer(bundle)


def test_a_file_that_holds_no_erasure(tmp_path, rows):
    concealer = write(tmp_path / "a")
    files = {name: concealer.bundle.path(name) for name in concealer.bundle.files}
    given = concealer.bundle.given
    damaged = Concealer(write_bundle(tmp_path / "b", given, {**files, "erasure.npz": b"?"}))
    with pytest.raises(UsageError, match=r"erasure.npz is not an NPZ archive"):
        damaged.conceal(rows, 3)


def test_another_process_opens_the_same_concealer(tmp_path, rows):
    concealer = write(tmp_path / "a")
    other = pickle.loads(pickle.dumps(concealer))  # noqa: S301
    np.testing.assert_array_equal(other.conceal(rows), concealer.conceal(rows))
    gone = pickle.dumps(write(tmp_path / "b", laplace()))
    (tmp_path / "b").rename(tmp_path / "old")
    write(tmp_path / "b", laplace(clip=9.0))
    with pytest.raises(UsageError, match="has been replaced by another"):
        pickle.loads(gone)  # noqa: S301


def test_thresholds_of_protected_templates(tmp_path):
    known = {"thresholds": {"0.01": 0.4}}
    table = {"both": {"15": known}, "one": {"inf": known}}
    concealer = write(tmp_path / "a", verification=table)
    assert concealer.verification("both", 15.0) == known
    assert concealer.verification("one", math.inf) == known
    assert concealer.verification("one", 15.0) is None
    assert write(tmp_path / "b").verification("both", 15.0) is None
    with pytest.raises(UsageError, match="a verification that is no table of tables"):
        write(tmp_path / "c", verification={"both": 0.4}).verification("both", 15.0)


def test_an_epsilon_that_floats_cannot_hold_is_not_understated(tmp_path):
    concealment = write(tmp_path / "a", laplace()).at(15)
    assert concealment.epsilon >= 15
    assert concealment.epsilon == Laplace(clip=2.0, epsilon=15).epsilon
    assert concealment.delta == 0
