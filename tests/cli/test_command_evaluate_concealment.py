"""`sordino evaluate concealment` as people meet it."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

from sordino.cli.evaluate_concealment import _parsed
from sordino.cli.main import main
from sordino.errors import UsageError
from sordino.evaluate.concealment.impossible import BUG
from sordino.evaluate.results import Failure, read_results
from sordino.speaker.vectors_files import format_name_of, write_vectors
from tests.concealers import DIMENSION, description, graph, laplace, weights, write_concealer
from tests.evaluate.embeddings_of import made

FAST = ("--attacker", "logistic-regression", "--sweep-attacker", "logistic-regression")


def call(*arguments: object) -> int:
    return main(["evaluate", "concealment", *map(str, arguments)])


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with vectors, a table and concealers."""
    monkeypatch.chdir(tmp_path)
    vectors = replace(made(28, 4, distance=4.0, dimension=DIMENSION), digest="c0ffee")
    write_vectors(vectors, Path("all.npz"), format_name_of(Path("all.npz")), Path())
    lines = [
        f"{name},{'FM'[int(name[1:]) % 2]},{'dev' if int(name[1:]) < 12 else 'test'}"
        for name in sorted(set(vectors.speakers))
    ]
    (tmp_path / "people.csv").write_text("\n".join(["speaker,sex,split", *lines, ""]))
    for number, epsilon in enumerate((15.0, 15.0, 5.0)):
        matrix = (1 + 0.1 * number) * weights()
        networks = graph(matrix, "vector", "latent"), graph(matrix.T, "latent", "vector")
        write_concealer(
            tmp_path / f"m{number}", description(epsilon_train=epsilon), networks=networks
        )
    write_concealer(tmp_path / "paper", laplace())
    return tmp_path


def arguments(*more: object) -> list[object]:
    return [
        *("all.npz", "--attributes", "people.csv", "--attribute", "sex", "-o", "report"),
        *("--folds", 2, "--draws", 100, "--quiet", *FAST, *more),
    ]


