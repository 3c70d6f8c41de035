"""`sordino anonymize`: files and folders of recordings in, anonymized recordings out."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from sordino import DEFAULT_SYSTEM
from sordino.cli.inputs import (
    add_speaker_options,
    default_jobs,
    input_notes,
    pair,
    path,
    positive,
    speaker_notes,
    speaker_rule,
)
from sordino.cli.progress import Progress
from sordino.cli.status import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED
from sordino.cli.text import clock, counted, say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.anonymize.engine import Mode, Summary
    from sordino.anonymize.plan import Plan, Task
    from sordino.anonymize.segments import Unassigned
    from sordino.anonymize.settings import Settings
    from sordino.corpus.rttm import Turns
    from sordino.corpus.speakers import SpeakerRule
    from sordino.privacy.keys import SecretKey

_EPILOG = """\
examples:
  sordino key my.key
  sordino anonymize interviews/ -o anonymized/ --key-file my.key
  sordino anonymize call.m4a -o call-anonymized.flac
  sordino anonymize corpus/ -o out/ --speakers corpus/manifest.csv --only split=test
  sordino anonymize meeting.wav -o meeting-anonymized.wav --rttm meeting.rttm
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add this command to the command line."""
    parser = commands.add_parser(
        "anonymize",
        help="change the voices in recordings",
        description="Change the voices in recordings. Rate, channels, length and loudness stay;"
        "\nwhat lies above 8 kHz goes, and so do tags, comments, covers and device names.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("inputs", nargs="+", type=path, metavar="INPUT", help="a recording, a video or a folder")
    add(
        "-o",
        "--output",
        type=path,
        required=True,
        metavar="OUT",
        help="folder, or name for a file",
    )
    add(
        "--system",
        default=DEFAULT_SYSTEM,
        help="which anonymizer (default: %(default)s); `sordino systems` lists them",
    )
    add(
        "--param",
        action="append",
        default=[],
        type=pair,
        metavar="NAME=VALUE",
        help="a setting of the system, such as prosody=flatten; `sordino systems` lists them",
    )
    add(
        "--level",
        choices=("speaker", "utterance"),
        default="speaker",
        help="one new voice per speaker (default) or per utterance",
    )

    add_speaker_options(parser)
    several = parser.add_argument_group("several speakers in one recording")
    several.add_argument(
        "--rttm",
        type=path,
        metavar="FILE",
        help="who speaks when: each gets a voice of their own; an RTTM file for all recordings, or"
        " a folder of such files",
    )
    several.add_argument(
        "--unassigned",
        choices=("voice", "silence"),
        help="what becomes of parts without a speaker: a further new voice (default), or silence",
    )

    secret = parser.add_argument_group("secret")
    secret.add_argument(
        "--key-file",
        type=Path,
        metavar="FILE",
        help="the key that decides the new voices (or set SORDINO_KEY); make one: sordino key FILE",
    )
    secret.add_argument(
        "--rename", action="store_true", help="replace file and folder names by pseudonyms"
    )
    secret.add_argument(
        "--mapping",
        type=Path,
        metavar="FILE",
        help="where --rename lists the names (OUT.names.csv)",
    )

    out = parser.add_argument_group("output")
    out.add_argument("--format", metavar="NAME", help="wav, flac, mp3, ogg, opus or m4a")
    out.add_argument("--sample-rate", type=int, metavar="HZ", help="default: as it was")
    out.add_argument("--mono", action="store_true", help="average all channels into one")
    mode = out.add_mutually_exclusive_group()
    mode.add_argument("--resume", action="store_true", help="go on with a run that was cut short")
    mode.add_argument("--overwrite", action="store_true", help="replace outputs that exist")
    out.add_argument(
        "--dry-run", action="store_true", help="show what would be done, write nothing"
    )
    out.add_argument(
        "--jobs", type=positive, metavar="N", help="worker processes (default: as is fastest here)"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Plan, anonymize, show."""
    from sordino.anonymize.engine import earlier_entries
    from sordino.anonymize.engine import run as run_engine
    from sordino.anonymize.plan import make_plan

    started = time.monotonic()
    settings = _settings(options, _key(options))
    listens = settings.anonymizer().needs_source
    plan = make_plan(
        options.inputs,
        options.output,
        _speakers(options),
        sexes=_sexes(options) if listens else {},
        format_name=options.format,
        rename_key=settings.key if options.rename else None,
        mapping=options.mapping,
    )
    earlier_entries(plan, settings, _mode(options))
    _tell_plan(plan, settings, options)
    if options.dry_run:
        for task in plan.tasks:
            who = "speaker" if len(task.speakers) == 1 else "speakers"
            say(f"{task.source} -> {task.target} ({who} {task.speaker})", sys.stdout)
        return EXIT_DONE
    jobs = options.jobs or default_jobs(task.source for task in plan.tasks)
    with closing(Progress(len(plan.tasks))) as progress:
        summary = run_engine(
            plan,
            settings,
            mode=_mode(options),
            jobs=jobs,
            report=lambda entry, task: progress.report(entry.status, task.source),
            advance=progress.advance,
        )
    return _tell_summary(summary, plan, settings, options, time.monotonic() - started)


