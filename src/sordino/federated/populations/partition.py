"""Whose vectors are on which device."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.federated.task import Ints


def by_speaker(speakers: Sequence[str]) -> list[Ints]:
    """One user for each speaker, sorted by name.

    Args:
        speakers: of each row.

    Returns:
        For each user the rows that are theirs.

    Example:
        >>> [rows.tolist() for rows in by_speaker(["b", "a", "b"])]
        [[1], [0, 2]]
    """
    names, owners = np.unique(np.asarray(speakers, dtype=np.str_), return_inverse=True)
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(names)))
    return np.split(order.astype(np.int64), ends[:-1]) if len(names) else []


def resampled(
    speakers: Sequence[str], users: int, examples: int, generator: np.random.Generator
) -> list[Ints]:
    """More users than there are speakers: each is one of the speakers with utterances drawn anew.

    Speakers take turns, so that none is drawn much more often than another; utterances are drawn
    with replacement. Such users are good for the mathematics of large cohorts, and poor in voices.

    Args:
        speakers: of each row.
        users: how many.
        examples: of each user.
        generator: decides.

    Example:
        >>> rows = resampled(["a", "a", "b"], 4, 2, np.random.default_rng(0))
        >>> len(rows), sorted({int(row) for user in rows for row in user} - {0, 1})
        (4, [2])
    """
    if users < 1 or examples < 1:
        raise UsageError("resampling needs at least 1 user with at least 1 example")
    real = by_speaker(speakers)
    turns = -(-users // len(real))
    order = np.concatenate([generator.permutation(len(real)) for _ in range(turns)])[:users]
    drawn = generator.random((users, examples))
    return [
        real[speaker][(drawn[user] * len(real[speaker])).astype(np.int64)]
        for user, speaker in enumerate(order)
    ]


def dirichlet(
    labels: npt.ArrayLike, users: int, concentration: float, generator: np.random.Generator
) -> list[Ints]:
    """Deal rows of each class to users in proportions that are more or less even.

    Args:
        labels: of each row.
        users: how many; those who are dealt nothing are left out.
        concentration: above 0: small for users with one class, large for users who are all alike.
        generator: decides.

    Raises:
        UsageError: an argument is out of range.

    Example:
        >>> rows = dirichlet([0, 0, 0, 1, 1, 1], 2, 1e6, np.random.default_rng(0))
        >>> sorted(int(row) for user in rows for row in user)
        [0, 1, 2, 3, 4, 5]

    Source: T.-M. Hsu, H. Qi and M. Brown, "Measuring the effects of non-identical data
    distribution for federated visual classification", 2019.
    """
    if users < 1 or not 0 < concentration < np.inf:
        raise UsageError("a Dirichlet partition needs at least 1 user and a concentration above 0")
    known = np.asarray(labels)
    dealt: list[list[npt.NDArray[np.int64]]] = [[] for _ in range(users)]
    for label in np.unique(known):
        rows = generator.permutation(np.flatnonzero(known == label)).astype(np.int64)
        # In floats, tiny concentrations may give no proportions at all.
        shares = np.maximum(generator.gamma(concentration, size=users), 1e-300)
        ends = np.rint(np.cumsum(shares) / shares.sum() * len(rows)).astype(np.int64)
        for user, part in enumerate(np.split(rows, ends[:-1])):
            dealt[user].append(part)
    users_rows = [np.concatenate(parts) for parts in dealt]
    return [rows for rows in users_rows if len(rows)]
