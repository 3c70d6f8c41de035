"""`sordino models` as people meet it."""

from __future__ import annotations

import subprocess
import sys
import types
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest

from sordino.cli.main import main
from sordino.training.importers import IMPORTERS
from tests.encoders import write_encoder


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_MODELS", str(tmp_path / "models"))
    return tmp_path / "models"


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["models", *(str(argument) for argument in arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_list(models, capsys):
    write_encoder(models / "tiny")
    status, out, err = call(capsys, "list")
    assert status == 0
    assert "tiny: speaker-encoder, 0.0 MB, CC0-1.0, user\n  Mean, deviation" in out
    assert str(models) in err


def test_list_tells_what_is_broken(models, capsys):
    write_encoder(models / "good")
    write_encoder(models / "bad")
    (models / "bad/model.json").write_text("{")
    status, out, err = call(capsys, "list")
    assert status == 1
    assert "good: " in out
    assert f"sordino: model {models / 'bad'}: model.json is damaged" in err


def test_list_without_any(capsys):
    status, out, _ = call(capsys, "list")
    assert status == 0
    assert "user" not in out


def test_show(models, capsys):
    bundle = write_encoder(models / "tiny", card="# Energies\n\nTwo\x1b[31m lines.\n")
    for name in ("tiny", bundle.folder):
        status, out, _ = call(capsys, "show", name)
        assert status == 0
        assert f"digest: {bundle.digest}\n" in out
        assert f"folder: {bundle.folder}\n" in out
        assert "kind: speaker-encoder\n" in out
        assert "licence: CC0-1.0\n" in out
        assert out.endswith("\n# Energies\n\nTwo\\x1b[31m lines.\n")


def test_show_checks(models, capsys):
    write_encoder(models / "tiny")
    (models / "tiny/encoder.onnx").write_bytes(b"x")
    status, out, err = call(capsys, "show", "tiny")
    assert (status, out) == (2, "")
    assert "encoder.onnx is damaged" in err
    assert call(capsys, "show", "nothing")[0] == 2


def test_import_hands_over(models, capsys, monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(
        "sordino.cli.models.import_model",
        lambda *arguments, **options: calls.append((*arguments, options)),
    )
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))

    def download(spec, *, only, tell):
        assert "*.ckpt" in only
        tell(f"downloading {spec}")
        return tmp_path / "cache"

    monkeypatch.setattr("sordino.models.hub.download", download)
    status, out, err = call(capsys, "import", "speechbrain-ecapa", "hub:anna/ecapa")
    assert status == 0
    assert "downloading hub:anna/ecapa" in err
    assert f"imported hub:anna/ecapa as speechbrain-ecapa -> {models / 'speechbrain-ecapa'}" in out
    call(capsys, "import", "ssl-features", "h", "-o", tmp_path / "out", "--layer", 6)
    nothing = {"layer": None, "pool": None, "vocoder": None}
    assert calls == [
        (
            "speechbrain-ecapa",
            tmp_path / "cache",
            models / "speechbrain-ecapa",
            "speechbrain-ecapa",
            nothing,
        ),
        ("ssl-features", Path("h"), tmp_path / "out", "ssl-features", {**nothing, "layer": 6}),
    ]


def test_import_without_torch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    status, _, err = call(capsys, "import", "ge2e", "pretrained.pt")
    assert status == 2
    assert 'pip install "sordino[train]"' in err


def test_what_can_be_imported_is_known_without_torch():
    code = (
        "import sys, sordino.cli.main as main; main.build_parser();"
        "from sordino.training.importers import IMPORTERS;"
        "assert 'hifigan' in IMPORTERS; print('torch' in sys.modules, 'numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_every_importer_is_there():
    pytest.importorskip("torch", reason="needs the extra train")
    for importer in IMPORTERS.values():
        found = import_module(f"sordino.training.importers.{importer.module}")
        assert importer.options <= set(signature(getattr(found, importer.function)).parameters)


def test_pull_hands_over(models, capsys, monkeypatch):
    def pull(spec, folder, *, name, tell):
        assert (spec, folder) == ("hub:anna/tiny@v1", models)
        tell("downloading anna/tiny, 1.0 kB")
        return write_encoder(folder / name)

    monkeypatch.setattr("sordino.models.pull.pull", pull)
    status, out, err = call(capsys, "pull", "hub:anna/tiny@v1", "--name", "mine")
    assert status == 0
    assert "downloading anna/tiny, 1.0 kB" in err
    assert f"speaker-encoder, 0.0 MB, CC0-1.0 -> {models / 'mine'}\n  Mean, deviation" in out


@pytest.mark.parametrize("arguments", [[], ["import", "other", "x"], ["show"], ["pull"]])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["models", *arguments])
    assert "usage: sordino models" in capsys.readouterr().err
