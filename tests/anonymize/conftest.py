"""A tiny voice in a models folder, for systems that need one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.neural_voices import write_models


@pytest.fixture(scope="session", autouse=True)
def voice_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's models folder, with the voice "tiny-voice" and its speaker encoder."""
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORDINO_MODELS", str(folder))
        yield folder
