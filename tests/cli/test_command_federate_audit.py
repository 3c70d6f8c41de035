import copy
import csv
import json

import numpy as np
import pytest

from sordino.cli.main import main

pytest.importorskip("torch", reason="extra train")
pytest.importorskip("dp_accounting", reason="extra federated")

QUICK = ["--attacked", "30", "--canaries", "200", "--trials", "2000", "--seeds", "1"]


def vectors_file(folder, speakers=36, each=2):
    generator = np.random.default_rng(0)
    names = [f"s{number}" for number in range(speakers) for _ in range(each)]
    keys = [f"{name}/{number}" for number, name in enumerate(names)]
    np.savez(
        folder / "vectors.npz",
        keys=np.array(keys),
        paths=np.array(keys),
        speakers=np.array(names),
        vectors=generator.normal(size=(len(names), 12)).astype(np.float32),
        encoder=np.array("tiny"),
        digest=np.array(""),
    )
    with (folder / "labels.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["speaker", "sex"])
        writer.writerows([f"s{number}", "FM"[number % 2]] for number in range(speakers))
    return [str(folder / "vectors.npz"), "--labels", str(folder / "labels.csv"), "--label", "sex"]


def test_vectors_are_attacked_and_a_table_is_written(tmp_path, capsys):
    run = tmp_path / "run"
    command = ["federate", "audit", *vectors_file(tmp_path), "--hidden", "4", "--quiet", *QUICK]
    command += ["--attack", "leak", "--attack", "canaries", "--regime", "none"]
    assert main([*command, "--regime", "central", "-o", str(run)]) == 0
    captured = capsys.readouterr()
    assert "24 users, 2 classes, 62 parameters" in captured.err
    assert "no claim was refuted" in captured.out
    assert {file.name for file in run.iterdir()} == {"audit.md", "audit.csv", "audit.json"}
    content = json.loads((run / "audit.json").read_text(encoding="utf-8"))
    assert content["sound"]
    found = {
        (line["regime"], line["on"]): line["value"]
        for line in content["lines"]
        if line["figure"] == "cosine" and line["attack"] == "leak"
    }
    assert found["none", "one upload"] > 0.999
    assert found["central", "the released model"] < 0.5
    assert (run / "audit.md").read_text(encoding="utf-8").count("\n") == 2 + len(content["lines"])


def test_synthetic_users_by_all_attacks(tmp_path, capsys):
    command = ["federate", "audit", "synthetic", "--users", "60", "--hidden", "0", "--rounds", "3"]
    command += ["--regime", "local", *QUICK, "-o", str(tmp_path / "run")]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "membership: local" in captured.err
    assert "mutant: twice the epsilon" in captured.out


def test_a_refuted_claim_fails_the_command(tmp_path, capsys, monkeypatch):
    from sordino.federated.attacks import suite

    # A mutant that is no mutant cannot be caught.
    monkeypatch.setattr(suite, "replace", lambda regime, **changes: copy.copy(regime))
    command = ["federate", "audit", "synthetic", "--users", "60", "--hidden", "0", "--quiet"]
    command += ["--attack", "uploads", "--regime", "local", *QUICK, "-o", str(tmp_path / "run")]
    assert main(command) == 1
    assert "mutant missed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (slice(1, 3), "--labels"),
        (slice(3, 5), "--label"),
    ],
)
def test_labels_are_needed(tmp_path, capsys, change, message):
    data = vectors_file(tmp_path)
    del data[change]
    assert main(["federate", "audit", *data, "-o", str(tmp_path / "run")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_an_audit_of_nothing_is_refused(tmp_path, capsys):
    command = ["federate", "audit", "synthetic", "--users", "60", "--attack", "canaries"]
    assert main([*command, "--regime", "none", "-o", str(tmp_path / "run")]) == 2
    assert "nothing to audit: attack canaries does not apply" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_pairs_that_do_not_apply_are_named_and_reports_are_kept(tmp_path, capsys):
    command = ["federate", "audit", "synthetic", "--users", "60", "--hidden", "0", "--quiet"]
    command += ["--attack", "leak", "--attack", "canaries", "--regime", "none", *QUICK]
    command += ["-o", str(tmp_path / "run")]
    assert main(command) == 0
    assert "not tried: canaries: none" in capsys.readouterr().err
    (tmp_path / "run" / "audit.md").write_text("kept")
    assert main(command) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (tmp_path / "run" / "audit.md").read_text() == "kept"
    assert main([*command, "--overwrite"]) == 0
    assert (tmp_path / "run" / "audit.md").read_text() != "kept"
