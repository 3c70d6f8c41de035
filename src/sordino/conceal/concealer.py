"""A concealer: the bundle of networks and matrices that hides attributes in speaker vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from sordino.conceal.description import DECODER, ENCODER, ERASURE, KIND, Description
from sordino.conceal.erasure import Erasure
from sordino.errors import UsageError
from sordino.models.bundle import METADATA_NAME, Bundle
from sordino.models.find import load_model
from sordino.models.session import Session

if TYPE_CHECKING:
    from sordino.conceal.concealment import Concealment
    from sordino.privacy.randomness import Randomness

Floats = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]
Sides = Literal["both", "one"]

_PROBES = 3


@dataclass(frozen=True)
class Concealer:
    """A concealer whose metadata and files have been checked.

    Vectors go through the erasure (if it has one), the encoder, a release of the latents, and the
    decoder. A concealer without networks takes the erased vectors for latents. Graphs are opened
    when they first run, and once in each process; a concealer can be pickled.

    Args:
        bundle: of the kind "concealer".

    Raises:
        UsageError: the bundle is no concealer, or its metadata are not those of one.
    """

    bundle: Bundle

    def __post_init__(self) -> None:
        if self.bundle.kind != KIND:
            raise UsageError(
                f"model {self.bundle.folder}: is a {self.bundle.kind}, not a {KIND}"
                " (see: sordino models list)"
            )
        description = self.description
        graphs = {name for name in (ENCODER, DECODER) if name in self.bundle.files}
        if len(graphs) == 1:
            raise UsageError(f"model {self.bundle.folder}: has {graphs.pop()} alone, no pair")
        if not graphs and ERASURE not in self.bundle.files:
            raise UsageError(f"model {self.bundle.folder}: has neither networks nor an erasure")
        if not graphs and description.latent != description.dimension:
            raise UsageError(self._says("another latent than dimension, though it has no networks"))

    @classmethod
    def load(cls, name: str, *, tell: Callable[[str], None] = lambda text: None) -> Concealer:
        """Find a concealer and check it; see `sordino.conceal.load`.

        Raises:
            UsageError: there is no such model, it is damaged, or it is no concealer.
        """
        bundle = load_model(name, tell=tell)
        return _opened(str(bundle.folder), bundle.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (str(self.bundle.folder), self.digest)

    @property
    def name(self) -> str:
        """What the concealer is called."""
        return self.bundle.name

    @property
    def digest(self) -> str:
        """SHA-256 of what decides its results, as 64 hexadecimal digits."""
        return self.bundle.digest

    @cached_property
    def description(self) -> Description:
        """What it says of itself."""
        try:
            return Description.from_metadata(self.bundle.metadata)
        except UsageError as error:
            raise UsageError(self._says(str(error))) from error

    @property
    def has_networks(self) -> bool:
        """Whether there are an encoder and a decoder; else it is an erasure only."""
        return ENCODER in self.bundle.files

    @cached_property
    def erasure(self) -> Erasure | None:
        """What is erased before anything else.

        Raises:
            UsageError: the file does not hold an erasure, or one of another dimension.
        """
        if ERASURE not in self.bundle.files:
            return None
        where = f"model {self.bundle.folder}: {ERASURE}"
        erasure = Erasure.from_arrays(self.bundle.arrays(ERASURE), where)
        if erasure.dimension != self.description.dimension:
            raise UsageError(
                f"{where}: is for vectors of {erasure.dimension} numbers, not of"
                f" {self.description.dimension}"
            )
        return erasure

    def encode(self, vectors: npt.ArrayLike) -> FloatArray:
        """The latents of vectors, to which nothing has been done yet that protects them.

        Args:
            vectors: shape (n, dimension), as the speaker encoder gives them.

        Returns:
            float64, shape (n, latent).

        Raises:
            UsageError: the vectors have another shape or are not finite, or the graph fails.
        """
        rows = self._rows(vectors)
        if self.description.unit_length:
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            if not lengths.all():
                raise UsageError(f"vector {int(lengths.argmin())} is zero; it has no direction")
            rows = rows / lengths
        if self.erasure is not None:
            rows = self.erasure.apply(rows)
        if not self.has_networks or not len(rows):
            return rows if not self.has_networks else np.empty((0, self.description.latent))
        return self._run(self._encoder, rows, "vector", "latent", self.description.latent)

    def decode(self, latents: npt.ArrayLike) -> Floats:
        """The vectors of latents.

        Args:
            latents: shape (n, latent), released or not.

        Returns:
            float32, shape (n, dimension).

        Raises:
            UsageError: the latents have another shape, or the graph fails.
        """
        rows = np.asarray(latents, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.description.latent:
            raise UsageError(
                f"latents have shape {rows.shape}; expected (n, {self.description.latent})"
            )
        if self.has_networks and len(rows):
            rows = self._run(self._decoder, rows, "latent", "vector", self.description.dimension)
        elif self.has_networks:
            rows = np.empty((0, self.description.dimension))
        return _single(rows)

    def at(self, epsilon: float | None = None, mechanism: str | None = None) -> Concealment:
        """This concealer with a release at a chosen epsilon, which is a mechanism itself.

        Args:
            epsilon: above 0; None or infinity for a release without noise, of which nothing is
                guaranteed.
            mechanism: "laplace", "gaussian", "privunit" or "privunit-g"; None for the one that the
                concealer was made for.

        Raises:
            UsageError: epsilon is out of range, or the concealer cannot release by that mechanism.
        """
        from sordino.conceal.concealment import Concealment

        return Concealment.of(self, epsilon, mechanism)

    def conceal(
        self,
        vectors: npt.ArrayLike,
        epsilon: float | None = None,
        mechanism: str | None = None,
        randomness: Randomness | None = None,
    ) -> Floats:
        """Protected templates.

        Each row is one release. Releases of one person's templates add up: k of them at epsilon
        are worth k times epsilon. See `sordino.privacy.Ledger` for counting.

        Args:
            vectors: shape (n, dimension), as the speaker encoder gives them.
            epsilon: see `at`.
            mechanism: see `at`.
            randomness: None for the operating system's generator.

        Returns:
            float32, shape (n, dimension).

        Raises:
            UsageError: see `at`; or the vectors have another shape or are not finite.
        """
        return self.at(epsilon, mechanism).release(vectors, randomness).astype(np.float32)

    def statement(
        self, epsilon: float | None = None, mechanism: str | None = None
    ) -> dict[str, Any]:
        """What is guaranteed of one protected template and what is not, ready for JSON.

        Raises:
            UsageError: see `at`.
        """
        return self.at(epsilon, mechanism).statement()

    def verification(self, sides: Sides, epsilon: float) -> Mapping[str, Any] | None:
        """Thresholds that were measured on protected templates.

        Args:
            sides: whether enrolment and trial are protected, or one of them.
            epsilon: of the release by the concealer's own mechanism.

        Returns:
            For `sordino.speaker.verification.choose_threshold`; None where nothing was measured.

        Raises:
            UsageError: what the bundle says is no table of tables.
        """
        table: Any = self.bundle.metadata.get("verification", {})
        for key in (sides, f"{epsilon:g}"):
            if not isinstance(table, Mapping):
                raise UsageError(self._says("a verification that is no table of tables"))
            table = table.get(key, {})
        return table or None

    def _rows(self, vectors: npt.ArrayLike) -> FloatArray:
        rows = np.asarray(vectors)
        if rows.dtype.kind not in "fiu" or rows.ndim != 2:
            raise UsageError(
                f"vectors have shape {rows.shape} and type {rows.dtype}; expected numbers (n,"
                f" {self.description.dimension})"
            )
        if rows.shape[1] != self.description.dimension:
            raise UsageError(
                f"vectors have {rows.shape[1]} numbers; the concealer {self.name} takes those of"
                f" {self.description.encoder}, {self.description.dimension} numbers"
            )
        odd = np.flatnonzero(~np.isfinite(rows).all(axis=1))
        if odd.size:
            raise UsageError(f"vector {odd[0]} holds NaN or infinity")
        return rows.astype(np.float64)

    @cached_property
    def _encoder(self) -> Session:
        sizes = (self.description.dimension, self.description.latent)
        session = self._session(ENCODER, "vector", "latent", *sizes)
        self._require_row_by_row(session)
        return session

    @cached_property
    def _decoder(self) -> Session:
        sizes = (self.description.latent, self.description.dimension)
        return self._session(DECODER, "latent", "vector", *sizes)

    def _session(self, graph: str, takes: str, gives: str, size: int, gives_size: int) -> Session:
        session = Session(self.bundle, graph)
        place = f"model {self.bundle.folder}: {graph}"
        if list(session.inputs) != [takes] or not _fits(session.inputs[takes], size):
            raise UsageError(f"{place} does not take {takes} (n, {size}), but {session.inputs}")
        if not _fits(session.outputs.get(gives), gives_size):
            raise UsageError(
                f"{place} does not give {gives} (n, {gives_size}), but {session.outputs}"
            )
        return session

    def _require_row_by_row(self, session: Session) -> None:
        # A batch normalisation that was left in training mode mixes rows: then the noise of one
        # template would have to protect all others as well, and nothing is guaranteed of any.
        size = self.description.dimension
        probes = np.cos(np.arange(_PROBES * size, dtype=np.float64) ** 1.5).reshape(_PROBES, size)
        together = self._run(session, probes, "vector", "latent", self.description.latent)
        alone = [
            self._run(session, probe[None], "vector", "latent", self.description.latent)[0]
            for probe in probes
        ]
        if not np.allclose(together, alone, rtol=1e-3, atol=1e-3 * np.abs(together).max()):
            raise UsageError(
                f"model {self.bundle.folder}: {ENCODER} gives a vector another latent each time, or"
                " one that depends on the vectors beside it; export it in evaluation mode"
            )

    def _run(
        self, session: Session, rows: FloatArray, takes: str, gives: str, size: int
    ) -> FloatArray:
        (found,) = session.run({takes: _single(rows)}, [gives])
        place = f"model {self.bundle.folder}: {session.graph}"
        if found.shape != (len(rows), size):
            raise UsageError(
                f"{place} gives an array of shape {found.shape} instead of {(len(rows), size)}"
            )
        if not np.isfinite(found).all():
            raise UsageError(f"{place} gives NaN or infinity")
        return found.astype(np.float64)

    def _says(self, what: str) -> str:
        return f"model {self.bundle.folder}: {METADATA_NAME} gives {what}"


@lru_cache(maxsize=4)
def _opened(folder: str, digest: str) -> Concealer:
    bundle = Bundle.load(folder)
    if bundle.digest != digest:
        raise UsageError(f"model {folder}: has been replaced by another while it was in use")
    return Concealer(bundle)


def _single(rows: FloatArray) -> Floats:
    with np.errstate(over="ignore"):
        single = rows.astype(np.float32)
    if not np.isfinite(single).all():
        raise UsageError("vectors hold numbers too large for single precision")
    return single


def _fits(shape: tuple[int | str | None, ...] | None, size: int) -> bool:
    """Whether a graph's shape is any number of rows by `size`."""
    return (
        shape is not None
        and len(shape) == 2
        and not isinstance(shape[0], int)
        and (not isinstance(shape[1], int) or shape[1] == size)
    )
