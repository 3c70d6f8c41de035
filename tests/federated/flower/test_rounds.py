"""Rounds over a stand-in for the network, and the core as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs the extra federated")

from flwr.app import ConfigRecord, Message, RecordDict
from flwr.app.error import Error
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

from sordino.errors import SordinoError
from sordino.federated.flower import rounds as module
from sordino.federated.flower.messages import END, packed, unpacked
from sordino.federated.flower.rounds import Pace, one_round, server_app, tell_end
from sordino.federated.participation import Participation
from sordino.federated.regimes import Regime
from sordino.federated.server import Server
from sordino.federated.upload import Request, Upload
from sordino.privacy.ledger import Ledger
from sordino.privacy.randomness import SeededRandomness, SystemRandomness

DIMENSION = 3
REGIME = Regime.unprotected(DIMENSION, clip=10.0)

Answer = Callable[[Request], bytes | Error | RecordDict | None]


class StandIn(Grid):
    """Nodes that answer at once, or never."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, Message]] = []
        self._replies: dict[str, Message] = {}
        TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, SUPERLINK_NODE_ID, 1

    def get_nodes(self) -> Iterable[NodeInfo]:
        return [NodeInfo(node_id=9 + n, name=name) for n, name in enumerate(self.answers)]

    def get_node_ids(self) -> Iterable[int]:
        return [node.node_id for node in self.get_nodes()]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        ids = []
        for message in messages:
            name = list(self.answers)[message.metadata.dst_node_id - 9]
            message_id = f"message {len(self.asked)}"
            message.metadata.__dict__["_message_id"] = message_id
            self.asked.append((name, message))
            ids.append(message_id)
            data = unpacked(message.content)
            if message.metadata.message_type == END:
                answer = self.answers[name](data)
            else:
                answer = self.answers[name](Request.from_bytes(data))
            if answer is not None:
                content = packed(answer) if isinstance(answer, bytes) else answer
                self._replies[message_id] = Message(content, reply_to=message)
        return ids

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [self._replies.pop(one) for one in list(message_ids) if one in self._replies]

    def send_and_receive(self, messages, *, timeout=None):
        raise NotImplementedError

    def create_message(self, content, message_type, dst_node_id, group_id, ttl=None):
        raise NotImplementedError

    def set_run(self, run):
        raise NotImplementedError

    @property
    def run(self):
        raise NotImplementedError


def honest(update: Iterable[float]) -> Answer:
    return lambda request: upload_of(request, update).to_bytes()


def upload_of(request: Request, update: Iterable[float]) -> Upload:
    points = REGIME.protect([list(update)], SystemRandomness()).points[0]
    return Upload(request.round, request.nonce, "", REGIME.digest, points)


@pytest.fixture
def participation(tmp_path):
    ledger = Ledger(tmp_path / "ledger", create=True)
    return Participation(ledger, REGIME, cap=3, purpose="test")


def counted(tmp_path, name: str) -> int:
    return Ledger(tmp_path / "ledger").standing(name).account.releases("test")


def run_round(grid: Grid, server: Server, participation: Participation, **pace: float):
    known = Pace(rounds=1, sampling_rate=1.0, deadline=0.5)
    return one_round(grid, server, replace(known, **pace), participation, SystemRandomness())


def test_whoever_else_is_there_honest_uploads_are_added_up(participation, tmp_path):
    kept: list[bytes] = []

    def replayed(request: Request) -> bytes:
        kept.append(upload_of(request, [5, 5, 5]).to_bytes())
        return kept[0]

    def huge(request: Request) -> bytes:
        points = np.full(DIMENSION, 2**62)
        return replace(upload_of(request, [1, 1, 1]), points=points).to_bytes()

    def other_shape(request: Request) -> bytes:
        return replace(upload_of(request, [1, 1, 1]), points=np.ones(2, np.int64)).to_bytes()

    def other_round(request: Request) -> bytes:
        return replace(upload_of(request, [1, 1, 1]), round=7).to_bytes()

    def nan(request: Request) -> bytes:
        sound = upload_of(request, [0, 0, 0]).to_bytes()
        start = sound.index(b'"dtype": "<i1"')
        text = sound[:start] + b'"dtype": "<f8"' + sound[start + 14 : -DIMENSION]
        return text + np.full(DIMENSION, np.nan).tobytes()

    def pretender(request: Request) -> bytes:
        return replace(upload_of(request, [0, 0, 4]), sender="anna").to_bytes()

    grid = StandIn(
        {
            "anna": honest([4, 0, 0]),
            "ben": honest([0, 8, 0]),
            "dead": lambda _: None,
            "gone": lambda _: Error(ErrorCode.NODE_UNAVAILABLE),
            "failed": lambda _: Error(ErrorCode.CLIENT_APP_RAISED_EXCEPTION, "no upload"),
            "huge": huge,
            "shape": other_shape,
            "round": other_round,
            "nan": nan,
            "noise": lambda _: b"\x00" * 50,
            "other": lambda _: RecordDict({"x": ConfigRecord({"y": 1})}),
            "replay": replayed,
            "pretender": pretender,
        }
    )
    server = Server(np.zeros(DIMENSION), REGIME, cohort=4)

    first = run_round(grid, server, participation)
    assert first.counted == ("anna", "ben", "pretender", "replay")
    assert first.missing == ("dead", "gone")
    assert first.refused["huge"] == "norm beyond the bound"
    assert first.refused["shape"] == "shape (2,)"
    assert first.refused["round"] == "another round"
    assert {first.refused[name] for name in ("nan", "noise", "other")} == {"malformed"}
    assert first.refused["failed"] == "no upload"
    assert first.asked == len(grid.answers)
    assert np.allclose(server.parameters, np.array([9, 13, 9]) / 4, atol=1e-6)

    second = run_round(grid, server, participation)
    assert second.refused["replay"] == "another round"
    assert second.counted == ("anna", "ben", "pretender")
    assert [counted(tmp_path, name) for name in ("anna", "replay", "dead", "nan")] == [2, 2, 0, 0]
    line = second.line()
    assert line["accepted"] == 3
    assert line["missing"] == 2
    assert "anna" not in str(line)


