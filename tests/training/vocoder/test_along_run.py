"""Whole runs on real speech of a content network that learns along with a tiny generator."""

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
for needed in ("lightning_fabric", "tensorboard", "transformers", "swift_f0"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.session import Session
from sordino.training.content.export import load_content
from sordino.training.launch import Hardware
from sordino.training.record import LOG
from sordino.training.vocoder.data import Crops
from sordino.training.vocoder.models import Models, trained_content, trained_generator
from sordino.training.vocoder.recipe import SpeakerSettings
from sordino.training.vocoder.run import prepare, train_vocoder
from sordino.training.vocoder.validation import Validation
from tests.training.tiny_hubert import save_hubert
from tests.training.vocoder.toys import ALONG, along_recipe
from tests.training.voice.toy_voices import speech

ROOT = Path(__file__).parents[3]
CPU = Hardware("cpu", workers=0)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def hubert(tmp_path_factory):
    return save_hubert(tmp_path_factory.mktemp("models") / "hubert")


def taught(hubert, **sections):
    """Six steps with a tiny teacher."""
    features = {"source": "ssl", "ssl": {"source": str(hubert)}, "layer": 1}
    optimisation = {"average": 0.9, **sections.pop("optimisation", {})}
    chosen = {"speaker": {"of": "mixed"}, "summary": "A toy.", **sections}
    return along_recipe(along={"features": features}, optimisation=optimisation, **chosen)


def train(recipe, root, folder, **options):
    chosen = {"hardware": CPU, "keep_every": 2, "licence": "CC0-1.0", "quiet": True, **options}
    return train_vocoder(recipe, speech(root), folder, **chosen)


def column(folder: Path, name: str) -> np.ndarray:
    with (folder / LOG).open(newline="") as file:
        return np.array([float(row[name]) for row in csv.DictReader(file)])


@pytest.fixture(scope="module")
def whole(hubert, speech_root, tmp_path_factory):
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, train(taught(hubert), speech_root, folder)


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from tests.training.vocoder.test_along_run import taught, train

replace, done = Path.replace, []

def killed(part, target):
    if part.name == "checkpoint.part":
        done.append(target)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return replace(part, target)

if __name__ == "__main__":
    Path.replace = killed
    hubert, root, folder = map(Path, sys.argv[1:])
    train(taught(hubert), root, folder)
"""


class TestRun:
    def test_killed_run_goes_on_to_the_same_losses(self, whole, hubert, speech_root, tmp_path):
        script, folder = tmp_path / "killed.py", tmp_path / "run"
        script.write_text(KILLED, encoding="utf-8")
        killed = subprocess.run(
            [sys.executable, script, hubert, speech_root, folder],
            env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert len(column(folder, "total")) == 4
        bundle = train(taught(hubert), speech_root, folder, resume=True)
        for name in ("total", "teacher", "adversary", "mel"):
            found, wanted = column(folder, name), column(whole[0], name)
            assert found.size == 6
            assert np.allclose(found, wanted, rtol=1e-5), name
        assert bundle.metadata["content_model"] == whole[1].metadata["content_model"]

    def test_several_processes_learn_together(self, speech_root, tmp_path):
        recipe = along_recipe(optimisation={"steps": 2})
        train(recipe, speech_root, tmp_path, hardware=Hardware("cpu", devices=2, workers=0))
        assert np.isfinite(column(tmp_path, "total")).all()
        assert (column(tmp_path, "adversary") > 0).all()
        assert (column(tmp_path, "teacher") == 0).all()

    def test_learns(self, hubert, speech_root, tmp_path):
        faster = {"steps": 24, "learning_rate": 1e-2, "schedule": "cosine", "warmup": 5}
        train(taught(hubert, optimisation=faster), speech_root, tmp_path)
        for name, share in (("mel", 0.9), ("teacher", 0.97)):
            found = column(tmp_path, name)
            assert found[-6:].mean() < share * found[:6].mean(), name

    def test_validation_speaks_by_way_of_the_averaged_network(self, whole, hubert, speech_root):
        folder, recipe = whole[0], taught(hubert)
        prepared = prepare(
            recipe, speech(speech_root), folder, keep_every=2, hardware=CPU, jobs=1, quiet=True
        )
        generator = trained_generator(recipe, prepared.network, folder)
        held = Crops(
            prepared.validation,
            prepared.validation_vectors,
            recipe.data,
            SpeakerSettings(),
            generator.inputs,
        )
        content = trained_content(recipe, folder)
        found = Validation(held, "swift", 200).figures(generator, torch.device("cpu"), content)
        with (folder / LOG).open(newline="") as file:
            last = list(csv.DictReader(file))[-1]
        assert found["mel_distance"] == pytest.approx(float(last["mel_distance"]), rel=1e-4)
        plain = trained_content(
            replace(recipe, optimisation=replace(recipe.optimisation, average=0.0)), folder
        )
        weights = (each.projection.weight for each in (content, plain))
        assert not torch.equal(*weights)

    def test_other_teacher_is_another_run(self, whole, hubert, speech_root, tmp_path):
        other = save_hubert(tmp_path / "hubert", seed=1)
        recipe = taught(hubert)
        features = {**recipe.along.features, "ssl": {"source": str(other)}}
        changed = replace(recipe, along=replace(recipe.along, features=features))
        with pytest.raises(UsageError, match="another recipe"):
            train(changed, speech_root, whole[0], resume=True)

    def test_teacher_that_is_not_there_is_told_at_once(self, speech_root, tmp_path):
        features = {"source": "ssl", "ssl": {"source": str(tmp_path / "none")}}
        with pytest.raises(UsageError, match="none"):
            train(along_recipe(along={"features": features}), speech_root, tmp_path / "run")
        assert not (tmp_path / "run").exists()


class TestExport:
    def test_both_bundles_give_what_the_networks_give(self, whole, hubert):
        folder, bundle = whole
        recipe = taught(hubert)
        content = trained_content(recipe, folder)
        listener = Bundle.load(folder / "toy-content")
        wave = 0.1 * np.random.default_rng(0).standard_normal((1, 9600)).astype(np.float32)
        (code,) = Session(listener, "content.onnx").run({"wave": wave}, ["content"])
        with torch.inference_mode():
            wanted = content(torch.from_numpy(wave)).numpy()
            again = load_content(listener)(torch.from_numpy(wave)).numpy()
        assert code.shape == (1, 30, ALONG["projection"])
        assert np.abs(code - wanted).max() < 1e-3
        assert np.array_equal(again, wanted)

        generator = trained_generator(recipe, Models.of(recipe).network(recipe), folder)
        draws = np.random.default_rng(1)
        inputs = {
            "content": code,
            "f0": np.full((1, 60), 150.0),
            "speaker": draws.standard_normal((1, 192)),
            "harmonic": draws.standard_normal((1, 9600)),
            "noise": draws.standard_normal((1, 9600)),
        }
        inputs = {name: inputs[name].astype(np.float32) for name in generator.inputs}
        (spoken,) = Session(bundle, "generator.onnx").run(inputs, ["wave"])
        with torch.inference_mode():
            wanted = generator(**{k: torch.from_numpy(v) for k, v in inputs.items()}).numpy()
        assert np.abs(spoken - wanted).max() < 1e-3

    def test_say_what_they_are(self, whole):
        folder, bundle = whole
        listener = Bundle.load(folder / "toy-content")
        about = bundle.metadata
        assert about["content_model"] == {"name": "toy-content", "digest": listener.digest}
        said = listener.metadata["content"]
        assert (said["architecture"], said["output"]) == ("conv", "bottleneck")
        for key in ("hop", "channels", "context"):
            assert about["content"][key] == said[key]
        assert (listener.kind, listener.licence) == ("content", "CC0-1.0")
        assert "6 utterances of 2 speakers" in listener.card
        assert "layer 1 of hubert" in listener.card
        assert "content by toy-content" in bundle.card
        assert "mean of the speaker's" in bundle.card
        text = listener.card + bundle.card + str(about) + str(listener.metadata)
        assert str(folder) not in text
        assert "emodb-" not in text
