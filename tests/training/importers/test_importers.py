"""The list of importers."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

from sordino.errors import UsageError
from sordino.training.importers import IMPORTERS, import_model


def test_the_list_needs_no_torch():
    code = "import sys, sordino.training.importers; print({'torch', 'numpy'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize("kind", IMPORTERS)
def test_each_is_there(kind):
    pytest.importorskip("torch", reason="needs the extra train")
    module = import_module(f"sordino.training.importers.{IMPORTERS[kind].module}")
    assert callable(getattr(module, IMPORTERS[kind].function))


def test_unknown_kinds_and_options(tmp_path):
    with pytest.raises(UsageError, match="'vits' cannot be imported; known are speaker-anonym"):
        import_model("vits", tmp_path, tmp_path / "ours", "ours")
    with pytest.raises(UsageError, match="the import of hifigan takes no pool; speaker-anonym"):
        import_model("hifigan", tmp_path, tmp_path / "ours", "ours", pool=tmp_path)
    with pytest.raises(UsageError, match="the import of ge2e takes no colour; nothing does"):
        import_model("ge2e", tmp_path, tmp_path / "ours", "ours", layer=None, colour=3)
