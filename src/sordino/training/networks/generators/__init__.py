"""Waveform generators: from content, pitch and a speaker vector to speech."""

from __future__ import annotations

from sordino.training.networks.generators.base import (
    Conditions,
    Generator,
    add_weight_norm,
    build_generator,
    without_weight_norm,
)

__all__ = [
    "Conditions",
    "Generator",
    "add_weight_norm",
    "build_generator",
    "without_weight_norm",
]
