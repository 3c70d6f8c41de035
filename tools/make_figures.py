"""Draw the pictures of the docs from the recordings in `examples/`.

Needs the extra `figures`:

    pip install ".[figures]" && python tools/make_figures.py
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import numpy.typing as npt
from scipy.signal import butter, sosfilt

import sordino
from sordino.audio import Recording
from sordino.dsp.frames import sqrt_hann
from sordino.dsp.lpc import burg

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
KEY = b"a key for the pictures"
FloatArray = npt.NDArray[np.floating]


def spectrograms(before: FloatArray, after: FloatArray, rate: int) -> None:
    """The same sentence before and after."""
    figure, axes = plt.subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
    for axis, samples, title in zip(
        axes, (before, after), ("before", "after: McAdams, coefficient 0.7"), strict=True
    ):
        axis.specgram(samples, NFFT=512, Fs=rate, noverlap=448, cmap="magma", vmin=-130, vmax=-40)
        axis.set(title=title, ylabel="frequency (Hz)", ylim=(0, 5000))
    axes[1].set_xlabel("time (s)")
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
    before = recording.samples[0].astype(np.float64)
    after = sordino.load("mcadams", alpha=0.7).anonymize(
        before, recording.sample_rate, speaker="anna", key=KEY
    )
    spectrograms(before, after, recording.sample_rate)
    formants(before, after, recording.sample_rate)


if __name__ == "__main__":
    main()
