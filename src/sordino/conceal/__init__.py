"""Template in, template out: the speaker can still be recognised, the attribute cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sordino.conceal.concealer import Concealer


def load(name: str, *, tell: Callable[[str], None] = lambda text: None) -> Concealer:
    """Find a concealer and check it.

    Args:
        name: a model's name, a bundle's folder, or "hub:OWNER/NAME[@REVISION]"; see
            `sordino.models.find.find_model`.
        tell: told what is downloaded and how big it is, before it is.

    Raises:
        UsageError: there is no such model, it is damaged, or it is no concealer.

    Example:
        >>> import sordino.conceal
        >>> concealer = sordino.conceal.load("mine")  # doctest: +SKIP
        >>> concealer.conceal(vectors, epsilon=15).shape == vectors.shape  # doctest: +SKIP
        True
    """
    from sordino.conceal.concealer import Concealer

    return Concealer.load(name, tell=tell)


__all__ = ["load"]
