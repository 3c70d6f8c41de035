"""A server's run: prepared once, served as often as it takes."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy.typing as npt

from sordino.errors import OutputError, UsageError
from sordino.federated.flower.certificates import (
    Certificates,
    check_name,
    create_certificates,
    find_certificates,
)
from sordino.federated.flower.deployment import (
    Deployment,
    Invitation,
    check_same,
    load_deployment,
    save_deployment,
)
from sordino.federated.flower.extra import require_flower
from sordino.federated.flower.node_keys import read_public_keys
from sordino.federated.flower.save import append_line, save_text
from sordino.federated.model import save_model
from sordino.federated.participation import Participation
from sordino.federated.server import Server
from sordino.privacy.ledger import Ledger
from sordino.privacy.randomness import SystemRandomness

if TYPE_CHECKING:
    from sordino.federated.flower.rounds import FinishedRound, Pace

INVITATION = "invitation.json"
_RUN, _STATE, _LEDGER, _TLS = "run.json", "state.npz", "ledger", "tls"
_ROUNDS, _STATEMENT, _MODEL, _LOCK = "rounds.jsonl", "statement.json", "model.npz", "lock"

# Beside the numbers of an upload, eight bytes each at most.
_ENVELOPE_BYTES = 2**16
_EVERYWHERE = "0.0.0.0"  # noqa: S104
_OWN_NAMES = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Serving:
    """How a run is served; may change from one start to the next.

    Attributes:
        nodes: folder with a public key `<name>.pub` for each node.
        address: HOST:PORT at which nodes reach the server; None for what the invitation says.
        listen: IP address to listen at; None for this machine only where `address` is this
            machine, else for all of its networks.
        certificates: by which the server is known; None for its own, made at the first start.
        least: how many nodes are connected before a round begins; None for half of the users that
            are expected.
        deadline: seconds after which a round ends.
        patience: seconds after which a round begins with fewer nodes, if there are any.
        linger: for how many seconds nodes are told of the end.
    """

    nodes: Path
    address: str | None = None
    listen: str | None = None
    certificates: Certificates | None = None
    least: int | None = None
    deadline: float = 120.0
    patience: float = math.inf
    linger: float = 30.0


@dataclass(frozen=True)
class Served:
    """What a run has ended in.

    Attributes:
        model: the file of the model.
        statement: that of its privacy statement.
        rounds: how many there were.
        told: names of the nodes that were told of the end and given the model.
    """

    model: Path
    statement: Path
    rounds: int
    told: frozenset[str]


def has_run(folder: Path) -> bool:
    """Whether a run has begun in a folder."""
    return (folder / _RUN).is_file()


def population_of(folder: Path, nodes: Path) -> int:
    """How many users a run began with; for a new one, how many nodes have a key.

    Args:
        folder: of the run.
        nodes: folder of the keys.

    Raises:
        UsageError: there are none.
    """
    if has_run(folder):
        return load_deployment(folder / _RUN).population
    return len(read_public_keys(nodes))


def prepare(
    folder: Path,
    serving: Serving,
    deployment: Deployment | None = None,
    initial: npt.ArrayLike | None = None,
) -> Invitation:
    """Make all that a run needs, or check that what is there fits.

    Args:
        folder: of the run.
        serving: how it is served.
        deployment: what is agreed on; None to go on with a run.
        initial: parameters to start with; needed for a new run.

    Raises:
        UsageError: a run goes on with other settings, or something is missing.
        OutputError: files cannot be written.
    """
    run = folder / _RUN
    if has_run(folder):
        kept = load_deployment(run)
        if deployment is not None:
            check_same(kept, deployment, folder)
        agreed = kept
    elif deployment is None or initial is None:
        raise UsageError(f"{folder}: no run has begun here; say what is learnt, and how")
    else:
        agreed = deployment
    read_public_keys(serving.nodes)
    address = serving.address or _kept_address(folder)
    host, _ = host_and_port(address)
    folder.mkdir(parents=True, exist_ok=True)
    certificates = serving.certificates or _own_certificates(folder, host)
    check_name(certificates, host)
    authority = None if certificates.authority is None else _text(certificates.authority)
    invitation = Invitation(address, authority, agreed)
    invitation.write(folder / INVITATION)
    save_text(folder / _STATEMENT, _json(agreed.statement()))
    if not has_run(folder):
        assert initial is not None
        Server(
            initial,
            agreed.regime,
            agreed.cohort,
            optimiser=agreed.optimiser,
            path=folder / _STATE,
        )
        Ledger(folder / _LEDGER, create=True)
        # Comes last: a run that is not complete has not begun.
        save_deployment(run, agreed)
    return invitation


def serve(
    folder: Path, serving: Serving, tell: Callable[[FinishedRound], None] = lambda _: None
) -> Served:
    """Serve a run that is prepared, from the round where it is to the last.

    It may be killed at any time and started again. A round that was open is then asked for anew,
    and counted anew for those who take part again.

    Args:
        folder: of the run.
        serving: how it is served.
        tell: is given every round when it is over.

    Raises:
        UsageError: Flower is missing, or the run is not prepared or damaged.
        OutputError: something cannot be written, the address cannot be listened at, or another
            process serves the run.
    """
    from filelock import FileLock, Timeout

    require_flower()
    deployment = load_deployment(folder / _RUN)
    try:
        held = FileLock(folder / _LOCK).acquire(timeout=0)
    except Timeout as error:
        raise OutputError(f"{folder} is served by another process already") from error
    with held:
        return _serve(folder, serving, deployment, tell)


def host_and_port(address: str) -> tuple[str, int]:
    """Parts of HOST:PORT; an IPv6 address stands in brackets.

    Raises:
        UsageError: it is none.

    Example:
        >>> host_and_port("[::1]:9092")
        ('::1', 9092)
    """
    host, colon, port = address.rpartition(":")
    name = host.removeprefix("[").removesuffix("]")
    bracketed = host.startswith("[") and host.endswith("]")
    if (
        not colon
        or not name
        or not port.isdecimal()
        or not 1 <= int(port) <= 65535
        or (":" in name) != bracketed
    ):
        raise UsageError(f"address {address!r} is not HOST:PORT")
    return name, int(port)


def _serve(
    folder: Path,
    serving: Serving,
    deployment: Deployment,
    tell: Callable[[FinishedRound], None],
) -> Served:
    from flwr.app import Context, RecordDict

    from sordino.federated.flower.link import Link
    from sordino.federated.flower.rounds import server_app, tell_end

    server = Server.load(folder / _STATE)
    ledger = Ledger(folder / _LEDGER)
    participation = Participation(
        ledger,
        deployment.regime,
        deployment.cap,
        purpose=deployment.purpose,
        delta=deployment.delta,
    )
    nodes = read_public_keys(serving.nodes)
    host, port = host_and_port(serving.address or _kept_address(folder))

    def note(finished: FinishedRound) -> None:
        append_line(folder / _ROUNDS, json.dumps(finished.line(), sort_keys=True))
        tell(finished)

    app = server_app(
        server, _pace(serving, deployment, nodes), participation, SystemRandomness(), note
    )
    with Link(
        serving.listen or (host if host in _OWN_NAMES else _EVERYWHERE),
        port,
        serving.certificates or _own_certificates(folder, host),
        nodes,
        largest=8 * deployment.task.dimension + _ENVELOPE_BYTES,
    ) as link:
        context = Context(link.grid.run.run_id, 0, {}, RecordDict(), {})
        app(link.grid, context)
        statement = deployment.statement(server.round)
        save_text(folder / _STATEMENT, _json(statement))
        save_model(folder / _MODEL, deployment.task, server.parameters, statement)
        model = (folder / _MODEL).read_bytes()
        told = tell_end(link.grid, model, nodes, serving.linger)
    return Served(folder / _MODEL, folder / _STATEMENT, server.round, frozenset(told))


def _pace(serving: Serving, deployment: Deployment, nodes: Mapping[str, bytes]) -> Pace:
    from sordino.federated.flower.rounds import Pace

    least = serving.least
    if least is None:
        least = max(1, min(deployment.population // 2, len(nodes)))
    elif least > len(nodes):
        raise UsageError(
            f"rounds wait for {least} nodes, but only {len(nodes)} have a key in {serving.nodes}"
        )
    return Pace(
        deployment.rounds, deployment.sampling_rate, least, serving.deadline, serving.patience
    )


def _own_certificates(folder: Path, host: str) -> Certificates:
    own = folder / _TLS
    found = find_certificates(own)
    if found is not None:
        return found
    names = _OWN_NAMES if host in _OWN_NAMES else (host,)
    for path in own.glob("*"):
        # Left over from a start that was killed at this.
        with suppress(OSError):
            path.unlink()
    return create_certificates(own, names)


def _kept_address(folder: Path) -> str:
    if not (folder / INVITATION).is_file():
        raise UsageError("say at which address nodes reach the server: --address HOST:PORT")
    return Invitation.read(folder / INVITATION).server


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError as error:
        raise UsageError(f"authority {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"authority {path}: not a PEM certificate") from error


def _json(content: object) -> str:
    return json.dumps(content, indent=2) + "\n"
