"""What all evaluations of anonymized speech have in common on the command line."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sordino.cli.inputs import PROPERTIES, pair, path, positive, processors, selected
from sordino.cli.text import say
from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.corpus.corpus import Corpus
    from sordino.corpus.trials import Trials
    from sordino.evaluate.anonymization.protocol import Protocol
    from sordino.evaluate.anonymization.run import Data
    from sordino.evaluate.anonymization.sources import Source
    from sordino.evaluate.results import Results

_RESULTS, _PAGE = "results.json", "report.html"


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add what is evaluated, and where the report goes."""
    add = parser.add_argument
    add("data", type=path, metavar="DATA", help="original speech with speakers")
    add("-o", "--output", type=path, required=True, metavar="REPORT", help="folder for the report")
    add("--layout", metavar="NAME", help="how DATA lies on disk (default: found out)")
    _add_only(parser, "--only", "take only utterances with this")
    add("--trials", type=path, metavar="FILE", help="speaker utterance target|nontarget")
    add("--enrolls", type=path, metavar="FILE", help="goes with --trials")
    add(
        "--trial-list", metavar="NAME", help="which, where DATA holds several (libri_test_trials_f)"
    )
    add("--enrolments", type=positive, default=3, metavar="N", help="utterances (default: 3)")
    add("--targets", type=positive, metavar="N", help="most target trials of a speaker")


def add_protocol_options(parser: argparse.ArgumentParser) -> None:
    """Add who attacks, what is measured, and how it is run."""
    attackers = parser.add_argument_group("attackers")
    add = attackers.add_argument
    add(
        "--attacker-data",
        type=path,
        metavar="DATA",
        help="speech of other speakers (default: half of those of DATA are set aside)",
    )
    _add_only(parser, "--attacker-only", "of --attacker-data, or of DATA (then use --only, too)")
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
        help="wer, dnsmos, f0, change, emotion (default: all of these that can be measured), units,"
        " or none",
    )
    add("--whisper", metavar="MODEL", help="folder, size or hub:OWNER/NAME")
    add("--utterances", type=positive, default=100, metavar="N", help="to hear (default: 100)")
    add(
        "--own-voice",
        action="store_true",
        help="measure also what systems make of the speakers' own voices",
    )
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


def evaluated(
    options: argparse.Namespace, protocol: Protocol, work: Path, sources: Sequence[Source]
) -> Results:
    """Evaluate, write the report, show its summary.

    Args:
        options: with those of `add_data_options` and `add_protocol_options`.
        protocol: what `protocol_of` gave.
        work: what `work_of` gave.
        sources: the systems.
    """
    from sordino.cli.stages import Stages
    from sordino.evaluate.anonymization.run import evaluate_anonymization
    from sordino.evaluate.machine import facts
    from sordino.evaluate.report import summary, write_report

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
    except BaseException:
        for folder in (work, options.output):
            with suppress(OSError):
                folder.rmdir()  # only where nothing has been done yet
        if work.exists():
            stages.note(
                f"{work} keeps what is done, anonymized speech and voice vectors: go on with"
                " --resume, or delete it"
            )
        raise
    finally:
        stages.close()
    write_report(results, options.output)
    if options.work is None:
        shutil.rmtree(work, ignore_errors=True)
    for line in summary(results).splitlines():
        say(line, sys.stdout)
    say(f"report: {options.output / _PAGE}", sys.stdout)
    return results


def _add_only(parser: argparse.ArgumentParser, name: str, what: str) -> None:
    parser.add_argument(
        name,
        action="append",
        default=[],
        type=pair,
        metavar="PROPERTY=VALUE",
        help=f"{what} ({', '.join(PROPERTIES)})",
    )


def protocol_of(options: argparse.Namespace) -> Protocol:
    """Who attacks and what is measured."""
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
        own_voice=options.own_voice,
    )


def work_of(options: argparse.Namespace, speech: Iterable[Path] = ()) -> Path:
    """Folder for work in progress; refuses what stands in the way.

    Args:
        options: the command's.
        speech: folders that are read besides the data.
    """
    output: Path = options.output
    work: Path = options.work or output / "work"
    for place, what in ((output, "output"), (work, "work in progress")):
        if place.exists() and not place.is_dir():
            raise UsageError(f"{what} {place}: is a file; name a folder")
        for data in (options.data, *speech):
            if data.is_dir() and _is_inside(place, data):
                raise UsageError(f"{what} {place}: lies in {data} and would be taken for speech")
    for name in (_RESULTS, _PAGE):
        if (output / name).is_dir():
            raise UsageError(f"{output / name}: is a folder; choose another output")
        if (output / name).exists() and not options.overwrite:
            raise UsageError(f"{output / name} exists; use --overwrite or another output")
    if options.work is None and work.exists() and not options.resume:
        if not options.overwrite:
            raise UsageError(
                f"output {output}: an earlier run there was cut short, or is going on;"
                " use --resume, --overwrite or another output"
            )
        shutil.rmtree(work)
    return work


