from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs PyTorch")

from sordino.errors import UsageError
from sordino.federated.client import client_round
from sordino.federated.flower.deployment import Deployment, Invitation
from sordino.federated.flower.join import Participant
from sordino.federated.model import save_model
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.regimes import Regime
from sordino.federated.server import Server
from sordino.federated.task import ClassifierTask, Examples
from sordino.federated.upload import Upload
from sordino.privacy.ledger import Ledger

TASK = ClassifierTask(inputs=3, classes=("F", "M"), hidden=())
EXAMPLES = Examples.of(np.eye(3), [0, 1, 1])


def deployment(regime: Regime, cap: int = 2) -> Deployment:
    return Deployment(TASK, regime, ServerOptimiser(), 4, 1.0, 5, cap, 1e-6, "0" * 16)


@pytest.fixture
def participant(tmp_path):
    said: list[str] = []

    def made(regime: Regime) -> tuple[Participant, list[str]]:
        invitation = Invitation("localhost:1", None, deployment(regime))
        ledger = Ledger(tmp_path / "ledger", create=True)
        return Participant(invitation, EXAMPLES, "anna", ledger, said.append), said

    return made


def test_an_upload_is_that_of_the_core(participant):
    regime = Regime.unprotected(TASK.dimension, clip=1.0)
    anna, said = participant(regime)
    request = Server(TASK.initial(0), regime, 4.0).open()

    upload = Upload.from_bytes(anna.respond(request.to_bytes()))

    expected = client_round(
        TASK, request.parameters, EXAMPLES, regime, request.round, nonce=request.nonce
    )
    assert np.array_equal(upload.points, expected.points)
    assert upload.nonce == request.nonce
    assert said == ["round 0: upload sent"]


def test_rounds_are_counted_up_to_the_cap_and_no_further(participant, tmp_path):
    anna, said = participant(Regime.local(TASK.dimension, clip=1.0, epsilon=2.0))
    request = Server(TASK.initial(0), anna.invitation.deployment.regime, 4.0).open().to_bytes()

    anna.respond(request)
    anna.respond(request)
    with pytest.raises(UsageError, match=r"^no upload$"):
        anna.respond(request)

    assert "at most 2 rounds" in said[-1]
    spent = Ledger(tmp_path / "ledger").spent("anna", "federated " + "0" * 16)
    assert (spent.releases, spent.basic.epsilon) == (2, 4.0)


def test_a_server_that_asks_for_less_protection_gets_nothing_and_costs_nothing(
    participant, tmp_path
):
    anna, said = participant(Regime.local(TASK.dimension, clip=1.0, epsilon=2.0))
    for weaker in (
        Regime.local(TASK.dimension, clip=1.0, epsilon=20.0),
        Regime.unprotected(TASK.dimension, clip=1.0),
    ):
        request = Server(TASK.initial(0), weaker, 4.0).open()
        with pytest.raises(UsageError, match=r"^no upload$"):
            anna.respond(request.to_bytes())
        assert "was agreed to" in said[-1]
    assert Ledger(tmp_path / "ledger").standing("anna").account.releases(None) == 0


def test_bytes_that_are_no_request_are_told_nothing(participant):
    anna, _ = participant(Regime.unprotected(TASK.dimension, clip=1.0))
    with pytest.raises(UsageError, match=r"^no upload$"):
        anna.respond(b"something else")


def test_examples_that_do_not_fit_are_found_before_joining(participant):
    anna, _ = participant(Regime.unprotected(TASK.dimension, clip=1.0))
    anna.warm_up()
    anna.examples = Examples.of(np.ones((1, 3)), [2])
    with pytest.raises(UsageError):
        anna.warm_up()


def test_the_model_at_the_end_is_of_the_task(participant, tmp_path):
    anna, _ = participant(Regime.unprotected(TASK.dimension, clip=1.0))
    parameters = TASK.initial(3)
    for task in (replace(TASK, classes=("M", "F")), TASK):
        save_model(tmp_path / "model.npz", task, parameters, {})
        data = (tmp_path / "model.npz").read_bytes()
        if task != TASK:
            with pytest.raises(UsageError, match="another task"):
                anna.end(data)
            assert anna.model is None
    anna.end(data)
    assert np.array_equal(anna.model.parameters, parameters)
    with pytest.raises(UsageError):
        anna.end(b"no model")