def test_report_and_tables(place, capsys):
    assert (
        call(
            *arguments(
                *("--concealer", "mine=m0", "m1"),
                *("--concealer", "paper:epsilon=15"),
                *("--sweep", "by release=m0:mechanism=privunit-g", "--epsilons", "20", "inf"),
                *("--sweep-training", "by training=m0", "m1", "m2"),
                *("--only", "split=test", "--seed", 3),
            )
        )
        == 0
    )
    captured = capsys.readouterr()
    results = read_results(place / "report/results.json")
    assert results.kind == "concealment"
    assert [
        (one.system, one.sweep, one.epsilon_train, one.epsilon, one.trainings)
        for one in results.concealed
    ] == [
        ("original", "", math.inf, math.inf, 0),
        ("mine", "", 15.0, math.inf, 2),
        ("paper, epsilon 15", "", 15.0, 15.0, 1),
        ("by training", "epsilon_train", 5.0, math.inf, 1),
        ("by training", "epsilon_train", 15.0, math.inf, 2),
        ("by release", "epsilon", 15.0, 20.0, 1),
        ("by release", "epsilon", 15.0, math.inf, 1),
    ]
    assert results.concealed[-1].mechanism == "privunit-g"
    assert results.data["speakers"] == "16"
    assert results.protocol["seed"] == "3"
    with (place / "report/concealment.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == [one.system for one in results.concealed]
    assert "| mine |" in (place / "report/concealment.md").read_text(encoding="utf-8")
    page = (place / "report/report.html").read_text(encoding="utf-8")
    assert "Hidden from attackers" in page
    assert "no DP guarantee" in page
    assert "table: report/concealment.md" in captured.out
    assert captured.err == ""


def test_erasure_and_doubtful_labels(place, capsys):
    table = (place / "people.csv").read_text().splitlines()
    lines = [f"{line},{'doubtful' if line.startswith('s013') else ''}" for line in table[1:]]
    (place / "people.csv").write_text("\n".join([f"{table[0]},check", *lines]))
    more = ("--erasure", "split=dev", "--only", "split=test", "--unknown", "check=doubtful")
    assert call(*arguments(*more)) == 0
    assert "4 of 64 templates are left out of sex" in capsys.readouterr().err
    results = read_results(place / "report/results.json")
    assert [one.system for one in results.concealed] == ["original", "LEACE"]
    assert results.systems[1].what.startswith("closed-form erasure of sex, fitted to 48 vectors")
    assert results.concealed[1].trainings == 0
    assert not any("Fewer than 5 trainings" in note for note in results.notes)


def test_a_bug_is_a_failure_of_the_command(place, monkeypatch, capsys):
    monkeypatch.setattr(
        "sordino.evaluate.concealment.run.impossible",
        lambda one: [Failure(BUG, one.system, "impossible", "void")] if one.sweep else [],
    )
    more = ("--sweep", "mine=m0", "--epsilons", "5")
    assert call(*arguments(*more)) == 1
    assert "note: this is a bug: mine: impossible" in capsys.readouterr().err
    assert read_results(place / "report/results.json").failures[0].what == BUG
    assert "This is a bug" in (place / "report/concealment.md").read_text(encoding="utf-8")


def test_an_earlier_report_is_kept(place, capsys):
    (place / "report").mkdir()
    (place / "report/concealment.csv").write_text("mine")
    assert call(*arguments("--concealer", "m0")) == 2
    assert "report/concealment.csv exists; use --overwrite" in capsys.readouterr().err
    assert (place / "report/concealment.csv").read_text() == "mine"
    assert call(*arguments("--concealer", "m0", "--overwrite")) == 0


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--concealer", "nowhere"], "nowhere"),
        (["--concealer", "a=m0", "m2"], r"a: trainings that differ .*15.0 and 5.0"),
        (["--concealer", "a=m0:sigma=2"], "knows epsilon and mechanism, not sigma"),
        (["--concealer", "a=m0:epsilon=0"], "epsilon '0' is not a number above 0"),
        (["--concealer", "a=m0:epsilon=true"], "epsilon 'True' is not a number above 0"),
        (["--concealer", "a=m0:mechanism=3"], "mechanism 3 is no name"),
        (["--concealer", "a=m0:mechanism=hope,epsilon=2"], "there is no mechanism 'hope'"),
        (["--concealer", "a="], "names no model"),
        (["--sweep", "a=m0:epsilon=2"], "takes no epsilon; give --epsilons"),
        (["--erasure", "split=dev"], "12 of the speakers who are tested .* the first is s000"),
        (["--concealer", "a=m0", "--only", "split=train"], "no vector has split=train in people"),
        (["--concealer", "a=m0", "--only", "age=9"], "people.csv: has no column 'age'"),
        (["--concealer", "a=m0", "--concealer", "a=m1"], "two ways of concealing are named a"),
        (["--concealer", "a=m0", "--attacker", "oracle"], "there is no attacker 'oracle'"),
    ],
)
def test_one_clear_line(place, capsys, more, message):
    assert call(*arguments(*more)) == 2
    assert re.fullmatch(rf"sordino: .*{message}.*\n", capsys.readouterr().err)
    assert not list((place / "report").iterdir())


def test_vectors_of_another_encoder(place, capsys):
    vectors = replace(made(24, 4, dimension=DIMENSION), digest="bad", encoder="other")
    write_vectors(vectors, Path("all.npz"), "npz", Path())
    assert call(*arguments("--concealer", "m0")) == 2
    assert "the vectors are of other (bad)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("mine", ("", "mine", {})),
        ("a=mine", ("a", "mine", {})),
        ("a b=runs/x:epsilon=15", ("a b", "runs/x", {"epsilon": 15})),
        (
            "runs/x:epsilon=15,mechanism=laplace",
            ("", "runs/x", {"epsilon": 15, "mechanism": "laplace"}),
        ),
        ("a=hub:me/mine", ("a", "hub:me/mine", {})),
        ("hub:me/mine@1", ("", "hub:me/mine@1", {})),
        ("hub:me/mine:epsilon=inf", ("", "hub:me/mine", {"epsilon": "inf"})),
    ],
)
def test_name_model_and_settings(text, wanted):
    assert _parsed("--concealer", text) == wanted


def test_no_model():
    with pytest.raises(UsageError, match="names no model"):
        _parsed("--concealer", "")
