"""Options and notes that are the same in every command that takes recordings."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.text import counted
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.corpus.corpus import Corpus
    from sordino.corpus.speakers import SpeakerRule

PROPERTIES = ("split", "corpus", "sex", "language", "speaker")
"""What utterances can be chosen by; see `selected`."""

_BYTES_PER_WORKER = 4_000_000
_NAMES_SHOWN = 6


def path(text: str) -> Path:
    """A path that is not empty; for `type=` of an argument."""
    if not text:
        raise argparse.ArgumentTypeError("a name is empty")
    return Path(text)


def pair(text: str) -> tuple[str, str]:
    """NAME=VALUE; for `type=` of an argument.

    Example:
        >>> pair("split=test")
        ('split', 'test')
    """
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def positive(text: str) -> int:
    """A whole number above 0; for `type=` of an argument."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def selected(corpus: Corpus, only: Iterable[tuple[str, str]], option: str = "--only") -> Corpus:
    """The utterances that pairs of property and value choose; all where there is none.

    Args:
        corpus: to choose from.
        only: properties with their values; several values of one property add up.
        option: what the pairs were given with, for the message.

    Raises:
        UsageError: a property is another word, or nothing is left.
    """
    wanted: dict[str, list[str]] = {}
    for name, value in only:
        if name not in PROPERTIES:
            raise UsageError(f"{option} knows {', '.join(PROPERTIES)}; not {name!r}")
        wanted.setdefault(name, []).append(value)
    return corpus.select(**wanted) if wanted else corpus


def add_row_options(add: Callable[..., object], what: str, *, only: bool = True) -> None:
    """Add --unknown, and --only, of commands that take vectors and a table.

    Args:
        add: `add_argument` of a parser or a group.
        what: that the table tells, for the help.
        only: whether there is --only.
    """
    if only:
        add(
            "--only",
            action="append",
            default=[],
            type=pair,
            metavar="COLUMN=VALUE",
            help="take only vectors of which the table says this (repeatable)",
        )
    add(
        "--unknown",
        action="append",
        default=[],
        type=pair,
        metavar="COLUMN=VALUE",
        help=f"take no {what} from rows of the table that say this (repeatable)",
    )


def add_speaker_options(parser: argparse.ArgumentParser) -> None:
    """Add --speakers, --speaker-regex and --only."""
    who = parser.add_argument_group("who speaks (default: the name of the folder a file lies in)")
    either = who.add_mutually_exclusive_group()
    either.add_argument(
        "--speakers",
        type=Path,
        metavar="CSV",
        help="table with the columns path and speaker, and sex if you like",
    )
    either.add_argument(
        "--speaker-regex", metavar="RE", help="searched in the path; the last match, group 1"
    )
    who.add_argument(
        "--only",
        action="append",
        default=[],
        type=pair,
        metavar="COLUMN=VALUE",
        help="take only these rows of --speakers",
    )


def speaker_rule(options: argparse.Namespace) -> SpeakerRule:
    """What the options of `add_speaker_options` say."""
    from sordino.corpus.speakers import by_folder, by_regex, by_table

    if options.only and options.speakers is None:
        raise UsageError("--only selects rows of a table; give one with --speakers")
    if options.speakers is not None:
        return by_table(options.speakers, options.only)
    if options.speaker_regex is not None:
        return by_regex(options.speaker_regex)
    return by_folder


def input_notes(ignored: Counter[str], loops: Sequence[Path], left_out: int) -> list[str]:
    """What was found in the inputs and is not taken."""
    notes = []
    if ignored:
        kinds = ", ".join(
            f"{count} {kind or 'without ending'}" for kind, count in sorted(ignored.items())
        )
        notes.append(f"left aside, not recordings by their names: {kinds}")
    if left_out:
        notes.append(f"left out by --only: {left_out} recordings")
    return notes + [f"link not followed, it leads back up: {loop}" for loop in loops]


def speaker_notes(
    recordings: Iterable[tuple[Path, str]], options: argparse.Namespace, suffix: str = ""
) -> list[str]:
    """Who was found to speak.

    Args:
        recordings: each with its speaker.
        options: with those of `add_speaker_options`, and `rttm` where a command has that.
        suffix: what follows the number of speakers.
    """
    by_folder = not (options.speakers or options.speaker_regex or getattr(options, "rttm", None))
    folders: dict[str, set[Path]] = {}
    for source, speaker in recordings:
        folders.setdefault(speaker, set()).add(source.parent)
    names = sorted(folders)
    shown = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    how = " by the folders that files lie in" if by_folder else ""
    notes = [f"{counted(len(names), 'speaker')}{how}{suffix}: {shown}"]
    if by_folder:
        notes += [
            f"several folders are named {name}: they count as one speaker"
            for name in names
            if len(folders[name]) > 1
        ]
    return notes


def default_jobs(sources: Iterable[Path]) -> int:
    """How many worker processes are worth their start for these recordings."""
    # Starting a worker takes as long as processing a few megabytes.
    size = sum(source.stat().st_size for source in sources if source.exists())
    return min(processors(), 1 + size // _BYTES_PER_WORKER)


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
