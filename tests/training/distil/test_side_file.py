"""What a classifier says of speakers, in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.errors import OutputError, UsageError
from sordino.training.distil.side_file import SideFile


def _said() -> SideFile:
    logits = np.arange(12, dtype=np.float32).reshape(4, 3)
    return SideFile.of(["bob", "ann", "bob", "cem"], ("a", "b", "c"), logits, {"epsilon": 2})


def test_a_speaker_s_row_is_the_mean_over_utterances() -> None:
    said = _said()
    assert said.speakers == ("ann", "bob", "cem")
    assert said.of_speakers(["bob"])[0].tolist() == [3, 4, 5]
    assert np.isnan(said.of_speakers(["eve"])).all()


def test_comes_back_as_it_was(tmp_path: Path) -> None:
    said = _said()
    said.write(tmp_path / "new" / "side.npz")
    back = SideFile.read(tmp_path / "new" / "side.npz")
    assert (back.speakers, back.classes, back.statement) == (
        said.speakers,
        said.classes,
        said.statement,
    )
    assert np.array_equal(back.logits, said.logits)


def test_refuses_other_files(tmp_path: Path) -> None:
    path = tmp_path / "side.npz"
    with pytest.raises(UsageError, match="no file of side information"):
        SideFile.read(path)
    np.savez(path, settings=np.array('{"kind": "other"}'))
    with pytest.raises(UsageError, match="says nothing of speakers"):
        SideFile.read(path)
    SideFile(("ann",), ("a", "b"), np.full((1, 2), np.nan, np.float32), {}).write(path)
    with pytest.raises(UsageError, match="damaged"):
        SideFile.read(path)


def test_says_where_it_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        _said().write(tmp_path / "file" / "side.npz")
