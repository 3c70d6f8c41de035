"""Systems, strategies and modes are made by their names, with settings that they know."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TypeVar

from sordino.errors import UsageError

Made = TypeVar("Made")


def make_known(kind: type[Made], settings: Mapping[str, object], name: str) -> Made:
    """Make something with settings that it has.

    Args:
        kind: what is made.
        settings: for it; those not given have its defaults.
        name: what it is called in messages.

    Raises:
        UsageError: it has no such setting or value.

    Example:
        >>> class Mode:
        ...     def __init__(self, steps: int = 2) -> None: ...
        >>> make_known(Mode, {"step": 2}, "mode")
        Traceback (most recent call last):
        sordino.errors.UsageError: mode has no setting 'step'; it has: steps
    """
    known = inspect.signature(kind).parameters
    for setting in settings:
        if setting not in known:
            raise UsageError(f"{name} has no setting {setting!r}; it has: {', '.join(known)}")
    return kind(**settings)
