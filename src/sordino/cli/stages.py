"""How far a run is that has several stretches of work."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, NoReturn

from sordino.cli.text import say

if TYPE_CHECKING:
    from tqdm import tqdm


class Stages:
    """A bar for each stretch on a terminal, a line for each elsewhere.

    Args:
        quiet: tell nothing but notes.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: tqdm[NoReturn] | None = None
        self._what = ""
        self._started = 0.0

    def stage(self, what: str, total: int) -> None:
        """A stretch of work begins, with so many steps."""
        self.close()
        self._what, self._started = what, time.monotonic()
        if not self._quiet and sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            bar: tqdm[NoReturn] = tqdm(total=total, desc=what, file=sys.stderr, dynamic_ncols=True)
            self._bar = bar

    def step(self) -> None:
        """A step of it is done."""
        if self._bar is not None:
            self._bar.update()

    def note(self, text: str) -> None:
        """Something that a person has to know."""
        say(f"note: {text}", sys.stderr)

    def close(self) -> None:
        """The stretch is done."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        elif self._what and not self._quiet:
            say(f"{self._what}: {time.monotonic() - self._started:.1f} s", sys.stderr)
        self._what = ""
