"""sordino: keep what is said, mute who says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sordino.version import __version__

if TYPE_CHECKING:
    from sordino.anonymize.base import Anonymizer

DEFAULT_SYSTEM = "neural"
"""The anonymizer that is used where none is named."""


def load(system: str = DEFAULT_SYSTEM, **parameters: object) -> Anonymizer:
    """Make an anonymizer by its name.

    Args:
        system: "neural" or "mcadams"; `sordino systems` tells what they are.
        parameters: the system's own settings, for example `prosody="flatten"` or
            `level="utterance"`.

    Returns:
        An anonymizer; see `sordino.anonymize.base.Anonymizer`.

    Raises:
        UsageError: there is no such system, or it has no such setting or value.

    Example:
        >>> import numpy as np
        >>> anonymizer = load()
        >>> speech = np.random.default_rng(0).normal(0, 0.1, 16000)
        >>> anonymizer.anonymize(speech, 16000, speaker="alice", key=b"sixteen bytes or more").shape
        (16000,)
    """
    from sordino.anonymize.systems import load as load_system

    return load_system(system, **parameters)


__all__ = ["DEFAULT_SYSTEM", "__version__", "load"]
