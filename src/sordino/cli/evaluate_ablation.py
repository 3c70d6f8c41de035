"""`sordino evaluate ablation`: which part of the neural anonymizer does what."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.evaluation import (
    add_data_options,
    add_protocol_options,
    evaluated,
    protocol_of,
    settings_of,
    system_of,
    work_of,
)
from sordino.cli.inputs import pair
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.evaluate.ablation.design import Choice, Variant

_SYSTEM = "neural"
_MARKDOWN, _TABLE = "ablation.md", "ablation.csv"
_EPILOG = """\
examples:
  sordino evaluate ablation speech/manifest.csv --only split=test --attacker-only split=dev \\
      --voice soft --voice units --strategy density --strategy average:candidates=20,averaged=10 \\
      --prosody normalise --prosody copy --prosody flatten -o report
  sordino evaluate ablation speech/ --voice soft --prosody copy --prosody keep --full -o report
"""


def add_parser(kinds: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to `sordino evaluate`."""
    parser = kinds.add_parser(
        "ablation",
        help="compare voices, strategies and prosody modes of the neural anonymizer",
        description="Compare trained voices (which have the content network and the speaker vector"
        " in them), strategies for pseudo-speakers and prosody modes. One factor at a time is"
        f" changed from the first of each. Besides the report, {_MARKDOWN} and {_TABLE} have a row"
        " for each system. Words and naturalness need the extra evaluate.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_data_options(parser)

    factors = parser.add_argument_group("factors (each can be given several times)")
    add = factors.add_argument
    add(
        "--voice",
        action="append",
        default=[],
        metavar="NAME",
        help="a trained voice: its name or folder, or hub:OWNER/NAME (default: the system's)",
    )
    add(
        "--strategy",
        action="append",
        default=[],
        metavar="NAME[:SETTING=VALUE,...]",
        help="how pseudo-speakers are chosen (default: the system's)",
    )
    add(
        "--prosody",
        action="append",
        default=[],
        metavar="NAME[:SETTING=VALUE,...]",
        help="what becomes of the pitch (default: the system's)",
    )
    add("--full", action="store_true", help="all combinations")
    add(
        "--param",
        action="append",
        default=[],
        type=pair,
        metavar="NAME=VALUE",
        help="a setting of all systems",
    )
    add(
        "--beside",
        action="append",
        default=[],
        metavar="[LABEL=]NAME[:SETTING=VALUE,...]",
        help="another system of sordino, in the same run and table",
    )
    add_protocol_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate, write the report and the table, show."""
    from sordino.anonymize.neural import VOICE
    from sordino.anonymize.record import write_whole
    from sordino.evaluate.ablation.facts import VoiceFacts
    from sordino.evaluate.ablation.table import ablation_rows, as_csv, as_markdown
    from sordino.evaluate.anonymization.sources import SystemSource
    from sordino.models.find import load_model

    protocol = protocol_of(options)
    names = options.voice or [VOICE]
    chosen = _variants(names, options)
    voices = {
        name: VoiceFacts.of(load_model(name, "voice", tell=lambda text: say(text, sys.stderr)))
        for name in names
    }
    work = work_of(options)
    _refuse_existing(options.output, overwrite=options.overwrite)
    sources = [
        SystemSource(variant.label, _SYSTEM, variant.settings, work / "speech", options.seed)
        for variant in chosen
    ]
    beside = [
        SystemSource(*system_of("--beside", text), work / "speech", options.seed)
        for text in options.beside
    ]
    results = evaluated(options, protocol, work, [*sources, *beside])
    parameters = {source.name: source.parameters for source in sources}
    others = [source.name for source in beside]
    rows = ablation_rows(results, chosen, voices, parameters, others)
    for name, text in ((_MARKDOWN, as_markdown(rows)), (_TABLE, as_csv(rows))):
        write_whole(options.output / name, text)
    say(f"table: {options.output / _MARKDOWN}", sys.stdout)
    return EXIT_DONE


def _variants(voices: Sequence[str], options: argparse.Namespace) -> tuple[Variant, ...]:
    from sordino.evaluate.ablation.design import variants

    common: dict[str, object] = {}
    for name, value in options.param:
        common |= settings_of("--param", f"{name}={value}")
    return variants(
        voices,
        _choices("--strategy", options.strategy),
        _choices("--prosody", options.prosody),
        common,
        full=options.full,
    )


def _choices(option: str, given: Sequence[str]) -> list[Choice]:
    from sordino.evaluate.ablation.design import Choice

    choices = []
    for text in given:
        name, colon, settings = text.partition(":")
        if not name:
            raise UsageError(f"{option} {text}: has no name")
        choices.append(Choice(name, settings_of(f"{option} {text}", settings) if colon else {}))
    return choices


def _refuse_existing(folder: Path, *, overwrite: bool) -> None:
    for name in (_MARKDOWN, _TABLE):
        if (folder / name).exists() and not overwrite:
            raise UsageError(f"{folder / name} exists; use --overwrite or another output")
