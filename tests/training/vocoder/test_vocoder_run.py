"""Whole runs of tiny generators on voices that are nobody's."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
for needed in ("lightning_fabric", "tensorboard", "swift_f0"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

from sordino.errors import OutputError, UsageError
from sordino.models.session import Session
from sordino.training import launch
from sordino.training.generator_export import example_inputs
from sordino.training.launch import Hardware
from sordino.training.record import CHECKPOINT, LOG
from sordino.training.vocoder.models import Models, trained_generator
from sordino.training.vocoder.run import train_vocoder
from tests.talkers import talkers
from tests.training.vocoder.toys import NETWORKS, toy_content, toy_recipe

ROOT = Path(__file__).parents[3]
CPU = Hardware("cpu", workers=0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"), speakers=4, utterances=3)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    return toy_content(tmp_path_factory.mktemp("models") / "content").folder


def train(recipe, corpus, folder, **options):
    chosen = {"hardware": CPU, "keep_every": 2, "licence": "CC0-1.0", "quiet": True, **options}
    return train_vocoder(recipe, corpus, folder, **chosen)


def trained(recipe, folder):
    return trained_generator(recipe, Models.of(recipe).network(recipe), folder)


def log(folder: Path) -> list[dict[str, str]]:
    with (folder / LOG).open(newline="") as file:
        return list(csv.DictReader(file))


def column(folder: Path, name: str) -> np.ndarray:
    return np.array([float(row[name]) for row in log(folder)])


def watched(content):
    return toy_recipe(content, summary="A toy.", validate_every=3)


@pytest.fixture(scope="module")
def whole(made, content, tmp_path_factory):
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, train(watched(content), made, folder)


class TestRun:
    def test_writes_a_line_for_each_step(self, whole):
        rows = log(whole[0])
        assert [int(row["step"]) for row in rows] == list(range(1, 7))
        assert [bool(row["mel_distance"]) for row in rows] == [False, False, True] * 2
        assert all(float(row["total"]) > 45 * float(row["mel"]) > 0 for row in rows)
        assert {float(row["spectral"]) for row in rows} == {0.0}
        assert all(0 < float(row["discriminator"]) < 10 for row in rows)

    def test_rate_falls_after_each_pass_over_the_utterances(self, whole):
        # Two speakers with three utterances each are heard, four crops a step.
        rates = column(whole[0], "learning_rate")
        assert np.allclose(rates / 2e-4, 0.999 ** np.array([0, 0, 1, 2, 2, 3]), rtol=1e-6)

    def test_sound_and_curves_are_for_tensorboard(self, whole):
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

        (file,) = (whole[0] / "curves").rglob("events*")
        tags = {
            value.tag
            for event in EventFileLoader(str(file)).Load()
            for value in event.summary.value
        }
        assert {"total", "0/natural", "0/own voice", "0/another voice"} <= tags

    def test_learns(self, made, content, tmp_path):
        optimisation = {"steps": 20, "learning_rate": 1e-2, "schedule": "cosine", "warmup": 5}
        recipe = toy_recipe(content, optimisation=optimisation, losses={"adversarial_from": 100})
        train(recipe, made, tmp_path)
        found = column(tmp_path, "mel")
        assert found[-5:].mean() < 0.8 * found[:5].mean()

    def test_discriminators_may_come_later(self, made, content, tmp_path):
        train(toy_recipe(content, losses={"adversarial_from": 4}), made, tmp_path)
        judged = column(tmp_path, "discriminator")
        assert (judged[:3] == 0).all()
        assert (judged[3:] > 0).all()

    @pytest.mark.parametrize("joint", [False, True])
    def test_two_stages_learn_with_natural_frames_or_together(self, joint, made, content, tmp_path):
        losses = {"acoustic": 1.0, "joint": joint}
        recipe = toy_recipe(content, "two-stage", losses=losses, optimisation={"steps": 2})
        train(recipe, made, tmp_path)
        assert (column(tmp_path, "acoustic") > 0).all()

    def test_average_is_what_comes_out(self, made, content, tmp_path):
        recipe = toy_recipe(content, optimisation={"average": 0.9})
        train(recipe, made, tmp_path)
        without = replace(recipe, optimisation=replace(recipe.optimisation, average=0.0))
        mean, last = (
            trained(each, tmp_path).state_dict()["head.weight"] for each in (recipe, without)
        )
        assert not torch.equal(mean, last)
        assert torch.allclose(mean, last, atol=2e-3)


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from sordino.training.launch import Hardware
from sordino.training.vocoder.run import train_vocoder
from tests.talkers import talkers
from tests.training.vocoder.toys import toy_recipe

replace, done = Path.replace, []

def killed(part, target):
    if part.name == "checkpoint.part":
        done.append(target)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return replace(part, target)

if __name__ == "__main__":
    Path.replace = killed
    folder, content = Path(sys.argv[1]), sys.argv[2]
    corpus = talkers(folder / "talkers", speakers=4, utterances=3)
    recipe = toy_recipe(content, optimisation={"average": 0.9})
    train_vocoder(
        recipe, corpus, folder / "run", hardware=Hardware("cpu"), keep_every=2, quiet=True
    )
"""