def _speakers(options: argparse.Namespace) -> SpeakerRule | Turns:
    if options.rttm is None:
        if options.unassigned is not None:
            raise UsageError("--unassigned goes with --rttm")
        return speaker_rule(options)
    for name in ("speakers", "speaker_regex", "only"):
        if getattr(options, name):
            raise UsageError(
                f"--rttm says who speaks; leave out --{name.replace('_', '-')}, or anonymize"
                " recordings of one speaker in a run of their own"
            )
    from sordino.corpus.rttm import read_rttm

    return read_rttm(options.rttm)


def _sexes(options: argparse.Namespace) -> Mapping[str, str]:
    if options.speakers is None:
        return {}
    from sordino.corpus.speakers import sexes_in_table

    return sexes_in_table(options.speakers)


def _key(options: argparse.Namespace) -> SecretKey:
    from sordino.privacy.keys import SecretKey

    if options.key_file is not None:
        return SecretKey.from_file(options.key_file)
    key = SecretKey.from_environment()
    if key is None and options.resume:
        raise UsageError("--resume needs the key of the first run (--key-file or SORDINO_KEY)")
    return key or SecretKey.random()


def _settings(options: argparse.Namespace, key: SecretKey) -> Settings:
    from sordino.anonymize.render import Shape
    from sordino.anonymize.settings import Settings
    from sordino.audio.formats import MAX_RATE, MIN_RATE

    rate = options.sample_rate
    if rate is not None and not MIN_RATE <= rate <= MAX_RATE:
        raise UsageError(f"--sample-rate {rate} is outside {MIN_RATE} to {MAX_RATE}")
    parameters = {name: _value(text) for name, text in options.param}
    if "level" in parameters:
        raise UsageError("the level is set by --level, not by --param")
    parameters["level"] = options.level
    unassigned: Unassigned | None = None
    if options.rttm is not None:
        unassigned = options.unassigned or "voice"
    shape = Shape(rate, options.mono)
    return Settings(options.system, tuple(parameters.items()), shape, key, unassigned)


def _mode(options: argparse.Namespace) -> Mode:
    if options.resume:
        return "resume"
    return "overwrite" if options.overwrite else "new"


def _tell_plan(plan: Plan, settings: Settings, options: argparse.Namespace) -> None:
    notes = []
    if not settings.key.lasting:
        notes.append(
            "no key given: a fresh random one is used and forgotten, so the new voices cannot be"
            " made again and the run cannot be resumed (see: sordino key)"
        )
    notes += input_notes(plan.ignored, plan.loops, plan.left_out)
    speakers = ((task.source, speaker) for task in plan.tasks for speaker in task.speakers)
    notes += speaker_notes(speakers, options, ", each with one new voice")
    if options.rttm is not None:
        notes += turn_notes(plan.tasks)
    if settings.anonymizer().needs_source:
        notes.append("the new voices depend on how speakers sound: all are listened to first")
    if not options.rename:
        notes.append("names of files and folders are kept; if they tell who speaks, use --rename")
    for note in notes:
        say(f"note: {note}", sys.stderr)


def turn_notes(tasks: Sequence[Task]) -> list[str]:
    """Who speaks in several recordings: by chance, where a tool has numbered the speakers.

    Args:
        tasks: with turns.
    """
    heard = Counter(speaker for task in tasks for speaker in task.speakers)
    shared = sorted(speaker for speaker, times in heard.items() if times > 1)
    if not shared:
        return []
    return [
        f"{counted(len(shared), 'speaker')} of --rttm in several recordings, such as {shared[0]}:"
        " the same name gets the same new voice everywhere; if a tool has numbered the speakers"
        " anew in each recording, name them apart"
    ]


def _tell_summary(
    summary: Summary,
    plan: Plan,
    settings: Settings,
    options: argparse.Namespace,
    elapsed: float,
) -> int:
    fresh = len(summary.done) - summary.kept
    seconds = summary.seconds
    speed = f" ({seconds / elapsed:.0f}x real time)" if fresh else ""
    say(
        f"anonymized {fresh} of {counted(len(plan.tasks), 'file')}"
        f" ({counted(len(plan.speakers), 'speaker')}),"
        f" {clock(seconds)} of audio, in {elapsed:.1f} s{speed} -> {options.output}",
        sys.stdout,
    )
    if summary.kept:
        say(f"kept {counted(summary.kept, 'file')} that an earlier run had finished", sys.stdout)
    say(f"{settings.system}: {settings.anonymizer().protection}", sys.stdout)
    if plan.mapping is not None:
        say(f"names are listed in {plan.mapping}; keep it apart from the recordings", sys.stdout)
    if summary.left_over:
        what = counted(len(summary.left_over), "output")
        say(f"note: left in place, not part of this run: {what} of an earlier one:", sys.stderr)
        for name in summary.left_over:
            say(f"  {name}", sys.stderr)
    for task, reason in summary.failed:
        say(f"failed: {task.source}: {reason}", sys.stderr)
    if summary.interrupted:
        how = "--resume goes on" if settings.key.lasting else "without a key it cannot be resumed"
        say(f"sordino: interrupted; {how}", sys.stderr)
        return EXIT_INTERRUPTED
    if summary.error:
        say(f"sordino: stopped: {summary.error}", sys.stderr)
    return EXIT_FAILED if summary.failed or summary.error else EXIT_DONE


def _value(text: str) -> object:
    words: dict[str, object] = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return float(text)
    except ValueError:
        return text
