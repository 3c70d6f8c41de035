from __future__ import annotations

import json
import math
import os
import random
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sordino.errors import StoreError, UsageError
from sordino.privacy.ledger import Cost, Ledger, Limit
from sordino.privacy.ledger import store as store_module
from sordino.privacy.ledger.ledger import default_ledger
from sordino.privacy.ledger.store import Store
from tests.privacy.ledger.mechanisms import KEY, Noise

ROOT = Path(__file__).parents[3]


@pytest.fixture
def place(tmp_path) -> Path:
    return tmp_path / "ledger"


@pytest.fixture
def ledger(place) -> Ledger:
    """With a limit of 90 for log-ins."""
    made = Ledger(place, KEY, create=True)
    made.set_limit(Limit(90.0), purpose="log-in")
    return made


# Counting


def test_charges_are_counted_for_each_person_and_purpose(ledger, place):
    charge = ledger.charge("anna", "log-in", Cost(15.0), releases=2)
    assert (charge.spent, charge.releases) == ((30.0, 0.0), 2)
    assert charge.person == ledger.pseudonym("anna")
    ledger.charge("anna", "survey", Cost(1.0, 1e-6), limit=Limit(2.0, delta=1e-6))
    ledger.charge("bruno", "log-in", Noise(20.0))
    again = Ledger(place, KEY)
    assert again.spent("anna", "log-in").basic == (30.0, 0.0)
    assert again.spent("anna").basic == (31.0, 1e-6)
    assert again.spent("anna").releases == 3
    assert again.spent("bruno").basic == (20.0, 0.0)
    assert again.spent("chloé").releases == 0


def test_names_are_compared_in_one_unicode_form(ledger):
    ledger.charge("Zoë", "log-in", Cost(1.0))
    assert ledger.spent("Zoe\u0308").releases == 1


def test_many_small_releases_compose_better(ledger):
    ledger.charge("anna", "survey", Cost(0.1), releases=100, limit=Limit(math.inf))
    spent = ledger.spent("anna", slack=1e-6)
    assert spent.basic.epsilon == pytest.approx(10.0)
    assert spent.advanced is not None
    assert spent.advanced.epsilon == pytest.approx(5.7561, abs=1e-4)


def test_beyond_the_limit_nothing_is_counted(ledger):
    ledger.charge("anna", "log-in", Cost(15.0), releases=6)
    with pytest.raises(UsageError, match=r"'anna': 1 more release .*'log-in': epsilon 90 -> 105"):
        ledger.charge("anna", "log-in", Cost(15.0))
    assert ledger.spent("anna").releases == 6
    assert ledger.charge("bruno", "log-in", Cost(15.0)).spent.epsilon == 15.0


def test_without_a_limit_nothing_is_released(ledger):
    mechanism = Noise()
    with pytest.raises(UsageError, match="no limit is set for 'survey'"):
        ledger.release("anna", "survey", np.ones(3), mechanism)
    with pytest.raises(UsageError, match="no limit is set for 'survey'"):
        ledger.charge("anna", "survey", Cost(0.0))
    assert ledger.release("anna", "survey", np.ones(3), mechanism, limit=15.0).shape == (3,)


def test_own_limits_replace_those_of_everybody(ledger):
    assert ledger.set_limit(Limit(15.0), person="anna", purpose="log-in") is None
    assert ledger.set_limit(Limit(20.0)) is None
    assert ledger.limits() == {"log-in": Limit(90.0), None: Limit(20.0)}
    assert ledger.standing("anna").limits == {"log-in": Limit(15.0), None: Limit(20.0)}
    ledger.charge("anna", "log-in", Cost(15.0))
    with pytest.raises(UsageError, match="of 15,"):
        ledger.charge("anna", "log-in", Cost(1.0))
    ledger.charge("bruno", "log-in", Cost(20.0))
    with pytest.raises(UsageError, match="all purposes: epsilon 20 -> 21 of 20"):
        ledger.charge("bruno", "log-in", Cost(1.0))
    assert ledger.set_limit(None, person="anna", purpose="log-in") == Limit(15.0)
    assert ledger.standing("anna").limits["log-in"] == Limit(90.0)


