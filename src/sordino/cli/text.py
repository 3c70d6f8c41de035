"""Text for people."""

from __future__ import annotations

from contextlib import suppress
from typing import TextIO


def one_line(text: str) -> str:
    """Text that is safe on a terminal: control characters are shown, not sent.

    Example:
        >>> one_line("two\\nlines")
        'two\\\\nlines'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def clock(seconds: float) -> str:
    """A duration as hours, minutes and seconds.

    Example:
        >>> clock(3725.4)
        '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def say(text: str, stream: TextIO | None) -> None:
    """Print a line; where nobody can read it (closed, full, a pipe that ended) go on without."""
    if stream is not None:
        with suppress(OSError, ValueError):
            print(one_line(text), file=stream, flush=True)


def counted(number: int, singular: str) -> str:
    """A number with its noun.

    Example:
        >>> counted(1, "speaker"), counted(2, "speaker")
        ('1 speaker', '2 speakers')
    """
    return f"{number} {singular}{'' if number == 1 else 's'}"
