from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sordino.errors import UsageError
from sordino.federated.flower.deployment import (
    Deployment,
    Invitation,
    check_same,
    load_deployment,
    new_identity,
    save_deployment,
)
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.regimes import Regime
from sordino.federated.task import ClassifierTask

TASK = ClassifierTask(inputs=3, classes=("F", "M"), hidden=(2,))
AGREED = Deployment(
    TASK,
    Regime.local(TASK.dimension, clip=1.0, epsilon=2.0),
    ServerOptimiser(momentum=0.5),
    population=10,
    sampling_rate=0.5,
    rounds=6,
    cap=3,
    delta=1e-6,
    identity="0123456789abcdef",
)


def test_settings_come_back_from_files(tmp_path):
    save_deployment(tmp_path / "run.json", AGREED)
    assert load_deployment(tmp_path / "run.json") == AGREED

    invitation = Invitation("localhost:9092", "PEM", AGREED)
    invitation.write(tmp_path / "invitation.json")
    assert Invitation.read(tmp_path / "invitation.json") == invitation
    # For people: what is agreed to, in words of the statement.
    statement = json.loads((tmp_path / "invitation.json").read_text())["statement"]
    assert statement["local"]["epsilon_total"] == 6.0


def test_the_cohort_is_what_is_expected():
    assert AGREED.cohort == 5.0
    assert new_identity() != new_identity()


def test_a_run_does_not_go_on_with_other_settings(tmp_path):
    check_same(AGREED, replace(AGREED, identity="f" * 16), tmp_path)
    with pytest.raises(UsageError, match="rounds 6 -> 7"):
        check_same(AGREED, replace(AGREED, rounds=7), tmp_path)


@pytest.mark.parametrize(
    "content",
    ["no JSON", "[]", '{"kind": "sordino invitation"}', '{"kind": "something else"}'],
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "invitation.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=r"invitation\.json: "):
        Invitation.read(path)
    with pytest.raises(UsageError, match=r"invitation\.json: "):
        load_deployment(path)


def test_settings_out_of_range_are_refused():
    with pytest.raises(UsageError, match="sampling rate"):
        replace(AGREED, sampling_rate=1.5)
    with pytest.raises(UsageError, match="made for 3 parameters"):
        replace(AGREED, regime=Regime.unprotected(3, clip=1.0))
    with pytest.raises(UsageError, match="at least 1 round"):
        replace(AGREED, cap=0)
