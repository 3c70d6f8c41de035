"""What becomes of a speaker's intonation and timing: the modes by name."""

from __future__ import annotations

from collections.abc import Mapping

from sordino.anonymize.named import make_known
from sordino.anonymize.prosody.base import Contour, Prosody
from sordino.anonymize.prosody.copy import Copy
from sordino.anonymize.prosody.duration import interpolate, warp_times
from sordino.anonymize.prosody.flatten import Flatten
from sordino.anonymize.prosody.quantise import Quantise
from sordino.anonymize.prosody.register import Register
from sordino.anonymize.prosody.shift import Keep, Normalise
from sordino.errors import UsageError

__all__ = [
    "MODES",
    "Contour",
    "Prosody",
    "Register",
    "interpolate",
    "make_prosody",
    "warp_times",
]

MODES: Mapping[str, type[Prosody]] = {
    mode.name: mode for mode in (Copy, Keep, Normalise, Quantise, Flatten)
}


def make_prosody(name: str, **settings: object) -> Prosody:
    """A way to treat intonation.

    Args:
        name: "copy", "keep", "normalise", "quantise" or "flatten", from the most to the least of
            the source's intonation.
        settings: of the mode.

    Raises:
        UsageError: there is no such mode, or it has no such setting or value.

    Example:
        >>> make_prosody("quantise", steps=1).settings()
        {'steps': 1.0, 'jitter': 0.5}
    """
    if name not in MODES:
        raise UsageError(f"there is no prosody {name!r}; there are: {', '.join(MODES)}")
    return make_known(MODES[name], settings, f"prosody {name}")
