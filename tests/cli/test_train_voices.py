"""`sordino train units|content|vocoder|voice` as people meet them, where nothing is trained."""

from __future__ import annotations

import csv
from pathlib import Path
from types import SimpleNamespace

import pytest

from sordino.cli.main import main

torch = pytest.importorskip("torch", reason="training needs the extra train")
for needed in ("lightning_fabric", "tensorboard"):
    pytest.importorskip(needed, reason=f"{needed} is in the extra train, not installed")

from sordino.training.launch import Hardware

WHERE = {
    "units": "sordino.training.units.run.train_units",
    "content": "sordino.training.content.run.train_content",
    "vocoder": "sordino.training.vocoder.run.train_vocoder",
    "voice": "sordino.training.voice.run.train_voice",
}
DEFAULTS = {
    "units": "hubert-200",
    "content": "soft-hubert",
    "vocoder": "hifigan",
    "voice": "soft-f-ecapa",
}


@pytest.fixture
def table(tmp_path) -> Path:
    """Four utterances of two speakers; there is no speech in them."""
    path = tmp_path / "manifest.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "speaker", "split"])
        for number in range(4):
            (tmp_path / f"{number}.wav").touch()
            split = "dev" if number < 3 else "test"
            writer.writerow([f"{number}.wav", "ab"[number % 2], split])
    return path


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """What the commands ask for; nothing is done."""
    found: list[SimpleNamespace] = []

    def taking(kind: str):
        def train(recipe, corpus, folder, **options):
            found.append(SimpleNamespace(kind=kind, recipe=recipe, corpus=corpus, folder=folder))
            vars(found[-1]).update(options=options)
            return SimpleNamespace(name=recipe.name, folder=folder / recipe.name)

        return train

    for kind, where in WHERE.items():
        monkeypatch.setattr(where, taking(kind))
    return found


@pytest.mark.parametrize("kind", WHERE)
class TestAll:
    def test_asks_for_what_the_options_say(self, kind, table, calls, tmp_path, capsys):
        options = ["--only", "split=dev", "--licence", "CC0-1.0", "--quiet", "--resume"]
        status = main(["train", kind, str(table), "-o", str(tmp_path / "run"), *options])
        said = capsys.readouterr()
        assert status == 0, said.err
        (call,) = calls
        assert (call.kind, call.recipe.name) == (kind, DEFAULTS[kind])
        assert (len(call.corpus), call.folder) == (3, tmp_path / "run")
        assert call.options["resume"] is True
        assert call.options["quiet"] is True
        assert call.options["licence"] == "CC0-1.0"
        assert said.out == f"trained {DEFAULTS[kind]} -> {tmp_path / 'run' / DEFAULTS[kind]}\n"
        assert said.err == "3 utterances of 2 speakers\n"

    def test_recipe_can_be_chosen_and_changed(self, kind, table, calls, tmp_path):
        run = ["train", kind, str(table), "-o", str(tmp_path / "run"), "--set", 'summary="Mine."']
        assert main([*run, "--recipe", DEFAULTS[kind]]) == 0
        assert calls[0].recipe.summary == "Mine."

    def test_no_such_recipe(self, kind, table, calls, tmp_path, capsys):
        run = ["train", kind, str(table), "-o", str(tmp_path / "run"), "--recipe", "nothing"]
        assert main(run) == 2
        err = capsys.readouterr().err
        assert f"there is no {kind} recipe 'nothing'" in err
        assert DEFAULTS[kind] in err
        assert not calls

    def test_recipes_in_the_help_are_those_of_the_package(self, kind, capsys):
        from sordino.training.recipes import recipe_names

        with pytest.raises(SystemExit):
            main(["train", kind, "--help"])
        # Lines break after hyphens.
        said = "".join(capsys.readouterr().out.split())
        assert recipe_names(kind)
        assert all(name in said for name in recipe_names(kind))


@pytest.mark.parametrize("kind", ["content", "vocoder", "voice"])
def test_hardware_and_jobs(kind, table, calls, tmp_path):
    given = ["--accelerator", "cpu", "--devices", "2", "--workers", "3", "--jobs", "4"]
    precision = ["--precision", "bf16-mixed", "--nodes", "2"]
    assert main(["train", kind, str(table), "-o", str(tmp_path / "r"), *given, *precision]) == 0
    options = calls[0].options
    assert options["hardware"] == Hardware("cpu", 2, 2, "bf16-mixed", 3)
    assert options["jobs"] == 4


def test_units_on_a_device(table, calls, tmp_path):
    assert main(["train", "units", str(table), "-o", str(tmp_path), "--accelerator", "cpu"]) == 0
    assert calls[0].options["device"] == "cpu"


def test_content_with_units_and_noise(table, calls, tmp_path, capsys):
    run = ["train", "content", str(table), "-o", str(tmp_path / "run"), "--units", "mine"]
    assert main(run) == 0
    assert calls[0].options["units"] == "mine"
    assert calls[0].options["noises"] == ()
    assert main([*run, "--noise", str(tmp_path)]) == 0
    assert len(calls[1].options["noises"]) == 4
    (tmp_path / "empty").mkdir()
    assert main([*run, "--noise", str(tmp_path / "empty")]) == 2
    assert "no recordings of noise" in capsys.readouterr().err


def test_vocoder_for_models(table, calls, tmp_path):
    run = ["train", "vocoder", str(table), "-o", str(tmp_path / "run")]
    assert main([*run, "--content", "soft", "--encoder", "f-ecapa"]) == 0
    assert (calls[0].recipe.content, calls[0].recipe.encoder) == ("soft", "f-ecapa")
    assert main([*run, "--set", 'content="mine"']) == 0
    assert (calls[1].recipe.content, calls[1].recipe.encoder) == ("mine", "ecapa-small")


def test_voice_with_a_pool(table, calls, tmp_path, capsys):
    run = ["train", "voice", str(table), "-o", str(tmp_path / "run")]
    assert main(run) == 0
    assert calls[0].options["pool"] is None
    assert main([*run, "--pool", str(table), "--pool-only", "split=test"]) == 0
    assert len(calls[1].options["pool"]) == 1
    assert "pool: 1 utterance of 1 speaker" in capsys.readouterr().err
    assert main([*run, "--pool-only", "split=test"]) == 2
    assert "--pool" in capsys.readouterr().err


def test_bundle_of_another_process_is_not_told(table, tmp_path, capsys, monkeypatch):
    for kind in ("content", "vocoder"):
        monkeypatch.setattr(WHERE[kind], lambda *_, **__: None)
        assert main(["train", kind, str(table), "-o", str(tmp_path / "run")]) == 0
        assert capsys.readouterr().out == ""
