"""Real speech for tests, as samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

# fsdd was recorded at 8 kHz, and lies here at 16 kHz like the others.
CORPORA = ("librispeech", "aishell1", "emodb", "fsdd", "arabic_speech_commands")


def clips(root: Path, corpus: str, *, speakers: int = 2, seconds: float = 2.0) -> list[np.ndarray]:
    """The start of the first recording of some speakers, shape (samples,), at 16 kHz."""
    folders = sorted(path for path in (root / corpus).iterdir() if path.is_dir())[:speakers]
    assert len(folders) == speakers
    found = []
    for folder in folders:
        samples, rate = soundfile.read(min(folder.rglob("*.flac")))
        assert rate == 16000
        found.append(samples[: int(seconds * rate)])
    return found
