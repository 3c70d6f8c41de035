"""Parting speakers, so that nobody is guessed by an attacker who has met them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sordino.corpus.draws import digest
from sordino.errors import UsageError

IntArray = npt.NDArray[np.int64]
Names = npt.NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Fold:
    """Who an attacker is trained on, and who is guessed.

    Attributes:
        train: rows, shape (rows of training,).
        test: rows, shape (rows to guess,).
    """

    train: IntArray
    test: IntArray


def speaker_folds(speakers: Names, labels: IntArray, count: int, seed: int) -> tuple[Fold, ...]:
    """Part speakers into folds of the same size; each fold is guessed once.

    Speakers with the same values of the attribute are dealt out among themselves, so that all
    values are alike in all folds. Who is in which fold depends on the names, the values and the
    seed, not on the order of the rows or on the libraries' versions.

    Args:
        speakers: who each row is of, shape (rows,).
        labels: numbers of the attribute's values, shape (rows,); a speaker may have several.
        count: how many folds, at least 2.
        seed: another one gives other folds.

    Raises:
        UsageError: there are fewer speakers than folds, or fewer than two folds.

    Example:
        >>> speakers = np.array(["ann", "ann", "bob", "cem", "eve"])
        >>> folds = speaker_folds(speakers, np.array([0, 0, 1, 1, 0]), 2, seed=0)
        >>> sorted(len(set(speakers[fold.test])) for fold in folds)
        [2, 2]
        >>> any(set(speakers[fold.test]) & set(speakers[fold.train]) for fold in folds)
        False
    """
    names, numbers = np.unique(speakers, return_inverse=True)
    if count < 2:
        raise UsageError(f"{count} folds are too few; at least 2 are needed")
    if names.size < count:
        raise UsageError(f"there are {names.size} speakers for {count} folds; use fewer folds")
    pairs = np.unique(np.stack([numbers, labels], axis=1), axis=0)
    kinds = [tuple(pairs[pairs[:, 0] == number, 1].tolist()) for number in range(names.size)]
    order = sorted(
        range(names.size),
        key=lambda number: (kinds[number], digest(seed, "fold", str(names[number]))),
    )
    fold_of = np.empty(names.size, dtype=np.int64)
    fold_of[order] = np.arange(names.size) % count
    of_row = fold_of[numbers]
    return tuple(
        Fold(np.flatnonzero(of_row != fold), np.flatnonzero(of_row == fold))
        for fold in range(count)
    )


def given_fold(speakers: Names, training: npt.NDArray[np.bool_]) -> Fold:
    """The one fold of a split that is given.

    Args:
        speakers: who each row is of, shape (rows,).
        training: whether each row is for training, shape (rows,); all others are guessed.

    Raises:
        UsageError: one of the two is empty, or a speaker is in both.

    Example:
        >>> fold = given_fold(np.array(["ann", "bob"]), np.array([True, False]))
        >>> fold.train.tolist(), fold.test.tolist()
        ([0], [1])
    """
    fold = Fold(np.flatnonzero(training), np.flatnonzero(~training))
    if not (fold.train.size and fold.test.size):
        raise UsageError("the split leaves no vectors to train on, or none to guess")
    require_disjoint(speakers[fold.train], speakers[fold.test])
    return fold


def require_disjoint(trained: Iterable[str], tested: Iterable[str]) -> None:
    """Refuse an attacker who has met those whom he is to guess.

    Args:
        trained: speakers whom he was trained on.
        tested: speakers to guess.

    Raises:
        UsageError: a speaker is in both; the message names the first.

    Example:
        >>> require_disjoint(["ann"], ["bob"])
    """
    both = sorted(set(map(str, trained)) & set(map(str, tested)))
    if both:
        raise UsageError(
            f"{len(both)} of the speakers to guess are among those that the attacker is trained"
            f" on, the first is {both[0]}"
        )
