"""From private labels to speaker networks, the whole run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.errors import UsageError
from sordino.federated.distil import CENTRAL, FEDERATED, DistilRun, distil
from sordino.federated.model import load_model, save_model
from sordino.federated.task import ClassifierTask
from sordino.federated.teachers import FederatedTraining, central_teacher, known_centrally
from sordino.training.distil.comparison import Comparison
from sordino.training.distil.data import SideData, side_data
from sordino.training.distil.network_file import read_network
from sordino.training.distil.settings import DistilSettings
from sordino.training.distil.side_file import SideFile
from tests.training.distil.made_up import made_up

pytest.importorskip("dp_accounting", reason="the extra federated is not installed")

RUN = DistilRun(
    DistilSettings(width=16, embedding=8, steps=40),
    FederatedTraining("central", users=20_000, cohort=200, rounds=30, clip=1.0),
    seeds=1,
    draws=100,
)


@pytest.fixture(scope="module")
def data() -> SideData:
    return side_data(*made_up(speakers=32), ["sex"], ("split", "test"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("distil") / "run"


@pytest.fixture(scope="module")
def found(data: SideData, folder: Path) -> Comparison:
    return distil(data, RUN, folder, source={"vectors": "toy"})


def test_compares_what_the_paper_compares(found: Comparison) -> None:
    assert [row.name for row in found.rows] == [
        "baseline",
        CENTRAL,
        FEDERATED,
        f"middle layer, {FEDERATED}",
        f"rule, {FEDERATED}",
    ]
    assert found.rows[2].teacher[0] > 0.8


def test_results_tell_what_is_guaranteed(found: Comparison, folder: Path) -> None:
    results = json.loads((folder / "results.json").read_text())
    privacy = results["teacher_privacy"]
    assert privacy["central"]["epsilon_total"] <= 2.0 + 1e-6
    assert privacy["guarantee"] is False
    assert "simulation" in privacy["why_not"]
    assert results["source"] == {"vectors": "toy"}
    assert "Not protected" in (folder / "table.md").read_text()


def test_networks_give_vectors_as_they_were_tried(
    found: Comparison, folder: Path, data: SideData
) -> None:
    stored = read_network(folder / "networks" / "teacher-federated-0.npz")
    embeddings = stored.embed(data.vectors)
    assert embeddings.shape == (len(data.vectors), 8)
    assert stored.facts["teacher_privacy"]["central"]["epsilon_total"] <= 2.0 + 1e-6
    # Embeddings of a speaker are closer than those of others.
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    same = data.speakers[:, None] == data.speakers
    assert (unit @ unit.T)[same].mean() > (unit @ unit.T)[~same].mean() + 0.3


def test_what_the_teacher_says_goes_into_a_file_for_other_trainings(
    found: Comparison, folder: Path, data: SideData
) -> None:
    said = SideFile.read(folder / "side" / "federated-0.npz")
    names = sorted(set(data.speakers))
    sexes = [data.classes[row.argmax()] for row in said.of_speakers(names)]
    true = [data.classes[data.labels[data.speakers == name][0]] for name in names]
    assert np.mean([one == other for one, other in zip(sexes, true, strict=True)]) > 0.8


def test_a_given_model_is_the_teacher(data: SideData, tmp_path: Path) -> None:
    task = ClassifierTask(12, ("F", "M"), ())
    # Weights that read the first number, which tells the class.
    parameters = np.zeros(task.dimension, dtype=np.float32)
    parameters[[0, 12]] = -5, 5
    save_model(tmp_path / "given.npz", task, parameters, {"guarantee": True, "central": None})
    given = [tmp_path / "given.npz"]
    found = distil(data, RUN, tmp_path / "run", source={}, given=given)
    assert found.rows[2].teacher[0] > 0.9
    assert not list((tmp_path / "run" / "teachers").glob("federated*"))
    with pytest.raises(UsageError, match="2 models are given; expected 1, or 1"):
        distil(data, RUN, tmp_path / "more", source={}, given=given * 2)


def test_refuses_a_model_of_other_classes(data: SideData, tmp_path: Path) -> None:
    task = ClassifierTask(12, ("old", "young"), ())
    save_model(tmp_path / "given.npz", task, task.initial(0), {})
    with pytest.raises(UsageError, match="tells old, young from vectors of 12; here are F, M"):
        distil(data, RUN, tmp_path / "run", source={}, given=[tmp_path / "given.npz"])


def test_refuses_a_folder_that_holds_something(data: SideData, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with pytest.raises(UsageError, match="is there already"):
        distil(data, RUN, tmp_path, source={})


def test_limited_central_data_is_a_share_of_each_class(data: SideData) -> None:
    known = known_centrally(data, 0.25, 0)
    assert len(set(data.speakers[known])) == 4
    assert len(set(data.speakers[known & (data.labels == 0)])) == 2
    assert not (known & data.tried).any()
    with pytest.raises(UsageError, match="expected 0 to 1"):
        known_centrally(data, 0.0, 0)


def test_each_speaker_counts_the_same_in_central_training(data: SideData) -> None:
    task = ClassifierTask(12, data.classes, (), standardise=False)
    known = known_centrally(data, 0.5, 0)
    once = central_teacher(task, data, known, 0)
    rows = np.flatnonzero(known)
    more = np.concatenate([rows, rows[data.speakers[rows] == data.speakers[rows[0]]]])
    doubled = SideData(
        tuple(str(number) for number in range(len(more))),
        data.speakers[more],
        data.collections[more],
        data.vectors[more],
        data.classes,
        data.labels[more],
        data.tried[more],
    )
    again = central_teacher(task, doubled, np.ones(len(more), dtype=bool), 0)
    assert np.allclose(once, again, atol=1e-5)


@pytest.mark.parametrize("name", ["none", "local", "central", "central-local"])
def test_regimes_are_built_for_the_classifier(name: str) -> None:
    regime = replace(RUN.training, regime=name).built(26)
    assert (regime.name, regime.dimension) == (name, 26)


def test_refuses_regimes_and_cohorts_that_are_none() -> None:
    with pytest.raises(UsageError, match="there is no regime"):
        replace(RUN.training, regime="other").built(26)
    with pytest.raises(UsageError, match="cannot be drawn"):
        FederatedTraining(users=5, cohort=6)


def test_teachers_are_kept_with_their_statement(found: Comparison, folder: Path) -> None:
    model = load_model(folder / "teachers" / "federated-0.npz")
    assert model.task.classes == ("F", "M")
    assert model.statement["central"]["epsilon_total"] <= 2.0 + 1e-6
    assert load_model(folder / "teachers" / "central-0.npz").statement["guarantee"] is False
