"""What the server does: ask, check, add up, add noise, move the model."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import SordinoError, UsageError
from sordino.federated.files import load_arrays, save_arrays
from sordino.federated.optimiser import ServerOptimiser
from sordino.federated.regimes import Regime
from sordino.federated.upload import NONCE_BYTES, Request, Upload
from sordino.privacy.randomness import FloatArray, IntArray, Randomness, SystemRandomness

_KIND = "federated server"


@dataclass(frozen=True, eq=False)
class RoundReport:
    """How a round went; for who runs the server, not for the public.

    Attributes:
        round: its number.
        accepted: how many uploads were counted. It tells who took part and is not protected.
        refused: how many were not, by reason.
        clip: of the round.
        noise_norm: expected norm of the noise in the mean update.
        snr: estimate of the norm of the mean update over that of its noise, from what was released
            and nothing else; infinite without noise.
        mean: the mean update that was released, shape (d,).
    """

    round: int
    accepted: int
    refused: Mapping[str, int]
    clip: float
    noise_norm: float
    snr: float
    mean: FloatArray

    @property
    def update_norm(self) -> float:
        """Norm of the mean update that was released."""
        return float(np.linalg.norm(self.mean))


@dataclass(eq=False)
class _Open:
    """An open round: a sum, and who has been counted."""

    nonce: bytes
    total: IntArray
    below: int = 0
    accepted: int = 0
    senders: set[str] = field(default_factory=set)
    refused: Counter[str] = field(default_factory=Counter)


class Server:
    """Round after round, uploads in and a model out.

    Only the sum of an open round is kept, and the names of those who are in it. Between rounds all
    that counts is in a file, if one is given: written before a round's result is handed out, so
    that a server that is killed goes on where it was. An open round is then lost, and opened anew
    under another nonce: what was uploaded for it is refused.

    Args:
        parameters: to start with, shape (d,).
        regime: what uploads go through.
        cohort: how many users are expected in a round, the fixed denominator.
        optimiser: how the model moves.
        randomness: where nonces and central noise come from; the operating system by default.
        path: where the state is kept, ends in ".npz"; None for nowhere.

    Attributes:
        parameters: of the model, float32.
        regime: of the round that is next or open.
        round: its number.

    Raises:
        UsageError: the shapes do not fit, or the cohort is not above 0.
        OutputError: the state cannot be written.

    Example:
        >>> regime = Regime.unprotected(dimension=3, clip=10.0)
        >>> server = Server(np.zeros(3), regime, cohort=2)
        >>> request = server.open()
        >>> for sender, update in (("anna", [1.0, 0.0, 0.0]), ("ben", [0.0, 2.0, 0.0])):
        ...     points = regime.protect([update], SystemRandomness()).points[0]
        ...     upload = Upload(request.round, request.nonce, sender, regime.digest, points)
        ...     print(server.accept(upload), server.accept(upload))
        None replay
        None replay
        >>> server.close().accepted, np.round(server.parameters, 6)
        (2, array([0.5, 1. , 0. ], dtype=float32))
    """

    def __init__(
        self,
        parameters: npt.ArrayLike,
        regime: Regime,
        cohort: float,
        *,
        optimiser: ServerOptimiser | None = None,
        randomness: Randomness | None = None,
        path: Path | None = None,
    ) -> None:
        row = np.array(parameters, dtype=np.float32)
        if row.shape != (regime.dimension,) or not np.isfinite(row).all():
            raise UsageError(
                f"parameters have shape {row.shape}; expected {regime.dimension} finite numbers"
            )
        if not 0 < cohort < math.inf:
            raise UsageError(f"a cohort of {cohort} users: expected a number above 0")
        self.parameters = row
        self.regime = regime
        self.round = 0
        self.cohort = cohort
        self.optimiser = ServerOptimiser() if optimiser is None else optimiser
        self._randomness = SystemRandomness() if randomness is None else randomness
        self._memory = self.optimiser.start(regime.dimension)
        self._path = path
        self._opened: _Open | None = None
        if path is not None:
            self.save()

    @property
    def is_open(self) -> bool:
        """Whether uploads are taken."""
        return self._opened is not None

    def open(self, round: int | None = None) -> Request:
        """Begin a round; one that was open is dropped, with all that was uploaded for it.

        Args:
            round: which one is meant to be opened, as a check.

        Raises:
            UsageError: it is not the turn of this round.
        """
        if round is not None and round != self.round:
            raise UsageError(f"round {round} cannot be opened: it is the turn of {self.round}")
        nonce = self._randomness.bits(NONCE_BYTES // 8).tobytes()
        self._opened = _Open(nonce, np.zeros(self.regime.dimension, dtype=np.int64))
        return Request(self.round, nonce, self.parameters.copy(), self.regime.terms())

    def abandon(self) -> None:
        """End the open round as if it had not been; nothing of it is released."""
        self._opened = None

    def accept(self, upload: Upload | bytes) -> str | None:
        """Count an upload, if nothing speaks against it.

        Args:
            upload: as it comes, whoever made it.

        Returns:
            None where it is counted, else why it is not.
        """
        opened = self._opened
        if opened is None:
            return "no round is open"
        try:
            known = Upload.from_bytes(upload) if isinstance(upload, bytes) else upload
        except SordinoError:
            reason: str | None = "malformed"
        else:
            reason = self._refusal(known, opened)
        if reason is not None:
            opened.refused[reason] += 1
            return reason
        opened.senders.add(known.sender)
        self.add(known.points, known.below or 0, 1)
        return None

    def add(self, total: IntArray, below: int, uploads: int) -> None:
        """Count a sum of uploads that were not sent by anybody, as in simulations.

        Args:
            total: their sum, shape (d,).
            below: the sum of their signs; 0 where the clip does not adapt.
            uploads: how many they are.

        Raises:
            UsageError: no round is open.
        """
        if self._opened is None:
            raise UsageError("no round is open that could be added to")
        self._opened.total += total
        self._opened.below += below
        self._opened.accepted += uploads

    def close(self) -> RoundReport:
        """End the open round: noise, fixed denominator, new parameters, state saved.

        Raises:
            UsageError: no round is open.
            OutputError: the state cannot be written; then the round is still open, and nothing of
                it has been handed out.
        """
        opened = self._opened
        if opened is None:
            raise UsageError("no round is open that could be closed")
        regime, accepted = self.regime, opened.accepted
        mean = regime.mean(opened.total + regime.noise(self._randomness), self.cohort)
        clip = regime.next_clip(opened.below, self.cohort, self._randomness)
        before = self.parameters, self.regime, self.round, self._memory
        self.parameters, self._memory = self.optimiser.step(self.parameters, mean, self._memory)
        self.regime, self.round = regime.with_clip(clip), self.round + 1
        try:
            if self._path is not None:
                self.save()
        except SordinoError:
            self.parameters, self.regime, self.round, self._memory = before
            raise
        self._opened = None
        # In local regimes everybody adds noise, so that there is as much as there were uploads.
        noise = regime.noise_norm(self.cohort, reports=accepted)
        return RoundReport(
            round=before[2],
            accepted=accepted,
            refused=dict(opened.refused),
            clip=regime.clip,
            noise_norm=noise,
            snr=estimated_snr(mean, noise),
            mean=mean,
        )

    def save(self, path: Path | None = None) -> None:
        """Write what is needed to go on with the next round.

        Args:
            path: ends in ".npz"; None for the one that was given.

        Raises:
            UsageError: there is no path.
            OutputError: it cannot be written.
        """
        chosen = path or self._path
        if chosen is None:
            raise UsageError("a server without a path keeps its state nowhere")
        settings = {
            "kind": _KIND,
            "round": self.round,
            "cohort": self.cohort,
            "regime": self.regime.terms(),
            "optimiser": self.optimiser.terms(),
        }
        save_arrays(chosen, settings, self.state())

    def state(self) -> dict[str, FloatArray | npt.NDArray[np.float32]]:
        """Arrays that are needed to go on: see `restored`."""
        return {"parameters": self.parameters, "memory": self._memory}

    def use(self, randomness: Randomness) -> None:
        """Take nonces and noise from elsewhere from now on."""
        self._randomness = randomness

    @classmethod
    def load(cls, path: Path, randomness: Randomness | None = None) -> Server:
        """A server that goes on after the last round that was closed.

        Args:
            path: what `save` wrote, and where further states are written.
            randomness: as for a new one.

        Raises:
            UsageError: there is no such file, or it is damaged.
        """
        settings, arrays = load_arrays(path, _KIND)
        try:
            server = cls.restored(
                arrays,
                Regime.from_terms(settings["regime"]),
                float(settings["cohort"]),
                int(settings["round"]),
                optimiser=ServerOptimiser.from_terms(settings["optimiser"]),
                randomness=randomness,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"{path}: not all that a server needs: {error}") from error
        server._path = path
        return server

    @classmethod
    def restored(
        cls,
        arrays: Mapping[str, npt.NDArray[Any]],
        regime: Regime,
        cohort: float,
        round: int,
        *,
        optimiser: ServerOptimiser | None = None,
        randomness: Randomness | None = None,
    ) -> Server:
        """A server that goes on from what `state` gave.

        Args:
            arrays: that.
            regime: of the next round.
            cohort: as for a new one.
            round: the next one.
            optimiser: as for a new one.
            randomness: as for a new one.

        Raises:
            UsageError: the arrays do not fit.
        """
        server = cls(
            arrays["parameters"], regime, cohort, optimiser=optimiser, randomness=randomness
        )
        memory: FloatArray = arrays["memory"].astype(np.float64)
        if memory.shape != server._memory.shape or round < 0:
            raise UsageError("the state of a server does not fit together")
        server._memory, server.round = memory, round
        return server

    def _refusal(self, upload: Upload, opened: _Open) -> str | None:
        signs = (None,) if self.regime.adaptive is None else (1, -1)
        grounds = (
            ("another round", upload.round != self.round),
            ("another nonce", upload.nonce != opened.nonce),
            ("another regime", upload.regime != self.regime.digest),
            ("replay", upload.sender in opened.senders),
            ("another sign than is expected", upload.below not in signs),
            ("the sum is full", opened.accepted >= self.regime.most_reports),
        )
        reason = next((name for name, holds in grounds if holds), None)
        return reason or self.regime.refusal(np.asarray(upload.points))


def estimated_snr(mean: FloatArray, noise_norm: float) -> float:
    """Norm of the mean update without its noise, over that of the noise, from their sum alone.

    Args:
        mean: what was released, shape (d,).
        noise_norm: expected norm of the noise in it.

    Example:
        >>> round(estimated_snr(np.array([3.0, 4.0]), noise_norm=4.0), 6)
        0.75
    """
    if noise_norm == 0:
        return math.inf
    return math.sqrt(max(0.0, float(np.square(mean).sum()) - noise_norm**2)) / noise_norm
