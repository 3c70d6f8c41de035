"""How far a run over many recordings is."""

from __future__ import annotations

import sys
from pathlib import Path

from sordino.cli.text import clock, say


class Progress:
    """A bar on a terminal, a line for each file elsewhere."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._seconds = 0.0
        self._bar = None
        if sys.stderr is not None and sys.stderr.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="file", file=sys.stderr, dynamic_ncols=True)

    def report(self, status: str, source: Path) -> None:
        """Count a file that is finished: "done" or "failed"."""
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        else:
            say(f"[{self._done}/{self._total}] {status} {source}", sys.stderr)

    def advance(self, seconds: float) -> None:
        """Count sound that is done."""
        self._seconds += seconds
        if self._bar is not None:
            self._bar.set_postfix_str(f"{clock(self._seconds)} of audio")

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()
