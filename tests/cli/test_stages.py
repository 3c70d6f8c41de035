from __future__ import annotations

import io
import sys

import pytest

from sordino.cli.stages import Stages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_line_for_each_stage_where_nobody_watches(capsys) -> None:
    stages = Stages()
    stages.stage("hearing", 2)
    stages.step()
    stages.stage("figures", 1)
    stages.close()
    stages.close()
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[0] for line in lines] == ["hearing", "figures"]
    assert all(line.endswith(" s") for line in lines)


def test_quiet_tells_notes_only(capsys) -> None:
    stages = Stages(quiet=True)
    stages.stage("hearing", 2)
    stages.note("one is missing")
    stages.close()
    assert capsys.readouterr().err == "note: one is missing\n"


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    stages = Stages()
    stages.stage("hearing", 2)
    stages.step()
    stages.step()
    stages.close()
    assert "hearing: 100%" in shown.getvalue()
    assert "2/2" in shown.getvalue()
