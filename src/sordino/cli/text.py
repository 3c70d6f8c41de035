"""Text for people."""

from __future__ import annotations


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
