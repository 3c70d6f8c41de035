"""How a run tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Told(Protocol):
    """Is told of progress."""

    def stage(self, what: str, total: int) -> None:
        """A stretch of work begins, with so many steps."""

    def step(self) -> None:
        """A step of it is done."""

    def note(self, text: str) -> None:
        """Something that a person has to know."""


class Silent:
    """Tells nobody."""

    def stage(self, what: str, total: int) -> None:
        """See `Told.stage`."""

    def step(self) -> None:
        """See `Told.step`."""

    def note(self, text: str) -> None:
        """See `Told.note`."""
