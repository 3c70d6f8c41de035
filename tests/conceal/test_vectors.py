from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from sordino.conceal.vectors import conceal_vectors, statement_of, statement_path
from sordino.errors import UsageError
from sordino.privacy.ledger import Ledger, Limit
from sordino.speaker.vectors import Vectors
from tests.concealers import DIMENSION, laplace, write_concealer


@pytest.fixture
def concealment(tmp_path):
    return write_concealer(tmp_path / "concealer", laplace()).at(5.0)


def vectors(speakers: tuple[str, ...] = ("ann", "ann", "bob"), digest: str = "c0ffee") -> Vectors:
    rows = np.random.default_rng(0).normal(size=(len(speakers), DIMENSION)).astype(np.float32)
    keys = tuple(f"{speaker}/{row}" for row, speaker in enumerate(speakers))
    paths = tuple(f"{key}.wav" for key in keys)
    return Vectors(keys, paths, speakers, rows, "tiny-encoder", digest)


def test_only_the_vectors_change(concealment):
    given = vectors()
    found = conceal_vectors(given, concealment)
    assert (found.keys, found.paths, found.speakers) == (given.keys, given.paths, given.speakers)
    assert (found.vectors != given.vectors).all()
    assert found.vectors.dtype == np.float32
    assert found.encoder == "tiny-encoder + tiny-concealer (laplace, epsilon 5)"
    assert found.digest == f"c0ffee+{concealment.concealer.digest}"


def test_vectors_of_others_are_refused(concealment):
    conceal_vectors(vectors(digest=""), concealment)
    with pytest.raises(UsageError, match=r"the vectors are of tiny-encoder \(decade\); the conce"):
        conceal_vectors(vectors(digest="decade"), concealment)
    with pytest.raises(UsageError, match=r"concealed already: tiny-encoder \+ tiny-concealer"):
        conceal_vectors(conceal_vectors(vectors(), concealment), concealment)


def test_a_statement_adds_up(concealment):
    said = statement_of(vectors(), concealment)
    assert said["releases"] == {
        "templates": 3,
        "speakers": 2,
        "most_of_one_speaker": 2,
        "epsilon_of_those": 10.0,
    }
    assert said["epsilon"] == 5.0
    unknown = statement_of(vectors(("", "ann")), concealment)["releases"]
    assert unknown == {
        "templates": 2,
        "speakers": None,
        "most_of_one_speaker": None,
        "epsilon_of_those": None,
    }
    without = statement_of(vectors(), concealment.concealer.at(math.inf))
    assert json.loads(json.dumps(without, allow_nan=False))["releases"]["epsilon_of_those"] == "inf"
    assert statement_path(Path("a/b.c.npz")) == Path("a/b.c.privacy.json")


def test_a_ledger_counts_for_each_speaker(concealment, tmp_path):
    ledger = Ledger(tmp_path / "ledger", create=True)
    ledger.set_limit(Limit(12.0), purpose="log-in")
    given = vectors()
    first = conceal_vectors(given, concealment, ledger=ledger, purpose="log-in")
    assert ledger.spent("ann", "log-in").releases == 2
    assert ledger.spent("bob", "log-in").releases == 1
    again = conceal_vectors(given, concealment, ledger=ledger, purpose="log-in")
    np.testing.assert_array_equal(again.vectors, first.vectors)
    assert ledger.spent("ann", "log-in").releases == 2
    other = concealment.concealer.at(6.0)
    with pytest.raises(UsageError, match="ann"):
        conceal_vectors(given, other, ledger=ledger, purpose="log-in")
    assert ledger.spent("bob").releases == 1
    counted = {"ledger": ledger, "purpose": "log-in", "person": "zoe"}
    with pytest.raises(UsageError, match="zoe"):
        conceal_vectors(given, concealment, **counted)
    with pytest.raises(UsageError, match="/0: nobody says who speaks; a ledger counts for people"):
        conceal_vectors(vectors(("", "ann")), concealment, ledger=ledger, purpose="log-in")
