"""Whole runs on vectors of people who are nobody, and one on real ones."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
for needed in ("lightning_fabric", "tensorboard", "onnx"):
    pytest.importorskip(needed, reason=f"needs {needed}")

import sordino.conceal
from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle
from sordino.training.concealer import run as runs
from sordino.training.concealer.data import labelled, parted
from sordino.training.concealer.run import LOG_FIELDS, train_concealer
from sordino.training.launch import Hardware
from sordino.training.record import CHECKPOINT, LOG
from tests.training.concealer.toy_vectors import DIGEST, GATED, people, table_of, toy

CPU = Hardware("cpu")


@pytest.fixture(scope="module")
def vectors():
    return people()


@pytest.fixture(scope="module")
def table(vectors, tmp_path_factory):
    return table_of(vectors, tmp_path_factory.mktemp("table") / "t.csv", frozenset({"p003"}))


def train(recipe, vectors, table, folder, attributes=("sex",), **options):
    options = {"hardware": CPU, "quiet": True, "licence": "CC0-1.0", **options}
    return train_concealer(recipe, vectors, table, attributes, folder, **options)


def logged(folder):
    with (folder / LOG).open(newline="") as file:
        return list(csv.DictReader(file))


def mechanism(bundle: Bundle) -> Mapping[str, object]:
    return json.loads((bundle.folder / "model.json").read_text())["mechanism"]


@pytest.fixture(scope="module")
def made(vectors, table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    return folder, train(toy(), vectors, table, folder)


class TestPaper:
    def test_the_bundle_conceals(self, made, vectors):
        concealer = sordino.conceal.load(str(made[1].folder))
        about = concealer.description
        assert (about.encoder, about.encoder_digest) == ("tiny", DIGEST)
        assert (about.dimension, about.latent, about.attributes) == (12, 5, ("sex",))
        assert (about.mechanism, about.epsilon_train) == ("laplace", 15)
        assert concealer.bundle.licence == "CC0-1.0"
        protected = concealer.conceal(vectors.vectors, math.inf)
        assert protected.shape == (120, 12)
        assert concealer.conceal(vectors.vectors, 15.0).shape == (120, 12)

    def test_the_bundle_gives_what_the_networks_give(self, made, vectors):
        folder, bundle = made
        state = torch.load(folder / CHECKPOINT, weights_only=True)["network"]
        rows = vectors.vectors.astype(np.float64)
        latents = rows @ state["encoder.0.weight"].numpy().T + state["encoder.0.bias"].numpy()
        latents = np.maximum(latents, 0)
        mean, variance = (state[f"encoder.2.running_{name}"].numpy() for name in ("mean", "var"))
        latents = (latents - mean) / np.sqrt(variance + 1e-5)
        latents = latents * state["encoder.2.weight"].numpy() + state["encoder.2.bias"].numpy()
        clip = float(state["noise.clip"])
        latents /= np.maximum(1, np.abs(latents).sum(axis=1, keepdims=True) / clip)
        expected = np.tanh(
            latents @ state["decoder.0.weight"].numpy().T + state["decoder.0.bias"].numpy()
        )
        found = sordino.conceal.load(str(bundle.folder)).conceal(vectors.vectors, math.inf)
        np.testing.assert_allclose(found, expected, atol=1e-4)
        assert mechanism(bundle)["clip"] == pytest.approx(clip)

    def test_the_log(self, made):
        rows = logged(made[0])
        assert [int(row["step"]) for row in rows] == [1, 2, 3, 4, 5, 6]
        assert tuple(rows[0]) == ("step", *LOG_FIELDS)
        for row in rows:
            total = float(row["reconstruction"]) + float(row["adversary"])
            assert float(row["total"]) == pytest.approx(total, rel=1e-4)
            assert float(row["clip"]) > 0
        # The clip is frozen after half of the steps, and validated every third step.
        assert rows[2]["clip"] == rows[5]["clip"] != rows[1]["clip"]
        assert [bool(row["valid_eer"]) for row in rows] == [False, False, True] * 2

    def test_what_it_says_of_itself(self, made):
        bundle = made[1]
        assert mechanism(bundle)["clip_origin"] == (
            "median L1 norm of the 1280 latents up to step 3 of 6 in training; not private for"
            " the training speakers"
        )
        card = bundle.card
        assert "sex (speakers of F: 16, M: 15)" in card
        assert "made for laplace, epsilon 15 in training; clip" in card
        assert "without noise at release nothing is guaranteed" in card
        metadata = json.loads((bundle.folder / "model.json").read_text())
        assert metadata["figures"].keys() == {"valid_eer", "valid_auc"}
        assert set(metadata["verification"]) == {"both", "one"}
        for sides in metadata["verification"].values():
            assert set(sides) == {"inf", "15"}
            assert sides["inf"]["measured_on"].startswith("8 speakers")

    def test_it_is_the_same_again(self, made, vectors, table, tmp_path):
        again = train(toy(), vectors, table, tmp_path / "run")
        first, second = (
            sordino.conceal.load(str(bundle.folder)).conceal(vectors.vectors, math.inf)
            for bundle in (made[1], again)
        )
        np.testing.assert_array_equal(first, second)

    def test_a_resumed_run_learns_the_same(self, made, vectors, table, tmp_path, monkeypatch):
        class CutShortError(Exception):
            pass

        def validated(*_):
            raise CutShortError

        recipe = toy(validate_every=4)
        whole = train(recipe, vectors, table, tmp_path / "whole")
        with monkeypatch.context() as cut:
            cut.setattr(runs, "validated", validated)
            with pytest.raises(CutShortError):
                train(recipe, vectors, table, tmp_path / "run", keep_every=3)
        with pytest.raises(UsageError, match="go on with --resume"):
            train(recipe, vectors, table, tmp_path / "run")
        with pytest.raises(UsageError, match="a run of another recipe"):
            train(toy(), vectors, table, tmp_path / "run", resume=True)
        resumed = train(recipe, vectors, table, tmp_path / "run", resume=True)
        first, second = (
            sordino.conceal.load(str(bundle.folder)).conceal(vectors.vectors, math.inf)
            for bundle in (whole, resumed)
        )
        np.testing.assert_allclose(first, second, atol=1e-6)
        assert [row["step"] for row in logged(tmp_path / "run")] == list("123456")


class TestKinds:
    def test_noiseless(self, vectors, table, tmp_path):
        bundle = train(toy(noise={"mechanism": "none"}), vectors, table, tmp_path / "run")
        assert mechanism(bundle)["name"] == "none"
        assert mechanism(bundle)["epsilon_train"] == "inf"
        assert "no DP guarantee" in bundle.card
        concealer = sordino.conceal.load(str(bundle.folder))
        with pytest.raises(UsageError, match="made for no release of its own"):
            concealer.conceal(vectors.vectors, 15.0)

    def test_clipping_without_noise_in_training(self, vectors, table, tmp_path):
        bundle = train(toy(noise={"in_training": False}), vectors, table, tmp_path / "run")
        assert mechanism(bundle)["name"] == "laplace"
        assert mechanism(bundle)["epsilon_train"] == "inf"

    def test_a_private_clip(self, vectors, table, tmp_path):
        recipe = toy(noise={"clip": "private", "clip_epsilon": 100.0})
        bundle = train(recipe, vectors, table, tmp_path / "run")
        told = mechanism(bundle)
        assert "private for each of them at epsilon 100 given the weights" in told["clip_origin"]
        latents = sordino.conceal.load(str(bundle.folder)).encode(vectors.vectors)
        norms = np.abs(latents).sum(axis=1)
        assert np.quantile(norms, 0.2) < told["clip"] < np.quantile(norms, 0.8)

    def test_gaussian(self, vectors, table, tmp_path):
        recipe = toy(noise={"mechanism": "gaussian", "delta": 1e-5})
        bundle = train(recipe, vectors, table, tmp_path / "run")
        assert mechanism(bundle)["delta"] == 1e-5
        assert "Euclidean norm" in mechanism(bundle)["clip_origin"]
        protected = sordino.conceal.load(str(bundle.folder)).conceal(vectors.vectors, 8.0)
        assert protected.shape == (120, 12)

    def test_everything_at_once(self, vectors, table, tmp_path):
        recipe = toy(
            GATED,
            start={"networks": "fresh", "erasure": True},
            noise={"length": 2.0},
            adversary={
                "hidden": [4, 6],
                "sees": ["latent", "vector"],
                "goal": "confuse",
                "updates": 2,
                "fresh_every": 4,
                "fresh_updates": 2,
            },
            optimisation={"scores": 1.0, "speakers": 0.1, "dependence": 1.0, "still": 0.1},
        )
        bundle = train(recipe, vectors, table, tmp_path / "run", attributes=("sex", "age"))
        concealer = sordino.conceal.load(str(bundle.folder))
        assert concealer.description.attributes == ("sex", "age")
        assert concealer.description.length == 2
        assert concealer.erasure is not None
        assert concealer.conceal(vectors.vectors, 8.0).shape == (120, 12)
        assert "4 adversaries of the latent and vector" in bundle.card
        assert float(logged(tmp_path / "run")[-1]["dependence"]) != 0

    def test_computed_without_a_step(self, vectors, table, tmp_path):
        recipe = toy(GATED, optimisation={"steps": 0})
        bundle = train(recipe, vectors, table, tmp_path / "run")
        concealer = sordino.conceal.load(str(bundle.folder))
        assert not (tmp_path / "run" / CHECKPOINT).exists()
        assert concealer.description.unit_length
        assert mechanism(bundle)["epsilon_train"] == "inf"
        protected = concealer.conceal(vectors.vectors, math.inf)
        np.testing.assert_allclose(np.linalg.norm(protected, axis=1), 1, rtol=1e-5)
        # What is plain from the vectors is not plain any more from the templates.
        female = np.array([int(name[1:]) % 2 == 0 for name in vectors.speakers])
        for rows, apart in ((vectors.vectors, True), (protected, False)):
            means = np.stack([rows[female].mean(axis=0), rows[~female].mean(axis=0)])
            distance = np.linalg.norm(np.diff(means, axis=0)) / rows.std()
            assert bool(distance > 3) is apart

    def test_a_computed_one_with_a_clip(self, vectors, table, tmp_path):
        recipe = toy(GATED, noise={"mechanism": "laplace"}, optimisation={"steps": 0})
        bundle = train(recipe, vectors, table, tmp_path / "run")
        told = mechanism(bundle)
        assert told["clip_origin"].startswith("median L1 norm of all training latents; not")
        concealer = sordino.conceal.load(str(bundle.folder))
        heard, _ = parted(labelled(vectors, table, ["sex"]), 0.2, 3)
        norms = np.abs(concealer.encode(heard.vectors)).sum(axis=1)
        assert told["clip"] == pytest.approx(np.median(norms), rel=1e-4)


class TestRefusals:
    def test_what_cannot_work_leaves_no_folder(self, vectors, table, tmp_path):
        folder = tmp_path / "run"
        nameless = replace(vectors, digest="")
        for given, options, told in (
            (nameless, {}, "do not say of which encoder"),
            (vectors, {"hardware": replace(CPU, devices=2)}, "in one process"),
            (vectors, {"attributes": ("height",)}, "no column 'height'"),
        ):
            with pytest.raises(UsageError, match=told):
                train(toy(), given, table, folder, **options)
        with pytest.raises(UsageError, match="cannot be parted"):
            train(toy(data={"validation": 0.001}), vectors, table, folder)
        assert not folder.exists()

    def test_a_loss_that_is_no_number(self, vectors, table, tmp_path):
        recipe = toy(optimisation={"learning_rate": 1e30, "steps": 20})
        with pytest.raises(OutputError, match="no number any more"):
            train(recipe, vectors, table, tmp_path / "run")
