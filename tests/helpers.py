"""Recordings for tests that need files."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import soundfile

NOBODY = 65534


def voice(seconds: float, rate: int, *, seed: int = 0, channels: int = 1) -> np.ndarray:
    """A seeded signal with the pitch, formants and pauses of speech, shape (samples, channels)."""
    rng = np.random.default_rng(seed)
    samples = max(1, round(seconds * rate))
    time = np.arange(samples) / rate
    pitch = 110 + 60 * rng.random() + 15 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    formants = np.array([500, 1500, 2500]) * (0.8 + 0.4 * rng.random())
    signal = np.zeros(samples)
    for harmonic in range(1, 30):
        frequency = harmonic * pitch
        gain = sum(1 / (1 + ((frequency - formant) / 120) ** 2) for formant in formants)
        signal += np.where(frequency < 0.45 * rate, gain * np.sin(harmonic * phase), 0)
    signal *= np.clip(np.sin(2 * np.pi * 1.3 * time + rng.random()), 0, 1)
    signal = 0.3 * signal / max(np.abs(signal).max(), 1e-9) + 0.001 * rng.normal(size=samples)
    return np.stack([signal * 0.9**channel for channel in range(channels)], axis=1)


def write_voice(
    path: Path,
    seconds: float = 1.0,
    rate: int = 16000,
    *,
    seed: int = 0,
    channels: int = 1,
    subtype: str | None = None,
    form: str | None = None,
) -> Path:
    """Write such a signal; the format follows from the name unless `form` is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if form is None and path.suffix == ".opus":
        form, subtype = "OGG", "OPUS"
    soundfile.write(
        path, voice(seconds, rate, seed=seed, channels=channels), rate, subtype=subtype, format=form
    )
    return path


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Give up root's right to every file for a while; without effect for other users."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter and write to, unlike pytest's."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def tree(folder: Path) -> dict[str, bytes]:
    """Content of every file below a folder, by its relative path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def sordino(*arguments: object, env: dict[str, str] | None = None, **options: object):
    """Run the program in a process of its own; returns the completed process with text output."""
    environment = {k: v for k, v in os.environ.items() if k != "SORDINO_KEY"} | (env or {})
    return subprocess.run(
        [sys.executable, "-m", "sordino", *(os.fsencode(str(a)) for a in arguments)],
        capture_output=True,
        text=True,
        errors="surrogateescape",
        env=environment,
        check=False,
        **options,
    )
