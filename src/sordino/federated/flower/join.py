"""A node's part in a training over a network."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sordino.errors import OutputError, SordinoError, UsageError
from sordino.federated.client import answer
from sordino.federated.flower.deployment import Invitation
from sordino.federated.flower.extra import require_flower
from sordino.federated.flower.node_keys import read_private_key
from sordino.federated.model import Model, load_model
from sordino.federated.participation import Participation
from sordino.federated.task import Examples
from sordino.federated.upload import Request
from sordino.privacy.ledger import Ledger
from sordino.privacy.randomness import SystemRandomness


@dataclass(eq=False)
class Participant:
    """What a node does with what it is sent; knows nothing of networks.

    Attributes:
        invitation: what was agreed to.
        examples: of the user.
        person: what the ledger calls the user.
        ledger: counts each round before anything is computed for it.
        tell: is given a line for people about each round.
        model: what the training has ended in; None as long as it goes on.
    """

    invitation: Invitation
    examples: Examples
    person: str
    ledger: Ledger
    tell: Callable[[str], None]
    model: Model | None = field(default=None, init=False)

    def warm_up(self) -> None:
        """Train once for nothing: the first time takes seconds, and finds out what does not fit.

        Raises:
            UsageError: the examples do not fit the task.
        """
        task = self.invitation.deployment.task
        task.updates(np.zeros(task.dimension, dtype=np.float32), self.examples)

    def respond(self, data: bytes) -> bytes:
        """From the server's request to an upload.

        Raises:
            UsageError: it asks for something else than was agreed to, or the cap is reached;
                nothing of the examples leaves the device.
        """
        deployment = self.invitation.deployment
        participation = Participation(
            self.ledger,
            deployment.regime,
            deployment.cap,
            purpose=deployment.purpose,
            delta=deployment.delta,
        )
        try:
            request = Request.from_bytes(data)
            upload = answer(
                deployment.task,
                self.examples,
                request,
                deployment.regime,
                SystemRandomness(),
                participation=participation,
                person=self.person,
            )
        except SordinoError as error:
            self.tell(str(error))
            # What is wrong may tell something of the examples: the server learns that there is
            # no upload and no more.
            raise UsageError("no upload") from error
        self.tell(f"round {request.round}: upload sent")
        return upload.to_bytes()

    def end(self, data: bytes) -> None:
        """Take the trained model.

        Raises:
            UsageError: it is none, or another than was agreed on.
        """
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.npz")
            path.write_bytes(data)
            model = load_model(path)
        if model.task != self.invitation.deployment.task:
            raise UsageError("the model that has come is for another task than was agreed on")
        self.model = model


def join(
    invitation: Invitation,
    examples: Examples,
    key: Path,
    ledger: Ledger,
    *,
    person: str | None = None,
    patience: float = 3600.0,
    tell: Callable[[str], None] = lambda _: None,
) -> Model:
    """Take part until the training is over.

    Args:
        invitation: what is agreed to.
        examples: of the user.
        key: file of the node's private key.
        ledger: where taking part is counted.
        person: what the ledger calls the user; the name of the key file by default.
        patience: after how many seconds without the server to give up.
        tell: is given a line for people about each round.

    Returns:
        The trained model.

    Raises:
        UsageError: Flower is missing, the server does not know the key, or it is not the one that
            the invitation is from.
        SordinoError: the server has been away for too long.
    """
    require_flower()
    from sordino.federated.flower.client_app import client_app
    from sordino.federated.flower.node import Node

    participant = Participant(invitation, examples, person or key.stem, ledger, tell)
    participant.warm_up()
    app = client_app(participant.respond, participant.end)
    node = Node(
        invitation.server,
        invitation.authority,
        read_private_key(key),
        app,
        patience=patience,
    )
    node.run(lambda: participant.model is not None)
    if participant.model is None:
        raise OutputError("the training has ended without a model")
    return participant.model
