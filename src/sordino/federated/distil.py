"""From users' private labels to a better verifier, in one run with all that it is compared to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sordino.errors import OutputError, UsageError
from sordino.federated.model import Model, load_model, save_model
from sordino.federated.statement import privacy_statement
from sordino.federated.task import ClassifierTask, LocalTraining
from sordino.federated.teachers import (
    FederatedTraining,
    central_teacher,
    federated_teacher,
    known_centrally,
)
from sordino.training.distil.data import SideData
from sordino.training.distil.settings import DistilSettings
from sordino.training.distil.side_file import SideFile

if TYPE_CHECKING:
    from sordino.training.distil.comparison import Comparison, Trained

Floats = npt.NDArray[np.float32]

CENTRAL, FEDERATED = "teacher, limited central", "teacher, federated"
TABLE, SPREADSHEET, RESULTS = "table.md", "table.csv", "results.json"

_NO_STATEMENT = {"guarantee": False, "why_not": "trained on labels that are known centrally"}


@dataclass(frozen=True)
class DistilRun:
    """What a run does.

    Attributes:
        settings: of speaker networks.
        training: of the federated teacher; not used where models are given.
        hidden: widths of the classifier's layers between; none for a linear one, which needs the
            smallest cohorts.
        central_share: of the users whose labels are known centrally.
        seeds: trainings of each row.
        speakers: training speakers at most; None for all.
        enrolments: vectors in an enrolment.
        draws: of speakers for intervals.
        alternatives: whether the two ways that the paper rejects are tried too.
        further: whether side heads learn from all who are not tried, not only training speakers.
    """

    settings: DistilSettings
    training: FederatedTraining
    hidden: tuple[int, ...] = ()
    central_share: float = 0.1
    seeds: int = 5
    speakers: int | None = None
    enrolments: int = 2
    draws: int = 1000
    alternatives: bool = True
    further: bool = False


def distil(
    data: SideData,
    wanted: DistilRun,
    folder: Path,
    *,
    source: Mapping[str, Any],
    given: Sequence[Path] = (),
    tell: Callable[[str], None] = lambda text: None,
) -> Comparison:
    """Train teachers, distil them, compare, and write everything into a folder.

    The folder gets table.md, table.csv, results.json with the privacy statement, `teachers/` with
    the classifiers, `side/` with what the federated ones say of speakers, for `sordino train
    speaker`, and `networks/` with the speaker networks.

    Args:
        data: vectors as they are, speakers and labels.
        wanted: what to do.
        folder: not there yet, or empty.
        source: where the vectors come from, ready for JSON; goes into the files.
        given: federated models (`sordino federate simulate`, or a deployment) to take as
            teachers, one for all trainings or one for each; none to simulate.
        tell: told what is done.

    Raises:
        UsageError: the folder holds something, models do not fit, or the request cannot be met.
        OutputError: the results cannot be written.
    """
    from sordino.training.distil.comparison import compare
    from sordino.training.distil.network_file import write_network

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder}: is there already; name a folder that is not")
    data, mean, deviation = data.standardised()
    task = ClassifierTask(
        data.vectors.shape[1],
        data.classes,
        wanted.hidden,
        standardise=False,
        training=LocalTraining(steps=1, learning_rate=0.5 if wanted.hidden else 0.2),
    )
    models = [_fitting(load_model(path), path, data) for path in given]
    if models and len(models) not in (1, wanted.seeds):
        raise UsageError(f"{len(models)} models are given; expected 1, or {wanted.seeds}")
    statement = _statement(wanted, task, models)
    # A given model has learnt from vectors as they were.
    raw = data.vectors * deviation + mean
    teachers: dict[str, list[Floats]] = {CENTRAL: [], FEDERATED: []}
    for seed in range(wanted.seeds):
        tell(f"teachers, seed {seed}")
        known = known_centrally(data, wanted.central_share, seed)
        central = central_teacher(task, data, known, seed)
        save_model(folder / "teachers" / f"central-{seed}.npz", task, central, _NO_STATEMENT)
        teachers[CENTRAL].append(task.logits(central, data.vectors))
        if models:
            model = models[seed % len(models)]
            teachers[FEDERATED].append(model.logits(raw))
            continue
        learnt = federated_teacher(task, data, wanted.training, seed, central)
        save_model(folder / "teachers" / f"federated-{seed}.npz", task, learnt, statement)
        teachers[FEDERATED].append(task.logits(learnt, data.vectors))

    for seed, logits in enumerate(teachers[FEDERATED]):
        said = SideFile.of(data.speakers.tolist(), data.classes, logits, statement)
        said.write(folder / "side" / f"federated-{seed}.npz")

    def keep(trained: Trained) -> None:
        name = trained.row.replace(", ", "-").replace(" ", "-")
        facts = {"row": trained.row, "seed": trained.seed, **source}
        if trained.row.endswith(FEDERATED):
            facts["teacher_privacy"] = statement
        path = folder / "networks" / f"{name}-{trained.seed}.npz"
        write_network(path, trained.learnt.network, mean, deviation, facts)

    found = compare(
        data,
        teachers,
        wanted.settings,
        seeds=wanted.seeds,
        speakers=wanted.speakers,
        enrolments=wanted.enrolments,
        alternatives=FEDERATED if wanted.alternatives else None,
        further=wanted.further,
        draws=wanted.draws,
        tell=lambda row, seed: tell(f"{row}, seed {seed}"),
        keep=keep,
    )
    _write(folder, found, data, wanted, source, statement)
    return found


def _fitting(model: Model, path: Path, data: SideData) -> Model:
    if model.task.inputs != data.vectors.shape[1] or model.task.classes != data.classes:
        raise UsageError(
            f"{path}: tells {', '.join(model.task.classes)} from vectors of {model.task.inputs};"
            f" here are {', '.join(data.classes)} and {data.vectors.shape[1]}"
        )
    return model


def _statement(
    wanted: DistilRun, task: ClassifierTask, models: Sequence[Model]
) -> Mapping[str, Any]:
    if models:
        return models[0].statement
    training = wanted.training
    return privacy_statement(
        training.built(task.dimension),
        population=training.users,
        sampling_rate=training.cohort / training.users,
        rounds=training.rounds,
        delta=training.delta,
        simulation=True,
    )


def _write(
    folder: Path,
    found: Comparison,
    data: SideData,
    wanted: DistilRun,
    source: Mapping[str, Any],
    statement: Mapping[str, Any],
) -> None:
    from sordino.training.distil.table import as_csv, as_markdown, as_values, protection

    values = {
        "source": dict(source),
        "classes": list(data.classes),
        "run": asdict(wanted),
        "teacher_privacy": dict(statement),
        **as_values(found),
    }
    notes = (f"Classes: {', '.join(data.classes)}.", protection(statement))
    texts = {
        TABLE: as_markdown(found, "Distillation of side information", notes),
        SPREADSHEET: as_csv(found),
        RESULTS: json.dumps(values, indent=1, default=str) + "\n",
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{folder}: cannot be written: {error.strerror}") from error