def test_what_guarantees_nothing_needs_an_infinite_limit(ledger):
    for mechanism in (Noise(math.inf), Noise(1.0, guarantee=False)):
        with pytest.raises(UsageError, match="epsilon 0 -> inf of 90"):
            ledger.release("anna", "log-in", np.ones(2), mechanism)
    ledger.release("anna", "tests", np.ones(2), Noise(math.inf), limit=math.inf)
    assert ledger.spent("anna").basic.epsilon == math.inf


@pytest.mark.parametrize(
    ("person", "purpose", "releases"),
    [
        ("", "log-in", 1),
        (" ", "log-in", 1),
        ("a" * 257, "log-in", 1),
        ("anna", "", 1),
        ("anna", "log-in", 0),
        ("anna", "log-in", -1),
    ],
)
def test_impossible_charges(ledger, person, purpose, releases):
    with pytest.raises(UsageError):
        ledger.charge(person, purpose, Cost(1.0), releases=releases)
    assert ledger.standings() == {}


def test_people_are_listed_by_pseudonyms(ledger):
    ledger.charge("anna", "log-in", Cost(15.0))
    ledger.set_limit(Limit(1.0), person="bruno")
    found = ledger.standings()
    assert list(found) == sorted(map(ledger.pseudonym, ("anna", "bruno")))
    assert found[ledger.pseudonym("anna")].account.releases() == 1
    assert found[ledger.pseudonym("bruno")].limits == {
        "log-in": Limit(90.0),
        None: Limit(1.0),
    }


def test_pseudonyms_differ_between_ledgers(ledger, tmp_path):
    other = Ledger(tmp_path / "other", KEY, create=True)
    assert other.pseudonym("anna") != ledger.pseudonym("anna")


# Remembered releases


def test_the_same_vector_gets_the_same_answer_at_no_cost(ledger, place):
    vector = np.array([0.1, -0.2, 0.3])
    first = ledger.release("anna", "log-in", vector, Noise())
    mechanism = Noise()
    again = Ledger(place, KEY).release("anna", "log-in", vector.astype(np.float32) * 1.0, mechanism)
    assert not np.array_equal(first, again)
    assert ledger.spent("anna").releases == 2
    mechanism.asked.clear()
    np.testing.assert_array_equal(
        Ledger(place, KEY).release("anna", "log-in", vector, mechanism), first
    )
    assert ledger.spent("anna").releases == 2
    assert mechanism.asked == []


