"""A clip that follows the norms of updates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.errors import UsageError
from sordino.privacy.accounting.adaptive import update_multiplier
from sordino.privacy.exact import discrete_gaussian
from sordino.privacy.randomness import Randomness

_ROUNDING_VARIANCE = 4


@dataclass(frozen=True)
class AdaptiveClip:
    """Moves the clip towards a quantile of the norms: up where too few are below it, else down.

    Attributes:
        quantile: which part of updates shall be no longer than the clip, between 0 and 1.
        rate: how fast, above 0; the clip changes by a factor of exp(rate) at most, but for noise.
        bit_deviation: standard deviation of the noise on how many were below; above 0 where
            updates are protected centrally, and about a twentieth of the cohort.

    Raises:
        UsageError: a number is out of range.

    Example:
        >>> rule = AdaptiveClip(quantile=0.5, rate=0.2)
        >>> rule.next_clip(1.0, below=-100, cohort=100, randomness=None) > 1  # all were longer
        True

    Source: G. Andrew et al., "Differentially private learning with adaptive clipping", 2021,
    algorithm 1 and theorem 1.
    """

    quantile: float = 0.5
    rate: float = 0.2
    bit_deviation: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.quantile < 1:
            raise UsageError(f"quantile {self.quantile} is not between 0 and 1")
        if not 0 < self.rate < 10:
            raise UsageError(f"the rate {self.rate} of an adaptive clip is not between 0 and 10")
        if not 0 <= self.bit_deviation < math.inf:
            raise UsageError(f"deviation {self.bit_deviation} of the noise is not from 0")

    def update_multiplier(self, noise_multiplier: float) -> float:
        """Noise of the updates, so that both releases together cost what `noise_multiplier` does.

        Args:
            noise_multiplier: what the accountant is told.

        Raises:
            UsageError: the noise on the count is too small for this.

        Example:
            >>> round(AdaptiveClip(bit_deviation=50.0).update_multiplier(1.0), 6)
            1.00005
        """
        if 2 * self.bit_deviation <= noise_multiplier:
            raise UsageError(
                f"an adaptive clip needs bit_deviation above {noise_multiplier / 2:g}, not"
                f" {self.bit_deviation:g}: how many updates are below the clip is released too"
            )
        return update_multiplier(noise_multiplier, self.bit_deviation)

    def next_clip(
        self, clip: float, below: int, cohort: float, randomness: Randomness | None
    ) -> float:
        """The clip of the next round.

        Args:
            clip: of this round.
            below: sum over users of 1 where the norm was at most the clip, and -1 where it was not.
            cohort: how many users are expected.
            randomness: where noise comes from; None for no noise and no guarantee.
        """
        count = below
        if randomness is not None:
            # Signs are twice as far apart as the bits of the paper, and so is the noise.
            variance = Fraction(2 * self.bit_deviation) ** 2 + _ROUNDING_VARIANCE
            count += int(discrete_gaussian(variance, 1, randomness)[0])
        part = min(max(0.5 + count / (2 * cohort), 0.0), 1.0)
        return clip * math.exp(-self.rate * (part - self.quantile))
