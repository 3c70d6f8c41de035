"""Secrets and randomised mechanisms. Knows nothing of speech."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sordino.privacy.ledger import Ledger
    from sordino.privacy.mechanisms.gaussian import Gaussian
    from sordino.privacy.mechanisms.laplace import Laplace
    from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG

# Imported when they are asked for: secret keys need no numpy.
_PLACES = {
    "Gaussian": "sordino.privacy.mechanisms.gaussian",
    "Laplace": "sordino.privacy.mechanisms.laplace",
    "Ledger": "sordino.privacy.ledger",
    "PrivUnit": "sordino.privacy.mechanisms.privunit",
    "PrivUnitG": "sordino.privacy.mechanisms.privunit",
}

__all__ = ["Gaussian", "Laplace", "Ledger", "PrivUnit", "PrivUnitG"]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
