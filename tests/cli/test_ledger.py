from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sordino.cli.main import main
from sordino.privacy.keys import create_key_file
from sordino.privacy.ledger import Cost, Ledger, Limit
from sordino.privacy.ledger.store import key_file_beside
from tests.helpers import tree
from tests.privacy.ledger.mechanisms import Noise


class Shell:
    """Runs `sordino ledger` on one ledger."""

    def __init__(self, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.place = place
        self._capsys = capsys

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        status = main(["ledger", *map(str, arguments)])
        return (status, *self._capsys.readouterr())


@pytest.fixture
def shell(tmp_path, capsys, monkeypatch) -> Shell:
    monkeypatch.delenv("SORDINO_KEY", raising=False)
    monkeypatch.setenv("SORDINO_LEDGER", str(tmp_path / "ledger"))
    return Shell(tmp_path / "ledger", capsys)


@pytest.fixture
def spent(shell) -> Ledger:
    """Anna has spent on two purposes."""
    ledger = Ledger(shell.place, create=True)
    ledger.set_limit(Limit(90.0), purpose="log-in")
    ledger.set_limit(Limit(120.0, delta=2e-6, slack=1e-6))
    ledger.charge("anna", "log-in", Cost(15.000000000000002, mechanism="laplace"), releases=6)
    ledger.charge("anna", "survey", Cost(0.1), releases=100)
    return ledger


def test_a_first_limit_makes_the_ledger_and_its_key(shell):
    status, out, err = shell("limit", 90, "--purpose", "log-in")
    assert (status, out) == (0, "everybody: log-in: epsilon 90\n")
    assert err == (
        f"note: made {shell.place} with its key {key_file_beside(shell.place)}; without the key"
        " the ledger is lost\n"
    )
    assert set(tree(shell.place.parent)) == {"ledger", "ledger.key"}
    assert Ledger(shell.place).limits() == {"log-in": Limit(90.0)}
    assert shell("limit", 100)[2] == ""


def test_limits_are_listed(shell):
    shell("limit", 90, "--purpose", "log-in")
    shell("limit", "inf", "--delta", 1e-6, "--slack", 5e-7)
    shell("limit", 15, "--person", "anna")
    status, out, err = shell("limit")
    assert status == 0
    assert out.splitlines() == [
        "everybody: log-in: epsilon 90",
        "everybody: all purposes together: epsilon inf, delta 1e-06, slack 5e-07",
    ]
    assert err == f"note: 2 limits in {shell.place}\n"
    out = shell("limit", "--person", "anna")[1]
    assert out.splitlines() == [
        "anna: log-in: epsilon 90",
        "anna: all purposes together: epsilon 15",
    ]
    said = json.loads(shell("limit", "--json")[1])
    assert said["limits"][1] == {"purpose": None, "epsilon": "inf", "delta": 1e-6, "slack": 5e-7}


def test_a_limit_that_is_raised_is_told(shell):
    shell("limit", 90)
    promised = "; what it promised does not hold any more"
    assert shell("limit", 80)[2] == "note: the limit was epsilon 90\n"
    assert shell("limit", 81)[2] == f"note: the limit was epsilon 80{promised}\n"
    assert shell("limit", 81)[2] == ""
    assert shell("limit", "--remove") == (
        0,
        "everybody: all purposes together: no limit\n",
        f"note: the limit was epsilon 81{promised}\n",
    )
    status, out, err = shell("limit", "--remove")
    assert (status, out) == (2, "")
    assert err == f"sordino: ledger {shell.place}: there is no such limit\n"
    said = json.loads(shell("limit", 5, "--json")[1])
    assert said == {"before": None, "limit": {"epsilon": 5.0, "delta": 0.0, "slack": 0.0}}


@pytest.mark.parametrize(
    "arguments",
    [[0], ["nan"], [5, "--delta", 1], [5, "--slack", 1e-6], [5, "--remove"], ["--remove"], []],
)
def test_impossible_limits_make_no_ledger(shell, arguments):
    status, out, err = shell("limit", *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("sordino: ")
    assert err.count("\n") == 1
    assert not shell.place.exists()


def test_spending_is_shown(shell, spent):
    status, out, err = shell("show", "anna")
    assert status == 0
    assert out.splitlines() == [
        "anna: log-in: 6 releases, epsilon 90; limit epsilon 90",
        "anna: survey: 100 releases, epsilon 10; by advanced composition epsilon 5.75611, delta"
        " 1e-06",
        "anna: all purposes together: 106 releases, epsilon 100; limit epsilon 120, delta 2e-06,"
        " slack 1e-06",
    ]
    assert err == f"note: 1 person in {shell.place}\n"
    assert "delta 1e-09" in shell("show", "anna", "--slack", 1e-9)[1]


def test_everybody_is_shown_by_pseudonym(shell, spent):
    spent.set_limit(Limit(1.0), person="bruno")
    _, out, err = shell("show")
    assert "anna" not in out
    assert f"{spent.pseudonym('anna')}: log-in: 6 releases" in out
    assert f"{spent.pseudonym('bruno')}: nothing is spent\n" in out
    assert err == f"note: 2 people in {shell.place}\n"
    assert shell("show", "dora")[1] == "dora: nothing is spent\n"


def test_spending_in_json(shell, spent):
    said = json.loads(shell("show", "anna", "--json")[1])
    assert said["slack"] == 1e-6
    (person,) = said["people"]
    assert person["person"] == "anna"
    log_in, survey = person["purposes"]
    assert log_in == {
        "purpose": "log-in",
        "releases": 6,
        "epsilon": 90.00000000000001,
        "delta": 0.0,
        "advanced": None,
        "limit": {"epsilon": 90.0, "delta": 0.0, "slack": 0.0},
    }
    assert survey["advanced"]["epsilon"] == pytest.approx(5.756106, abs=1e-6)
    assert survey["limit"] is None
    assert person["total"]["releases"] == 106
    assert person["kinds"][0] == {
        "purpose": "log-in",
        "mechanism": "laplace",
        "epsilon": 15.000000000000002,
        "delta": 0.0,
        "releases": 6,
    }


def test_no_guarantee_is_shown(shell, spent):
    spent.set_limit(None)
    spent.set_limit(Limit(float("inf")), purpose="tests")
    spent.charge("bruno", "tests", Cost(float("inf")))
    assert shell("show", "bruno")[1] == "bruno: tests: 1 release, epsilon inf; limit epsilon inf\n"
    said = json.loads(shell("show", "bruno", "--json")[1])
    assert said["people"][0]["total"]["epsilon"] == "inf"


def test_forgetting(shell, spent):
    spent.set_limit(None)
    spent.release("bruno", "log-in", np.ones(3), Noise(), name="1")
    assert shell("forget", "bruno") == (
        0,
        "forgot bruno: 1 remembered template removed, what was spent stays counted\n",
        "",
    )
    assert spent.spent("bruno").releases == 1
    assert spent.remembered("bruno", "log-in", "1", Noise()) is None
    said = json.loads(shell("forget", "bruno", "--json")[1])
    assert said == {"name": "bruno", "templates": 0, "releases": 0}
    out = shell("forget", "bruno", "--counts")[1]
    assert out == ("forgot bruno: 0 remembered templates removed, 1 release not counted any more\n")
    status, _, err = shell("forget", "bruno")
    assert status == 2
    assert err == f"sordino: ledger {shell.place}: nothing is kept of 'bruno'\n"


@pytest.mark.parametrize("action", ["show", "limit", "forget"])
def test_no_ledger(shell, action):
    status, out, err = shell(action, *(["anna"] if action == "forget" else []))
    assert (status, out) == (2, "")
    assert err == (
        f"sordino: ledger {shell.place}: there is none; sordino ledger limit makes one\n"
    )


def test_the_key_is_that_beside_it_then_that_of_the_environment(shell, monkeypatch, tmp_path):
    monkeypatch.setenv("SORDINO_KEY", "a key for the tests")
    shell("limit", 90)
    assert list(tree(shell.place.parent)) == ["ledger"]
    assert shell("limit")[0] == 0
    other = tmp_path / "other"
    create_key_file(key_file_beside(other))
    assert shell("limit", 5, "--ledger", other)[0] == 0
    monkeypatch.delenv("SORDINO_KEY")
    assert shell("limit", "--ledger", other)[0] == 0
    status, _, err = shell("limit")
    assert status == 2
    assert "needs the key that it was made with" in err
    create_key_file(tmp_path / "mine.key")
    status, _, err = shell("limit", "--key-file", tmp_path / "mine.key")
    assert status == 2
    assert "this key does not open it" in err
    third = tmp_path / "third"
    assert shell("limit", 5, "--ledger", third, "--key-file", tmp_path / "mine.key")[0] == 0
    assert not key_file_beside(third).exists()


def test_a_damaged_ledger_is_told(shell, spent):
    shell.place.write_bytes(b"x" * 5000)
    status, _, err = shell("show")
    assert (status, err) == (1, f"sordino: ledger {shell.place}: is not a ledger\n")
