"""The pool: voices of real people that pseudo-speakers are made from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sordino.anonymize.prosody.register import HIGHEST_HZ, LOWEST_HZ, Register
from sordino.anonymize.pseudo.discriminant import Discriminant, SexGuess
from sordino.anonymize.pseudo.gaussian import FEWEST, Gaussian, fit_gaussian
from sordino.anonymize.pseudo.ridge import Ridge, fit_ridge
from sordino.errors import UsageError

FloatArray = npt.NDArray[np.float64]

_ARRAYS = ("vectors", "sex", "pitch_mean", "pitch_deviation")
_GROUPS = {"F": "voices of women", "M": "voices of men", "": "voices"}
_FEWEST_VOICES = 2


@dataclass(frozen=True, eq=False)
class Pool:
    """Voices of real people. Two pools with the same content are equal.

    Attributes:
        vectors: float64, shape (n, S), n at least 2; each is brought to length 1.
        sex: shape (n,), "F", "M" or "" where it is not known.
        pitch_mean: shape (n,), mean of the natural logarithm of F0 in hertz over voiced frames.
        pitch_deviation: shape (n,), its standard deviation.

    Raises:
        UsageError: the arrays do not fit together, or hold numbers that cannot be.

    Example:
        >>> pool = Pool(np.array([[2.0, 0], [0, 1]]), np.array(["F", "M"]),
        ...             np.log([210.0, 120.0]), np.array([0.2, 0.2]))
        >>> pool.vectors.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """

    vectors: FloatArray
    sex: npt.NDArray[np.str_]
    pitch_mean: FloatArray
    pitch_deviation: FloatArray

    def __post_init__(self) -> None:
        vectors = _numbers(self.vectors, "vectors")
        if vectors.ndim != 2 or vectors.shape[1] == 0:
            raise UsageError(f"vectors have shape {vectors.shape}; expected (voices, dimension)")
        count = len(vectors)
        if count < _FEWEST_VOICES:
            raise UsageError(f"holds {count} voices; a pool needs at least {_FEWEST_VOICES}")
        empty = np.flatnonzero(~vectors.any(axis=1))
        if empty.size:
            raise UsageError(f"vector {empty[0]} is zero; it has no direction")
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        sex = np.asarray(self.sex)
        if sex.dtype.kind != "U" or not np.isin(sex, list(_GROUPS)).all():
            raise UsageError('sex holds something else than "F", "M" and ""')
        mean = _numbers(self.pitch_mean, "pitch_mean")
        deviation = _numbers(self.pitch_deviation, "pitch_deviation")
        shapes = {"sex": sex, "pitch_mean": mean, "pitch_deviation": deviation}
        for name, array in shapes.items():
            if array.shape != (count,):
                raise UsageError(f"{name} has shape {array.shape} beside {count} vectors")
        if mean.min() < math.log(LOWEST_HZ) or mean.max() > math.log(HIGHEST_HZ):
            raise UsageError(
                f"pitch_mean goes from {mean.min():.3g} to {mean.max():.3g}; expected natural"
                f" logarithms of {LOWEST_HZ:g} to {HIGHEST_HZ:g} Hz"
            )
        if deviation.min() < 0 or deviation.max() > 1:
            raise UsageError(
                f"pitch_deviation goes from {deviation.min():.3g} to {deviation.max():.3g};"
                " expected 0 to 1"
            )
        for name, array in {"vectors": vectors, **shapes}.items():
            kept = array.copy()
            kept.flags.writeable = False
            object.__setattr__(self, name, kept)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[np.generic]], where: str) -> Pool:
        """The pool in a bundle's pool.npz.

        Args:
            arrays: named as the attributes.
            where: where they come from; errors start with it.

        Raises:
            UsageError: an array is missing, or they are no pool.
        """
        missing = [name for name in _ARRAYS if name not in arrays]
        if missing:
            raise UsageError(f"{where}: has no array {missing[0]!r}; it needs {', '.join(_ARRAYS)}")
        try:
            return cls(*(arrays[name] for name in _ARRAYS))  # type: ignore[arg-type]
        except UsageError as error:
            raise UsageError(f"{where}: {error}") from error

    def __len__(self) -> int:
        return len(self.vectors)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pool) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def digest(self) -> bytes:
        """32 bytes that tell pools with different content apart."""
        digest = hashlib.sha256(repr(self.vectors.shape).encode())
        digest.update("/".join(self.sex).encode())
        for array in (self.vectors, self.pitch_mean, self.pitch_deviation):
            digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
        return digest.digest()

    def members(self, group: str, *, fewest: int, remedy: str) -> npt.NDArray[np.intp]:
        """Which voices belong to a group.

        Args:
            group: "F", "M", or "" for all.
            fewest: how many there have to be.
            remedy: what the user can do where there are fewer.

        Returns:
            Row numbers, ascending.

        Raises:
            UsageError: there are fewer.
        """
        rows = np.flatnonzero(self.sex == group) if group else np.arange(len(self))
        if len(rows) < fewest:
            raise UsageError(
                f"the pool has {len(rows)} {_GROUPS[group]}, {fewest} are needed; {remedy}"
            )
        return rows

    def gaussian(self, group: str) -> Gaussian:
        """The normal distribution of a group's voices.

        Args:
            group: "F", "M", or "" for all.

        Raises:
            UsageError: the group has fewer than 3 voices, or they are all the same.
        """
        if group not in self._gaussians:
            rows = self.members(group, fewest=FEWEST, remedy="use a pool with more voices")
            self._gaussians[group] = fit_gaussian(self.vectors[rows])
        return self._gaussians[group]

    def sex_of(self, vector: FloatArray) -> SexGuess:
        """A guess at the sex of a speaker, by linear discriminant analysis of the pool.

        Args:
            vector: shape (S,), of length 1.

        Raises:
            UsageError: the pool has fewer than 3 voices of one sex.
        """
        return self._discriminant.guess(vector)

    def register(self, vector: FloatArray) -> Register:
        """The pitch that fits a voice, by ridge regression on the pool.

        Mean and deviation stay within the range of the pool's.

        Args:
            vector: shape (S,), of length 1.
        """
        mean, deviation = (fit.predict(vector) for fit in self.pitch_fits)
        return Register(
            float(np.clip(mean, self.pitch_mean.min(), self.pitch_mean.max())),
            float(np.clip(deviation, self.pitch_deviation.min(), self.pitch_deviation.max())),
        )

    @cached_property
    def pitch_fits(self) -> tuple[Ridge, Ridge]:
        """The regressions that `register` predicts mean and deviation by."""
        return fit_ridge(self.vectors, self.pitch_mean), fit_ridge(
            self.vectors, self.pitch_deviation
        )

    @cached_property
    def _gaussians(self) -> dict[str, Gaussian]:
        return {}

    @cached_property
    def _discriminant(self) -> Discriminant:
        return Discriminant.between(self.gaussian("F"), self.gaussian("M"))


def _numbers(array: npt.ArrayLike, name: str) -> FloatArray:
    try:
        numbers = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} does not hold numbers") from error
    if not np.isfinite(numbers).all():
        raise UsageError(f"{name} holds NaN or infinity")
    return numbers
