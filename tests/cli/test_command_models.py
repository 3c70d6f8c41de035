"""`sordino models` as people meet it."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from sordino.cli.main import main
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
    importers = types.ModuleType("sordino.training.importers")
    importers.import_model = lambda *arguments: calls.append(arguments)
    monkeypatch.setitem(sys.modules, "sordino.training.importers", importers)
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
    call(capsys, "import", "ge2e", "pretrained.pt", "-o", tmp_path / "out", "--name", "teacher")
    assert calls == [
        (
            "speechbrain-ecapa",
            tmp_path / "cache",
            models / "speechbrain-ecapa",
            "speechbrain-ecapa",
        ),
        ("ge2e", Path("pretrained.pt"), tmp_path / "out", "teacher"),
    ]


def test_import_without_torch(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    status, _, err = call(capsys, "import", "ge2e", "pretrained.pt")
    assert status == 2
    assert 'pip install "sordino[train]"' in err


@pytest.mark.parametrize("arguments", [[], ["import", "other", "x"], ["show"]])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["models", *arguments])
    assert "usage: sordino models" in capsys.readouterr().err
