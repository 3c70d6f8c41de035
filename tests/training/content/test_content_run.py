"""Whole runs: a small HuBERT as teacher, tiny students, voices that are nobody's and real ones."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
for needed in ("lightning_fabric", "tensorboard", "onnx", "pyworld", "sklearn"):
    pytest.importorskip(needed, reason=f"needs {needed}")
pytest.importorskip("transformers", reason="needs the extra ssl")

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.errors import UsageError
from sordino.models.session import Session
from sordino.training.content.export import load_content
from sordino.training.content.recipe import ContentRecipe
from sordino.training.content.run import LOG_FIELDS, train_content, trained_network
from sordino.training.features.base import FeatureSource
from sordino.training.hold_out import hold_out
from sordino.training.launch import Hardware
from sordino.training.record import CHECKPOINT, LOG, Log
from sordino.training.units.bundle import load_units
from sordino.training.units.recipe import UnitsRecipe
from sordino.training.units.run import train_units
from sordino.training.waves import whole_wave
from tests.talkers import talkers
from tests.training.tiny_hubert import save_hubert

ROOT = Path(__file__).parents[3]
CPU = Hardware("cpu", workers=0)
SIZES = {"channels": 24, "early": 0, "blocks": 1, "bands": 24, "level": 5, "kernel": 3}
CONV = {"architecture": "conv", "output": "soft", "sizes": SIZES}


def toy(**sections: object) -> ContentRecipe:
    """A recipe of 6 steps for a tiny network; sections are merged into it."""
    values = {
        "name": "toy",
        "network": CONV,
        "data": {"validation": 0.3, "crop_seconds": 0.4, "seed": 3},
        "perturbation": {"speed_octaves": 0.3, "tilt_db": 3.0},
        "augmentation": {"noise": 0.5, "babble": 0.2, "level_db": 6.0},
        "optimisation": {"steps": 6, "batch": 4, "warmup": 2, "learning_rate": 2e-3},
        "validate_every": 3,
    }
    for name, section in sections.items():
        values[name] = (
            {**values.get(name, {}), **section} if isinstance(section, Mapping) else section
        )
    return ContentRecipe.from_values(values)


BOTTLENECK = {
    "network": {"output": "bottleneck", "projection": 6},
    "optimisation": {"feature_weight": 1.0},
    "decoder": {"channels": 16, "noise": 0.1},
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"), speakers=4)


@pytest.fixture(scope="module")
def hubert(tmp_path_factory):
    return save_hubert(tmp_path_factory.mktemp("ssl") / "theirs")


@pytest.fixture(scope="module")
def units(made, hubert, tmp_path_factory):
    features = {"source": "ssl", "ssl": {"source": str(hubert)}, "layer": 1}
    recipe = UnitsRecipe("toy-units", features, 12)
    folder = tmp_path_factory.mktemp("units") / "run"
    return train_units(recipe, made, folder, device="cpu", quiet=True).folder


def train(recipe, corpus, folder, units, **options):
    chosen = {"hardware": CPU, "keep_every": 2, "quiet": True, **options}
    return train_content(recipe, corpus, folder, units=units, **chosen)


def log(folder: Path) -> list[dict[str, str]]:
    with (folder / LOG).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def whole(made, units, tmp_path_factory):
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return train(toy(**BOTTLENECK), made, folder, units, licence="CC0-1.0"), folder


class TestRun:
    def test_writes_a_line_for_each_step(self, whole):
        rows = log(whole[1])
        assert tuple(rows[0]) == ("step", *LOG_FIELDS)
        assert [int(row["step"]) for row in rows] == list(range(1, 7))
        assert [bool(row["valid_unit"]) for row in rows] == [False, False, True] * 2
        for row in rows:
            parts = float(row["unit"]) + float(row["feature"])
            assert float(row["total"]) == pytest.approx(parts, rel=1e-5)

    def test_bundle_is_the_checkpoints_network(self, whole):
        bundle, folder = whole
        assert bundle.folder == folder / "toy"
        network = trained_network(bundle.metadata["network"], folder)
        wave = 0.1 * torch.randn(1, 6400)
        with torch.inference_mode():
            expected = network(wave).numpy()
        (found,) = Session(bundle, "content.onnx").run({"wave": wave.numpy()}, ["content"])
        assert found.shape == (1, 20, 6)
        np.testing.assert_allclose(found, expected, atol=1e-4)

    def test_figures_are_those_of_the_speakers_set_aside(self, whole, made, units):
        bundle, folder = whole
        last = log(folder)[-1]
        figures = bundle.metadata["figures"]
        assert figures == {name: float(last[name]) for name in last if name.startswith("valid_")}
        known = load_units(units)
        from sordino.training.features.base import load_features

        source = load_features(known.features, device="cpu")
        _, held = hold_out(made, 0.3, 3)
        rows = np.concatenate([source.features(whole_wave(u)) for u in held])
        state = torch.load(folder / CHECKPOINT, weights_only=True)["task"]
        content = load_content(bundle)
        with torch.inference_mode():
            codes = [content(torch.from_numpy(whole_wave(u))[None])[0] for u in held]
            decoded = torch.cat(
                [
                    torch.nn.functional.gelu(
                        torch.nn.functional.conv1d(
                            code.T[None],
                            state["decoder.layers.0.weight"],
                            state["decoder.layers.0.bias"],
                            padding=2,
                        )
                    )[0].T
                    for code in codes
                ]
            )
            guessed = decoded @ state["to_features.weight"].T + state["to_features.bias"]
            vectors = torch.nn.functional.normalize(state["to_units.vectors"])
            similar = (torch.nn.functional.normalize(decoded) @ vectors.T).numpy()
        wrong = np.square(guessed.numpy() - known.scaled(rows)).mean()
        assert figures["valid_feature"] == pytest.approx(wrong, rel=5e-3)
        right = (similar.argmax(axis=1) == known.of(rows)).mean()
        assert figures["valid_accuracy"] == pytest.approx(right, abs=0.02)

    def test_card(self, whole, hubert):
        card = whole[0].card
        assert "6 utterances of 2 speakers: made 6" in card
        assert "12 units of layer 1 of theirs" in card
        assert "6 steps of 4 crops of 0.4 s; weight of units 1, of features 1" in card
        assert "2 speakers that were not heard" in card
        assert "features' variance not explained" in card
        assert str(hubert.parent) not in card + (whole[0].folder / "model.json").read_text()
        assert "its 20 ms and 82.5 ms on each side" in card
        assert whole[0].licence == "CC0-1.0"

    def test_same_run_again_is_the_same(self, whole, made, units, tmp_path):
        again = train(toy(**BOTTLENECK), made, tmp_path, units, hardware=replace(CPU, workers=1))
        assert log(tmp_path) == log(whole[1])
        assert again.digest == whole[0].digest

    def test_a_small_network_learns_units(self, made, units, tmp_path):
        recipe = toy(
            optimisation={"steps": 50, "batch": 8, "learning_rate": 5e-3},
            augmentation={"noise": 0.0, "babble": 0.0},
            perturbation={"speed_octaves": 0.0, "tilt_db": 0.0},
            validate_every=50,
        )
        bundle = train(recipe, made, tmp_path, units, keep_every=50)
        found = [float(row["total"]) for row in log(tmp_path)]
        assert np.mean(found[-5:]) < 0.7 * np.mean(found[:5])
        figures = bundle.metadata["figures"]
        # Guessing the most frequent unit would be right less often.
        known, (_, held) = load_units(units), hold_out(made, 0.3, 3)
        assert figures["valid_accuracy"] > 1.5 / known.count
        assert len(held) == 6
        assert (
            bundle.metadata["content"].items()
            >= {"hop": 320, "channels": 12, "context": 1320}.items()
        )

    def test_a_whole_large_network_is_updated(self, made, units, hubert, tmp_path):
        network = {"architecture": "ssl", "output": "soft"}
        recipe = ContentRecipe.from_values({**_values(toy()), "network": network})
        bundle = train(recipe, made, tmp_path, units)
        described = bundle.metadata["network"]
        assert (described["units"], described.get("layer")) == (12, None)
        from transformers import AutoModel

        before = AutoModel.from_pretrained(hubert).state_dict()
        after = load_content(bundle).frames.ssl.state_dict()
        for name in (
            "feature_extractor.conv_layers.0.conv.weight",
            "encoder.layers.1.attention.q_proj.weight",
        ):
            assert 0 < float((after[name] - before[name]).abs().max()) < 0.1, name

    def test_on_real_speech(self, speech_root, hubert, tmp_path):
        listed = read_corpus(speech_root / "manifest.csv").select(corpus="emodb", split="dev")
        groups = [group[:2] for group in listed.by_speaker().values()]
        corpus = Corpus(tuple(utterance for group in groups for utterance in group))
        features = {"source": "ssl", "ssl": {"source": str(hubert)}, "layer": 1}
        recipe = UnitsRecipe("real", features, 16)
        units = train_units(recipe, corpus, tmp_path / "units", device="cpu", quiet=True).folder
        chosen = toy(voices={"copies": 1}, optimisation={"steps": 4})
        bundle = train(chosen, corpus, tmp_path / "run", units)
        made = list((tmp_path / "run" / "voices").rglob("*.flac"))
        assert len(made) == 4
        rows = log(tmp_path / "run")
        assert all(np.isfinite(float(row["total"])) for row in rows)
        wave = whole_wave(corpus.utterances[0])[None]
        (found,) = Session(bundle, "content.onnx").run({"wave": wave}, ["content"])
        assert found.shape == (1, wave.shape[1] // 320, 16)


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from tests.talkers import talkers
from tests.training.content import test_content_run as here

replace, done = Path.replace, []

def killed(part, target):
    if part.name == "checkpoint.part":
        done.append(target)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return replace(part, target)

if __name__ == "__main__":
    Path.replace = killed
    made, units, folder = map(Path, sys.argv[1:])
    corpus = talkers(made, speakers=4)
    here.train(here.toy(**here.BOTTLENECK), corpus, folder, units)
"""


