"""Real speech as arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import soundfile

RATE = 16000


def speech(root: Path, seconds: float, *, seed: int = 0) -> np.ndarray:
    """Utterances of LibriSpeech one after the other, cut to a length: float32, (samples,)."""
    files = sorted((root / "librispeech").rglob("*.flac"))
    wanted = round(seconds * RATE)
    pieces: list[np.ndarray] = []
    while sum(piece.size for piece in pieces) < wanted:
        file = files[(seed + len(pieces)) % len(files)]
        pieces.append(soundfile.read(file, dtype="float32")[0])
    return np.concatenate(pieces)[:wanted]


def cosine(first: np.ndarray, second: np.ndarray) -> float:
    """Between two vectors, in double precision."""
    first, second = first.astype(np.float64), second.astype(np.float64)
    return float(first @ second / np.linalg.norm(first) / np.linalg.norm(second))
