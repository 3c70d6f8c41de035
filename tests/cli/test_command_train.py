"""`sordino train` as people meet it, where nothing is trained."""

from __future__ import annotations

import importlib.util

import pytest

from sordino.cli.main import main


def call(capsys, *arguments: str) -> tuple[int, str]:
    status = main(["train", "speaker", *arguments])
    return status, capsys.readouterr().err


@pytest.mark.parametrize("name", ["torch", "lightning_fabric", "onnx", "tensorboard"])
def test_what_is_not_installed_is_told_before_anything_is_done(name, tmp_path, capsys, monkeypatch):
    found = importlib.util.find_spec

    def without(wanted: str, package: str | None = None) -> object:
        return None if wanted == name else found("sys")

    monkeypatch.setattr(importlib.util, "find_spec", without)
    status, err = call(capsys, str(tmp_path), "-o", str(tmp_path / "run"))
    assert status == 2
    assert err == (
        f'sordino: training needs {name}; install the extra train: pip install "sordino[train]"\n'
    )
    assert not (tmp_path / "run").exists()
