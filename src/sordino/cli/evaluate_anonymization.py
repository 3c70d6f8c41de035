"""`sordino evaluate anonymization`: attack anonymized speech, measure what is left of it."""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import pair, path, positive, processors
from sordino.cli.status import EXIT_DONE
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.corpus.corpus import Corpus
    from sordino.corpus.trials import Trials
    from sordino.evaluate.anonymization.protocol import Protocol
    from sordino.evaluate.anonymization.run import Data
    from sordino.evaluate.anonymization.sources import Source

_EPILOG = """\
examples:
  sordino evaluate anonymization speech/manifest.csv --only split=test --attacker-only split=dev \\
      --system fixed=mcadams:alpha=0.8 --system mcadams -o report
  sordino evaluate anonymization speech/ --anonymized mine=anonymized/ -o report
  sordino evaluate anonymization speech/ --command 'sox=sox {input} {output} pitch 300' -o report
"""
_RESULTS = "results.json"
_PROPERTIES = ("split", "corpus", "sex", "language", "speaker")


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
    add = parser.add_argument
    add("data", type=path, metavar="DATA", help="original speech with speakers")
    add("-o", "--output", type=path, required=True, metavar="REPORT", help="folder for the report")
    add("--layout", metavar="NAME", help="how DATA lies on disk (default: found out)")
    _add_only(parser, "--only", "take only utterances with this")
    add("--trials", type=path, metavar="FILE", help="speaker utterance target|nontarget")
    add("--enrolls", type=path, metavar="FILE", help="goes with --trials")
    add("--enrolments", type=positive, default=3, metavar="N", help="utterances (default: 3)")
    add("--targets", type=positive, metavar="N", help="most target trials of a speaker")

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
    add(
        "--resynthesised",
        action="append",
        default=[],
        type=pair,
        metavar="LABEL=FOLDER",
        help="for --anonymized LABEL: files with the speakers' own voices",
    )
    add(
        "--command",
        action="append",
        default=[],
        type=pair,
        metavar="LABEL=COMMAND",
        help="a program, with {input} and {output}, and {speaker} if you like",
    )

    attackers = parser.add_argument_group("attackers")
    add = attackers.add_argument
    add("--attacker-data", type=path, metavar="DATA", help="speech of other speakers")
    _add_only(parser, "--attacker-only", "of the attacker's data (default: half the speakers)")
    add(
        "--encoder",
        action="append",
        default=[],
        metavar="MODEL",
        help="name, folder or ONNX file (default: ecapa-small)",
    )
    add("--backend", action="append", default=[], metavar="NAME", help="cosine, lda, plda")
    add("--scenario", action="append", default=[], metavar="NAME", help="OA, AA-lazy, ...")
    add("--fine-tune", type=int, default=0, metavar="STEPS", help="train encoders further")

    quality = parser.add_argument_group("what is left of the speech")
    add = quality.add_argument
    add(
        "--measure",
        action="append",
        default=[],
        metavar="NAME",
        help="wer, dnsmos, f0, change, emotion, or none (default: all that can be measured)",
    )
    add("--whisper", metavar="MODEL", help="folder, size or hub:OWNER/NAME")
    add("--utterances", type=positive, default=100, metavar="N", help="to hear (default: 100)")
    add("--emotions", type=path, metavar="CSV", help="table with the columns path and emotion")

    how = parser.add_argument_group("run")
    add = how.add_argument
    add("--seed", type=int, default=0, metavar="N", help="default: 0")
    add("--draws", type=positive, default=1000, metavar="N", help="bootstrap (default: 1000)")
    add("--jobs", type=positive, metavar="N", help="worker processes (default: all processors)")
    add("--work", type=path, metavar="FOLDER", help="keep work in progress here")
    add("--leave-out-failed", action="store_true", help="go on without what cannot be used")
    either = how.add_mutually_exclusive_group()
    either.add_argument("--resume", action="store_true", help="go on with a run cut short")
    either.add_argument("--overwrite", action="store_true", help="replace an earlier report")
    add("--quiet", action="store_true", help="show no progress")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Read, evaluate, write, show."""
    from sordino.cli.stages import Stages
    from sordino.evaluate.anonymization.run import evaluate_anonymization
    from sordino.evaluate.machine import facts
    from sordino.evaluate.report import summary, write_report

    protocol = _protocol(options)
    work = _work(options)
    sources = _sources(options, work)
    if not sources:
        raise UsageError("nothing to evaluate; name a --system, --anonymized or --command")
    data = _data(options)
    stages = Stages(quiet=options.quiet)
    try:
        results = evaluate_anonymization(
            data,
            sources,
            protocol,
            folder=work,
            workers=options.jobs or processors(),
            told=stages,
            command=shlex.join(["sordino", *sys.argv[1:]]),
            machine=facts(),
        )
    finally:
        stages.close()
    write_report(results, options.output)
    if options.work is None:
        shutil.rmtree(work, ignore_errors=True)
    for line in summary(results).splitlines():
        say(line, sys.stdout)
    say(f"report: {options.output / 'report.html'}", sys.stdout)
    return EXIT_DONE


def _add_only(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    parser.add_argument(
        name,
        action="append",
        default=[],
        type=pair,
        metavar="PROPERTY=VALUE",
        help=f"{what} ({', '.join(_PROPERTIES)})",
    )


def _protocol(options: argparse.Namespace) -> Protocol:
    from sordino.evaluate.anonymization.protocol import BACKENDS, MEASURES, SCENARIOS, Protocol

    measures = tuple(options.measure) or MEASURES
    return Protocol(
        scenarios=tuple(options.scenario) or tuple(SCENARIOS),
        encoders=tuple(options.encoder) or ("ecapa-small",),
        backends=tuple(options.backend) or BACKENDS,
        measures=() if measures == ("none",) else measures,
        demanding=bool(options.measure or options.whisper),
        whisper=options.whisper,
        utterances=options.utterances,
        draws=options.draws,
        seed=options.seed,
        leave_out=options.leave_out_failed,
        fine_tune=options.fine_tune,
    )


def _work(options: argparse.Namespace) -> Path:
    """Folder for work in progress; refuses what stands in the way."""
    results = options.output / _RESULTS
    work: Path = options.work or options.output / "work"
    if results.exists() and not options.overwrite:
        raise UsageError(f"{results} exists; use --overwrite or another output")
    if options.work is None and work.exists() and not options.resume:
        if not options.overwrite:
            raise UsageError(
                f"output {options.output}: an earlier run there was cut short, or is going on;"
                " use --resume, --overwrite or another output"
            )
        shutil.rmtree(work)
    return work


def _sources(options: argparse.Namespace, work: Path) -> list[Source]:
    from sordino.evaluate.anonymization.sources import CommandSource, FolderSource, SystemSource

    speech = work / "speech"
    sources: list[Source] = []
    for text in options.system:
        label, name, settings = _system(text)
        sources.append(SystemSource(label, name, settings, speech, options.seed))
    own = dict(options.resynthesised)
    for label, folder in options.anonymized:
        resynthesised = own.pop(label, None)
        sources.append(
            FolderSource(
                label, Path(folder), None if resynthesised is None else Path(resynthesised)
            )
        )
    if own:
        raise UsageError(f"--resynthesised {min(own)}: there is no --anonymized of that label")
    for label, template in options.command:
        sources.append(CommandSource(label, template, speech, options.seed))
    return sources


def _system(text: str) -> tuple[str, str, dict[str, object]]:
    """Label, name and settings of --system."""
    head, colon, tail = text.partition(":")
    label, equals, name = head.partition("=")
    if not equals:
        label, name = text, head
    settings: dict[str, object] = {}
    for setting in tail.split(",") if colon else []:
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UsageError(f"--system {text}: {setting!r} is not SETTING=VALUE")
        try:
            settings[key] = json.loads(value)
        except ValueError:
            settings[key] = value
    return label, name, settings


def _data(options: argparse.Namespace) -> Data:
    from sordino.corpus.layouts.detect import read_corpus
    from sordino.corpus.partition import split_speakers
    from sordino.evaluate.anonymization.run import Data

    whole = read_corpus(options.data, options.layout)
    corpus = _selected(whole, options.only, "--only")
    if options.attacker_data is not None:
        attack = _selected(
            read_corpus(options.attacker_data), options.attacker_only, "--attacker-only"
        )
    elif options.attacker_only:
        attack = _selected(whole, options.attacker_only, "--attacker-only")
    else:
        attack, corpus = split_speakers(corpus, seed=options.seed)
    return Data(corpus, _trials(options, corpus), attack, _emotions(options, corpus))


def _selected(corpus: Corpus, only: Sequence[tuple[str, str]], option: str) -> Corpus:
    wanted: dict[str, list[str]] = {}
    for name, value in only:
        if name not in _PROPERTIES:
            raise UsageError(f"{option} knows {', '.join(_PROPERTIES)}; not {name!r}")
        wanted.setdefault(name, []).append(value)
    return corpus.select(**wanted) if wanted else corpus


def _trials(options: argparse.Namespace, corpus: Corpus) -> Trials:
    from sordino.corpus.trials import Trials, make_trials

    if (options.trials is None) != (options.enrolls is None):
        raise UsageError("--trials and --enrolls go together")
    if options.trials is not None:
        return Trials.read(options.trials, options.enrolls, corpus)
    return make_trials(
        corpus,
        enrolments_per_speaker=options.enrolments,
        targets_per_model=options.targets,
        seed=options.seed,
    )


def _emotions(options: argparse.Namespace, corpus: Corpus) -> dict[str, str]:
    from sordino.evaluate.utility.emotion import emodb_emotions, read_emotions

    known = emodb_emotions(corpus)
    return known if options.emotions is None else known | read_emotions(options.emotions, corpus)
