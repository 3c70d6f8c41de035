"""Whole voices from a few real utterances: trained, killed, resumed, used."""

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
import soundfile

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
for needed in ("lightning_fabric", "tensorboard", "transformers", "swift_f0"):
    pytest.importorskip(needed, reason=f"{needed} is not installed")

from sordino.cli.main import main
from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.session import Session
from sordino.speaker.encoders import load_encoder
from sordino.training.content.export import load_content
from sordino.training.launch import Hardware
from sordino.training.record import LOG
from sordino.training.vocoder.frames import training_wave
from sordino.training.vocoder.models import trained_generator
from sordino.training.vocoder.recipe import VocoderRecipe
from sordino.training.voice.run import Steps, train_voice
from tests.training.tiny_hubert import save_hubert
from tests.training.voice.toy_voices import (
    along_recipe,
    pool_speech,
    small_recipe,
    soft_recipe,
    speech,
)

ROOT = Path(__file__).parents[3]
CPU = Hardware("cpu", workers=0)
SAMPLES = 16000


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def hubert(tmp_path_factory):
    return save_hubert(tmp_path_factory.mktemp("models") / "hubert")


def train(recipe, root, folder, **options):
    chosen = {"hardware": CPU, "keep_every": 2, "licence": "CC0-1.0", "quiet": True, **options}
    return train_voice(recipe, speech(root), folder, pool=pool_speech(root), **chosen)


@pytest.fixture(scope="module")
def whole(hubert, speech_root, tmp_path_factory):
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, train(soft_recipe(hubert), speech_root, folder)


@pytest.fixture(scope="module")
def small(hubert, speech_root, tmp_path_factory):
    """Another, of the small networks."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    return folder, train(small_recipe(hubert), speech_root, folder)


@pytest.fixture(scope="module")
def along(hubert, speech_root, tmp_path_factory):
    """One whose content network learned along with the generator."""
    folder = tmp_path_factory.mktemp("runs") / "along"
    return folder, train(along_recipe(hubert), speech_root, folder)


def bundle_of(folder: Path, kind: str) -> Bundle:
    """The part of a kind in a run's folder."""
    found = [Bundle.load(path.parent) for path in folder.glob("*/*/model.json")]
    (wanted,) = (bundle for bundle in found if bundle.kind == kind)
    return wanted


def column(folder: Path, name: str) -> np.ndarray:
    with (folder / LOG).open(newline="") as file:
        return np.array([float(row[name]) for row in csv.DictReader(file)])


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from sordino.training.launch import Hardware
from sordino.training.voice.run import train_voice
from tests.training.voice.toy_voices import pool_speech, soft_recipe, speech

replace, done = Path.replace, []

def killed(part, target):
    if part.name == "checkpoint.part":
        done.append(target.parent.name)
        # The content's two checkpoints, the vocoder's first; its second does not come.
        if len(done) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
    return replace(part, target)

if __name__ == "__main__":
    Path.replace = killed
    hubert, root, folder = map(Path, sys.argv[1:])
    train_voice(
        soft_recipe(hubert),
        speech(root),
        folder,
        pool=pool_speech(root),
        hardware=Hardware("cpu", workers=0),
        keep_every=2,
        licence="CC0-1.0",
        quiet=True,
    )
