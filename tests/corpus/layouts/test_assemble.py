from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.layouts.assemble import assemble
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def listed(folder: Path, *names: str) -> list[tuple[Utterance, str]]:
    return [
        (Utterance(name, folder / name, "ann"), f"line {line}")
        for line, name in enumerate(names, 1)
    ]


def test_what_is_there_becomes_a_corpus(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    corpus = assemble(tmp_path, iter(listed(tmp_path, "b", "a")))
    assert [utterance.id for utterance in corpus] == ["b", "a"]


def test_all_missing_recordings_are_counted_and_the_first_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "c").mkdir()
    with pytest.raises(UsageError) as caught:
        assemble(Path("list"), listed(tmp_path, "a", "b", "c", "d"))
    first = tmp_path / "b"
    assert str(caught.value) == f"list: 3 of 4 recordings missing, the first is {first} (line 2)"


def test_a_recording_with_several_utterances_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    twice = [(Utterance(name, path, "ann"), "") for name in ("1", "2")]
    with pytest.raises(
        UsageError, match=rf"^list: 1 of 1 recordings missing, the first is {path}$"
    ):
        assemble(Path("list"), twice)
    path.touch()
    assert len(assemble(Path("list"), twice)) == 2


def test_errors_of_the_corpus_name_the_list(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"^list: there are no utterances$"):
        assemble(Path("list"), [])
