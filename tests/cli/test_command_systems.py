"""`sordino systems` as people meet it."""

from __future__ import annotations

from sordino.anonymize.systems import SYSTEMS
from sordino.cli.main import main
from sordino.cli.systems import told


class Many:
    """Does much.

    More of it.

    Args:
        short: a thing.
        much_longer: words that go on and on, so that they do not fit into one line of a
            terminal; see elsewhere-and-there.
        level: not shown.
    """

    protection = "None."

    def __init__(self, short: float | None = None, much_longer: float = 0.5, level: str = "x"):
        pass


def test_settings_are_in_columns_with_their_defaults():
    head, guard, short, *longer = told("many", Many)
    assert [head, guard, short] == ["many: Does much.", "  None.", "  short        a thing"]
    assert len(longer) == 2
    assert longer[0].startswith("  much_longer  words that go on")
    assert longer[1][:15].isspace()
    assert not longer[1][15].isspace()
    assert longer[1].endswith("elsewhere-and-there (0.5)")
    assert max(map(len, longer)) <= 100


def test_all_systems_and_one(capsys):
    assert main(["systems"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines if line[0] != " "] == list(SYSTEMS)
    assert max(map(len, lines)) <= 100
    assert main(["systems", "mcadams"]) == 0
    alone = capsys.readouterr().out.splitlines()
    assert alone[0] == "mcadams: Speech with its formants moved."
    assert sum(line[0] != " " for line in alone) == 1
    assert main(["systems", "other"]) == 2
    assert "there is no system 'other'; there are: neural, mcadams" in capsys.readouterr().err
