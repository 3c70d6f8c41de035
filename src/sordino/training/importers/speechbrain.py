"""SpeechBrain's speaker encoders."""

from __future__ import annotations
from pathlib import Path
from sordino.models.bundle import Bundle


def import_ecapa(source: Path, destination: Path, name: str) -> Bundle: ...


def import_xvector(source: Path, destination: Path, name: str) -> Bundle: ...
