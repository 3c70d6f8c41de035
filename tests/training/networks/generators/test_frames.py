"""The transform by matrices against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.networks.generators.frames import FrameTransform


@pytest.mark.parametrize("size", [320, 480, 640, 960])
@pytest.mark.parametrize("frames", [1, 2, 9])
def test_spectra_against_numpy(size, frames):
    rng = np.random.default_rng(size + frames)
    wave = rng.standard_normal((2, 160 * frames))
    real, imaginary = FrameTransform(size).double().spectrum(torch.from_numpy(wave))
    padded = np.pad(wave, ((0, 0), (size, size)))
    window = np.sin(np.pi * (np.arange(size) + 0.5) / size) ** 2
    for frame in range(frames):
        start = size + 160 * frame + 80 - size // 2
        expected = np.fft.rfft(padded[:, start : start + size] * window)
        # The table is kept in single precision.
        np.testing.assert_allclose(real[:, frame], expected.real, atol=1e-4)
        np.testing.assert_allclose(imaginary[:, frame], expected.imag, atol=1e-4)


@pytest.mark.parametrize("size", [320, 480, 640, 960])
@pytest.mark.parametrize("frames", [1, 2, 3, 50])
def test_there_and_back_is_the_same_everywhere(size, frames):
    torch.manual_seed(frames)
    transform, wave = FrameTransform(size), torch.randn(3, 160 * frames)
    torch.testing.assert_close(transform.wave(*transform.spectrum(wave)), wave, rtol=0, atol=2e-5)


def test_the_inverse_is_the_nearest_waveform():
    """Weighted overlap-add is least squares: what it leaves over, no waveform's spectrum has."""
    torch.manual_seed(3)
    transform = FrameTransform(640).double()
    spectrum = [torch.randn(1, 12, 321, dtype=torch.float64) for _ in range(2)]
    again = transform.spectrum(transform.wave(*spectrum))
    rest = [before - after for before, after in zip(spectrum, again, strict=True)]
    assert rest[0].abs().max() > 0.1
    torch.testing.assert_close(
        transform.wave(*rest), torch.zeros(1, 1920, dtype=torch.float64), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("size", [160, 500, 0])
def test_sizes_that_are_refused(size):
    with pytest.raises(UsageError, match=f"frames of {size} samples"):
        FrameTransform(size)
