"""The source's pitch as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.base import Contour, FloatArray, Prosody
from sordino.anonymize.prosody.register import Register

if TYPE_CHECKING:
    from sordino.anonymize.base import Draws


class Copy(Prosody):
    """The source's F0, unchanged, whatever the pseudo-speaker: it tells who speaks.

    Args:
        lookahead: without effect.

    Example:
        >>> Copy().settings()
        {}

    Source: the paper on language-independent speaker anonymization.
    """

    name = "copy"

    def settings(self) -> Mapping[str, object]:
        """See `Prosody.settings`."""
        return {}

    def contour(self, register: Register, draws: Draws) -> Contour:
        """See `Prosody.contour`."""
        return _Same()


class _Same(Contour):
    def process(self, f0: npt.NDArray[np.floating], last: bool = False) -> FloatArray:
        return f0.astype(np.float64)
