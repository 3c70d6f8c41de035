"""`sordino evaluate scores` as a function: files of scores in, results out."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from sordino.errors import UsageError
from sordino.evaluate.exposure import identification, worst_cases
from sordino.evaluate.privacy import measure, measure_labelled, why_no_interval
from sordino.evaluate.results import ALL, Attack, Attacker, Results, System, WorstCase
from sordino.evaluate.score_files import Beside, ScoredTrials, read_scores
from sordino.evaluate.score_speakers import SpeakerTable
from sordino.version import __version__

SYSTEM, SCENARIO = "given", "given"


@dataclass(frozen=True)
class ScoreSettings:
    """How scores are read and measured.

    Attributes:
        trials: a list of trials with labels; None where the files of scores have them.
        nontargets: scores of non-targets, where there is one file and it holds targets only.
        speakers: a table of who speaks; None to tell by the trials.
        enrolls: utterances of the models; needs `speakers`.
        layout: one of `score_files.FORMATS`; None to find out.
        ratios: whether scores are log-likelihood ratios (natural logarithm).
        draws: of the bootstrap, at least 100.
        seed: of the bootstrap.
    """

    trials: Path | None = None
    nontargets: Path | None = None
    speakers: Path | None = None
    enrolls: Path | None = None
    layout: str | None = None
    ratios: bool = False
    draws: int = 1000
    seed: int = 0


def evaluate_scores(
    files: Sequence[Path],
    settings: ScoreSettings | None = None,
    *,
    command: str = "",
    machine: Mapping[str, str] | None = None,
    told: Callable[[str], None] = lambda stage: None,
) -> Results:
    """Measure scores that other tools wrote; each file is an attacker.

    Args:
        files: one or more, see `score_files.read_scores`.
        settings: how they are read and measured.
        command: what was typed, for the report.
        machine: facts, for the report.
        told: called with what is being done.

    Raises:
        UsageError: a file does not say what it should, or two files are the same; see
            `read_scores`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "scores.txt"
        ...     _ = file.write_text("0.9 target\\n0.7 target\\n0.8 nontarget\\n0.2 nontarget\\n")
        ...     results = evaluate_scores([file])
        >>> results.attacks[0].privacy.eer.value
        0.5
    """
    started = time.monotonic()
    settings = settings or ScoreSettings()
    if not files:
        raise UsageError("no file of scores is given")
    if settings.nontargets is not None and len(files) > 1:
        raise UsageError("a file of non-targets goes with one file of targets")
    if settings.enrolls is not None and settings.speakers is None:
        raise UsageError("enrolments tell of speakers only with a table of speakers")
    names = _names(files)
    table = None
    if settings.speakers is not None:
        table = SpeakerTable.read(settings.speakers, settings.enrolls)
    beside = Beside(settings.trials, settings.nontargets, table, settings.layout)
    attacks: list[Attack] = []
    worst: list[WorstCase] = []
    notes: dict[str, None] = {}
    data: dict[str, str] = {}
    attackers = []
    for file, name in zip(files, names, strict=True):
        told(f"reading {file}")
        scored = read_scores(file, beside)
        told(f"measuring {file}")
        try:
            attack, exposed = _attack(scored, name, settings)
        except UsageError as error:
            raise UsageError(f"{file}: {error}") from error
        attacks.append(attack)
        worst += exposed
        attackers.append(Attacker(name, f"made elsewhere; its scores were read from {file}"))
        data[name] = (
            f"{attack.privacy.targets:,} target and {attack.privacy.nontargets:,} non-target trials"
            f" (format {scored.layout})"
        )
        notes.update(dict.fromkeys(_notes(scored, attack)))
    what = "scores of attackers that were made elsewhere; how strong they are is not known here"
    return Results(
        kind="scores",
        created=datetime.now(timezone.utc).astimezone().isoformat(timespec="seconds"),
        version=__version__,
        command=command,
        machine=dict(machine or {}),
        data=data,
        protocol=_protocol(settings),
        seconds=time.monotonic() - started,
        systems=(System(SYSTEM, what),),
        attackers=tuple(attackers),
        attacks=tuple(attacks),
        worst_cases=tuple(worst),
        notes=tuple(notes),
    )


def _attack(
    scored: ScoredTrials, name: str, settings: ScoreSettings
) -> tuple[Attack, tuple[WorstCase, ...]]:
    ratios, draws, seed = settings.ratios, settings.draws, settings.seed
    trials = scored.trials
    if trials is None:
        privacy = measure_labelled(
            scored.scores, scored.is_target, ratios=ratios, draws=draws, seed=seed
        )
        return Attack(SYSTEM, SCENARIO, name, ALL, privacy), ()
    privacy = measure(scored.scores, trials, ratios=ratios, draws=draws, seed=seed)
    found = identification(scored.scores, trials)
    exposed = worst_cases(scored.scores, trials, system=SYSTEM, scenario=SCENARIO, attacker=name)
    return Attack(SYSTEM, SCENARIO, name, ALL, privacy, found), exposed


def _names(files: Sequence[Path]) -> list[str]:
    """Each file's name; its whole path where several are called the same."""
    repeated = [
        file for file, count in Counter(file.resolve() for file in files).items() if count > 1
    ]
    if repeated:
        raise UsageError(f"{repeated[0]}: is given twice")
    counts = Counter(file.name for file in files)
    return [file.name if counts[file.name] == 1 else str(file) for file in files]


def _notes(scored: ScoredTrials, attack: Attack) -> list[str]:
    notes = [scored.speakers]
    privacy = attack.privacy
    if privacy.speakers and (why := why_no_interval(privacy)):
        notes.append(why)
    elif privacy.speakers and privacy.min_cllr.low is None:
        notes.append("Only equal error rates have intervals, since there are so many trials.")
    if scored.trials is not None and attack.identification is None:
        notes.append(
            "Identification among N is not told: it needs a list in which every utterance was tried"
            " against every enrolment."
        )
    return notes


def _protocol(settings: ScoreSettings) -> dict[str, str]:
    protocol = {
        "scores": "log-likelihood ratios" if settings.ratios else "of any scale",
        "intervals": f"95 %, from up to {settings.draws:,} draws of speakers, seed {settings.seed}",
    }
    for what, path in (
        ("list of trials", settings.trials),
        ("non-target scores", settings.nontargets),
        ("speakers", settings.speakers),
        ("enrolments", settings.enrolls),
    ):
        if path is not None:
            protocol[what] = str(path)
    return protocol
