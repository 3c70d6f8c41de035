import csv
import json

import numpy as np
import pytest

from sordino.cli.main import main

pytest.importorskip("dp_accounting", reason="extra federated")

FILES = {"models", "checkpoints", "results.json", "table.csv", "table.md", "plot.svg"}


def vectors_file(folder, speakers=40, each=3):
    """Vectors in which sex shows, and a table of it."""
    generator = np.random.default_rng(0)
    names = [f"s{number}" for number in range(speakers) for _ in range(each)]
    keys = [f"{name}/{number}" for number, name in enumerate(names)]
    male = np.array([int(name[1:]) % 2 for name in names])
    vectors = generator.normal(size=(len(names), 6)) + np.outer(2 * male - 1, [3, -3, 1, 0, 2, 0])
    np.savez(
        folder / "vectors.npz",
        keys=np.array(keys),
        paths=np.array(keys),
        speakers=np.array(names),
        vectors=vectors.astype(np.float32),
        encoder=np.array("tiny"),
        digest=np.array(""),
    )
    with (folder / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["speaker", "sex"])
        writer.writerows([f"s{number}", "FM"[number % 2]] for number in range(speakers))
    return [str(folder / "vectors.npz"), "--labels", str(folder / "labels.csv"), "--label", "sex"]


def test_all_regimes_on_vectors(tmp_path, capsys):
    data = vectors_file(tmp_path)
    run = tmp_path / "run"
    command = ["federate", "simulate", *data, "--users", "300", "--cohort", "60", "--rounds", "4"]
    command += ["--hidden", "0", "--seeds", "2", "--delta", "1e-4", "-o", str(run)]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "simulation, no guarantee" in captured.out
    assert "300 users, 2 classes (F, M), 14 parameters" in captured.err
    assert {file.name for file in run.iterdir()} == FILES
    content = json.loads((run / "results.json").read_text(encoding="utf-8"))
    assert list(content["regimes"]) == [
        "none",
        "central",
        "central-local",
        "local",
        "local-laplace",
    ]
    statement = content["regimes"]["central"]["statement"]
    assert statement["central"]["epsilon_total"] <= 2
    assert content["facts"]["population"]["partition"] == "resampled from speakers"
    seeds = content["regimes"]["none"]["seeds"]
    assert len(seeds) == 2
    assert all(one["rounds"][-1]["accuracy"] > 0.9 for one in seeds)
    # There is a run already.
    assert main(command) == 2
    assert "--resume" in capsys.readouterr().err
    before = (run / "table.csv").read_bytes()
    assert main([*command, "--resume", "--quiet"]) == 0
    assert (run / "table.csv").read_bytes() == before


def test_synthetic_users_and_the_cohort_of_the_plan(tmp_path, capsys):
    command = ["federate", "simulate", "synthetic", "--users", "2000", "--rounds", "2"]
    command += ["--hidden", "0", "--regime", "central", "--noise-multiplier", "1", "--snr", "1"]
    assert main([*command, "-o", str(tmp_path / "run"), "--quiet"]) == 0
    assert "the plan asks for a cohort of" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sampling", "fixed"], "sampling"),
        (["--relation", "replace"], "sampling"),
        (["--cohort", "5000"], "cannot be drawn"),
        (["--snr", "900"], "no cohort"),
    ],
)
def test_what_cannot_be_is_refused_before_training(tmp_path, capsys, options, message):
    command = ["federate", "simulate", "synthetic", "--users", "500", "--rounds", "2"]
    command += ["--noise-multiplier", "1", "--hidden", "0", "-o", str(tmp_path / "run")]
    assert main([*command, *options]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run" / "models").exists()


def test_labels_are_needed(tmp_path, capsys):
    data = vectors_file(tmp_path)
    assert main(["federate", "simulate", data[0], "-o", str(tmp_path / "run")]) == 2
    assert "--label" in capsys.readouterr().err
    assert main(["federate", "simulate", *data[:1], *data[3:], "-o", str(tmp_path / "run")]) == 2
    assert "--labels" in capsys.readouterr().err


def test_parquet_brings_its_labels(tmp_path, capsys):
    pyarrow = pytest.importorskip("pyarrow", reason="extra federated")
    parquet = pytest.importorskip("pyarrow.parquet", reason="extra federated")
    generator = np.random.default_rng(0)
    male = np.arange(60) % 2
    vectors = generator.normal(size=(60, 4)) + np.outer(2 * male - 1, [3, -3, 1, 0])
    content = {
        "speaker": [f"s{number}" for number in range(60)],
        "vector": vectors.tolist(),
        "sex": ["FM"[number] for number in male],
    }
    parquet.write_table(pyarrow.table(content), tmp_path / "users.parquet")
    command = ["federate", "simulate", str(tmp_path / "users.parquet"), "--label", "sex"]
    command += ["--cohort", "20", "--rounds", "3", "--hidden", "0", "--regime", "none"]
    assert main([*command, "-o", str(tmp_path / "run"), "--quiet"]) == 0
    assert "40 users, 2 classes" in capsys.readouterr().err


@pytest.mark.parametrize("given", [["--epsilon", "1e-9"], ["--delta", "0"]])
def test_a_budget_that_cannot_be_kept_leaves_nothing_behind(tmp_path, given):
    command = ["federate", "simulate", "synthetic", "--users", "60", "--cohort", "20"]
    command += ["--rounds", "1", "--hidden", "0", *given, "-o", str(tmp_path / "run")]
    assert main(command) == 2
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("inside", ["", "/deeper"])
def test_an_output_that_is_a_file_is_refused_at_once(tmp_path, capsys, inside):
    (tmp_path / "run").write_text("kept")
    command = ["federate", "simulate", "synthetic", "--users", "60", "--cohort", "20"]
    assert main([*command, "-o", f"{tmp_path / 'run'}{inside}"]) == 2
    captured = capsys.readouterr()
    assert "is not a folder" in captured.err
    assert "round" not in captured.err
    assert (tmp_path / "run").read_text() == "kept"
