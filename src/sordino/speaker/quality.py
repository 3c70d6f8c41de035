"""Whether a recording is good enough to be judged, and if not, why."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.audio.resample import resample
from sordino.dsp.activity import signal_to_noise
from sordino.errors import UsageError
from sordino.speaker.detector import DETECTOR_RATE, FRAME, SpeechDetector

_SPEECH = 0.5
# The detector misses speech whose peaks lie below a twentieth of full scale.
_LOUD = 0.1
# Samples this close to the highest, two or more in a row, are a flat top.
_TOP = 0.99
_SILENT_PEAK = 1e-4


@dataclass(frozen=True)
class Quality:
    """What was measured of a recording.

    Attributes:
        seconds: its length.
        speech: seconds of speech in it.
        snr: power of speech to steady noise, in dB; None without speech.
        clipped: share of samples at a flat top of the wave, in [0, 1].
        peak: highest absolute sample, full scale 1.
    """

    seconds: float
    speech: float
    snr: float | None
    clipped: float
    peak: float


@dataclass(frozen=True)
class Limits:
    """What a recording needs in order to be judged.

    Attributes:
        speech: seconds of speech, above 0.
        snr: least ratio of speech to noise, in dB.
        clipped: largest share of samples at a flat top, in [0, 1].

    Raises:
        UsageError: a limit is not in its range.
    """

    speech: float = 1.0
    snr: float = 5.0
    clipped: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.speech < math.inf:
            raise UsageError(f"least speech {self.speech} s is not a number above 0")
        if not math.isfinite(self.snr):
            raise UsageError(f"least signal-to-noise ratio {self.snr} is not a number")
        if not 0 <= self.clipped <= 1:
            raise UsageError(f"share of clipped samples {self.clipped} is not in [0, 1]")


@dataclass(frozen=True)
class Reason:
    """Why a recording cannot be judged.

    Attributes:
        code: "silence", "no-speech", "little-speech", "noisy" or "clipped"; stays the same in later
            versions.
        text: the same for people.
    """

    code: str
    text: str


def measure(recording: Recording, detector: SpeechDetector | None = None) -> Quality:
    """Measure the quality of a recording as speech; channels are averaged.

    Args:
        recording: any rate, any number of channels.
        detector: to measure several recordings with one; None to load one.

    Example:
        >>> measure(Recording(np.zeros((1, 16000), dtype=np.float32), 16000))
        Quality(seconds=1.0, speech=0.0, snr=None, clipped=0.0, peak=0.0)
    """
    samples = recording.samples
    mono = samples.mean(axis=0, dtype=np.float64)
    if recording.sample_rate != DETECTOR_RATE:
        mono = resample(mono[None], recording.sample_rate, DETECTOR_RATE)[0]
    active = (detector or SpeechDetector()).probabilities(_loud(mono)) > _SPEECH
    speech = min(float(active.sum()) * FRAME / DETECTOR_RATE, recording.duration)
    padded = np.pad(mono, (0, active.size * FRAME - mono.size))
    return Quality(
        seconds=recording.duration,
        speech=speech,
        snr=signal_to_noise(padded, active, DETECTOR_RATE) if active.any() else None,
        clipped=max(map(flat_tops, samples)),
        peak=float(np.abs(samples).max()),
    )


def faults(quality: Quality, limits: Limits) -> tuple[Reason, ...]:
    """Why a recording of this quality cannot be judged; empty where it can.

    Example:
        >>> quality = Quality(seconds=3.0, speech=0.4, snr=20.0, clipped=0.0, peak=0.5)
        >>> [reason.text for reason in faults(quality, Limits())]
        ['too little speech: 0.4 s, needs 1.0 s']
    """
    if quality.peak < _SILENT_PEAK:
        return (Reason("silence", "it is silent"),)
    if quality.snr is None:
        return (Reason("no-speech", "no speech was found in it"),)
    found = []
    if quality.speech < limits.speech:
        text = f"too little speech: {quality.speech:.1f} s, needs {limits.speech:.1f} s"
        found.append(Reason("little-speech", text))
    if quality.snr < limits.snr:
        text = f"too noisy: {quality.snr:.0f} dB signal-to-noise ratio, needs {limits.snr:.0f} dB"
        found.append(Reason("noisy", text))
    if quality.clipped > limits.clipped:
        text = f"clipped: {quality.clipped:.1%} of its samples, at most {limits.clipped:.1%}"
        found.append(Reason("clipped", text))
    return tuple(found)


def flat_tops(signal: npt.NDArray[np.floating]) -> float:
    """Share of samples that lie, two or more in a row, within 1 % of the highest or the lowest.

    Clipping leaves flat tops however the recording is scaled afterwards.

    Args:
        signal: shape (samples,).

    Returns:
        In [0, 1]; 0 for silence.

    Example:
        >>> wave = np.sin(2 * np.pi * 200 * np.arange(16000) / 16000)
        >>> flat_tops(np.zeros(100)), round(flat_tops(np.clip(wave, -0.5, 0.5)), 2)
        (0.0, 0.68)
    """
    total = 0
    for half in (signal, -signal):
        top = _TOP * float(half.max())
        if top <= _SILENT_PEAK:
            continue
        high = half >= top
        # A sample with a high neighbour on either side.
        total += int(np.count_nonzero(high[1:-1] & (high[:-2] | high[2:])))
    return total / signal.size


def _loud(signal: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    # Quiet signals are raised; a few clicks do not count.
    level = float(np.quantile(np.abs(signal), 0.999))
    return signal * (_LOUD / level) if 0 < level < _LOUD else signal
