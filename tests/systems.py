"""Every system, ready for use."""

from __future__ import annotations

from collections.abc import Mapping

from sordino.anonymize.base import Anonymizer
from sordino.anonymize.systems import load

# The tiny voice of `tests.neural_voices`; its pool has no room for a list of thousands of voices.
SETTINGS: Mapping[str, Mapping[str, object]] = {"neural": {"voice": "tiny-voice", "voices": 0}}


def make(name: str, **settings: object) -> Anonymizer:
    """A system with what it needs to be made; "neural" needs the fixture `voice_models`."""
    return load(name, **{**SETTINGS.get(name, {}), **settings})
