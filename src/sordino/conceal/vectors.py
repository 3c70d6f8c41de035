"""Vectors with their keys and speakers, concealed as one, and what that adds up to."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.conceal.concealment import Concealment
from sordino.conceal.protected import is_protected, protected_digest, protected_name
from sordino.errors import UsageError
from sordino.speaker.vectors import Vectors

if TYPE_CHECKING:
    from sordino.privacy.ledger import Ledger


def conceal_vectors(
    vectors: Vectors,
    concealment: Concealment,
    *,
    ledger: Ledger | None = None,
    purpose: str = "",
    person: str | None = None,
) -> Vectors:
    """Protected templates of vectors, with the same keys, paths and speakers.

    Args:
        vectors: of the encoder that the concealer is for.
        concealment: what protects them.
        ledger: what counts releases, for each speaker; None for nothing.
        purpose: what the ledger counts them for.
        person: whom the ledger counts all of them for; None for the speakers.

    Raises:
        UsageError: the vectors are of another encoder or concealed already; or the ledger refuses,
            or a speaker is not known to it.
    """
    require_vectors(vectors, concealment)
    if ledger is None:
        rows = concealment.release(vectors.vectors)
    else:
        people = vectors.speakers if person is None else (person,) * len(vectors)
        if not all(people):
            key = vectors.keys[people.index("")]
            raise UsageError(f"{key}: nobody says who speaks; a ledger counts for people")
        rows = ledger.release_all(people, purpose, vectors.vectors, concealment)
    return replace(
        vectors,
        vectors=rows.astype(np.float32),
        encoder=protected_name(vectors.encoder, concealment),
        digest=protected_digest(vectors.digest, concealment),
    )


def require_vectors(vectors: Vectors, concealment: Concealment) -> None:
    """Refuse vectors that the concealer was not made for. Not all files say what theirs are.

    Raises:
        UsageError: they are of another encoder, or concealed already.
    """
    wanted = concealment.concealer.description
    if is_protected(vectors.digest):
        raise UsageError(f"the vectors are concealed already: {vectors.encoder}")
    if vectors.digest not in ("", wanted.encoder_digest):
        raise UsageError(
            f"the vectors are of {vectors.encoder} ({vectors.digest[:8]}); the concealer"
            f" {concealment.concealer.name} is for {wanted.encoder} ({wanted.encoder_digest[:8]})"
        )


def statement_of(
    vectors: Vectors, concealment: Concealment, person: str | None = None
) -> dict[str, Any]:
    """What is guaranteed of a file of protected templates, ready for JSON.

    Args:
        vectors: protected.
        concealment: what protected them.
        person: whose they all are, as for `conceal_vectors`; None for the speakers'.

    Returns:
        The statement for one template, and under `releases` how many there are, and what they add
        up to for the speaker with most of them (null where a speaker is not known).
    """
    counts = Counter(vectors.speakers if person is None else (person,) * len(vectors))
    most = None if "" in counts else max(counts.values(), default=0)
    total = None if most is None else _json(most * concealment.epsilon)
    return {
        **concealment.statement(),
        "releases": {
            "templates": len(vectors),
            "speakers": None if most is None else len(counts),
            "most_of_one_speaker": most,
            "epsilon_of_those": total,
        },
    }


def statement_path(output: Path) -> Path:
    """Where the statement of a file of protected templates lies: beside it.

    Example:
        >>> statement_path(Path("protected.npz")).name
        'protected.privacy.json'
    """
    return output.with_name(f"{output.stem}.privacy.json")


def _json(epsilon: float) -> float | str:
    return epsilon if math.isfinite(epsilon) else "inf"
