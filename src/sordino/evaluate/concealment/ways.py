"""Ways of concealing that are compared: concealers, each with a release at an epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sordino.conceal.concealer import Concealer
from sordino.conceal.concealment import Concealment
from sordino.conceal.erasure import Erasure, fit_erasure
from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.privacy.randomness import Randomness
from sordino.speaker.scoring.cosine import unit
from sordino.speaker.vectors import Vectors

FloatArray = npt.NDArray[np.float64]

NO_GUARANTEE = "no DP guarantee"


class Release(Protocol):
    """What a mechanism and a `Concealment` have in common.

    One with an attribute `speakers` was made with these: none of them may be tested.
    """

    @property
    def epsilon(self) -> float:
        """Of one template; infinity where nothing is guaranteed."""

    @property
    def delta(self) -> float:
        """Of one template."""

    def release(self, x: npt.ArrayLike, randomness: Randomness | None = None) -> FloatArray:
        """Protected vectors of the same shape (n, d)."""


@dataclass(frozen=True, eq=False)
class Way:
    """One way of concealing, trained once or with several seeds.

    Attributes:
        name: how results call it.
        releases: one for each training, at the same epsilon.
        what: how it was made, in one line.
        mechanism: of the release.
        epsilon_train: of the noise in training; infinity for none.
        sweep: what varies, if it is a point of a sweep: "epsilon" or "epsilon_train".
        computed: whether it is a closed form, so that another training would be the same.

    Raises:
        UsageError: there is no training, or they differ in what is guaranteed.
    """

    name: str
    releases: tuple[Release, ...]
    what: str = ""
    mechanism: str = "none"
    epsilon_train: float = math.inf
    sweep: str = ""
    computed: bool = False

    def __post_init__(self) -> None:
        found = {(release.epsilon, release.delta) for release in self.releases}
        if len(found) != 1:
            what = "differ in epsilon" if found else "are missing"
            raise UsageError(f"{self.name}: its trainings {what}")

    @property
    def epsilon(self) -> float:
        """Of one template; infinity where nothing is guaranteed."""
        return self.releases[0].epsilon

    @property
    def delta(self) -> float:
        """Of one template."""
        return self.releases[0].delta

    @property
    def guarantee(self) -> str:
        """What is guaranteed, in words."""
        if math.isinf(self.epsilon):
            return NO_GUARANTEE
        delta = f", delta {self.delta:g}" if self.delta else ""
        return f"epsilon {self.epsilon:.6g}{delta} for each released template, by {self.mechanism}"


def way(
    name: str,
    concealers: Sequence[Concealer],
    epsilon: float | None = None,
    mechanism: str | None = None,
) -> Way:
    """Concealers that differ in the seed of their training, at one epsilon.

    Args:
        name: how results call it.
        concealers: one for each seed.
        epsilon: of the release; None or infinity for none.
        mechanism: of the release; None for the one that they were made for.

    Raises:
        UsageError: they differ in more than the seed, one comes twice, or one cannot release so.
    """
    return _way(name, [concealer.at(epsilon, mechanism) for concealer in concealers], "")


def erased(name: str, vectors: Vectors, table: AttributeTable, attributes: Sequence[str]) -> Way:
    """Closed-form linear erasure (LEACE) alone, of vectors that are brought to length 1.

    Args:
        name: how results call it.
        vectors: to fit it to, with speakers who are not tested; each speaker counts the same.
        table: the attributes; rows without a value count for other attributes.
        attributes: what is erased, columns of the table.

    Raises:
        UsageError: see `sordino.conceal.erasure.fit_erasure`; or a vector is zero.
    """
    labels = {
        attribute: table.values(attribute, vectors.keys, vectors.speakers)
        for attribute in attributes
    }
    _, number, counts = np.unique(
        np.array(vectors.speakers), return_inverse=True, return_counts=True
    )
    erasure = fit_erasure(unit(vectors.vectors), labels, weights=1 / counts[number])
    return Way(
        name,
        (_Erased(erasure, frozenset(vectors.speakers)),),
        f"closed-form erasure of {', '.join(attributes)}, fitted to {len(vectors)} vectors of"
        f" {counts.size} speakers; at release: {NO_GUARANTEE}",
        computed=True,
    )


def over_epsilon(
    name: str,
    concealers: Sequence[Concealer],
    epsilons: Sequence[float],
    mechanism: str | None = None,
) -> tuple[Way, ...]:
    """The same trained concealers, released at many epsilons.

    Args:
        name: of the sweep.
        concealers: one for each seed.
        epsilons: infinity for no noise; put in order.
        mechanism: of the release; None for the one that they were made for.

    Raises:
        UsageError: see `way`.
    """
    return tuple(
        _way(name, [concealer.at(epsilon, mechanism) for concealer in concealers], "epsilon")
        for epsilon in sorted(set(epsilons))
    )


def over_training(
    name: str,
    concealers: Sequence[Concealer],
    epsilon: float | None = None,
    mechanism: str | None = None,
) -> tuple[Way, ...]:
    """Concealers that were trained with different epsilons, released at one.

    Args:
        name: of the sweep.
        concealers: those with the same epsilon in training count as different seeds.
        epsilon: of the release; None or infinity for none.
        mechanism: of the release; None for the one that they were made for.

    Raises:
        UsageError: see `way`.
    """
    groups: dict[float, list[Concealment]] = {}
    for concealer in concealers:
        known = groups.setdefault(concealer.description.epsilon_train, [])
        known.append(concealer.at(epsilon, mechanism))
    return tuple(_way(name, groups[trained], "epsilon_train") for trained in sorted(groups))


def require_untested(release: Release, speakers: Iterable[str]) -> None:
    """Refuse a release that was made with speakers who are tested, where it says with whom.

    Args:
        release: any.
        speakers: who are tested.

    Raises:
        UsageError: a speaker is in both; the message names the first.
    """
    both = sorted(getattr(release, "speakers", frozenset()) & set(speakers) - {""})
    if both:
        raise UsageError(
            f"{len(both)} of the speakers who are tested are among those that an erasure is fitted"
            f" to, the first is {both[0]}; choose others with --only"
        )


@dataclass(frozen=True, eq=False)
class _Erased:
    """An erasure as a release without noise.

    Attributes:
        erasure: of vectors of length 1.
        speakers: whom it was fitted to.
    """

    erasure: Erasure
    speakers: frozenset[str]
    epsilon: float = math.inf
    delta: float = 0.0

    def release(self, x: npt.ArrayLike, randomness: Randomness | None = None) -> FloatArray:
        """Erased vectors of directions."""
        del randomness
        return self.erasure.apply(unit(x))


def _way(name: str, releases: Sequence[Concealment], sweep: str) -> Way:
    if not releases:
        raise UsageError(f"{name}: no concealer is given")
    digests = [release.concealer.digest for release in releases]
    if len(set(digests)) < len(digests):
        raise UsageError(f"{name}: the same concealer is given twice")
    abouts = [release.concealer.description for release in releases]
    kinds = [release.release_of_latents.kind for release in releases]
    for what, values in (
        ("epsilon in training", [about.epsilon_train for about in abouts]),
        ("mechanism", kinds),
        ("attributes", [about.attributes for about in abouts]),
        ("size of latents", [about.latent for about in abouts]),
    ):
        if len(set(values)) > 1:
            first, second = list(dict.fromkeys(values))[:2]
            raise UsageError(
                f"{name}: trainings that differ in more than the seed ({what}: {first} and"
                f" {second}); give them names of their own"
            )
    computed = not any(release.concealer.has_networks for release in releases)
    return Way(
        name,
        tuple(releases),
        _what(releases),
        kinds[0],
        abouts[0].epsilon_train,
        sweep,
        computed,
    )


def _what(releases: Sequence[Concealment]) -> str:
    first = releases[0].concealer
    about = first.description
    parts = [f"concealer {first.name}"]
    if not first.has_networks:
        parts.append("closed-form erasure")
    elif first.erasure is not None:
        parts.append("erasure before the networks")
    if math.isfinite(about.epsilon_train):
        parts.append(f"{about.mechanism} noise in training, epsilon {about.epsilon_train:g}")
    elif first.has_networks:
        parts.append("no noise in training")
    release = releases[0].release_of_latents
    parts.append(f"at release: {release.name}")
    if about.clip is not None:
        parts.append(f"clip {about.clip:.4g} ({about.clip_origin})")
    if len(releases) > 1:
        parts.append(f"{len(releases)} trainings")
    return "; ".join(parts)
