"""What is agreed on before a training over a network: by the server for its run, and by nodes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sordino.errors import UsageError
from sordino.federated.flower.save import save_text
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.regimes import Regime
from sordino.federated.statement import privacy_statement
from sordino.federated.task import ClassifierTask

_DEPLOYMENT, _INVITATION = "sordino federated run", "sordino invitation"


@dataclass(frozen=True)
class Deployment:
    """All that decides what a run learns and what it guarantees.

    Attributes:
        task: what is learnt.
        regime: what uploads go through.
        optimiser: how the model moves.
        population: how many users, with a node each, are expected to be there.
        sampling_rate: chance of each to be asked in a round.
        rounds: how many in all.
        cap: most rounds of a user.
        delta: of the central guarantee.
        identity: 16 hexadecimal digits; what ledgers count is counted for this run.

    Raises:
        UsageError: a number is out of range.
    """

    task: ClassifierTask
    regime: Regime
    optimiser: ServerOptimiser
    population: int
    sampling_rate: float
    rounds: int
    cap: int
    delta: float
    identity: str

    def __post_init__(self) -> None:
        if self.regime.dimension != self.task.dimension:
            raise UsageError(
                f"the regime is made for {self.regime.dimension} parameters, the classifier has"
                f" {self.task.dimension}"
            )
        if self.cap < 1:
            raise UsageError(f"users take part in at least 1 round, not {self.cap}")
        # Checks the other numbers, too.
        self.statement()

    @property
    def cohort(self) -> float:
        """How many users are expected in a round."""
        return self.population * self.sampling_rate

    @property
    def purpose(self) -> str:
        """What ledgers call it."""
        return f"federated {self.identity}"

    def statement(self, rounds: int | None = None) -> dict[str, Any]:
        """The privacy statement.

        Args:
            rounds: how many there have been; those that are planned by default.
        """
        return privacy_statement(
            self.regime,
            population=self.population,
            sampling_rate=self.sampling_rate,
            rounds=self.rounds if rounds is None else rounds,
            delta=self.delta,
            participation_cap=self.cap,
        )

    def terms(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        return {
            "task": self.task.terms(),
            "regime": self.regime.terms(),
            "optimiser": self.optimiser.terms(),
            "population": self.population,
            "sampling_rate": self.sampling_rate,
            "rounds": self.rounds,
            "cap": self.cap,
            "delta": self.delta,
            "identity": self.identity,
        }

    @classmethod
    def from_terms(cls, terms: Mapping[str, Any]) -> Deployment:
        """What `terms` gave.

        Raises:
            UsageError: these are none.
        """
        try:
            return cls(
                ClassifierTask.from_terms(terms["task"]),
                Regime.from_terms(terms["regime"]),
                ServerOptimiser.from_terms(terms["optimiser"]),
                int(terms["population"]),
                float(terms["sampling_rate"]),
                int(terms["rounds"]),
                int(terms["cap"]),
                float(terms["delta"]),
                str(terms["identity"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"these are no settings of a run: {error!r}") from error


@dataclass(frozen=True)
class Invitation:
    """What a node needs to take part, in one file that holds no secret.

    Attributes:
        server: HOST:PORT.
        authority: the certificate by which the server is known, PEM; None where the system's
            authorities vouch for it.
        deployment: what the node agrees to; of a server that asks for less protection it sends
            nothing.
    """

    server: str
    authority: str | None
    deployment: Deployment

    def write(self, path: Path) -> None:
        """Write it to a file, with the privacy statement for people to read.

        Raises:
            OutputError: it cannot be written.
        """
        content = {
            "kind": _INVITATION,
            "server": self.server,
            "authority": self.authority,
            "statement": self.deployment.statement(),
            "deployment": self.deployment.terms(),
        }
        save_text(path, json.dumps(content, indent=2) + "\n")

    @classmethod
    def read(cls, path: Path) -> Invitation:
        """Read what `write` wrote.

        Raises:
            UsageError: it cannot be read, or is something else.
        """
        content = _read_json(path, _INVITATION)
        authority = content.get("authority")
        try:
            deployment = Deployment.from_terms(content["deployment"])
            server = str(content["server"])
        except (KeyError, TypeError, UsageError) as error:
            raise UsageError(f"{path}: {error}") from error
        if authority is not None and not isinstance(authority, str):
            raise UsageError(f"{path}: the authority is no text")
        return cls(server, authority, deployment)


def new_identity() -> str:
    """One that no other run has."""
    return secrets.token_hex(8)


def save_deployment(path: Path, deployment: Deployment) -> None:
    """Write the settings of a run.

    Raises:
        OutputError: they cannot be written.
    """
    content = {"kind": _DEPLOYMENT, **deployment.terms()}
    save_text(path, json.dumps(content, indent=2) + "\n")


def load_deployment(path: Path) -> Deployment:
    """What `save_deployment` wrote.

    Raises:
        UsageError: it cannot be read, or is something else.
    """
    try:
        return Deployment.from_terms(_read_json(path, _DEPLOYMENT))
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def check_same(kept: Deployment, wanted: Deployment, path: Path) -> None:
    """Refuse to go on with other settings than a run began with.

    Raises:
        UsageError: they differ; the message says in what.
    """
    old, new = kept.terms(), wanted.terms()
    different = [
        f"{name} {old[name]!r} -> {new[name]!r}"
        for name in old
        if name != "identity" and old[name] != new[name]
    ]
    if different:
        raise UsageError(
            f"{path} began with other settings: {'; '.join(different)}. Leave the options away to"
            " go on with it, or take another folder"
        )


def _read_json(path: Path, kind: str) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is no {kind}") from error
    if not isinstance(content, dict) or content.get("kind") != kind:
        raise UsageError(f"{path}: is no {kind}")
    return content
