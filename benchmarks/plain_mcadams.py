"""The McAdams anonymizer as the formulas say it: one frame, one stage, one pole at a time.

Shares no code with sordino. Tests compare the package with it, and the benchmark times both.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.signal import get_window, lfilter

FloatArray = npt.NDArray[np.float64]

REFERENCE_RATE = 16_000
ORDER = 20
MAX_RADIUS = 0.9999


def plain_burg(samples: FloatArray, order: int) -> FloatArray:
    """Burg's recursion on samples, shape (order + 1,), first coefficient 1."""
    forward = samples.astype(np.float64)
    backward = forward.copy()
    coefficients = np.array([1.0])
    for _ in range(order):
        ahead, behind = forward[1:], backward[:-1]
        energy = np.sum(ahead**2) + np.sum(behind**2)
        reflection = -2.0 * np.sum(ahead * behind) / energy if energy > 0.0 else 0.0
        padded = np.append(coefficients, 0.0)
        coefficients = padded + reflection * padded[::-1]
        forward, backward = ahead + reflection * behind, behind + reflection * ahead
    return coefficients


def plain_mcadams_frame(frame: FloatArray, sample_rate: int, alpha: float) -> FloatArray:
    """One windowed frame, shape (samples,), with the angles of its complex poles moved."""
    if not frame.any():
        return np.zeros_like(frame)
    coefficients = plain_burg(frame, round(ORDER * sample_rate / REFERENCE_RATE))
    residual = lfilter(coefficients, [1.0], frame)
    moved = []
    for pole in np.roots(coefficients):
        radius = min(abs(pole), MAX_RADIUS)
        angle = math.atan2(pole.imag, pole.real)
        if pole.imag != 0.0:
            at_reference = abs(angle) * sample_rate / REFERENCE_RATE
            angle = math.copysign(at_reference**alpha * REFERENCE_RATE / sample_rate, angle)
        moved.append(radius * complex(math.cos(angle), math.sin(angle)))
    result: FloatArray = lfilter([1.0], np.real(np.poly(moved)), residual)
    return result


def plain_mcadams(signal: FloatArray, sample_rate: int, alpha: float) -> FloatArray:
    """One channel, shape (samples,), at 8,000 to 16,000 Hz; its level may change."""
    hop = sample_rate // 100
    window = np.sqrt(get_window("hann", 2 * hop))
    count = math.ceil(signal.size / hop) + 1
    padded = np.zeros((count + 1) * hop)
    padded[hop : hop + signal.size] = signal
    output = np.zeros_like(padded)
    for start in range(0, count * hop, hop):
        frame = padded[start : start + 2 * hop] * window
        changed = plain_mcadams_frame(frame, sample_rate, alpha)
        output[start : start + 2 * hop] += changed * window
    return output[hop : hop + signal.size]