@pytest.mark.parametrize(
    "other",
    [
        {"person": "bruno"},
        {"purpose": "survey"},
        {"vector": np.array([1.0, 2.0, 3.0 + 1e-15])},
        {"mechanism": Noise(14.0)},
        {"mechanism": Noise(delta=1e-7)},
        {"mechanism": Noise(name="other")},
        {"name": "first"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_anything_else_is_another_release(ledger, other):
    ledger.set_limit(Limit(1000.0, delta=1e-6), purpose="log-in")
    ledger.set_limit(Limit(1000.0), purpose="survey")
    asked = {
        "person": "anna",
        "purpose": "log-in",
        "vector": np.array([1.0, 2.0, 3.0]),
        "mechanism": Noise(),
    }
    first = ledger.release(**asked)
    second = ledger.release(**(asked | other))
    assert not np.array_equal(first, second)
    assert sum(s.account.releases() for s in ledger.standings().values()) == 2


def test_a_named_release_comes_again_whatever_the_vector_is(ledger):
    first = ledger.release("anna", "log-in", np.ones(3), Noise(), name="enrolment 1")
    np.testing.assert_array_equal(
        ledger.release("anna", "log-in", np.zeros(3), Noise(), name="enrolment 1"), first
    )
    remembered = ledger.remembered("anna", "log-in", "enrolment 1", Noise())
    np.testing.assert_array_equal(remembered, first)
    assert ledger.remembered("anna", "log-in", "enrolment 2", Noise()) is None
    assert ledger.remembered("anna", "log-in", "enrolment 1", Noise(1.0)) is None
    assert ledger.remembered("bruno", "log-in", "enrolment 1", Noise()) is None
    assert ledger.spent("anna").releases == 1


def test_what_is_remembered_can_be_had_at_the_limit(ledger):
    first = ledger.release("anna", "log-in", np.ones(3), Noise(90.0))
    with pytest.raises(UsageError):
        ledger.release("anna", "log-in", np.zeros(3), Noise(1.0))
    np.testing.assert_array_equal(
        ledger.release("anna", "log-in", np.ones(3), Noise(90.0), limit=1.0), first
    )


def test_neither_the_vector_nor_a_name_lies_in_the_file(ledger, place):
    vector = np.random.default_rng(1).normal(size=8)
    result = ledger.release("anna", "log-in", vector, Noise(), name="enrolment 1")
    raw = place.read_bytes()
    for row in (vector, result):
        for kind in (np.float64, np.float32):
            assert row.astype(kind).tobytes()[:8] not in raw
    for word in (b"anna", b"log-in", b"enrolment", b"noise"):
        assert word not in raw


# Many vectors at once


def test_many_people_at_once(ledger):
    people = ["anna", "bruno", "anna", "chloé"]
    vectors = np.arange(12.0).reshape(4, 3)
    mechanism = Noise()
    found = ledger.release_all(people, "log-in", vectors, mechanism)
    assert found.shape == (4, 3)
    np.testing.assert_array_equal(mechanism.asked, [vectors])
    assert [ledger.spent(person).releases for person in ("anna", "bruno", "chloé")] == [2, 1, 1]
    for person, vector, result in zip(people, vectors, found, strict=True):
        np.testing.assert_array_equal(ledger.release(person, "log-in", vector, Noise()), result)


def test_equal_requests_in_one_call_are_one_release(ledger):
    vectors = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    found = ledger.release_all(["Zoe\u0308", "anna", "Zoë"], "log-in", vectors, Noise())
    np.testing.assert_array_equal(found[0], found[2])
    assert ledger.spent("Zoë").releases == ledger.spent("anna").releases == 1


def test_known_and_new_rows_come_in_their_order(ledger):
    vectors = np.arange(8.0).reshape(4, 2)
    known = ledger.release_all(["anna"] * 2, "log-in", vectors[[3, 1]], Noise())
    mechanism = Noise()
    found = ledger.release_all(["anna"] * 4, "log-in", vectors, mechanism)
    np.testing.assert_array_equal(found[[3, 1]], known)
    np.testing.assert_array_equal(mechanism.asked, [vectors[[0, 2]]])
    names = ledger.release_all(["anna"] * 2, "log-in", vectors[:2], Noise(), names=["a", "b"])
    np.testing.assert_array_equal(ledger.remembered("anna", "log-in", "b", Noise()), names[1])


def test_if_one_person_is_beyond_the_limit_nobody_is_charged(ledger):
    ledger.charge("bruno", "log-in", Cost(80.0))
    with pytest.raises(UsageError, match="'bruno'"):
        ledger.release_all(["anna", "bruno"], "log-in", np.eye(2), Noise())
    assert ledger.spent("anna").releases == 0
    mechanism = Noise()
    ledger.release("anna", "log-in", np.array([1.0, 0.0]), mechanism)
    assert len(mechanism.asked) == 1


@pytest.mark.parametrize(
    "vectors",
    [
        np.ones(3),
        np.ones((0, 3)),
        np.ones((1, 0)),
        [[np.nan, 1.0]],
        [[np.inf, 1.0]],
        np.ones((2, 2)),
    ],
)
def test_what_are_no_vectors(ledger, vectors):
    mechanism = Noise()
    with pytest.raises(UsageError, match="vectors"):
        ledger.release_all(["anna"], "log-in", vectors, mechanism)
    assert ledger.spent("anna").releases == len(mechanism.asked) == 0


def test_names_have_to_fit(ledger):
    with pytest.raises(UsageError, match="2 vectors need as many names of releases, not 1"):
        ledger.release_all(["anna"] * 2, "log-in", np.eye(2), Noise(), names=["a"])
    with pytest.raises(UsageError, match="release"):
        ledger.release("anna", "log-in", np.ones(2), Noise(), name="")


class Broken(Noise):
    """Gives what it is told to."""

    def __init__(self, result: object) -> None:
        super().__init__()
        self.result = result

    def release(self, x: np.ndarray) -> np.ndarray:
        if isinstance(self.result, BaseException):
            raise self.result
        return np.asarray(self.result)


@pytest.mark.parametrize(
    "result", [[[np.nan, 1.0]], [1.0, 2.0], [[1.0], [2.0]], RuntimeError("broken")]
)
def test_a_broken_mechanism_costs_and_releases_nothing(ledger, result):
    with pytest.raises((UsageError, RuntimeError)):
        ledger.release("anna", "log-in", np.ones(2), Broken(result))
    assert ledger.spent("anna").releases == 0


# Forgetting


def test_forgetting_keeps_the_count(ledger, place):
    first = ledger.release("anna", "log-in", np.ones(3), Noise(), name="1")
    ledger.release("bruno", "log-in", np.ones(3), Noise(), name="1")
    assert ledger.forget("anna").templates == 1
    assert ledger.remembered("anna", "log-in", "1", Noise()) is None
    assert ledger.remembered("bruno", "log-in", "1", Noise()) is not None
    assert ledger.spent("anna").releases == 1
    again = ledger.release("anna", "log-in", np.ones(3), Noise(), name="1")
    assert not np.array_equal(again, first)
    assert ledger.spent("anna").releases == 2


def test_forgetting_all(ledger, place):
    ledger.release("anna", "log-in", np.ones(3), Noise())
    ledger.set_limit(Limit(20.0), person="anna")
    with closing(sqlite3.connect(place)) as connection:
        query = "SELECT record FROM records WHERE owner = ?"
        sealed = [row[0] for row in connection.execute(query, (ledger.pseudonym("anna"),))]
    found = ledger.forget("anna", counts=True)
    assert (found.templates, found.releases) == (1, 1)
    assert ledger.standings() == {}
    assert ledger.limits() == {"log-in": Limit(90.0)}
    raw = place.read_bytes()
    assert len(sealed) == 3
    assert not any(record in raw for record in sealed)


def test_forgetting_somebody_unknown(ledger):
    with pytest.raises(UsageError, match="nothing is kept of 'dora'"):
        ledger.forget("dora")


def test_a_file_that_cannot_be_rebuilt_is_told(ledger, monkeypatch):
    ledger.release("anna", "log-in", np.ones(3), Noise(), name="1")

    def fail(_: Store) -> None:
        raise StoreError("another program has held it")

    with monkeypatch.context() as patch:
        patch.setattr(Store, "rebuild", fail)
        with pytest.raises(StoreError, match="held it; 'anna' is forgotten, but the file still"):
            ledger.forget("anna")
    assert ledger.remembered("anna", "log-in", "1", Noise()) is None
    assert ledger.forget("anna").templates == 0


def test_where_the_ledger_lies(monkeypatch, tmp_path):
    monkeypatch.setenv("SORDINO_LEDGER", str(tmp_path / "mine"))
    assert default_ledger() == tmp_path / "mine"
    monkeypatch.delenv("SORDINO_LEDGER")
    assert default_ledger().name == "ledger.sqlite"


# Sudden ends, and others at the same time


class Interrupted(sqlite3.Connection):
    """Ends before the statement whose turn it is."""

    left = math.inf

    def execute(self, *arguments: object) -> sqlite3.Cursor:
        Interrupted.left -= 1
        if Interrupted.left < 0:
            raise KeyboardInterrupt
        return super().execute(*arguments)


def test_wherever_a_release_is_interrupted_it_is_whole_or_nothing(ledger, monkeypatch):
    connect = sqlite3.connect
    monkeypatch.setattr(
        store_module.sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Interrupted)
    )
    turns = 0
    while True:
        name, before = str(turns), ledger.spent("anna").releases
        monkeypatch.setattr(Interrupted, "left", turns)
        try:
            result = ledger.release("anna", "log-in", np.ones(2), Noise(1.0), name=name)
        except KeyboardInterrupt:
            result = None
        monkeypatch.setattr(Interrupted, "left", math.inf)
        kept = ledger.remembered("anna", "log-in", name, Noise(1.0))
        if result is not None:
            np.testing.assert_array_equal(kept, result)
            break
        assert kept is None
        assert ledger.spent("anna").releases == before == 0
        turns += 1
    assert turns > 15
    assert ledger.spent("anna").releases == 1


def test_who_is_second_gets_the_result_of_the_first(ledger):
    class Slow(Noise):
        """While it works, somebody else asks for the same."""

        def release(self, x: np.ndarray) -> np.ndarray:
            self.first = ledger.release("anna", "log-in", x[0], Noise(), name="1")
            return super().release(x)

    slow = Slow()
    second = ledger.release("anna", "log-in", np.ones(2), slow, name="1")
    np.testing.assert_array_equal(second, slow.first)
    assert ledger.spent("anna").releases == 1


def outcomes(place: Path) -> list[tuple[str, str, list[float]]]:
    """What was handed out; a line that a killed worker did not finish is none."""
    lines = [line for file in place.parent.glob("out-*") for line in file.read_text().split("\n")]
    return [tuple(json.loads(line)) for line in lines if line.endswith("]")]


def run(job: str, place: Path, kills: int = 0) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.privacy.ledger.foreman", job, place, str(kills), "7"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert said["failed"] == 0, done.stderr
    return said


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")


@needs_fork
@pytest.mark.parametrize("kills", [0, 25])
def test_eight_processes_and_sudden_ends_never_count_too_little(place, kills):
    ledger = Ledger(place, create=True)
    ledger.set_limit(Limit(40.0), purpose="log-in")
    said = run("work", place, kills)
    assert (said["killed"] > 0) == (kills > 0)
    released = outcomes(place)
    assert len({tuple(result) for _, _, result in released}) == len(released)
    handed = Counter(person for person, _, _ in released)
    for person in ("anna", "bruno"):
        counted = ledger.spent(person).releases
        # All that may be spent is spent, and nothing beyond.
        assert counted == 40
        assert handed[person] <= counted
        if not kills:
            assert handed[person] == counted
    with closing(sqlite3.connect(place)) as connection:
        query = "SELECT COUNT(*) FROM records WHERE kind = 'memo'"
        assert connection.execute(query).fetchone() == (80,)
    # A killed process has counted at most the release that it was at.
    assert 80 - sum(handed.values()) <= said["killed"]
    for person, name, result in random.Random(1).sample(released, 20):
        assert ledger.remembered(person, "log-in", name, Noise(1.0)).tolist() == result


@needs_fork
def test_eight_processes_agree_on_one_result(place):
    ledger = Ledger(place, create=True)
    ledger.set_limit(Limit(6.0), purpose="log-in")
    run("agree", place, kills=8)
    released = outcomes(place)
    assert {name for _, name, _ in released} == set(map(str, range(6)))
    assert len({(name, tuple(result)) for _, name, result in released}) == 6
    assert ledger.spent("anna").releases == 6
