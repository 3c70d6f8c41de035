"""What a voice is made from before the vocal tract shapes it: pulses at a pitch, and noise."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sordino.dsp.sequences import normals

FloatArray = npt.NDArray[np.float64]

# Phases are counted in whole parts of a cycle: sums of whole numbers are exact, so that a signal
# made in pieces has the very phases of the whole, after any time.
_PARTS = 2**48


def harmonic(
    f0: npt.NDArray[np.floating],
    *,
    hop: int,
    sample_rate: int,
    before: float = 0.0,
    after: float = 0.0,
    phase: float = 0.0,
) -> tuple[FloatArray, float]:
    """All harmonics of a pitch, equally strong, as a sum of cosines.

    The power is 1 wherever there is voice, whatever the pitch. Between the centres of voiced
    frames the pitch runs straight; at the edge of voicing it is held. The highest harmonic fades
    in as it comes under half the sample rate, so that none ever sets in at once.

    Args:
        f0: pitch in hertz by frame, 0 where unvoiced, shape (frames,); below a quarter of the
            sample rate.
        hop: samples in a frame; frame j is centred on sample hop * j + hop / 2.
        sample_rate: in Hz.
        before: pitch of the frame before the first, 0 where there is none.
        after: pitch of the frame after the last, 0 where there is none.
        phase: of the first sample, in cycles; it stands still where there is no voice.

    Returns:
        Shape (frames * hop,), 0 where unvoiced; and the phase of the sample after the last, in
        cycles from 0 to 1. A signal made in pieces that hand on phase and neighbours is exactly
        the signal made at once.

    Raises:
        ValueError: a pitch is negative, not finite, or a quarter of the sample rate or more.

    Example:
        >>> wave, phase = harmonic(np.full(90, 200.0), hop=160, sample_rate=16000)
        >>> wave.shape, round(float(np.mean(wave**2)), 3), round(phase, 6) % 1
        ((14400,), 1.0, 0.0)

    Source: the sum of N cosines as a ratio of two sines, the Dirichlet kernel.
    """
    frequency = _by_sample(f0, hop, sample_rate, before, after)
    steps = np.rint(frequency * (_PARTS / sample_rate)).astype(np.uint64)
    ends = np.cumsum(steps, dtype=np.uint64) + np.uint64(round(phase * _PARTS) % _PARTS)
    # Unsigned whole numbers wrap at a multiple of a cycle.
    cycles = ((ends - steps) & np.uint64(_PARTS - 1)).astype(np.float64) / _PARTS
    wave = np.zeros(frequency.size)
    voiced = frequency > 0
    wave[voiced] = _cosines(cycles[voiced], sample_rate / 2 / frequency[voiced])
    following = int(ends[-1]) % _PARTS / _PARTS if ends.size else phase % 1.0
    return wave, following


def noise(start: int, samples: int, seed: int) -> FloatArray:
    """A piece of an endless sequence of independent standard normal numbers.

    Args:
        start: number of the first sample; may be negative.
        samples: how many.
        seed: which sequence, from 0 to below 2 ** 128.

    Returns:
        Shape (samples,); see `normals`. Any piece is exactly that piece of the whole.

    Raises:
        ValueError: the seed is out of range or `samples` negative.

    Example:
        >>> whole = noise(-100, 5000, seed=7)
        >>> bool((noise(1300, 2000, seed=7) == whole[1400:3400]).all())
        True
    """
    return normals(start, samples, seed)


def _by_sample(
    f0: npt.NDArray[np.floating], hop: int, sample_rate: int, before: float, after: float
) -> FloatArray:
    """The pitch at each sample, 0 where unvoiced."""
    track = np.concatenate(([before], f0, [after])).astype(np.float64)
    if not ((track >= 0) & (track < sample_rate / 4)).all():
        raise ValueError(f"a pitch is not from 0 to below {sample_rate / 4:g} Hz")
    own = track[1:-1]
    place = (np.arange(hop) - hop / 2) / hop
    # The neighbour towards which a sample lies, and how far.
    earlier = np.where(track[:-2] > 0, track[:-2], own)[:, None]
    later = np.where(track[2:] > 0, track[2:], own)[:, None]
    towards = np.where(place < 0, earlier, later)
    frequency: FloatArray = own[:, None] + np.abs(place) * (towards - own[:, None])
    frequency[own == 0] = 0.0
    return frequency.reshape(-1)


def _cosines(cycles: FloatArray, room: FloatArray) -> npt.NDArray[np.float32]:
    """Cosines of 1, 2, ... times a phase, with power 1; `room` is how many fit below Nyquist."""
    full = np.floor(room) - 1
    weight = (room - np.floor(room)).astype(np.float32)
    centred = cycles - np.rint(cycles)
    below = _sine(centred / 2)
    at_pulse = np.abs(below) < 1e-12
    ratio = _sine((full + 0.5) * centred) / np.where(at_pulse, np.float32(1), below)
    summed = np.where(at_pulse, full.astype(np.float32), (ratio - 1) / 2)
    summed += weight * _sine((full + 1) * centred + 0.25)
    scaled: npt.NDArray[np.float32] = summed * np.sqrt(2 / (full.astype(np.float32) + weight**2))
    return scaled


def _sine(cycles: FloatArray) -> npt.NDArray[np.float32]:
    # Single precision is much faster, and exact enough once whole cycles are taken off.
    angle = (2 * np.pi) * (cycles - np.rint(cycles))
    return np.sin(angle.astype(np.float32))
