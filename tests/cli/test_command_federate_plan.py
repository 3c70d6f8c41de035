from __future__ import annotations

import argparse
import json
import subprocess
import sys

import pytest

from sordino.cli import federate_plan
from sordino.errors import UsageError

pytest.importorskip("dp_accounting", reason="accounting needs the extra federated")

PLAN = ["--population", "100000", "--cohort", "100", "--rounds", "300", "--delta", "1e-5"]


def plan(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    federate_plan.add_parser(parser.add_subparsers(required=True))
    options = parser.parse_args(["plan", *PLAN, *arguments])
    return options.run(options)


def test_a_table_with_a_row_for_each_regime(capsys: pytest.CaptureFixture) -> None:
    assert plan("--noise-multiplier", "0.5", "--parameters", "100") == 0
    out, err = capsys.readouterr()
    header, *rows = out.splitlines()
    assert header.split() == [
        *("regime", "cohort", "noise", "epsilon", "by", "RDP", "per", "upload"),
        *("norm/clip", "SNR"),
    ]
    assert [row.split()[0] for row in rows] == ["none", "local", "central", "central-local"]
    assert len({len(row) for row in out.splitlines()}) == 1
    noise, tight, loose, upload = rows[2].split()[2:6]
    assert (noise, upload) == ("0.5", "-")
    assert float(tight) == pytest.approx(2.628, rel=0.01)
    assert float(loose) == pytest.approx(3.903, rel=0.01)
    assert "note: central-local: no amplification" in err


def test_one_regime_as_json(capsys: pytest.CaptureFixture) -> None:
    options = ["--regime", "central", "--json", "--norm", "0.5", "--alignment", "0.4"]
    assert plan("--noise-multiplier", "0.5", "--parameters", "100", *options) == 0
    said = json.loads(capsys.readouterr().out)
    (central,) = said["regimes"]
    assert central["epsilon"] == pytest.approx(2.628, rel=0.01)
    assert central["snr"] == pytest.approx(0.2 * 100 / (0.5 * 10))


def test_the_smallest_cohort_is_in_the_last_column(capsys: pytest.CaptureFixture) -> None:
    options = ["--noise-multiplier", "0.5", "--parameters", "100", "--regime", "central"]
    assert plan(*options, "--snr", "10") == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.endswith("cohort for SNR 10")
    assert row.split()[-1] == "50"


def test_an_impossible_plan_says_what_would_do(capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(UsageError, match=r"a cohort of 100 has 20; possible with a cohort of 250"):
        plan("--noise-multiplier", "0.5", "--parameters", "100", "--regime", "central", "--snr=50")
    assert capsys.readouterr().out == ""


def test_a_sampler_without_its_accountant_is_refused() -> None:
    with pytest.raises(UsageError, match="fixed with replace"):
        plan("--epsilon", "2", "--sampling", "fixed")


def test_either_epsilon_or_noise(capsys: pytest.CaptureFixture) -> None:
    for options in ([], ["--epsilon", "2", "--noise-multiplier", "1"]):
        with pytest.raises(SystemExit):
            plan(*options)


def test_planning_loads_no_torch() -> None:
    code = (
        "import argparse, sys\n"
        "from sordino.cli import federate_plan\n"
        "parser = argparse.ArgumentParser()\n"
        "federate_plan.add_parser(parser.add_subparsers())\n"
        "assert 'numpy' not in sys.modules\n"
        f"options = parser.parse_args(['plan', *{PLAN!r}, '--epsilon', '2', '--regime', 'none'])\n"
        "options.run(options)\n"
        "assert 'torch' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_no_noise_is_planned_by_a_regime() -> None:
    with pytest.raises(UsageError, match=r"--epsilon inf .* --regime none"):
        plan("--epsilon", "inf")


def test_local_epsilon_is_that_of_the_other_commands(capsys: pytest.CaptureFixture) -> None:
    assert plan("--noise-multiplier", "0.5", "--regime", "central-local", "--json") == 0
    assert json.loads(capsys.readouterr().out)["regimes"][0]["local_epsilon"] == 25.5
