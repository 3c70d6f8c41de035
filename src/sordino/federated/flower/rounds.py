"""Flower's ServerApp around what the server does: rounds, whoever answers or does not."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flwr.app import Context, Message
from flwr.common.constant import ErrorCode
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid, ServerApp

from sordino.errors import SordinoError, UsageError
from sordino.federated.flower.grid import LinkGrid
from sordino.federated.flower.messages import ASK, END, packed, unpacked
from sordino.federated.participation import Participation
from sordino.federated.server import RoundReport, Server
from sordino.federated.upload import Upload
from sordino.privacy.randomness import Randomness

_POLL_SECONDS = 0.1
# Steps of the coin that decides who is asked; every rate is a whole number of them, or is rounded
# down to one.
_COIN = 2**53
# How much longer than a round messages are valid, so that clocks of nodes may be wrong by as much.
_CLOCK_SECONDS = 600.0
# What stands in place of a reply that will never come.
_GONE = (ErrorCode.NODE_UNAVAILABLE, ErrorCode.MESSAGE_UNAVAILABLE)


@dataclass(frozen=True)
class Pace:
    """When a round begins and ends.

    Attributes:
        rounds: after how many the training is over.
        sampling_rate: chance of each node to be asked in a round, above 0 and at most 1.
        least: how many nodes are connected before a round begins.
        deadline: seconds after which a round ends, whoever is missing.
        patience: seconds after which a round begins with fewer nodes, if there are any.
    """

    rounds: int
    sampling_rate: float
    least: int = 1
    deadline: float = 120.0
    patience: float = math.inf


@dataclass(frozen=True)
class FinishedRound:
    """What became of a round; for who runs the server, not for the public.

    Attributes:
        report: of the core.
        counted: names of the nodes whose uploads are in the model.
        refused: why other uploads are not, by name of the node.
        missing: names of the nodes that were asked and did not answer in time.
        seconds: how long it took.
    """

    report: RoundReport
    counted: tuple[str, ...]
    refused: Mapping[str, str]
    missing: tuple[str, ...]
    seconds: float

    @property
    def asked(self) -> int:
        """How many nodes were asked."""
        return len(self.counted) + len(self.refused) + len(self.missing)

    def line(self) -> dict[str, Any]:
        """For the log, ready for JSON: without names."""
        report = self.report
        return {
            "round": report.round,
            "asked": self.asked,
            "accepted": report.accepted,
            "missing": len(self.missing),
            "refused": dict(Counter(self.refused.values())),
            "clip": report.clip,
            "noise_norm": report.noise_norm,
            "snr": report.snr if report.noise_norm else None,
            "update_norm": float(np.linalg.norm(report.mean)),
            "seconds": round(self.seconds, 3),
        }


def server_app(
    server: Server,
    pace: Pace,
    participation: Participation,
    randomness: Randomness,
    tell: Callable[[FinishedRound], None],
) -> ServerApp:
    """An app that goes through all rounds that are left.

    Args:
        server: at the round where to go on.
        pace: of the rounds.
        participation: counts who takes part, before an upload is added to the sum.
        randomness: decides who is asked.
        tell: is given every round when it is over.
    """
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        while server.round < pace.rounds:
            _wait_for(grid, pace)
            tell(one_round(grid, server, pace, participation, randomness))

    return app


def one_round(
    grid: Grid, server: Server, pace: Pace, participation: Participation, randomness: Randomness
) -> FinishedRound:
    """Ask some nodes and add up what comes back; see `server_app`.

    A round always ends, and with central noise is always released: how many have answered decides
    nothing that others can see.
    """
    began = time.monotonic()
    request = server.open()
    names = {
        node.node_id: name_of(node)
        for node in grid.get_nodes()
        if _chosen(pace.sampling_rate, randomness)
    }
    waiting = _ask(grid, names, request.to_bytes(), request.round, pace.deadline)
    counted: list[str] = []
    missing: list[str] = []
    refused: dict[str, str] = {}
    while waiting and time.monotonic() < began + pace.deadline:
        for reply in grid.pull_messages(list(waiting)):
            name = waiting.pop(reply.metadata.reply_to_message_id, None)
            if name is None:
                continue
            if reply.has_error() and reply.error.code in _GONE:
                missing.append(name)
                continue
            reason = _count(server, participation, name, reply)
            if reason is None:
                counted.append(name)
            else:
                refused[name] = reason
        if waiting:
            time.sleep(_POLL_SECONDS)
    _drop(grid, waiting)
    report = server.close()
    missing += waiting.values()
    return FinishedRound(
        report,
        tuple(sorted(counted)),
        refused,
        tuple(sorted(missing)),
        time.monotonic() - began,
    )


def tell_end(grid: Grid, model: bytes, nodes: Iterable[str], seconds: float) -> set[str]:
    """Tell nodes that the training is over, as they come.

    Args:
        grid: for messages.
        model: what they are given.
        nodes: names of all that should know.
        seconds: how long to wait for them.

    Returns:
        Names of the nodes that know.
    """
    until = time.monotonic() + seconds
    left, told = set(nodes), set[str]()
    waiting: dict[str, str] = {}
    while left and time.monotonic() < until:
        busy = set(waiting.values())
        new = {
            node.node_id: name
            for node in grid.get_nodes()
            if (name := name_of(node)) in left and name not in busy
        }
        waiting |= _ask(grid, new, model, None, max(1.0, until - time.monotonic()))
        for reply in grid.pull_messages(list(waiting)) if waiting else ():
            known = waiting.pop(reply.metadata.reply_to_message_id, None)
            if known is not None and not reply.has_error():
                told.add(known)
                left.discard(known)
        time.sleep(_POLL_SECONDS)
    _drop(grid, waiting)
    return told


def name_of(node: NodeInfo) -> str:
    """What a node is called: the name that its key was given to the server under, or its key."""
    return node.name or hashlib.sha256(node.public_key).hexdigest()[:16]


def _wait_for(grid: Grid, pace: Pace) -> None:
    until = time.monotonic() + pace.patience
    while (there := len(list(grid.get_node_ids()))) < pace.least:
        if time.monotonic() > until:
            if not there:
                raise SordinoError(f"no node has come within {pace.patience:g} s")
            return
        time.sleep(_POLL_SECONDS)


def _chosen(rate: float, randomness: Randomness) -> bool:
    return int(randomness.below(_COIN, 1)[0]) < int(rate * _COIN)


def _ask(
    grid: Grid, names: Mapping[int, str], data: bytes, number: int | None, seconds: float
) -> dict[str, str]:
    messages = [
        Message(
            packed(data),
            node_id,
            END if number is None else ASK,
            ttl=seconds + _CLOCK_SECONDS,
            group_id="" if number is None else str(number),
        )
        for node_id in names
    ]
    sent = grid.push_messages(messages) if messages else ()
    return {
        message_id: name
        for message_id, name in zip(sent, names.values(), strict=True)
        if message_id
    }


def _count(server: Server, participation: Participation, name: str, reply: Message) -> str | None:
    if reply.has_error():
        return "no upload"
    try:
        upload = replace(Upload.from_bytes(unpacked(reply.content)), sender=name)
    except UsageError:
        return "malformed"
    # Counted even if it is refused then: never too little.
    try:
        participation.charge(name)
    except UsageError:
        return "cap reached"
    return server.accept(upload)


def _drop(grid: Grid, waiting: Mapping[str, str]) -> None:
    # Elsewhere messages end by themselves.
    if isinstance(grid, LinkGrid):
        grid.drop_messages(waiting)
