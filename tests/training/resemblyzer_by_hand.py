"""What resemblyzer computes, said again without torch layers of ours, librosa or its own code."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from scipy.signal import stft
from torch import nn

RATE, HOP, WINDOW, BANDS, FRAMES = 16000, 160, 400, 40, 160


def starts(samples: int, rate: float = 1.3, coverage: float = 0.75) -> list[int]:
    """First frames of the windows over an utterance."""
    frames = math.ceil((samples + 1) / HOP)
    step = round(RATE / rate / HOP)
    found = [0]
    while found[-1] + step < frames - FRAMES + step + 1:
        found.append(found[-1] + step)
    if len(found) > 1 and (samples - found[-1] * HOP) / (FRAMES * HOP) < coverage:
        found.pop()
    return found


def slaney_mel(hertz: float) -> float:
    """Linear to 1 kHz (3 mel in 200 Hz), then 27 steps for every factor of 6.4."""
    if hertz < 1000:
        return 3 * hertz / 200
    return 15 + 27 * math.log(hertz / 1000) / math.log(6.4)


def slaney_hertz(mel: float) -> float:
    """The inverse, found by bisection."""
    low, high = 0.0, 100_000.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slaney_mel(middle) < mel else (low, middle)
    return low


def slaney_weights(bands: int = BANDS, window: int = WINDOW, rate: int = RATE) -> np.ndarray:
    """Triangles of area 1 over hertz, shape (bands, window // 2 + 1)."""
    top = slaney_mel(rate / 2)
    edges = [slaney_hertz(top * i / (bands + 1)) for i in range(bands + 2)]
    weights = np.zeros((bands, window // 2 + 1))
    for band in range(bands):
        low, centre, high = edges[band : band + 3]
        for index in range(window // 2 + 1):
            hertz = index * rate / window
            if low < hertz <= centre:
                height = (hertz - low) / (centre - low)
            elif centre < hertz < high:
                height = (high - hertz) / (high - centre)
            else:
                continue
            weights[band, index] = height * 2 / (high - low)
    return weights


def power(wave: np.ndarray, taper: str) -> np.ndarray:
    """Squared magnitudes of SciPy's transform, frames centred, zeros outside: (bins, frames)."""
    padded = np.pad(wave.astype(np.float64), WINDOW // 2)
    window = {"hann": 0.5, "hamming": 0.54}[taper]
    taper_values = window - (1 - window) * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)
    _, _, transform = stft(
        padded,
        window=taper_values,
        nperseg=WINDOW,
        noverlap=WINDOW - HOP,
        boundary=None,
        padded=False,
        detrend=False,
    )
    # SciPy divides by the sum of the window.
    return np.abs(transform * taper_values.sum()) ** 2


def embed_utterance(wave: np.ndarray, state: Mapping[str, torch.Tensor]) -> np.ndarray:
    """Vector of one utterance, float64 features and torch's own LSTM."""
    level = math.sqrt(float((wave.astype(np.float64) ** 2).mean()))
    if 20 * math.log10(level) < -30:
        wave = wave * (10 ** (-30 / 20) / level)
    first = starts(wave.size)
    mel = slaney_weights() @ power(np.pad(wave, (0, FRAMES * HOP)), "hann")
    windows = np.stack([mel[:, start : start + FRAMES].T for start in first])

    lstm = nn.LSTM(BANDS, 256, num_layers=3, batch_first=True)
    lstm.load_state_dict(
        {name[5:]: value for name, value in state.items() if name.startswith("lstm.")}
    )
    with torch.no_grad():
        _, (last, _) = lstm(torch.from_numpy(windows).float())
    raw = last[-1].numpy() @ state["linear.weight"].numpy().T + state["linear.bias"].numpy()
    raw = np.maximum(raw, 0)
    partial = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    mean = partial.mean(axis=0)
    return mean / np.linalg.norm(mean)
