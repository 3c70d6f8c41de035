"""YAAPT: pitch from spectrum and correlation, joined over all of the signal."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from sordino.dsp.pitch.base import HOP, RATE, FloatArray, Tracker, package
from sordino.errors import AudioError

_SETTINGS = {
    "frame_length": 20.0,
    "frame_space": 10.0,
    "nccf_thresh1": 0.25,
    "tda_frame_length": 25.0,
}
_FEWEST_FRAMES = 4
_SILENCE = 1e-4
_BLOCK = 2000 * HOP
_OVERLAP = 100 * HOP
_NO_CANDIDATE = "Mean of empty slice"


class Yaapt(Tracker):
    """The package AMFM_decompy, set as for the paper on language-independent anonymization.

    It finds 60 to 400 Hz. What it decides in a frame depends on the level and the pitch of the
    whole signal; signals beyond 20 s are tracked in blocks of 20 s, with a second on each side.
    Steady noise of a recording without speech is taken for voice in about a third of the frames,
    and the pitch lags the frame's centre by some 5 ms: both belong to the paper's settings.

    Source: S. Zahorian and H. Hu, "A spectral/temporal method for robust fundamental frequency
    tracking", JASA 123(6), 2008.
    """

    name = "yaapt"
    lowest = 60.0
    highest = 400.0
    context = None

    def _track(self, wave: npt.NDArray[np.floating]) -> FloatArray:
        tracks = []
        for start in range(0, wave.size, _BLOCK):
            stop = min(start + _BLOCK, wave.size)
            left = max(start - _OVERLAP, 0)
            block = self._block(wave[left : stop + _OVERLAP].astype(np.float64))
            tracks.append(block[(start - left) // HOP : (stop - left) // HOP])
        return np.concatenate(tracks)

    def _block(self, wave: FloatArray) -> FloatArray:
        frames = wave.size // HOP
        peaks = np.abs(wave).reshape(frames, HOP).max(axis=1)
        # Silence and what is shorter than its filters make the package fail.
        if frames < _FEWEST_FRAMES or peaks.max() < _SILENCE:
            return np.zeros(frames)
        algorithm = package("amfm_decompy.pYAAPT", self.name, "AMFM-decompy")
        tools = package("amfm_decompy.basic_tools", self.name, "AMFM-decompy")
        signal = tools.SignalObj(np.pad(wave, HOP), RATE)
        with warnings.catch_warnings(), np.errstate(under="ignore"):
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            # Without a single candidate it averages nothing, warns, and answers 150 Hz.
            warnings.filterwarnings("error", _NO_CANDIDATE, RuntimeWarning)
            try:
                track = np.asarray(algorithm.yaapt(signal, **_SETTINGS).samp_values)
            except RuntimeWarning:
                return np.zeros(frames)
            except (ArithmeticError, AssertionError, LookupError, ValueError) as error:
                raise AudioError(
                    f"the pitch tracker yaapt failed ({error}); use a voice with swift"
                ) from error
        if track.shape != (frames,) or not np.isfinite(track).all():
            raise AudioError("the pitch tracker yaapt failed (no number); use a voice with swift")
        return np.where(peaks < _SILENCE, 0.0, np.maximum(track, 0.0))
