"""Who adds which noise where: one object that clip, noise and fixed-point numbers follow from.

The order is: local training, clip (Euclidean norm C), local mechanism, whole numbers, upload, sum,
central noise for the norm that is really uploaded, a fixed denominator.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.adaptive import AdaptiveClip
from sordino.privacy.exact import discrete_gaussian
from sordino.privacy.mechanisms.checks import (
    checked_clip,
    checked_dimension,
    finite_rows,
)
from sordino.privacy.mechanisms.clip import clip_l1, clip_l2
from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.mechanisms.grid import Grid
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.mechanisms.scalar import ScalarDP
from sordino.privacy.mechanisms.vectors import PrivVector
from sordino.privacy.randomness import FloatArray, IntArray, Randomness

REGIMES = ("none", "local", "central", "central-local")
"""Names of the regimes."""

MECHANISMS = ("gaussian", "laplace", "privunit")
"""Names of the local mechanisms."""

# Of the bound: sums of 2 ** 36 users fit into 64 bits, and rounding is as fine as float32's.
_BITS = 26
# See `Gaussian`: with so much more variance, noise of whole numbers is as good as continuous.
_ROUNDING_VARIANCE = 4
# Numbers at a time, so that what is computed on the way stays in the cache.
_BLOCK = 2**17
_SAFE = 1e-100
# Honest noise is larger than what is taken for possible less often than exp(-_RARE).
_RARE = 40.0


class Protected(NamedTuple):
    """What leaves devices.

    Attributes:
        points: shape (n, d), whole numbers of grid steps.
        below: shape (n,), 1 where an update was no longer than the clip and -1 where it was; None
            where the clip does not adapt.
    """

    points: IntArray
    below: IntArray | None


@dataclass(frozen=True)
class Regime:
    """What is done to every update on its way into the model.

    Made by `unprotected`, `local`, `central` and `central_local`. All attributes are plain
    settings; noise, grid and bounds are derived from them, so that they cannot disagree.

    Attributes:
        name: one of `REGIMES`.
        dimension: number of parameters, d.
        clip: bound C on the Euclidean norm of an update.
        noise_multiplier: standard deviation of the central noise over the norm that is really
            uploaded; None without central noise.
        mechanism: one of `MECHANISMS`, on the device; None for none.
        local_epsilon: of one upload; None without local mechanism.
        local_delta: of one upload; above 0 for "gaussian" only.
        l1_clip: for "laplace", the bound on the L1 norm that its noise is made for.
        length_epsilon: for "privunit", the part of `local_epsilon` that tells the length.
        reclip: bound on what comes out of an additive local mechanism, where central noise follows.
        adaptive: how the clip follows the norms of updates; None for a fixed one.

    Raises:
        UsageError: settings are missing, out of range or contradict each other.

    Example:
        >>> from sordino.privacy.randomness import SystemRandomness
        >>> regime = Regime.central(dimension=10, clip=2.0, noise_multiplier=0.8)
        >>> updates, randomness = np.ones((100, 10)), SystemRandomness()
        >>> points = regime.protect(updates, randomness).points
        >>> total = points.sum(axis=0) + regime.noise(randomness)
        >>> regime.mean(total, cohort=100).shape
        (10,)

    Source: F. Granqvist et al., "Improving on-device speaker verification using federated learning
    with privacy", 2020, section 4; H. B. McMahan et al., "Learning differentially private
    recurrent language models", 2018, on the fixed denominator; P. Kairouz, Z. Liu and T. Steinke,
    "The distributed discrete Gaussian mechanism for federated learning", 2021, on whole numbers.
    """

    name: str
    dimension: int
    clip: float
    noise_multiplier: float | None = None
    mechanism: str | None = None
    local_epsilon: float | None = None
    local_delta: float = 0.0
    l1_clip: float | None = None
    length_epsilon: float = 0.0
    reclip: float | None = None
    adaptive: AdaptiveClip | None = None

    def __post_init__(self) -> None:
        if self.name not in REGIMES:
            raise UsageError(f"regime {self.name!r} is not one of: {', '.join(REGIMES)}")
        checked_dimension(self.dimension)
        checked_clip(self.clip)
        self._check_local()
        self._check_central()
        # What cannot be built is refused now and not in the middle of a round.
        self.grid  # noqa: B018

    @classmethod
    def unprotected(
        cls, dimension: int, clip: float, *, adaptive: AdaptiveClip | None = None
    ) -> Regime:
        """No noise: updates are clipped and added up.

        Args:
            dimension: number of parameters.
            clip: bound on the norm of an update.
            adaptive: how the clip follows the norms.
        """
        return cls("none", dimension, clip, adaptive=adaptive)

    @classmethod
    def local(
        cls,
        dimension: int,
        clip: float,
        epsilon: float,
        *,
        delta: float = 1e-6,
        mechanism: str = "gaussian",
        norm: float | None = None,
    ) -> Regime:
        """Every device adds noise that suffices for itself: whoever the server is.

        Args:
            dimension: number of parameters.
            clip: bound on the norm of an update.
            epsilon: of one upload.
            delta: of one upload by "gaussian"; the others have none.
            mechanism: one of `MECHANISMS`.
            norm: what norm updates usually have, for the best choice of "privunit"; the clip by
                default. It should be no secret.
        """
        return cls(
            "local", dimension, clip, **_local(dimension, clip, epsilon, delta, mechanism, norm)
        )

    @classmethod
    def central(
        cls,
        dimension: int,
        clip: float,
        noise_multiplier: float,
        *,
        adaptive: AdaptiveClip | None = None,
    ) -> Regime:
        """The server adds noise to the sum: it is trusted with single updates.

        Args:
            dimension: number of parameters.
            clip: bound on the norm of an update.
            noise_multiplier: standard deviation of the noise over the clip.
            adaptive: how the clip follows the norms; part of the noise pays for it.
        """
        return cls("central", dimension, clip, noise_multiplier=noise_multiplier, adaptive=adaptive)

    @classmethod
    def central_local(
        cls,
        dimension: int,
        clip: float,
        noise_multiplier: float,
        epsilon: float,
        *,
        mechanism: str = "privunit",
        delta: float = 1e-6,
        norm: float | None = None,
        reclip: float | None = None,
    ) -> Regime:
        """Both: weaker local noise, and central noise for the norm that is then uploaded.

        Args:
            dimension: number of parameters.
            clip: bound on the norm of an update.
            noise_multiplier: standard deviation of the central noise over the norm uploaded.
            epsilon: of one upload.
            mechanism: one of `MECHANISMS`.
            delta: of one upload by "gaussian".
            norm: what norm updates usually have, for "privunit"; the clip by default.
            reclip: for the other mechanisms, the bound on what they release.
        """
        settings = _local(dimension, clip, epsilon, delta, mechanism, norm)
        return cls(
            "central-local",
            dimension,
            clip,
            noise_multiplier=noise_multiplier,
            reclip=reclip,
            **settings,
        )

    @cached_property
    def local_mechanism(self) -> Gaussian | Laplace | PrivVector | None:
        """What protects updates on the device; None for nothing."""
        if self.mechanism is None:
            return None
        if self.mechanism == "gaussian":
            return Gaussian(self.clip, self.local_epsilon, self.local_delta)
        if self.mechanism == "laplace":
            return Laplace(self.l1_clip, self.local_epsilon)
        return PrivVector(self.dimension, self.local_epsilon, self.clip, self.length_epsilon)

    @cached_property
    def bound(self) -> float:
        """Bound on the Euclidean norm of an upload; infinite after additive local noise alone.

        After "privunit" it is many times the clip.
        """
        if self.reclip is not None:
            return self.reclip
        if self.local_mechanism is None:
            return self.clip
        if isinstance(self.local_mechanism, PrivVector):
            return _longest(self.local_mechanism)
        return math.inf

    @cached_property
    def grid(self) -> Grid:
        """Steps of the whole numbers that are uploaded."""
        if math.isfinite(self.bound):
            return Grid.for_clip(self.bound, _BITS)
        mechanism = self.local_mechanism
        assert isinstance(mechanism, Gaussian | Laplace)
        return mechanism.grid

    @property
    def update_multiplier(self) -> float | None:
        """Standard deviation of the noise in the sum over the norm uploaded.

        It is more than `noise_multiplier` where the clip adapts: both releases of a round together
        cost what one with `noise_multiplier` does.
        """
        if self.noise_multiplier is None or self.adaptive is None:
            return self.noise_multiplier
        return self.adaptive.update_multiplier(self.noise_multiplier)

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that are equal for equal regimes."""
        text = json.dumps(self.terms(), sort_keys=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]

    def terms(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return asdict(self)

    @classmethod
    def from_terms(cls, terms: Mapping[str, Any]) -> Regime:
        """What `terms` gave.

        Raises:
            UsageError: these are none.
        """
        try:
            known = dict(terms)
            if known.get("adaptive") is not None:
                known["adaptive"] = AdaptiveClip(**known["adaptive"])
            return cls(**known)
        except (TypeError, ValueError, AttributeError) as error:
            raise UsageError(f"these are no settings of a regime: {error}") from error

    def with_clip(self, clip: float) -> Regime:
        """The same with another clip."""
        return replace(self, clip=clip)

    def protect(self, updates: npt.ArrayLike, randomness: Randomness) -> Protected:
        """What devices upload for their updates.

        Args:
            updates: shape (n, d), one row for each device; not changed.
            randomness: where local noise comes from.

        Raises:
            UsageError: an update holds NaN or infinity, or has another shape.
        """
        given = np.asarray(updates)
        if given.ndim != 2 or given.shape[1] != self.dimension:
            raise UsageError(
                f"updates have shape {given.shape}; expected (n, {self.dimension}) numbers"
            )
        points = np.empty(given.shape, dtype=np.int64)
        below = None if self.adaptive is None else np.empty(len(given), dtype=np.int64)
        size = max(1, _BLOCK // self.dimension)
        for start in range(0, len(given), size):
            rows = finite_rows(given[start : start + size])  # a copy
            if below is not None:
                short = np.sqrt(np.square(rows).sum(axis=1)) <= self.clip
                below[start : start + size] = np.where(short, 1, -1)
            points[start : start + size] = self._points(rows, randomness)
        return Protected(points, below)

    def clipped(self, updates: npt.ArrayLike) -> FloatArray:
        """Updates as they are before any noise, shape (n, d)."""
        return clip_l2(updates, self.clip)

    def refusal(self, points: npt.NDArray[Any]) -> str | None:
        """Why a server must not count an upload; None where it may.

        Args:
            points: anything.
        """
        if points.shape != (self.dimension,):
            return f"shape {points.shape}"
        if points.dtype.kind == "f" and not np.isfinite(points).all():
            return "NaN or infinity"
        if points.dtype != np.int64:
            return f"numbers of type {points.dtype}"
        # In floats first, where nothing overflows; exactly only where it is near the bound.
        norm = float(np.linalg.norm(points.astype(np.float64)))
        if norm > self._longest_steps * (1 + 1e-9):
            return "norm beyond the bound"
        if math.isfinite(self.bound) and int(np.square(points).sum()) > self.grid.bound**2:
            return "norm beyond the bound"
        return None

    def noise(self, randomness: Randomness) -> IntArray:
        """Central noise, shape (d,), in grid steps; zeros in regimes without."""
        multiplier = self.update_multiplier
        if multiplier is None:
            return np.zeros(self.dimension, dtype=np.int64)
        variance = (Fraction(multiplier) * self.grid.bound) ** 2 + _ROUNDING_VARIANCE
        return discrete_gaussian(variance, self.dimension, randomness)

    def mean(self, total: IntArray, cohort: float) -> FloatArray:
        """The mean update.

        Args:
            total: sum of uploads and central noise, shape (d,).
            cohort: how many users are expected in a round, which is no secret; how many there were
                is one.
        """
        return self.grid.vectors(total) / cohort

    def next_clip(self, below: int, cohort: float, randomness: Randomness) -> float:
        """The clip of the next round.

        Args:
            below: sum of what devices said: 1 or -1 each.
            cohort: how many users are expected.
            randomness: where the noise comes from.
        """
        if self.adaptive is None:
            return self.clip
        private = self.noise_multiplier is not None
        return self.adaptive.next_clip(self.clip, below, cohort, randomness if private else None)

    def noise_norm(
        self, cohort: float, *, reports: float | None = None, norm: float | None = None
    ) -> float:
        """Expected norm of all noise in the mean update: the root of its mean square.

        Args:
            cohort: the denominator.
            reports: how many uploads there are; as many as the cohort by default.
            norm: of updates after clipping, for "privunit", whose noise depends on it; the clip by
                default.

        Example:
            >>> regime = Regime.central(dimension=100, clip=2.0, noise_multiplier=0.5)
            >>> round(regime.noise_norm(cohort=50), 6)
            0.2
        """
        square = 0.0
        mechanism = self.local_mechanism
        count = cohort if reports is None else reports
        if isinstance(mechanism, PrivVector):
            square += count * mechanism.mean_squared_error(self.clip if norm is None else norm)
        elif mechanism is not None:
            square += count * mechanism.mean_squared_error(self.dimension)
        if self.update_multiplier is not None:
            square += self.dimension * (self.update_multiplier * self.bound) ** 2
        return math.sqrt(max(square, 0.0)) / cohort

    def release_cost(self) -> tuple[float, float]:
        """Epsilon and delta of one upload, against the server; infinite without local mechanism."""
        if self.local_epsilon is None:
            return math.inf, 0.0
        return self.local_epsilon, self.local_delta

    @property
    def most_reports(self) -> int:
        """How many uploads a sum has room for."""
        return int(2.0**62 // max(self._longest_steps, 1.0))

    @cached_property
    def _longest_steps(self) -> float:
        """A norm in grid steps that honest uploads do not pass, or as good as never."""
        mechanism = self.local_mechanism
        if math.isfinite(self.bound) or mechanism is None:
            return float(self.grid.bound)
        if isinstance(mechanism, Gaussian):
            deviation = mechanism.standard_deviation
            noise = deviation * (math.sqrt(self.dimension) + math.sqrt(2 * _RARE))
            return (self.clip + noise) / self.grid.step
        assert isinstance(mechanism, Laplace)
        # The L1 norm of the noise is gamma distributed; norms are no longer than that.
        sum_of_sizes = self.dimension + math.sqrt(2 * self.dimension * _RARE) + _RARE
        return (self.clip + mechanism.scale * sum_of_sizes) / self.grid.step

    def before_noise(self, updates: npt.ArrayLike) -> IntArray:
        """Clipped updates in grid steps, as they are before an additive local mechanism.

        For simulations, which may draw the noise of all devices at once.

        Args:
            updates: shape (n, d), finite.
        """
        rows = _clipped(finite_rows(updates), self.clip)
        if isinstance(self.local_mechanism, Laplace):
            return self.grid.l1(clip_l1(rows, self.local_mechanism.clip))
        return self.grid.l2(rows)

    def _points(self, rows: FloatArray, randomness: Randomness) -> IntArray:
        mechanism = self.local_mechanism
        if mechanism is None:
            return self.grid.l2(_clipped(rows, self.clip))
        # Laplace bounds the L1 norm; all regimes bound the Euclidean norm first.
        released = mechanism.release(clip_l2(rows, self.clip), randomness)
        if math.isfinite(self.bound):
            return self.grid.l2(clip_l2(released, self.bound))
        points: IntArray = np.rint(released / self.grid.step).astype(np.int64)
        return points

    def _check_local(self) -> None:
        wanted = self.name in ("local", "central-local")
        if not wanted and self.mechanism is None and self.local_epsilon is None:
            return
        if not wanted:
            raise UsageError(f"regime {self.name!r} has no local mechanism; see central-local")
        if self.mechanism not in MECHANISMS:
            raise UsageError(
                f"local mechanism {self.mechanism!r} is not one of: {', '.join(MECHANISMS)}"
            )
        if self.adaptive is not None:
            raise UsageError(
                f"regime {self.name!r}: an adaptive clip would need one more local release in every"
                " round; use a fixed clip, or regime central"
            )

    def _check_central(self) -> None:
        wanted = self.name in ("central", "central-local")
        if not wanted:
            if self.noise_multiplier is not None or self.reclip is not None:
                raise UsageError(f"regime {self.name!r} has no central noise")
            return
        z = self.noise_multiplier
        if z is None or not 0 < z < 2.0**20:  # refuses NaN too
            raise UsageError(f"noise multiplier {z} is not a number above 0")
        if self.name == "central-local" and not math.isfinite(self.bound):
            raise UsageError(
                f"after the {self.mechanism} mechanism an upload may have any norm, so that no"
                " central noise suffices: give reclip, or use privunit"
            )
        if self.reclip is not None:
            checked_clip(self.reclip)
        if self.adaptive is not None:
            self.adaptive.update_multiplier(z)


def _clipped(rows: FloatArray, clip: float) -> FloatArray:
    """What `clip_l2` gives, faster where all squares are far from the ends of floats."""
    squares = np.einsum("ij,ij->i", rows, rows)
    low, high = squares.min(initial=1.0), squares.max(initial=1.0)
    if not (low >= _SAFE and high <= 1 / _SAFE and _SAFE <= clip <= 1 / _SAFE):
        return clip_l2(rows, clip)
    beyond = np.flatnonzero(squares > clip**2)
    rows[beyond] *= (clip / np.sqrt(squares[beyond]))[:, None]
    return rows


def _longest(mechanism: PrivVector) -> float:
    """The largest norm of what a mechanism releases."""
    longest = mechanism.direction.norm * mechanism.clip
    if mechanism.length_epsilon:
        scalar = ScalarDP(1.0, mechanism.length_epsilon)
        longest *= float(np.abs(scalar.number_of([0, scalar.levels])).max())
    return longest


def _local(
    dimension: int, clip: float, epsilon: float, delta: float, mechanism: str, norm: float | None
) -> dict[str, Any]:
    """Settings of a local mechanism."""
    settings: dict[str, Any] = {"mechanism": mechanism, "local_epsilon": float(epsilon)}
    if mechanism == "gaussian":
        settings["local_delta"] = delta
    elif mechanism == "laplace":
        # What the L1 norm of a vector of this Euclidean norm is, if its direction is like any.
        settings["l1_clip"] = clip * math.sqrt(2 * dimension / math.pi)
    elif mechanism == "privunit":
        best = PrivVector.best(dimension, epsilon, clip, clip if norm is None else norm)
        settings["length_epsilon"] = best.length_epsilon
    return settings
