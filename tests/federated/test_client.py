import dataclasses

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.adaptive import AdaptiveClip
from sordino.federated.client import answer, client_round
from sordino.federated.participation import Participation
from sordino.federated.regimes import Regime
from sordino.federated.server import Server
from sordino.federated.task import ClassifierTask, Examples
from sordino.privacy.ledger import Ledger

TASK = ClassifierTask(4, ("a", "b"), ())
EXAMPLES = Examples.of(np.eye(4), [0, 1, 0, 1])


def test_without_noise_the_upload_is_the_clipped_update():
    regime = Regime.unprotected(TASK.dimension, 0.1)
    upload = client_round(TASK, TASK.initial(0), EXAMPLES, regime, 2)
    update = TASK.updates(TASK.initial(0), EXAMPLES)[0]
    expected = update * 0.1 / np.linalg.norm(update)
    np.testing.assert_allclose(upload.points * regime.grid.step, expected, atol=1e-7)
    assert (upload.round, upload.regime) == (2, regime.digest)


def test_a_round_from_request_to_model():
    regime = Regime.unprotected(TASK.dimension, 5.0)
    server = Server(TASK.initial(0), regime, 1)
    request = server.open()
    assert server.accept(answer(TASK, EXAMPLES, request, regime, sender="x")) is None
    server.close()
    moved = TASK.initial(0) + TASK.updates(TASK.initial(0), EXAMPLES)[0]
    np.testing.assert_allclose(server.parameters, moved, atol=1e-5)


def test_a_server_that_asks_for_less_protection_gets_nothing(tmp_path):
    agreed = Regime.local(TASK.dimension, 1.0, 2.0)
    ledger = Ledger(tmp_path / "ledger", create=True)
    taking_part = Participation(ledger, agreed, cap=3)
    for asked in (
        Regime.local(TASK.dimension, 1.0, 4.0),
        agreed.with_clip(0.1),
        Regime.unprotected(TASK.dimension, 1.0),
    ):
        request = Server(TASK.initial(0), asked, 1).open()
        with pytest.raises(UsageError, match="agreed"):
            answer(TASK, EXAMPLES, request, agreed, participation=taking_part, person="anna")
    assert ledger.standing("anna").account.releases() == 0


def test_an_adaptive_clip_may_move():
    rule = AdaptiveClip(bit_deviation=5.0)
    agreed = Regime.central(TASK.dimension, 1.0, 1.0, adaptive=rule)
    request = Server(TASK.initial(0), agreed.with_clip(0.7), 1).open()
    assert answer(TASK, EXAMPLES, request, agreed).below in (1, -1)


def test_what_is_spent_is_charged_even_if_training_fails(tmp_path):
    regime = Regime.local(TASK.dimension, 1.0, 2.0)
    ledger = Ledger(tmp_path / "ledger", create=True)
    taking_part = Participation(ledger, regime, cap=1)
    request = Server(TASK.initial(0), regime, 1).open()
    broken = dataclasses.replace(EXAMPLES, vectors=np.full((1, 4, 4), np.nan, dtype=np.float32))
    with pytest.raises(UsageError, match="NaN"):
        answer(TASK, broken, request, regime, participation=taking_part, person="anna")
    with pytest.raises(UsageError, match="has taken part in 1 of at most 1"):
        answer(TASK, EXAMPLES, request, regime, participation=taking_part, person="anna")
    with pytest.raises(UsageError, match="who takes part"):
        answer(TASK, EXAMPLES, request, regime, participation=taking_part)


def test_a_device_holds_one_user():
    both = Examples.stacked([(np.eye(4), [0, 1, 0, 1])] * 2)
    with pytest.raises(UsageError, match="one user"):
        client_round(TASK, TASK.initial(0), both, Regime.unprotected(TASK.dimension, 1.0), 0)
