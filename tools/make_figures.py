"""Draw the pictures of the docs from the recordings in `examples/`.

Needs the extra `figures`:

    pip install ".[figures]" && python tools/make_figures.py
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from matplotlib.patheffects import Normal, Stroke
from scipy.signal import butter, sosfilt

import sordino
from sordino.audio import Recording
from sordino.dsp.frames import sqrt_hann
from sordino.dsp.lpc import burg
from sordino.dsp.pitch import load_tracker

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
KEY = b"a key for the pictures"
HOP = 160
FloatArray = npt.NDArray[np.floating]


def spectrograms(sounds: Mapping[str, FloatArray], rate: int) -> None:
    """A sentence as it was and as systems make it, each with its pitch.

    Args:
        sounds: at 16 kHz, by their titles.
        rate: in Hz.
    """
    tracker = load_tracker("swift")
    figure, axes = plt.subplots(
        len(sounds), 1, figsize=(9, 2.3 * len(sounds)), sharex=True, layout="constrained"
    )
    for axis, (title, samples) in zip(axes, sounds.items(), strict=True):
        axis.specgram(samples, NFFT=512, Fs=rate, noverlap=448, cmap="magma", vmin=-130, vmax=-40)
        axis.set(ylabel="frequency (Hz)", ylim=(0, 5000))
        axis.set_title(title, loc="left", fontsize="medium")
        pitch = tracker.track(samples[: samples.size // HOP * HOP])
        times = (np.arange(pitch.size) + 0.5) * HOP / rate
        beside = axis.twinx()
        outline = [Stroke(linewidth=3.5, foreground="black"), Normal()]
        beside.plot(
            times,
            np.where(pitch > 0, pitch, np.nan),
            color="cyan",
            linewidth=1.8,
            path_effects=outline,
        )
        beside.set(ylabel="pitch (Hz)", ylim=(50, 450))
        beside.yaxis.label.set_color("teal")
        beside.tick_params(axis="y", colors="teal")
    axes[-1].set(xlabel="time (s)", xlim=(0, next(iter(sounds.values())).size / rate))
    figure.savefig(IMAGES / "before-after.jpg", dpi=90, pil_kwargs={"quality": 80})


def formants(before: FloatArray, after: FloatArray, rate: int) -> None:
    """Spectral envelopes of one vowel before and after."""
    hop = rate // 100
    middle = sosfilt(butter(4, (600, 1800), "bandpass", fs=rate, output="sos"), before)
    start = int(np.argmax(np.convolve(middle**2, np.ones(2 * hop), "valid")))
    figure, axis = plt.subplots(figsize=(9, 3.2), layout="constrained")
    for samples, label in ((before, "before"), (after, "after")):
        frame = samples[start : start + 2 * hop, None] * sqrt_hann(hop)[:, None]
        response = np.abs(np.fft.rfft(burg(frame, 20)[:, 0], 1024))
        gain = np.sqrt(np.mean(frame**2))
        axis.plot(np.fft.rfftfreq(1024, 1 / rate), 20 * np.log10(gain / response), label=label)
    axis.set(xlabel="frequency (Hz)", ylabel="envelope (dB)", title="one vowel", xlim=(0, 5000))
    axis.legend()
    figure.savefig(IMAGES / "formants.png", dpi=90)


def main() -> None:
    """Draw everything."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    recording = Recording.read(ROOT / "examples" / "anna" / "appointment.wav")
    before, rate = recording.samples[0].astype(np.float64), recording.sample_rate
    made, bent = (
        system.anonymize(before, rate, speaker="anna", key=KEY)
        for system in (sordino.load(), sordino.load("mcadams", alpha=0.7))
    )
    spectrograms(
        {"before": before, "after: neural, the default": made, "after: mcadams": bent}, rate
    )
    formants(before, bent, rate)


if __name__ == "__main__":
    main()
