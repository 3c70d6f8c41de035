"""`sordino evaluate scores` as people meet it: exit status, messages, files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.cli import evaluate_scores as command
from sordino.cli.main import main
from sordino.evaluate.results import read_results
from sordino.evaluate.score_files import FORMATS


@pytest.fixture
def scores(tmp_path) -> Path:
    """Scores with labels of 12 speakers."""
    rng = np.random.default_rng(0)
    path = tmp_path / "mine.txt"
    path.write_text(
        "".join(
            f"s{model:02} s{tried:02}-{take} {'target' if model == tried else 'nontarget'}"
            f" {rng.standard_normal() + 2 * (model == tried):.3f}\n"
            for model in range(12)
            for tried in range(12)
            for take in range(2)
        )
    )
    return path


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["evaluate", "scores", *(str(argument) for argument in arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_scores_become_a_report(scores, tmp_path, capsys):
    report = tmp_path / "report"
    status, out, err = call(capsys, scores, "-o", report, "--draws", 100, "--ratios")
    assert status == 0
    results = read_results(report / "results.json")
    (attack,) = results.attacks
    assert (results.kind, attack.attacker) == ("scores", "mine.txt")
    assert attack.privacy.cllr is not None
    assert f"{100 * attack.privacy.eer.value:.1f}" in out
    assert "mine.txt" in out
    assert f"report: {report / 'report.html'}" in out
    assert f"reading {scores}" in err
    assert out.count("Speakers are the models of the list.") == 1
    assert (report / "report.html").read_text(encoding="utf-8").startswith("<!")
    assert results.machine["python"]


def test_earlier_reports_stay_unless_told(scores, tmp_path, capsys):
    report = tmp_path / "report"
    assert call(capsys, scores, "-o", report, "--draws", 100, "--quiet")[0] == 0
    before = (report / "results.json").read_bytes()
    status, _, err = call(capsys, scores, "-o", report, "--draws", 100)
    assert status == 2
    assert "exists; use --overwrite" in err
    assert (report / "results.json").read_bytes() == before
    status, _, err = call(
        capsys, scores, "-o", report, "--draws", 100, "--overwrite", "--quiet", "--seed", 1
    )
    assert status == 0
    assert "reading" not in err
    assert (report / "results.json").read_bytes() != before


def test_options_reach_the_run(tmp_path, capsys):
    (tmp_path / "own").write_text("0.9\n0.4\n0.6\n")
    (tmp_path / "others").write_text("0.5\n0.1\n0.3\n0.2\n")
    report = tmp_path / "report"
    status, out, _ = call(
        capsys, tmp_path / "own", "--nontargets", tmp_path / "others", "-o", report
    )
    assert status == 0
    assert read_results(report / "results.json").attacks[0].privacy.eer.value == 0.25
    assert "It is not known who speaks" in out
    (tmp_path / "pairs").write_text("a x 0.9\na y 0.1\nb x 0.2\nb y 0.3\n")
    (tmp_path / "trials").write_text("1 a x\n0 a y\n0 b x\n1 b y\n")
    (tmp_path / "utt2spk").write_text("x A\ny B\nx0 A\ny0 B\n")
    (tmp_path / "enrolls").write_text("a x0\nb y0\n")
    status, out, _ = call(
        capsys,
        tmp_path / "pairs",
        *("--trials", tmp_path / "trials", "--speakers", tmp_path / "utt2spk"),
        *("--enrolls", tmp_path / "enrolls", "--format", "kaldi"),
        *("-o", tmp_path / "second"),
    )
    assert status == 0
    assert "Speakers are those of utt2spk." in out
    cases = read_results(tmp_path / "second/results.json").worst_cases
    assert [case.speaker for case in cases] == ["A", "B"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5 target\n", "no non-target trials"),
        ("0.5 target\nnan nontarget\n", "line 2: the score is NaN"),
        ("a b 0.5\n", "give the list of trials"),
    ],
)
def test_errors_are_one_line_and_leave_nothing(tmp_path, capsys, text, message):
    (tmp_path / "s").write_text(text)
    status, out, err = call(capsys, tmp_path / "s", "-o", tmp_path / "report", "--quiet")
    assert status == 2
    assert err.startswith(f"sordino: {tmp_path / 's'}")
    assert message in err
    assert err.count("\n") == 1
    assert not out
    assert not (tmp_path / "report").exists()


def test_choices_are_those_of_the_reader():
    assert command._FORMATS == FORMATS


def test_help(capsys):
    with pytest.raises(SystemExit):
        main(["evaluate", "scores", "--help"])
    assert "--nontargets" in capsys.readouterr().out
