"""The McAdams coefficient: formants moved by changing the angles of the LPC poles.

The training-free baseline (B2) of the VoicePrivacy Challenges. It needs no model and is fast,
and it protects little: see docs/mcadams.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Anonymizer, Blocks, Draws, Level
from sordino.audio.resample import at_rate
from sordino.dsp.frames import overlap_add
from sordino.dsp.lpc import burg, inverse_filter, synthesis_filter
from sordino.dsp.roots import polynomial_from_roots, polynomial_roots
from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]

REFERENCE_RATE = 16_000
REFERENCE_ORDER = 20
MIN_ALPHA, MAX_ALPHA = 0.5, 0.95
DEFAULT_LOW, DEFAULT_HIGH = 0.5, 0.9

_HOP_S = 0.010
_MAX_RADIUS = 0.9999
_SAMPLES_AT_ONCE = 2**19


class McAdams(Anonymizer):
    """Speech with its formants moved.

    Args:
        alpha: a fixed coefficient for everybody (VPC 2020: 0.8), or None to draw one for each
            pseudo-speaker.
        low: lower end of the range that coefficients are drawn from; 0.5 if not given (VPC 2022
            and later). Higher keeps more words.
        high: upper end of that range; 0.9 if not given.
        level: "speaker" (VPC 2022) or "utterance" (VPC 2024 and 2026).

    Raises:
        UsageError: a coefficient outside 0.5 to 0.95 (below, words are lost; towards 1 the voice
            is left as it is), or an empty range.

    Example:
        >>> McAdams(alpha=0.8).parameters()
        {'alpha': 0.8, 'low': None, 'high': None, 'level': 'speaker'}

    Source: J. Patino et al., "Speaker anonymisation using the McAdams coefficient", 2021.
    """

    name = "mcadams"
    version = 1
    protection = (
        "No formal guarantee. The voice sounds changed, but software that compares voices can"
        " still tell who speaks."
    )

    def __init__(
        self,
        alpha: float | None = None,
        low: float | None = None,
        high: float | None = None,
        level: Level = "speaker",
    ) -> None:
        super().__init__(level)
        if alpha is not None and (low is not None or high is not None):
            raise UsageError("McAdams takes either alpha or a range from low to high")
        if alpha is not None:
            low = high = alpha
        low, high = DEFAULT_LOW if low is None else low, DEFAULT_HIGH if high is None else high
        for value in (low, high):
            if isinstance(value, bool) or not isinstance(value, Real):
                raise UsageError(f"McAdams coefficient {value!r} is not a number")
            if not MIN_ALPHA <= value <= MAX_ALPHA:
                raise UsageError(
                    f"McAdams coefficient {value} is outside {MIN_ALPHA} to {MAX_ALPHA}"
                )
        if low > high:
            raise UsageError(f"McAdams range {low} to {high} is empty")
        self._fixed = alpha is not None
        self._low, self._high = low, high

    def parameters(self) -> Mapping[str, object]:
        """See `Anonymizer.parameters`."""
        return {
            "alpha": self._low if self._fixed else None,
            "low": None if self._fixed else self._low,
            "high": None if self._fixed else self._high,
            "level": self.level,
        }

    def resynthesis(self) -> McAdams:
        """See `Anonymizer.resynthesis`: frames are taken apart and put together unmoved."""
        return _Unmoved(level=self.level)

    def coefficient(self, draws: Draws) -> float:
        """The coefficient of a pseudo-speaker; a secret wherever it is drawn."""
        return self._low + (self._high - self._low) * draws.uniform("alpha")

    def transform(self, blocks: Blocks, sample_rate: int, draws: Draws) -> Iterator[FloatArray]:
        """See `Anonymizer.transform`.

        Rates above 16 kHz are processed at 16 kHz, which removes what lies above 8 kHz: with
        the more poles of a wider band, moved poles crowd until a frame's gain explodes.
        """
        alpha = self.coefficient(draws)
        inner_rate = min(sample_rate, REFERENCE_RATE)
        hop = int(_HOP_S * inner_rate)

        def change(frames: FloatArray) -> FloatArray:
            return mcadams_frames(frames, inner_rate, alpha)

        yield from at_rate(
            blocks,
            sample_rate,
            inner_rate,
            lambda inner: overlap_add(inner, hop, change, max_frames=_SAMPLES_AT_ONCE // (2 * hop)),
        )


class _Unmoved(McAdams):
    def coefficient(self, draws: Draws) -> float:
        del draws
        return 1.0


def mcadams_frames(frames: FloatArray, sample_rate: int, alpha: float) -> FloatArray:
    """Move the formants of windowed frames.

    Each frame is split into an all-pole filter and its residual; the angle phi of every complex
    pole becomes phi^alpha, radii and real poles stay; the residual is filtered with the new poles.
    Angles are those that the frequency has at 16 kHz, and the order goes with the rate, so that
    a coefficient moves a formant by as many Hz at every sample rate.

    Args:
        frames: shape (samples, frames), windowed.
        sample_rate: in Hz.
        alpha: the McAdams coefficient, in (0, 1).

    Returns:
        Shape (samples, frames). A silent frame stays silent.
    """
    scale = sample_rate / REFERENCE_RATE
    coefficients = burg(frames, round(REFERENCE_ORDER * scale))
    residual = inverse_filter(coefficients, frames)
    poles = polynomial_roots(coefficients)
    angle, radius = np.angle(poles), np.minimum(np.abs(poles), _MAX_RADIUS)
    moved = np.sign(angle) * (np.abs(angle) * scale) ** alpha / scale
    angle = np.where(poles.imag != 0.0, moved, angle)
    return synthesis_filter(polynomial_from_roots(radius * np.exp(1j * angle)), residual)
