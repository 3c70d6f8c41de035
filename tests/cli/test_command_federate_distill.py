"""`sordino federate distill`."""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import pytest

for needed in ("torch", "dp_accounting"):
    pytest.importorskip(needed, reason=f"{needed} is in an extra that is not installed")

from sordino.cli import federate_distill
from sordino.errors import UsageError
from sordino.speaker.vectors_files import write_vectors
from tests.training.distil.made_up import made_up

QUICK = ["--seeds", "1", "--steps", "20", "--width", "8", "--users", "400", "--cohort", "40"]
QUICK += ["--rounds", "2", "--quiet"]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    vectors, table = made_up()
    write_vectors(vectors, tmp_path / "v.npz", "npz", tmp_path)
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, table.columns)
        writer.writeheader()
        writer.writerows(table.rows.values())
    return tmp_path / "v.npz", tmp_path / "people.csv"


def run(*arguments: object) -> int:
    parser = argparse.ArgumentParser()
    federate_distill.add_parser(parser.add_subparsers())
    options = parser.parse_args(["distill", *map(str, arguments)])
    return int(options.run(options))


def test_one_command_gives_the_table(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vectors, people = files
    out = tmp_path / "run"
    labels = ["--labels", people, "--label", "sex", "--held-out", "split=test"]
    assert run(vectors, *labels, *QUICK, "-o", out) == 0
    shown = capsys.readouterr().out
    assert "teacher, federated: EER" in shown
    assert {path.name for path in out.iterdir()} == {
        "table.md",
        "table.csv",
        "results.json",
        "teachers",
        "side",
        "networks",
    }
    assert json.loads((out / "results.json").read_text())["source"]["label"] == ["sex"]
    with pytest.raises(UsageError, match="is there already"):
        run(vectors, *labels, *QUICK, "-o", out)


def test_says_what_is_missing(files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--labels names the table"):
        run(files[0], "--label", "sex", "-o", tmp_path / "run")
    with pytest.raises(UsageError, match="no column"):
        run(files[0], "--labels", files[1], "--label", "hair", "-o", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_refuses_settings_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="temperature is more than 0"):
        run(tmp_path / "none.npz", "--label", "sex", "--temperature", 0, "-o", tmp_path / "run")


def test_a_value_that_nobody_has_is_named(files: tuple[Path, Path], tmp_path: Path) -> None:
    given = ("--labels", files[1], "--label", "sex", "-o", tmp_path / "run")
    with pytest.raises(UsageError, match=r"--held-out sex=nope: .* of no speaker"):
        run(files[0], *given, "--held-out", "sex=nope")
    assert not (tmp_path / "run").exists()
