"""`sordino enroll`, `verify`, `identify`, `forget`, `list`: a store of voices."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.cli.concealment import add_release_options, concealment_of, ledger_of
from sordino.cli.inputs import path, positive
from sordino.cli.status import EXIT_DONE, EXIT_REJECTED, EXIT_UNSURE
from sordino.cli.text import counted, say
from sordino.errors import UsageError
from sordino.speaker import DEFAULT_ENCODER

if TYPE_CHECKING:
    from sordino.audio.recording import Recording
    from sordino.conceal.protected import ProtectedEncoder
    from sordino.privacy.keys import SecretKey
    from sordino.speaker.encoders import OnnxEncoder
    from sordino.speaker.quality import Limits, Quality, Reason
    from sordino.speaker.store import Store, Template
    from sordino.speaker.verification import Decision, Judge, Match, Threshold

_STATUS = {"accept": EXIT_DONE, "reject": EXIT_REJECTED, "cannot tell": EXIT_UNSURE}
# A log-in takes seconds; what is read is held in memory.
_LONGEST_S = 600.0
_EPILOG = """\
exit status:
  0  {accepted}
  1  something failed: a recording cannot be read, the store is damaged
  2  the request cannot be carried out: wrong key, unknown name, no threshold
  3  {rejected}
  4  cannot tell: the recording is not good enough; the reasons are printed
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add these commands to the command line."""
    parser = commands.add_parser(
        "enroll",
        help="store how somebody's voice sounds",
        description="Store how somebody's voice sounds, encrypted. A name that is there already"
        " gets the recordings in addition. If one is not good enough, none is stored.",
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("files", nargs="+", type=path, metavar="FILE", help="recordings of NAME")
    _add_encoder(parser)
    _add_limits(parser, speech="for the name as a whole (default: 2)")
    _add_concealment(parser)
    _add_store(parser, _enroll)

    parser = commands.add_parser(
        "verify",
        help="tell whether a recording is somebody's voice",
        description="Tell whether a recording is the voice that is stored under a name.",
        epilog=_EPILOG.format(accepted="it is the voice", rejected="it is another voice"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("name", metavar="NAME")
    _add_trial(parser)
    _add_concealment(parser)
    _add_store(parser, _verify)

    parser = commands.add_parser(
        "identify",
        help="tell whose voice a recording is",
        description="Tell which of the stored voices a recording is, or that it is nobody's.",
        epilog=_EPILOG.format(accepted="somebody was found", rejected="nobody was found"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_trial(parser)
    parser.add_argument(
        "--top",
        type=positive,
        default=5,
        metavar="N",
        help="how many names to show (default: %(default)s)",
    )
    _add_store(parser, _identify)

    parser = commands.add_parser(
        "forget",
        help="remove somebody from the store",
        description="Remove a name and all that is stored of it, and overwrite where it was.",
    )
    parser.add_argument("name", metavar="NAME")
    _add_store(parser, _forget)

    parser = commands.add_parser(
        "list",
        help="list whose voices are stored",
        description="List the names in the store, and check every record in it.",
    )
    _add_store(parser, _list)


def _add_store(parser: argparse.ArgumentParser, run: object) -> None:
    add = parser.add_argument_group("store").add_argument
    add(
        "--store",
        type=path,
        metavar="FILE",
        help="default: SORDINO_STORE, else in your data folder",
    )
    add(
        "--key-file",
        type=path,
        metavar="FILE",
        help="the key of the store (or set SORDINO_KEY); make one: sordino key FILE",
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON")
    parser.set_defaults(run=run)


def _add_encoder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--encoder",
        default=DEFAULT_ENCODER,
        metavar="MODEL",
        help="name, folder or hub:OWNER/NAME (default: %(default)s); see: sordino models list",
    )


def _add_limits(parser: argparse.ArgumentParser, *, speech: str) -> None:
    add = parser.add_argument_group("what recordings need").add_argument
    add("--min-speech", type=float, metavar="S", help=f"seconds of speech, {speech}")
    add("--min-snr", type=float, metavar="DB", help="signal-to-noise ratio (default: 5)")


def _add_concealment(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("protected templates (of this side; the other may be either)")
    group.add_argument(
        "--conceal",
        metavar="MODEL",
        help="hide sex and the like in the vectors of FILE before anything is done with them",
    )
    add_release_options(group, required=False)


def _add_trial(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=path, metavar="FILE", help="a recording")
    _add_encoder(parser)
    either = parser.add_mutually_exclusive_group()
    either.add_argument(
        "--false-accepts",
        type=float,
        metavar="RATE",
        help="use the encoder's threshold for this rate (default: 0.01)",
    )
    either.add_argument(
        "--threshold", type=float, metavar="SCORE", help="accept this score and higher ones"
    )
    parser.add_argument(
        "--scoring",
        choices=("cosine", "mean-cosine"),
        default="cosine",
        help="cosine to the mean of the enrolment vectors (default), or mean of the cosines",
    )
    _add_limits(parser, speech="default: 1")


def _enroll(options: argparse.Namespace) -> int:
    from sordino.speaker.verification import ENROLMENT_SPEECH, enroll

    _refuse_repeated(options.files)
    encoder = _listening(options)
    with _store(options, create=True) as store:
        template = enroll(
            store,
            encoder,
            options.name,
            _recordings(options.files),
            limits=_limits(options, ENROLMENT_SPEECH),
        )
    added = template.enrolments[-len(options.files) :]
    if options.json:
        return _tell_json({"added": len(added), **_summary(template)})
    speech = sum(enrolment.speech for enrolment in added)
    text = f"enrolled {template.name}: {counted(len(added), 'recording')}, {speech:.1f} s of speech"
    if len(added) < len(template.enrolments):
        text += f"; {len(template.enrolments)} and {template.speech:.1f} s in all"
    say(text, sys.stdout)
    if options.conceal is not None:
        say(f"stored protected, by {encoder.name}; nothing else of the recordings", sys.stdout)
    return EXIT_DONE


def _verify(options: argparse.Namespace) -> int:
    from sordino.audio.recording import Recording
    from sordino.conceal.protected import comparable, is_protected, measured

    with _store(options) as store:
        template = store.template(options.name)
    encoder = _listening(options)
    known = measured(template, encoder)
    protected = options.conceal is not None or is_protected(template.encoder.digest)
    if protected and known is None and options.threshold is None:
        raise UsageError(
            f"{options.name!r} is enrolled by {template.encoder}: thresholds for trials of"
            f" {encoder.name} were not measured; give one with --threshold"
        )
    judge = _judge(options, encoder, known)
    found = judge.verify(
        comparable(template, encoder), Recording.read(options.file, longest=_LONGEST_S)
    )
    if options.json:
        said = {"name": found.name, "score": _rounded(found.score), "llr": _rounded(found.llr)}
        _tell_json(said | _answer(found.decision, found.threshold, found.reasons, found.quality))
        return _STATUS[found.decision]
    verb = {"accept": "accepted", "reject": "rejected"}.get(found.decision, found.decision)
    scores = _scores(found.score, found.llr, found.threshold)
    reasons = "".join(f"; {reason.text}" for reason in found.reasons)
    say(f"{verb}: {found.name}{reasons}{scores}", sys.stdout)
    return _STATUS[found.decision]


def _identify(options: argparse.Namespace) -> int:
    from sordino.audio.recording import Recording
    from sordino.speaker.verification import Gallery

    with _store(options) as store:
        templates = store.templates()
    encoder = _encoder(options)
    judge = _judge(options, encoder, encoder.bundle.metadata.get("verification"))
    gallery = Gallery.of(templates, judge.encoder, judge.scoring)
    found = judge.identify(
        gallery, Recording.read(options.file, longest=_LONGEST_S), top=options.top
    )
    if gallery.left_out:
        names = counted(len(gallery.left_out), "name")
        say(f"note: not compared, of another encoder: {names}", sys.stderr)
    if options.json:
        said: dict[str, object] = {
            "name": found.name,
            "names": len(gallery.names),
            "matches": [_match(match) for match in found.matches],
        }
        _tell_json(said | _answer(found.decision, found.threshold, found.reasons, found.quality))
        return _STATUS[found.decision]
    among = f"of {counted(len(gallery.names), 'name')}"
    if found.name is not None:
        say(f"found: {found.name}, {among}", sys.stdout)
    elif found.decision == "reject":
        say(f"found: nobody, {among}", sys.stdout)
    else:
        say(f"cannot tell: {'; '.join(reason.text for reason in found.reasons)}", sys.stdout)
    for match in found.matches:
        say(f"  {match.name}{_scores(match.score, match.llr, found.threshold)}", sys.stdout)
    return _STATUS[found.decision]


def _forget(options: argparse.Namespace) -> int:
    with _store(options) as store:
        removed = store.forget(options.name)
    if options.json:
        return _tell_json({"name": options.name, "removed": removed})
    say(f"forgot {options.name}: {counted(removed, 'enrolment')} removed", sys.stdout)
    return EXIT_DONE


def _list(options: argparse.Namespace) -> int:
    with _store(options) as store:
        templates = store.templates()
        place = store.path
    if options.json:
        return _tell_json({"names": [_summary(template) for template in templates]})
    for template in templates:
        last = max(enrolment.date for enrolment in template.enrolments)
        say(
            f"{template.name}: {counted(len(template.enrolments), 'enrolment')},"
            f" {template.speech:.1f} s of speech, last {last:%Y-%m-%d}, by {template.encoder}",
            sys.stdout,
        )
    say(f"note: {counted(len(templates), 'name')} in {place}", sys.stderr)
    return EXIT_DONE


def _key(options: argparse.Namespace) -> SecretKey:
    from sordino.privacy.keys import SecretKey

    if options.key_file is not None:
        return SecretKey.from_file(options.key_file)
    key = SecretKey.from_environment()
    if key is None:
        raise UsageError(
            "the store of voices needs a key; make one with: sordino key FILE, and give it with"
            " --key-file FILE or SORDINO_KEY"
        )
    return key


def _store(options: argparse.Namespace, *, create: bool = False) -> Store:
    from sordino.speaker.store import Store, default_store

    return Store.open(options.store or default_store(), _key(options), create=create)


def _encoder(options: argparse.Namespace) -> OnnxEncoder:
    from sordino.speaker.encoders import load_encoder

    return load_encoder(options.encoder, tell=lambda text: say(text, sys.stderr))


def _listening(options: argparse.Namespace) -> OnnxEncoder | ProtectedEncoder:
    """What makes vectors of recordings, and protects them with --conceal."""
    if options.conceal is None:
        for name in ("epsilon", "mechanism", "ledger", "purpose", "ledger_key"):
            if getattr(options, name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} goes with --conceal")
        return _encoder(options)
    from sordino.conceal.protected import ProtectedEncoder, counted_for

    ledger = ledger_of(options)
    concealment = concealment_of(options.conceal, options)
    count = None if ledger is None else counted_for(ledger, options.name, options.purpose)
    return ProtectedEncoder(_encoder(options), concealment, count)


def _judge(
    options: argparse.Namespace,
    encoder: OnnxEncoder | ProtectedEncoder,
    known: Mapping[str, Any] | None,
) -> Judge:
    from sordino.speaker.quality import Limits
    from sordino.speaker.verification import Judge, choose_threshold

    threshold = choose_threshold(
        known,
        score=options.threshold,
        false_accepts=options.false_accepts,
        scoring=options.scoring,
    )
    limits = _limits(options, Limits().speech)
    return Judge(encoder, threshold, scoring=options.scoring, limits=limits)


def _limits(options: argparse.Namespace, speech: float) -> Limits:
    from sordino.speaker.quality import Limits

    return Limits(
        speech=speech if options.min_speech is None else options.min_speech,
        snr=Limits().snr if options.min_snr is None else options.min_snr,
    )


def _recordings(files: Sequence[Path]) -> Iterator[tuple[str, Recording]]:
    from sordino.audio.recording import Recording

    for file in files:
        yield str(file), Recording.read(file, longest=_LONGEST_S)


def _refuse_repeated(files: Sequence[Path]) -> None:
    seen: set[Path] = set()
    for file in files:
        if file.absolute() in seen:
            raise UsageError(f"{file}: is given twice")
        seen.add(file.absolute())


def _scores(score: float | None, llr: float | None, threshold: Threshold) -> str:
    if score is None:
        return ""
    text = f", score {score:.3f}, threshold {threshold.score:.3f}"
    if threshold.false_accepts is not None:
        text += f" for {threshold.false_accepts:.2%} false accepts"
    if llr is not None:
        text += f", log-likelihood ratio {llr:.1f}"
    return text


def _answer(
    decision: Decision, threshold: Threshold, reasons: Sequence[Reason], quality: Quality
) -> dict[str, object]:
    return {
        "decision": decision,
        "threshold": threshold.score,
        "false_accepts": threshold.false_accepts,
        "measured_on": threshold.measured_on,
        "reasons": [asdict(reason) for reason in reasons],
        "quality": {name: _rounded(value) for name, value in asdict(quality).items()},
    }


def _match(match: Match) -> dict[str, object]:
    return {"name": match.name, "score": _rounded(match.score), "llr": _rounded(match.llr)}


def _summary(template: Template) -> dict[str, object]:
    dates = [enrolment.date for enrolment in template.enrolments]
    return {
        "name": template.name,
        "enrolments": len(dates),
        "speech": _rounded(template.speech),
        "first": min(dates).isoformat(timespec="seconds"),
        "last": max(dates).isoformat(timespec="seconds"),
        "encoder": asdict(template.encoder),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _tell_json(said: dict[str, object]) -> int:
    say(json.dumps(said), sys.stdout)
    return EXIT_DONE