def test_whoever_has_reached_the_cap_is_not_in_the_model_any_more(participation):
    grid = StandIn({"anna": honest([4, 0, 0])})
    server = Server(np.zeros(DIMENSION), REGIME, cohort=1)

    rounds = [run_round(grid, server, participation) for _ in range(4)]

    assert [one.counted for one in rounds] == [("anna",)] * 3 + [()]
    assert rounds[-1].refused == {"anna": "cap reached"}
    assert np.allclose(server.parameters, [12, 0, 0], atol=1e-6)


def test_a_round_without_answers_ends_and_changes_nothing_without_noise(participation):
    server = Server(np.ones(DIMENSION), REGIME, cohort=1)
    finished = run_round(StandIn({}), server, participation)

    assert finished.asked == 0
    assert server.round == 1
    assert np.array_equal(server.parameters, np.ones(DIMENSION))


def test_central_noise_is_added_whoever_answers(participation):
    regime = Regime.central(DIMENSION, clip=1.0, noise_multiplier=1.0)
    server = Server(np.zeros(DIMENSION), regime, cohort=1, randomness=SeededRandomness(1))
    run_round(StandIn({}), server, participation)

    assert (server.parameters != 0).all()


def test_each_node_is_asked_with_the_agreed_chance(participation):
    names = [f"node {number}" for number in range(400)]
    grid = StandIn({name: lambda _: Error(0) for name in names})
    server = Server(np.zeros(DIMENSION), REGIME, cohort=1)
    pace = Pace(rounds=1, sampling_rate=0.25, deadline=5.0)

    sizes = [
        one_round(grid, server, pace, participation, SeededRandomness(seed)).asked
        for seed in range(5)
    ]

    # Of 2000 coins: 500 expected, with a standard deviation of 19.4.
    assert abs(sum(sizes) - 500) < 5 * 19.4
    assert len(set(sizes)) > 1


def test_the_app_goes_on_where_the_server_is(participation):
    grid = StandIn({"anna": honest([4, 0, 0])})
    server = Server(np.zeros(DIMENSION), REGIME, cohort=1)
    run_round(grid, server, participation)
    told: list[int] = []
    app = server_app(
        server,
        Pace(rounds=3, sampling_rate=1.0, deadline=5.0),
        participation,
        SystemRandomness(),
        lambda finished: told.append(finished.report.round),
    )

    app(grid, None)

    assert told == [1, 2]


def test_rounds_wait_for_nodes_but_not_longer_than_they_should(participation):
    server = Server(np.zeros(DIMENSION), REGIME, cohort=1)
    pace = Pace(rounds=1, sampling_rate=1.0, least=2, deadline=0.5, patience=0.2)

    def app(grid: Grid) -> None:
        server_app(server, pace, participation, SystemRandomness(), lambda _: None)(grid, None)

    with pytest.raises(SordinoError, match=r"no node has come within 0\.2 s"):
        app(StandIn({}))
    assert server.round == 0
    app(StandIn({"anna": honest([1, 0, 0])}))
    assert server.round == 1


def test_nodes_are_told_of_the_end_once_each(monkeypatch):
    monkeypatch.setattr(module, "_POLL_SECONDS", 0.01)
    got: list[bytes] = []

    def listens(data: bytes) -> bytes:
        got.append(data)
        return b""

    grid = StandIn({"anna": listens, "ben": lambda _: None})

    assert tell_end(grid, b"model", ["anna", "ben", "cleo"], 0.3) == {"anna"}
    assert got == [b"model"]
