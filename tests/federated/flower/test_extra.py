from __future__ import annotations

import subprocess
import sys
from importlib import metadata

import pytest

from sordino.errors import UsageError
from sordino.federated.flower.extra import require_flower


def test_without_flower_it_says_what_to_install(monkeypatch):
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(UsageError, match=r"needs Flower; install it with: pip install 'sordino"):
        require_flower()


def test_another_version_is_refused(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda _: "1.43.0")
    with pytest.raises(UsageError, match=r"Flower 1\.42 is needed, 1\.43\.0 is installed"):
        require_flower()


def test_commands_can_be_imported_without_flower():
    code = """
import sys
sys.modules["flwr"] = None
from sordino.federated.flower import certificates, deployment, examples, join, serve, trial
"""
    subprocess.run([sys.executable, "-c", code], check=True)
