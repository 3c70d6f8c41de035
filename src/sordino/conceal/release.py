"""What happens to latents between encoder and decoder: a mechanism, or nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.conceal.description import NO_RELEASE, NORMS, Description
from sordino.errors import UsageError
from sordino.privacy.mechanisms.base import Mechanism
from sordino.privacy.mechanisms.clip import unit_rows
from sordino.privacy.mechanisms.unprotected import Unprotected
from sordino.privacy.randomness import FloatArray, Randomness


@dataclass(frozen=True, eq=False)
class LatentRelease:
    """A mechanism for latents, and how long its results are made for the decoder.

    Attributes:
        kind: the mechanism that was asked for, also where no noise is added.
        mechanism: what protects latents, shape (n, latent).
        length: what results are multiplied by.
    """

    kind: str
    mechanism: Mechanism
    length: float = 1.0

    @property
    def name(self) -> str:
        """Kind and epsilon for people; or that there is no guarantee."""
        if math.isinf(self.mechanism.epsilon):
            return "no DP guarantee"
        return f"{self.kind}, epsilon {self.mechanism.epsilon:.12g}"

    def release(self, latents: npt.ArrayLike, randomness: Randomness | None = None) -> FloatArray:
        """Released latents, shape (n, latent)."""
        return self.mechanism.release(latents, randomness) * self.length


class Bare(Mechanism):
    """Prepares latents as a mechanism would, and adds nothing.

    Args:
        prepare: from latents to latents.
    """

    name = "none"
    epsilon = math.inf

    def __init__(self, prepare: Callable[[FloatArray], FloatArray]) -> None:
        self._prepare = prepare

    def _released(self, rows: FloatArray, randomness: Randomness) -> FloatArray:
        return self._prepare(rows)

    def _terms(self) -> dict[str, object]:
        return {"clip": None, "norm": None, "grid": None}

    def _why_no_guarantee(self, randomness: Randomness | None) -> str | None:
        return "no DP guarantee: nothing random is added"


def latent_release(
    description: Description, epsilon: float | None, mechanism: str | None, *, networks: bool
) -> LatentRelease:
    """The release of a concealer's latents.

    Without noise, latents are clipped or brought to length as the decoder knows them.

    Args:
        description: of the concealer.
        epsilon: above 0; None or infinity for none.
        mechanism: "laplace", "gaussian", "privunit" or "privunit-g"; None for the concealer's own.
        networks: whether it has a decoder.

    Raises:
        UsageError: epsilon is out of range, or the concealer lacks what the mechanism needs.

    Example:
        >>> about = Description("mine", "00", 192, 64, ("sex",), "laplace", 18.35, "a guess")
        >>> latent_release(about, 15, None, networks=True).mechanism.epsilon
        15.0
    """
    name = description.mechanism if mechanism is None else mechanism
    if name not in (*NORMS, NO_RELEASE):
        raise UsageError(f"there is no mechanism {name!r}; there are: {', '.join(NORMS)}")
    if epsilon is not None and not epsilon > 0:
        raise UsageError(f"epsilon {epsilon} is not above 0")
    length = _length(description, name, networks=networks)
    if name != NO_RELEASE and NORMS[name] is not None:
        _require_clip(description, name)
    if epsilon is None or math.isinf(epsilon):
        return LatentRelease(name, _bare(description, name), length)
    if name == NO_RELEASE:
        raise UsageError(
            "the concealer was made for no release of its own; name one with a mechanism, such as"
            " privunit, or use epsilon inf"
        )
    return LatentRelease(name, _mechanism(description, name, epsilon), length)


def _bare(description: Description, name: str) -> Mechanism:
    if name == NO_RELEASE:
        return Bare(np.copy)
    norm = NORMS[name]
    if norm is None:
        return Bare(unit_rows)
    return Unprotected(description.clip, norm)


def _mechanism(description: Description, name: str, epsilon: float) -> Mechanism:
    from sordino.privacy.mechanisms.gaussian import Gaussian
    from sordino.privacy.mechanisms.laplace import Laplace
    from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG

    if name == "laplace":
        return Laplace(clip=description.clip, epsilon=epsilon)
    if name == "gaussian":
        return Gaussian(clip=description.clip, epsilon=epsilon, delta=description.delta)
    directional = PrivUnit if name == "privunit" else PrivUnitG
    return directional(dimension=description.latent, epsilon=epsilon)


def _require_clip(description: Description, name: str) -> None:
    if NORMS.get(description.mechanism) != NORMS[name]:
        raise UsageError(
            f"{name} needs a clip of {NORMS[name]} norms, and the concealer, made for"
            f" {description.mechanism}, has none; use one that was made for {name}"
        )


def _length(description: Description, name: str, *, networks: bool) -> float:
    if name == NO_RELEASE or NORMS[name] is not None:
        return 1.0
    known = description.length is not None or NORMS.get(description.mechanism, "") is None
    if networks and not known:
        raise UsageError(
            f"{name} releases directions, and the concealer does not say of what length its decoder"
            " knows latents; use a concealer that was made for it"
        )
    return description.length or 1.0
