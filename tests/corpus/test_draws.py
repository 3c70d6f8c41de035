from __future__ import annotations

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from sordino.corpus.draws import digest


def test_it_is_the_hash_of_seed_and_labels() -> None:
    # Written down once: published lists of trials hang on it.
    assert digest(0, "enrol", "a1") == hashlib.sha256(b"0\0enrol\0a1").digest()


@given(st.integers(), st.lists(st.text(st.characters(exclude_characters="\0")), min_size=1))
def test_every_part_counts(seed: int, labels: list[str]) -> None:
    found = digest(seed, *labels)
    assert len(found) == 32
    assert digest(seed + 1, *labels) != found
    assert digest(seed, *labels, "x") != found