class TestResume:
    def test_killed_run_goes_on_to_the_same_losses(self, whole, made, content, tmp_path):
        script = tmp_path / "killed.py"
        script.write_text(KILLED, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        killed = subprocess.run(
            [sys.executable, script, tmp_path, content],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        corpus = talkers(tmp_path / "talkers", speakers=4, utterances=3)
        assert len(log(tmp_path / "run")) == 4
        recipe = toy_recipe(content, optimisation={"average": 0.9})
        train(recipe, corpus, tmp_path / "run", resume=True)
        assert len(log(tmp_path / "run")) == 6
        for name in ("total", "discriminator"):
            assert np.allclose(column(tmp_path / "run", name), column(whole[0], name), rtol=1e-5)
        kept = torch.load(tmp_path / "run" / CHECKPOINT, weights_only=True)
        assert {"speaking", "discriminators", "average", "optimizer", "opponent"} <= kept.keys()

    def test_frames_that_are_there_are_not_made_again(self, made, content, tmp_path, monkeypatch):
        def cut(*_: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(launch, "launch", cut)
            with pytest.raises(KeyboardInterrupt):
                train(toy_recipe(content), made, tmp_path)
        files = {path: path.stat().st_mtime_ns for path in (tmp_path / "frames").iterdir()}
        assert len(files) == 2 * 12
        train(toy_recipe(content), made, tmp_path, resume=True)
        assert files == {path: path.stat().st_mtime_ns for path in (tmp_path / "frames").iterdir()}

    def test_other_models_are_another_run(self, whole, made, content, tmp_path):
        toy_content(tmp_path / "content", hop=160)
        recipe = watched(tmp_path / "content")
        with pytest.raises(UsageError, match="other data"):
            train(recipe, made, whole[0], resume=True)
        with pytest.raises(UsageError, match="another recipe"):
            train(toy_recipe(content, "hifigan"), made, whole[0], resume=True)


class TestProcesses:
    def test_two_learn_as_one_does(self, whole, made, content, tmp_path):
        hardware = Hardware("cpu", devices=2, workers=0)
        train(toy_recipe(content, optimisation={"steps": 3}), made, tmp_path, hardware=hardware)
        for name in ("total", "discriminator"):
            found, wanted = column(tmp_path, name), column(whole[0], name)[:3]
            assert np.allclose(found, wanted, rtol=1e-3), name

    def test_batch_has_to_be_shared_evenly(self, made, content, tmp_path):
        with pytest.raises(UsageError, match=r"optimisation\.batch"):
            train(toy_recipe(content), made, tmp_path, hardware=replace(CPU, devices=3))
        assert not (tmp_path / "recipe.json").exists()


class TestRefusals:
    def test_recipe_without_content(self, made, tmp_path):
        with pytest.raises(UsageError, match="names no content model"):
            train(toy_recipe(""), made, tmp_path)

    def test_network_that_says_what_follows_from_the_models(self, made, content, tmp_path):
        recipe = toy_recipe(content, network={"speaker": 5})
        with pytest.raises(UsageError, match=r"network\.speaker is not set"):
            train(recipe, made, tmp_path)

    def test_loss_that_is_no_number(self, made, content, tmp_path):
        recipe = toy_recipe(content, optimisation={"learning_rate": 1e30, "longest_gradient": 1e30})
        with pytest.raises(OutputError, match="no number"):
            train(recipe, made, tmp_path)


class TestExport:
    @pytest.mark.parametrize("architecture", NETWORKS)
    def test_graph_gives_what_the_network_gives(self, architecture, made, content, tmp_path):
        losses = {"acoustic": 1.0} if architecture == "two-stage" else {}
        recipe = toy_recipe(content, architecture, losses=losses, optimisation={"steps": 2})
        bundle = train(recipe, made, tmp_path)
        generator = trained(recipe, tmp_path)
        assert not generator.training
        session = Session(bundle, "generator.onnx")
        assert tuple(session.inputs) == generator.inputs
        inputs = example_inputs(generator, 33, seed=9)
        (found,) = session.run(inputs, ["wave"])
        with torch.inference_mode():
            wanted = generator(**{k: torch.from_numpy(v) for k, v in inputs.items()}).numpy()
        assert found.shape == wanted.shape == (1, 33 * 320)
        assert np.abs(found - wanted).max() < 1e-3 * max(1e-3, np.abs(wanted).max())

    def test_says_what_it_is(self, whole):
        folder, bundle = whole
        about = bundle.metadata
        assert (bundle.folder, about["name"]) == (folder / "toy", "toy")
        assert about["kind"] == "vocoder"
        assert about["generator"] == {"hop": 160, "context": 4, "architecture": "istft"}
        assert about["content"] == {"hop": 320, "channels": 6, "context": 0}
        assert about["pitch"] == {"tracker": "swift"}
        assert about["speaker"]["encoder"] == "ecapa-small"
        assert about["speaker"]["dimension"] == 192
        assert about["figures"]["mel_distance"] == pytest.approx(
            float(log(folder)[-1]["mel_distance"])
        )
        assert "6 utterances of 2 speakers" in bundle.card
        assert "CC0-1.0" in bundle.card
        assert "v0" not in bundle.card
