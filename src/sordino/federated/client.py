"""What a device does: train on its own examples, protect the update, upload it."""

from __future__ import annotations

import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.participation import Participation
from sordino.federated.regimes import Regime
from sordino.federated.task import ClassifierTask, Examples
from sordino.federated.upload import NONCE_BYTES, Request, Upload
from sordino.privacy.randomness import Randomness, SystemRandomness


def client_round(
    task: ClassifierTask,
    parameters: npt.ArrayLike,
    examples: Examples,
    regime: Regime,
    round: int,
    randomness: Randomness | None = None,
    *,
    nonce: bytes = bytes(NONCE_BYTES),
    sender: str = "",
) -> Upload:
    """The upload of one user for a round.

    Args:
        task: what is learnt.
        parameters: of the model, shape (d,).
        examples: of this user.
        regime: what is done to the update.
        round: number of the round.
        randomness: where local noise comes from; the operating system by default.
        nonce: that of the request.
        sender: what the transport calls this device.

    Raises:
        UsageError: training went astray (NaN or infinity), or something does not fit.

    Example:
        >>> task = ClassifierTask(inputs=4, classes=("F", "M"), hidden=())
        >>> regime = Regime.local(task.dimension, clip=1.0, epsilon=2.0)
        >>> examples = Examples.of([[0.0, 1.0, 2.0, 3.0]], [1])
        >>> client_round(task, task.initial(0), examples, regime, round=3).points.shape
        (10,)
    """
    if len(examples) != 1:
        raise UsageError(f"a device holds the examples of one user, not of {len(examples)}")
    source = SystemRandomness() if randomness is None else randomness
    updates = task.updates(parameters, examples)
    points, below = regime.protect(updates, source)
    sign = None if below is None else int(below[0])
    return Upload(round, nonce, sender, regime.digest, points[0], sign)


def answer(
    task: ClassifierTask,
    examples: Examples,
    request: Request,
    consent: Regime,
    randomness: Randomness | None = None,
    *,
    sender: str = "",
    participation: Participation | None = None,
    person: str | None = None,
) -> Upload:
    """The upload for a server's request, if it asks for no less protection than was agreed to.

    What is spent is charged before anything is computed from the examples.

    Args:
        task: what is learnt.
        examples: of this user.
        request: of the server.
        consent: the regime that was agreed to; of an adaptive clip, and in regime none, the clip
            may be another one.
        randomness: where local noise comes from; the operating system by default.
        sender: what the transport calls this device.
        participation: what counts how often users take part.
        person: whom it counts; needed with `participation`.

    Raises:
        UsageError: the regime is another, the cap is reached, or as for `client_round`.
    """
    regime = Regime.from_terms(request.regime)
    # Without a local mechanism the clip protects nobody on the device: the server is trusted.
    agreed = consent if consent.mechanism else consent.with_clip(regime.clip)
    if regime != agreed:
        raise UsageError(
            f"round {request.round}: the server asks for regime {regime.name!r} with other settings"
            f" than the regime {consent.name!r} that was agreed to; nothing is sent"
        )
    if participation is not None:
        if person is None:
            raise UsageError("a cap on taking part needs to know who takes part")
        participation.charge(person)
    return client_round(
        task,
        request.parameters,
        examples,
        regime,
        request.round,
        randomness,
        nonce=request.nonce,
        sender=sender,
    )
