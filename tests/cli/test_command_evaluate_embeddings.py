"""`sordino evaluate embeddings` as people meet it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sordino.cli.main import main
from sordino.evaluate.results import read_results
from sordino.speaker.vectors import Vectors
from sordino.speaker.vectors_files import format_name_of, write_vectors
from tests.evaluate.embeddings_of import made, noisy


def call(*arguments: object) -> int:
    return main(["evaluate", "embeddings", *map(str, arguments)])


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with vectors, releases in all formats, and a table."""
    monkeypatch.chdir(tmp_path)
    vectors = made(24, 4, distance=4.0)
    store(vectors, "all.npz")
    for number, ending in enumerate(("npz", "h5", "ark")):
        store(noisy(vectors, 1.0, number), f"masked-{number}.{ending}")
    lines = [f"{name},{'FM'[int(name[1:]) % 2]}" for name in sorted(set(vectors.speakers))]
    (tmp_path / "people.csv").write_text("\n".join(["speaker,sex", *lines, "nobody,F", ""]))
    return tmp_path


def store(vectors: Vectors, name: str) -> None:
    write_vectors(vectors, Path(name), format_name_of(Path(name)), Path())


def arguments(*more: object) -> list[object]:
    return ["all.npz", "--attributes", "people.csv", "--attribute", "sex", "-o", "report", *more]


def test_report(place, capsys):
    files = ("masked=masked-0.npz", "masked-1.h5", "masked-2.ark")
    assert call(*arguments("--protected", *files, "--quick", "--seed", 3)) == 0
    captured = capsys.readouterr()
    results = read_results(place / "report/results.json")
    assert results.kind == "embeddings"
    assert [system.name for system in results.systems] == ["original", "masked"]
    assert results.systems[1].what == "vectors of masked-0.npz, masked-1.h5, masked-2.ark"
    assert {attack.releases for attack in results.attributes} == {1, 2, 3}
    assert {attack.attacker for attack in results.attributes} == {
        "logistic-regression",
        "nearest-neighbours",
        "quadratic",
    }
    assert {attack.scenario for attack in results.attacks} == {"OO", "OA", "AA-lazy"}
    assert results.protocol["seed"] == "3"
    assert "200 draws" in results.protocol["intervals"]
    assert results.machine["python"]
    page = (place / "report/report.html").read_text(encoding="utf-8")
    assert "masked" in page
    assert "masked" in captured.out
    assert "report: report/report.html" in captured.out
    assert re.search(r"sex: logistic-regression: [\d.]+ s", captured.err)


def test_originals_alone(place, capsys):
    assert call(*arguments("--attacker", "logistic-regression", "--draws", 100, "--quiet")) == 0
    assert capsys.readouterr().err == ""
    results = read_results(place / "report/results.json")
    (attack,) = results.attributes
    assert (attack.system, attack.knowledge) == ("original", "clean")
    assert attack.auc.value > 0.9
    assert any("how exposed the originals are" in note for note in results.notes)


def test_unknown_values_are_said(place, capsys):
    table = (place / "people.csv").read_text().replace("s004,F", "s004,")
    (place / "people.csv").write_text(table)
    assert call(*arguments("--quick")) == 0
    said = capsys.readouterr().err
    assert "note: 4 of 96 templates are left out of sex: people.csv has no value for it" in said


def test_an_earlier_report_is_kept(place, capsys):
    assert call(*arguments("--quick")) == 0
    before = (place / "report/results.json").read_bytes()
    assert call(*arguments("--quick", "--seed", 1)) == 2
    assert "results.json exists; use --overwrite" in capsys.readouterr().err
    assert (place / "report/results.json").read_bytes() == before
    assert call(*arguments("--quick", "--seed", 1, "--overwrite")) == 0
    assert (place / "report/results.json").read_bytes() != before


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--protected", "masked-0.npz"], "--protected masked-0.npz: is not NAME=FILE"),
        (["--protected", "x=nowhere.npz"], "nowhere.npz: there is no such file"),
        (["--protected", "original=masked-0.npz"], "two sets of vectors are named original"),
        (["--protected", "x=less.npz"], "x: 4 of 96 vectors are missing, the first is s000/0"),
        (["--protected", "x=nan.npz"], "nan.npz: its vectors are not finite numbers"),
        (["--attribute", "age"], "people.csv: has no column 'age'; there are: speaker, sex"),
        (["--folds", "13"], r"attribute sex: 0 of 2 values have at least 13 speakers"),
        (["--train", "sex=F"], "attribute sex: 0 of 2 values have at least 3 speakers"),
        (["--attacker", "oracle"], "there is no attacker 'oracle'"),
    ],
)
def test_one_clear_line(place, capsys, more, message):
    vectors = made(24, 4)
    store(
        Vectors(vectors.keys[4:], vectors.paths[4:], vectors.speakers[4:], vectors.vectors[4:]),
        "less.npz",
    )
    spoilt = vectors.vectors.copy()
    spoilt[7, 3] = np.nan
    store(replace(vectors, vectors=spoilt), "nan.npz")
    assert call(*arguments(*more)) == 2
    said = capsys.readouterr().err
    assert re.fullmatch(rf"sordino: .*{message}.*\n", said)
    assert not list((place / "report").iterdir())


def test_output_that_cannot_be_made(place, capsys):
    (place / "report").write_text("a file")
    assert call(*arguments()) == 1
    assert "output report: " in capsys.readouterr().err
