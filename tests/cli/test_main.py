from __future__ import annotations

import subprocess
import sys

import pytest

import sordino
from sordino.cli.main import main
from sordino.cli.text import clock, one_line


def test_version(capsys):
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"sordino {sordino.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["anonymize"], ["anonymize", "x"]])
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: sordino" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        [],
        ["anonymize"],
        ["embed"],
        ["enroll"],
        ["forget"],
        ["identify"],
        ["key"],
        ["list"],
        ["models", "import"],
        ["systems"],
        ["train", "speaker"],
        ["verify"],
    ],
)
def test_help_needs_no_heavy_import(command):
    script = (
        "import sys\n"
        "from sordino.cli.main import main\n"
        "try:\n"
        "    main(sys.argv[1:])\n"
        "except SystemExit as stop:\n"
        "    heavy = {'numpy', 'onnxruntime', 'scipy', 'soundfile', 'torch'} & set(sys.modules)\n"
        "    print(stop.code, sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []"


def test_program_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "sordino", "systems"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("neural: ")
    assert "\nmcadams: " in done.stdout


def test_text_for_terminals():
    assert one_line("a\nb\x1b[31m\udcff é 中") == "a\\nb\\x1b[31m\\udcff é 中"
    assert clock(0.4) == "0:00:00"
    assert clock(3725.4) == "1:02:05"
