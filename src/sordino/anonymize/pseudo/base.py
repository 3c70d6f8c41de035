"""What every way of choosing a pseudo-speaker is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Draws
from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import UsageError
from sordino.privacy.keys import SecretKey

FloatArray = npt.NDArray[np.float64]
Gender = Literal["same", "cross", "any", "F", "M"]

_Choice = TypeVar("_Choice", bound=str)

# Of each sex of the source with several draws: a strategy may draw the sex of the voice.
_TRIED = 16


@dataclass(frozen=True, eq=False)
class Source:
    """How the person sounds who gets a pseudo-speaker.

    Attributes:
        vector: shape (S,), by the encoder that the pool's vectors are from; it is brought to
            length 1.
        sex: "F", "M" or "" where it is not known; it is then guessed from the vector.

    Raises:
        UsageError: the vector has no direction, or the sex is another word.

    Example:
        >>> Source(np.array([3.0, 4.0]), "F").vector.tolist()
        [0.6, 0.8]
    """

    vector: FloatArray
    sex: str = ""

    def __post_init__(self) -> None:
        if self.sex not in {"F", "M", ""}:
            raise UsageError(f"the sex of a source is {self.sex!r}; expected F, M or nothing")
        vector = np.asarray(self.vector, dtype=np.float64)
        if vector.ndim != 1 or not np.isfinite(vector).all() or not vector.any():
            raise UsageError(
                f"a source's vector of shape {vector.shape} is empty, zero or not finite"
            )
        object.__setattr__(self, "vector", unit(vector))


class Strategy(ABC):
    """Chooses the pseudo-speaker that somebody becomes.

    The choice is a pure function of the pool, the key and labels in `draws`, and of the source
    where the strategy needs it. No state is kept: any process at any time gives the same.

    Attributes:
        name: the strategy's name.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def needs_source(self) -> bool:
        """Whether `choose` has to know how the speaker sounds."""

    @abstractmethod
    def settings(self) -> Mapping[str, object]:
        """Public settings, as they appear in run records; never what a key decides."""

    @abstractmethod
    def choose(self, pool: Pool, draws: Draws, source: Source | None = None) -> FloatArray:
        """The pseudo-speaker's vector.

        Args:
            pool: real voices to choose from or to learn from.
            draws: the pseudo-speaker's random choices.
            source: how the speaker sounds; may be None where `needs_source` is False.

        Returns:
            float64, shape (S,), of length 1.

        Raises:
            UsageError: the pool does not suffice, or the source is missing or does not fit.
        """

    def check(self, pool: Pool) -> None:
        """Refuse a pool from which nobody can get a voice, whatever the key and the source.

        Args:
            pool: real voices to choose from or to learn from.

        Raises:
            UsageError: the pool does not suffice; the message says for what.
        """
        for number in range(_TRIED):
            draws = Draws(SecretKey(bytes(32)), ("check", str(number)))
            try:
                self.choose(pool, draws, Source(pool.vectors[0], "FM"[number % 2]))
            except UsageError:
                if number == _TRIED - 1:
                    raise
            else:
                return


def group_of(gender: Gender, pool: Pool, draws: Draws, source: Source | None) -> str:
    """The group of pool voices that a pseudo-speaker belongs to.

    Args:
        gender: "same" or "cross" as seen from the source, "F", "M", or "any": each with
            probability 1/2, by the key.
        pool: asked for the sex of a source that does not tell it.
        draws: decide for "any".
        source: needed for "same" and "cross".

    Returns:
        "F", "M", or "" for all voices together: for "any", where the pool does not have both sexes.

    Raises:
        UsageError: the source is missing, or the pool cannot tell its sex.
    """
    if gender in {"F", "M"}:
        return gender
    if gender == "any":
        if set("FM") <= set(pool.sex):
            return "F" if draws.uniform("pseudo-speaker sex") < 0.5 else "M"
        return ""
    known = checked_source(source, pool, f"gender {gender!r}")
    sex = known.sex or pool.sex_of(known.vector).sex
    return sex if gender == "same" else "FM".replace(sex, "")


def depends_on_source(gender: Gender) -> bool:
    """Whether a group of voices is chosen by the source's sex."""
    return gender in {"same", "cross"}


def checked_source(source: Source | None, pool: Pool, what: str) -> Source:
    """The source, if it is there and has as many numbers as the pool's vectors.

    Raises:
        UsageError: it is not, or has not.
    """
    if source is None:
        raise UsageError(f"{what} needs to know how the speaker sounds; no source was given")
    if source.vector.size != pool.dimension:
        raise UsageError(
            f"the source's vector has {source.vector.size} numbers and the pool's have"
            f" {pool.dimension}; use the encoder that the pool was made with"
        )
    return source


def checked_choice(value: _Choice, name: str, choices: object) -> _Choice:
    """One of the words of a Literal type.

    Raises:
        UsageError: it is not.
    """
    words = get_args(choices)
    if not isinstance(value, str) or value not in words:
        raise UsageError(f"{name} {value!r} is not one of: {', '.join(words)}")
    return value


def checked_count(value: float, name: str, least: int, most: int) -> int:
    """A whole number in a range; 3.0 is one too, as the command line gives it.

    Raises:
        UsageError: it is not.
    """
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or value % 1 != 0 or not least <= value <= most:
        raise UsageError(f"{name} {value!r} is not a whole number from {least:,} to {most:,}")
    return int(value)


def checked_number(value: float, name: str, least: float, most: float) -> float:
    """A number in a range.

    Raises:
        UsageError: it is not.
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not least <= value <= most:
        raise UsageError(f"{name} {value!r} is not a number from {least:g} to {most:g}")
    return float(value)


def unit(vector: FloatArray) -> FloatArray:
    """A vector, or each row of an array, scaled to length 1; none may have length 0."""
    scaled: FloatArray = vector / np.linalg.norm(vector, axis=-1, keepdims=True)
    return scaled