"""


class TestRun:
    def test_killed_run_goes_on_to_the_same_losses_and_voice(
        self, whole, hubert, speech_root, tmp_path
    ):
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
        assert not (folder / "toy").exists()
        done = {path: path.stat().st_mtime_ns for path in (folder / "content").rglob("*")}
        bundle = train(soft_recipe(hubert), speech_root, folder, resume=True)
        assert done == {path: path.stat().st_mtime_ns for path in (folder / "content").rglob("*")}
        for step in ("content", "vocoder"):
            found, wanted = (column(run / step, "total") for run in (folder, whole[0]))
            assert found.size == {"content": 3, "vocoder": 4}[step]
            assert np.allclose(found, wanted, rtol=1e-5), step
        mine, theirs = (each.arrays("pool.npz") for each in (bundle, whole[1]))
        for name, array in mine.items():
            assert np.array_equal(array, theirs[name]), name

    def test_done_run_is_not_done_again(self, whole, hubert, speech_root):
        folder, before = whole
        logs = {path: path.stat().st_mtime_ns for path in folder.rglob(LOG)}
        bundle = train(soft_recipe(hubert), speech_root, folder, resume=True)
        assert bundle.digest == before.digest
        assert logs == {path: path.stat().st_mtime_ns for path in folder.rglob(LOG)}
        with pytest.raises(UsageError, match="--resume"):
            train(soft_recipe(hubert), speech_root, folder)

    def test_models_that_are_there_take_the_place_of_steps(
        self, whole, hubert, speech_root, tmp_path
    ):
        given = {
            step: {"recipe": "of no use", "model": str(whole[0] / step / name)}
            for step, name in (("content", "soft-hubert"), ("vocoder", "hifigan"))
        }
        recipe = replace(soft_recipe(hubert), **given)
        bundle = train(recipe, speech_root, tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {
            "pool",
            "toy",
            "recipe.json",
            "data.json",
        }
        files = ("content.onnx", "generator.onnx", "pool.npz")
        for name in files:
            assert bundle.files[name] == whole[1].files[name]

    def test_vocoder_for_another_content_is_refused(
        self, whole, small, hubert, speech_root, tmp_path
    ):
        recipe = replace(
            soft_recipe(hubert),
            content={"model": str(small[0] / "content" / "conv-bottleneck")},
            vocoder={"model": str(whole[0] / "vocoder" / "hifigan")},
        )
        with pytest.raises(UsageError, match="another content model"):
            train(recipe, speech_root, tmp_path)

    def test_voice_whose_content_learned_along(self, along, hubert, speech_root):
        folder, bundle = along
        assert {path.name for path in folder.iterdir() if path.is_dir()} == {
            "vocoder",
            "pool",
            "toy-along",
        }
        assert bundle.metadata["content"]["output"] == "bottleneck"
        assert bundle.metadata["content_model"]["name"] == "istft-small-content"
        again = train(along_recipe(hubert), speech_root, folder, resume=True)
        assert again.digest == bundle.digest

    def test_several_machines_go_step_by_step(self, hubert, speech_root, tmp_path):
        with pytest.raises(UsageError, match="one by one"):
            train(soft_recipe(hubert), speech_root, tmp_path, hardware=Hardware(nodes=2))


class TestVoice:
    @pytest.mark.parametrize("which", ["whole", "small", "along"])
    def test_onnx_gives_what_torch_gives_on_real_speech(self, which, request, speech_root):
        folder, bundle = request.getfixturevalue(which)
        wave = training_wave(speech(speech_root).utterances[0].read(), SAMPLES)
        (found,) = Session(bundle, "content.onnx").run({"wave": wave[None]}, ["content"])
        with torch.inference_mode():
            content = load_content(bundle_of(folder, "content"))(torch.from_numpy(wave[None]))
        assert found.shape == (1, SAMPLES // 320, bundle.metadata["content"]["channels"])
        assert np.abs(found - content.numpy()).max() < 1e-3

        vocoder = bundle_of(folder, "vocoder")
        values = {"name": "x", "network": {}, "optimisation": {}}
        average = vocoder.metadata["network"]["architecture"] == "istft"
        values["optimisation"] = {"average": 0.999 if average else 0.0}
        generator = trained_generator(
            VocoderRecipe.from_values(values), vocoder.metadata["network"], folder / "vocoder"
        )
        draws = np.random.default_rng(0)
        pool = bundle.arrays("pool.npz")
        inputs = {
            "content": found,
            "f0": np.repeat([[0.0, 180.0]], SAMPLES // 320, axis=1),
            "speaker": pool["vectors"][:1] / np.linalg.norm(pool["vectors"][0]),
            "harmonic": draws.standard_normal((1, SAMPLES)),
            "noise": draws.standard_normal((1, SAMPLES)),
        }
        inputs = {name: inputs[name].astype(np.float32) for name in generator.inputs}
        (spoken,) = Session(bundle, "generator.onnx").run(inputs, ["wave"])
        with torch.inference_mode():
            wanted = generator(**{k: torch.from_numpy(v) for k, v in inputs.items()}).numpy()
        assert spoken.shape == wanted.shape == (1, SAMPLES)
        assert np.abs(spoken - wanted).max() < 1e-3

    def test_says_what_it_is(self, whole):
        folder, bundle = whole
        about = bundle.metadata
        assert (bundle.folder, about["kind"], about["name"]) == (folder / "toy", "voice", "toy")
        assert about["content"]["channels"] == 8
        assert about["speaker"]["digest"] == load_encoder("ecapa-small").digest
        assert about["pitch"] == {"tracker": "swift"}
        assert "10 speakers: 5 F, 5 M" in bundle.card
        assert bundle.card.count("## ") >= 2
        text = (bundle.folder / "model.json").read_text() + bundle.card
        assert "speechocean762-" not in text
        assert str(folder) not in text

    def test_pool_is_that_of_its_speakers(self, whole, speech_root):
        pool = whole[1].arrays("pool.npz")
        encoder = load_encoder("ecapa-small")
        wanted = [encoder.embed(u.read()) for u in pool_speech(speech_root)]
        unit = np.stack([vector / np.linalg.norm(vector) for vector in wanted])
        near = unit @ pool["vectors"].T
        assert (near.max(axis=1) > 0.99).all()
        assert sorted(near.argmax(axis=1)) == list(range(10))
        women = pool["sex"] == "F"
        assert women.sum() == 5
        assert pool["pitch_mean"][women].mean() > pool["pitch_mean"][~women].mean() + 0.2
        assert ((pool["pitch_deviation"] > 0.02) & (pool["pitch_deviation"] < 0.8)).all()

    @pytest.mark.parametrize("which", ["whole", "small", "along"])
    def test_anonymizes_by_command(self, which, request, speech_root, tmp_path, capsys):
        bundle = request.getfixturevalue(which)[1]
        source = speech(speech_root).utterances[0].path
        status = main(
            [
                "anonymize",
                str(source),
                "-o",
                str(tmp_path / "out"),
                "--system",
                "neural",
                "--param",
                f"voice={bundle.folder}",
            ]
        )
        assert status == 0, capsys.readouterr().err
        (made,) = (tmp_path / "out").rglob(f"*{source.suffix}")
        spoken, rate = soundfile.read(made)
        original, original_rate = soundfile.read(source)
        assert (spoken.shape, rate) == (original.shape, original_rate)
        assert np.isfinite(spoken).all()


class TestSteps:
    def test_are_those_of_the_recipe(self, hubert):
        steps = Steps.of(soft_recipe(hubert))
        assert (steps.units.units, steps.content.optimisation.steps) == (8, 3)
        assert (steps.vocoder.encoder, steps.vocoder.tracker) == ("ecapa-small", "swift")
        assert steps.vocoder.network["pitch"] == "hertz"

    def test_nothing_is_left_to_train(self, hubert):
        given = {"content": {"model": "a"}, "vocoder": {"model": "b"}}
        assert Steps.of(replace(soft_recipe(hubert), **given)) == Steps(None, None, None)


@pytest.mark.parametrize("section", ["units", "content", "vocoder"])
def test_models_that_are_not_there_are_missed_at_once(hubert, speech_root, tmp_path, section):
    recipe = replace(soft_recipe(hubert), **{section: {"model": "nowhere"}})
    with pytest.raises(UsageError, match="there is no model 'nowhere'"):
        train(recipe, speech_root, tmp_path / "run")
    assert not (tmp_path / "run").exists()
