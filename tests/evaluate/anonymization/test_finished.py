from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from sordino.errors import OutputError
from sordino.evaluate.anonymization.finished import Finished, work_off


@dataclass(frozen=True)
class Square:
    number: int

    @property
    def key(self) -> str:
        return f"square {self.number}"


def square(piece: Square, advance: object) -> dict[str, object]:
    del advance
    if piece.number == 13:
        return {"error": "unlucky"}
    return {"square": piece.number**2}


def test_outcomes_come_in_the_order_of_the_pieces(tmp_path: Path) -> None:
    pieces = [Square(number) for number in (3, 1, 2)]
    done = work_off(
        pieces, square, Finished(tmp_path / "f.jsonl"), workers=2, scratch=tmp_path / "scratch"
    )
    assert [outcome["square"] for outcome in done] == [9, 1, 4]


def test_finished_pieces_are_not_done_again(tmp_path: Path) -> None:
    path, heard = tmp_path / "f.jsonl", []

    def told(piece: Square, advance: object) -> dict[str, object]:
        heard.append(piece.number)
        return square(piece, advance)

    for pieces in ([Square(1), Square(2)], [Square(1), Square(2), Square(3)]):
        done = work_off(pieces, told, Finished(path), workers=1, scratch=tmp_path)
    assert heard == [1, 2, 3]
    assert [outcome["square"] for outcome in done] == [1, 4, 9]


def test_failures_are_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    (outcome,) = work_off([Square(13)], square, Finished(path), workers=1, scratch=tmp_path)
    assert outcome == {"error": "unlucky"}
    assert Finished(path).get("square 13") is None


def test_a_line_that_was_cut_short_does_not_count(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    finished = Finished(path)
    finished.add("a", {"x": 1})
    finished.add("b", {"x": 2})
    finished.close()
    path.write_text(path.read_text()[:-5])
    again = Finished(path)
    assert again.get("a") == {"x": 1}
    assert again.get("b") is None
    again.add("c", {"x": 3})
    again.close()
    third = Finished(path)
    assert (third.get("a"), third.get("b"), third.get("c")) == ({"x": 1}, None, {"x": 3})


def test_what_is_forgotten_is_done_again(tmp_path: Path) -> None:
    finished = Finished(tmp_path / "f.jsonl")
    finished.add("square 2", {"square": "stale"})
    finished.forget("square 2")
    (outcome,) = work_off([Square(2)], square, finished, workers=1, scratch=tmp_path)
    assert outcome == {"square": 4}


def test_equal_pieces_are_done_once(tmp_path: Path) -> None:
    steps: list[int] = []

    def told(piece: Square, advance: object) -> dict[str, object]:
        steps.append(piece.number)
        return square(piece, advance)

    done = work_off(
        [Square(5), Square(5)], told, Finished(tmp_path / "f"), workers=1, scratch=tmp_path
    )
    assert done == [{"square": 25}, {"square": 25}]
    assert steps == [5]


def test_a_place_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be read"):
        Finished(tmp_path / "file" / "f.jsonl")
    finished = Finished(tmp_path / "later" / "f.jsonl")
    (tmp_path / "later").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        finished.add("a", {})