class TestResuming:
    def test_after_a_kill_gives_exactly_the_same(self, whole, made, units, tmp_path):
        script = tmp_path / "killed.py"
        script.write_text(KILLED, encoding="utf-8")
        command = [sys.executable, script, tmp_path / "talkers", units, tmp_path / "run"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
        done = subprocess.run(
            [str(part) for part in command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        folder = tmp_path / "run"
        # It died while its second checkpoint, of step 4, was moved into place.
        assert torch.load(folder / CHECKPOINT, weights_only=True)["step"] == 2
        bundle = train(toy(**BOTTLENECK), made, folder, units, resume=True)
        assert log(folder) == log(whole[1])
        assert bundle.digest == whole[0].digest

    def test_asks_the_teacher_no_more(self, whole, made, units, tmp_path, monkeypatch):
        def interrupted(self, row):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Log, "write", interrupted)
            with pytest.raises(KeyboardInterrupt):
                train(toy(**BOTTLENECK), made, tmp_path / "run", units)

        def never(self, waves):
            raise AssertionError

        monkeypatch.setattr(FeatureSource, "features_many", never)
        train(toy(**BOTTLENECK), made, tmp_path / "run", units, resume=True)
        assert log(tmp_path / "run") == log(whole[1])

    def test_only_what_was_begun(self, whole, made, units, tmp_path):
        with pytest.raises(UsageError, match="holds a run; go on with --resume"):
            train(toy(**BOTTLENECK), made, whole[1], units)
        with pytest.raises(UsageError, match="another recipe"):
            train(toy(), made, whole[1], units, resume=True)
        fewer = Corpus(made.utterances[:-1])
        with pytest.raises(UsageError, match="other data"):
            train(toy(**BOTTLENECK), fewer, whole[1], units, resume=True)


class TestStart:
    def test_goes_on_from_a_ready_encoder(self, whole, made, units, tmp_path):
        start = whole[0].folder
        sections = {**BOTTLENECK, "optimisation": {"steps": 1, "learning_rate": 1e-9}}
        bundle = train(toy(**sections, start=str(start)), made, tmp_path, units)
        wave = torch.randn(1, 3200)
        with torch.inference_mode():
            near = load_content(bundle)(wave)
            torch.testing.assert_close(near, load_content(whole[0])(wave), atol=1e-3, rtol=0)

    def test_of_another_network(self, whole, made, units, tmp_path):
        with pytest.raises(UsageError, match="has another network"):
            train(toy(start=str(whole[0].folder)), made, tmp_path / "run", units)


class TestRefusals:
    @pytest.mark.parametrize(
        ("sections", "hardware", "told"),
        [
            ({"network": {"architecture": "cnn"}}, CPU, "no content network 'cnn'"),
            ({"network": {"units": 13}}, CPU, "has 13 units; the units given are 12"),
            ({"network": {"sizes": {**SIZES, "hop": 160}}}, CPU, "frames are 160 samples apart"),
            ({"optimisation": {"batch": 5}}, replace(CPU, devices=2), "a batch of 5 cannot be"),
            ({"data": {"validation": 0.01}}, CPU, "cannot be parted"),
        ],
    )
    def test_what_cannot_work_leaves_no_folder(
        self, made, units, tmp_path, sections, hardware, told
    ):
        with pytest.raises(UsageError, match=told):
            train(toy(**sections), made, tmp_path / "run", units, hardware=hardware)
        assert not (tmp_path / "run").exists()

    def test_without_units(self, made, tmp_path):
        with pytest.raises(UsageError, match="training needs units"):
            train(toy(), made, tmp_path / "run", None)

    def test_a_teacher_that_is_not_where_it_was(self, made, units, hubert, tmp_path):
        import shutil

        hidden = tmp_path / "moved"
        shutil.copytree(hubert, hidden)
        renamed = hubert.rename(hubert.with_name("gone"))
        try:
            with pytest.raises(UsageError, match="theirs: is no folder"):
                train(toy(optimisation={"steps": 1}), made, tmp_path / "a", units)
            recipe = toy(optimisation={"steps": 1}, teacher=str(hidden))
            assert train(recipe, made, tmp_path / "b", units) is not None
            other = save_hubert(tmp_path / "other", seed=1)
            with pytest.raises(UsageError, match="is not the model that the units"):
                train(toy(teacher=str(other)), made, tmp_path / "c", units)
        finally:
            renamed.rename(hubert)


class TestAssembled:
    def assembled(self, output, folder, given, **network):
        described = {"architecture": "ssl", "output": output, **network}
        values = {"name": output, "network": described, "optimisation": {"steps": 0}}
        recipe = ContentRecipe.from_values(values)
        return train_content(recipe, None, folder, units=given, licence="MIT")

    def test_units_are_those_of_the_teacher(self, made, units, tmp_path):
        bundle = self.assembled("units", tmp_path, units)
        known = load_units(units)
        from sordino.training.features.base import load_features

        source = load_features(known.features, device="cpu")
        wave = whole_wave(made.utterances[0])
        (found,) = Session(bundle, "content.onnx").run({"wave": wave[None]}, ["content"])
        expected = np.eye(12)[known.of(source.features(wave))]
        assert (found[0] == expected).all(axis=1).mean() > 0.97
        assert "layer 1 of theirs, as they are" in bundle.card
        assert bundle.licence == "MIT"

    def test_features_are_those_of_the_model(self, made, hubert, units, tmp_path):
        from transformers import AutoModel

        wave = whole_wave(made.utterances[0])
        bundle = self.assembled("features", tmp_path, None, ssl={"source": str(hubert)})
        (found,) = Session(bundle, "content.onnx").run({"wave": wave[None]}, ["content"])
        with torch.inference_mode():
            padded = torch.from_numpy(np.pad(wave, 40))[None]
            expected = AutoModel.from_pretrained(hubert).eval()(padded).last_hidden_state
        np.testing.assert_allclose(found, expected, atol=1e-4)
        of_layer = self.assembled("features", tmp_path / "of units", units)
        assert of_layer.metadata["network"]["layer"] == 1

    @pytest.mark.parametrize(
        ("output", "network", "told"),
        [
            ("soft", {"units": 12}, "has parts that only training gives"),
            ("bottleneck", {}, "has parts that only training gives"),
            ("features", {"projection": 4}, "has parts that only training gives"),
            ("units", {"layer": 2, "ssl": None}, "of another model or layer"),
        ],
    )
    def test_refusals(self, units, hubert, tmp_path, output, network, told):
        if "ssl" in network:
            network = {**network, "ssl": {"source": str(hubert)}}
        with pytest.raises(UsageError, match=told):
            self.assembled(output, tmp_path / "x", units, **network)
        assert not (tmp_path / "x").exists()

    def test_units_without_units(self, hubert, tmp_path):
        with pytest.raises(UsageError, match="needs units; make them by"):
            self.assembled("units", tmp_path, None, ssl={"source": str(hubert)}, units=5)


def _values(recipe: ContentRecipe) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(recipe)
