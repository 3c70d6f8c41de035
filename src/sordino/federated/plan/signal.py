"""How much of the mean update noise leaves.

With clip 1, n uploads and the noise multiplier z, the squared norm of all noise in the mean is
(n a + d (z b)**2) / n**2: a is what the local mechanism adds to one upload, b the norm it has then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sordino.federated.plan.question import Question
from sordino.federated.regimes import Regime
from sordino.privacy.accounting.sampled_gaussian import LARGEST_NOISE


@dataclass(frozen=True)
class Signal:
    """Updates of users and the noise of a regime, in units of the clip.

    Attributes:
        norm: of a usual update after clipping.
        alignment: norm of the mean update over that of single ones: 1 where all point the same way.
        dimension: number of parameters.
        local_square: expected squared norm of the local noise in one upload.
        bound: norm of an upload that central noise is for; None in regimes without.

    Example:
        >>> signal = Signal(1.0, 1.0, dimension=100, local_square=0.0, bound=1.0)
        >>> signal.snr(cohort=50, noise_multiplier=0.5)
        10.0
    """

    norm: float
    alignment: float
    dimension: int
    local_square: float = 0.0
    bound: float | None = None

    @classmethod
    def of(cls, question: Question, regime: str, epsilon: float) -> Signal:
        """The signal in a regime.

        Args:
            question: with dimension, norm, alignment, delta and local epsilon.
            regime: its name.
            epsilon: of an upload in regime local.
        """
        d, norm = question.dimension, question.norm
        clear = cls(norm, question.alignment, d)
        if regime == "none":
            return clear
        if regime == "central":
            return replace(clear, bound=Regime.central(d, 1.0, 1.0).bound)
        if regime == "local":
            square = Regime.local(d, 1.0, epsilon, delta=question.delta).noise_norm(1) ** 2
            return replace(clear, local_square=square)
        weak = Regime.local(d, 1.0, question.local_epsilon, mechanism="privunit", norm=norm)
        square = weak.noise_norm(1, norm=norm) ** 2
        return replace(clear, local_square=square, bound=weak.bound)

    @property
    def mean_norm(self) -> float:
        """Norm of the mean update before any noise."""
        return self.norm * self.alignment

    def snr(self, cohort: float, noise_multiplier: float | None = None) -> float:
        """The mean update's norm over that of all noise in it; infinite without noise.

        Args:
            cohort: how many upload.
            noise_multiplier: of the central noise, where there is some.

        Source: F. Granqvist et al., "Improving on-device speaker verification using federated
        learning with privacy", 2020, section 4.
        """
        square = cohort * self.local_square
        if self.bound is not None and noise_multiplier is not None:
            square += self.dimension * (noise_multiplier * self.bound) ** 2
        if square <= 0:
            return math.inf
        return self.mean_norm * cohort / math.sqrt(square)

    def most_noise(self, cohort: float, snr: float) -> float:
        """The largest noise multiplier that leaves a ratio; 0 where local noise alone is too much.

        Args:
            cohort: how many upload.
            snr: the wanted ratio.
        """
        left = (self.mean_norm * cohort / snr) ** 2 - cohort * self.local_square
        if self.bound is None:
            return math.inf if left >= 0 else 0.0
        if left <= 0:
            return 0.0
        return min(math.sqrt(left / self.dimension) / self.bound, LARGEST_NOISE)