def settings_of(option: str, text: str) -> dict[str, object]:
    """Settings of a system, from SETTING=VALUE,...; numbers and truth values as JSON writes them.

    Args:
        option: what they were given with, for the message.
        text: not empty.

    Raises:
        UsageError: a part is something else.

    Example:
        >>> settings_of("--system", "alpha=0.8,level=utterance,fast=true")
        {'alpha': 0.8, 'level': 'utterance', 'fast': True}
    """
    settings: dict[str, object] = {}
    for setting in text.split(","):
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise UsageError(f"{option}: {setting!r} is not SETTING=VALUE")
        try:
            found = json.loads(value)
        except ValueError:
            found = value
        settings[key] = value if isinstance(found, (list, dict)) else found
    return settings


def system_of(option: str, text: str) -> tuple[str, str, dict[str, object]]:
    """Label, name and settings of a system, from [LABEL=]NAME[:SETTING=VALUE,...].

    Args:
        option: what it was given with, for the message.
        text: what was given.

    Raises:
        UsageError: a setting is something else.

    Example:
        >>> system_of("--system", "fixed=mcadams:alpha=0.8")
        ('fixed', 'mcadams', {'alpha': 0.8})
    """
    head, colon, tail = text.partition(":")
    label, equals, name = head.partition("=")
    if not equals:
        label, name = text, head
    return label, name, settings_of(f"{option} {text}", tail) if colon else {}


def _is_inside(place: Path, folder: Path) -> bool:
    inner, outer = Path(os.path.realpath(place)), Path(os.path.realpath(folder))
    return inner == outer or outer in inner.parents


def _data(options: argparse.Namespace) -> Data:
    from sordino.corpus.layouts.detect import read_corpus
    from sordino.corpus.layouts.vpc import has_trials
    from sordino.evaluate.anonymization.run import Data

    if options.trials is None and options.layout in {None, "vpc"} and has_trials(options.data):
        corpus, trials = _listed(options)
        if options.attacker_data is None:
            corpus, attack = _apart(corpus, trials)
        else:
            others = read_corpus(options.attacker_data)
            attack = selected(others, options.attacker_only, "--attacker-only")
        return Data(corpus, trials, attack, _emotions(options, corpus))
    if options.trial_list is not None:
        raise UsageError(f"--trial-list: {options.data} holds no lists of trials")
    whole = read_corpus(options.data, options.layout)
    corpus = selected(whole, options.only, "--only")
    if options.attacker_data is not None:
        others = read_corpus(options.attacker_data)
        attack = selected(others, options.attacker_only, "--attacker-only")
        trials = _trials(options, corpus)
    elif options.attacker_only:
        attack = selected(whole, options.attacker_only, "--attacker-only")
        trials = _trials(options, corpus)
    elif options.trials is not None:
        trials = _trials(options, corpus)
        corpus, attack = _apart(corpus, trials)
    else:
        corpus, attack, trials = _halves(options, corpus)
    return Data(corpus, trials, attack, _emotions(options, corpus))


def _listed(options: argparse.Namespace) -> tuple[Corpus, Trials]:
    """One of the lists of trials that lie with the data, as in the VoicePrivacy Challenges."""
    from sordino.corpus.layouts.vpc import read_vpc

    if options.only:
        raise UsageError(f"--only does not go with the lists of trials in {options.data}")
    sets = {found.name: found for found in read_vpc(options.data)}
    wanted = options.trial_list
    if wanted is None and len(sets) > 1:
        raise UsageError(
            f"{options.data} holds several lists of trials: name one with --trial-list"
            f" ({', '.join(sets)})"
        )
    chosen = next(iter(sets)) if wanted is None else wanted
    if chosen not in sets:
        raise UsageError(
            f"--trial-list {chosen}: {options.data} has no such list; it has {', '.join(sets)}"
        )
    return sets[chosen].corpus, sets[chosen].trials


def _apart(corpus: Corpus, trials: Trials) -> tuple[Corpus, Corpus]:
    """The speakers of the trials, and all others for the attacker."""
    tested = {enrolment.speaker for enrolment in trials.enrolments} | set(trials.speakers)
    others = set(corpus.speakers) - tested
    if not others:
        raise UsageError(
            "all speakers are in the trials; the attacker needs others: give --attacker-data"
        )
    return corpus.select(speaker=tested), corpus.select(speaker=others)


def _halves(options: argparse.Namespace, corpus: Corpus) -> tuple[Corpus, Corpus, Trials]:
    """Half of the speakers to test, the other half for the attacker."""
    from sordino.corpus.partition import split_speakers

    attack, tested = split_speakers(corpus, seed=options.seed)
    try:
        return tested, attack, _trials(options, tested)
    except UsageError as error:
        raise UsageError(
            f"{error} (half of the {len(corpus.speakers)} speakers are set aside for the attacker,"
            " unless there is --attacker-data; --enrolments says how many utterances enrol)"
        ) from error


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
