"""`sordino evaluate anonymization`: attack anonymized speech, measure what is left of it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.evaluation import (
    add_data_options,
    add_protocol_options,
    evaluated,
    protocol_of,
    system_of,
    work_of,
)
from sordino.cli.inputs import pair
from sordino.cli.status import EXIT_DONE
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.evaluate.anonymization.protocol import Side
    from sordino.evaluate.anonymization.sources import Source

_EPILOG = """\
examples:
  sordino evaluate anonymization speech/manifest.csv --only split=test --attacker-only split=dev \\
      --system fixed=mcadams:alpha=0.8 --system mcadams -o report
  sordino evaluate anonymization speech/ --anonymized mine=anonymized/ -o report
  sordino evaluate anonymization speech/ --command 'sox=sox {input} {output} pitch 300' -o report
"""
# By the side of a system's speech.
_FURTHER: dict[Side, tuple[str, str]] = {
    "enrol": ("--enrolled-with", "for --anonymized LABEL: other files to enrol with"),
    "attack": ("--trained-with", "for --anonymized LABEL: files of the attacker's utterances"),
    "own": ("--resynthesised", "for --anonymized LABEL: files with the speakers' own voices"),
}


def add_parser(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino evaluate`."""
    parser = kinds.add_parser(
        "anonymization",
        help="attack anonymized speech",
        description="Attack anonymized speech and measure what is left of it. DATA is a CSV"
        " manifest, a Kaldi directory, a public corpus, or a folder with a folder for each"
        " speaker. Words and naturalness need the extra evaluate.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_data_options(parser)

    systems = parser.add_argument_group("systems (any number of each)")
    add = systems.add_argument
    add(
        "--system",
        action="append",
        default=[],
        metavar="[LABEL=]NAME[:SETTING=VALUE,...]",
        help="a system of sordino; see: sordino systems",
    )
    add(
        "--anonymized",
        action="append",
        default=[],
        type=pair,
        metavar="LABEL=FOLDER",
        help="files that you have anonymized, named as the originals",
    )
    for option, what in _FURTHER.values():
        add(option, action="append", default=[], type=pair, metavar="LABEL=FOLDER", help=what)
    add(
        "--command",
        action="append",
        default=[],
        type=pair,
        metavar="LABEL=COMMAND",
        help="a program, with {input} and {output}, and {speaker} if you like",
    )

    add_protocol_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, evaluate, write, show."""
    protocol = protocol_of(options)
    work = work_of(options, [Path(folder) for _, folder in options.anonymized])
    sources = _sources(options, work)
    if not sources:
        raise UsageError("nothing to evaluate; name a --system, --anonymized or --command")
    evaluated(options, protocol, work, sources)
    return EXIT_DONE


def _sources(options: argparse.Namespace, work: Path) -> list[Source]:
    from sordino.evaluate.anonymization.sources import CommandSource, FolderSource, SystemSource

    speech = work / "speech"
    sources: list[Source] = []
    for text in options.system:
        label, name, settings = system_of("--system", text)
        sources.append(SystemSource(label, name, settings, speech, options.seed))
    further = {
        side: dict(getattr(options, option.removeprefix("--").replace("-", "_")))
        for side, (option, _) in _FURTHER.items()
    }
    for label, folder in options.anonymized:
        others = {
            side: Path(folders.pop(label)) for side, folders in further.items() if label in folders
        }
        sources.append(FolderSource(label, Path(folder), others))
    for side, folders in further.items():
        if folders:
            raise UsageError(
                f"{_FURTHER[side][0]} {min(folders)}: there is no --anonymized of that label"
            )
    for label, template in options.command:
        sources.append(CommandSource(label, template, speech, options.seed))
    return sources
