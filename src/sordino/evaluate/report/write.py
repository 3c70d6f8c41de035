"""Write a report to a folder."""

from __future__ import annotations

from pathlib import Path

from sordino.anonymize.record import write_whole
from sordino.errors import OutputError
from sordino.evaluate.report.page import page
from sordino.evaluate.results import Results

RESULTS_NAME = "results.json"
PAGE_NAME = "report.html"


def write_report(results: Results, folder: Path) -> None:
    """Write `results.json`, for programs, and `report.html`, for people.

    Each file is there whole or not at all, and earlier ones are replaced. The page loads nothing
    and runs no program.

    Args:
        results: of an evaluation.
        folder: where to; it is made if there is none.

    Raises:
        OutputError: the folder or a file cannot be written; the message starts with its path.
    """
    # Both are made before either is written, so that a page that fails leaves no new results.
    contents = {RESULTS_NAME: results.to_json(), PAGE_NAME: page(results)}
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: {error.strerror}") from error
    for name, text in contents.items():
        write_whole(folder / name, _in_utf_8(text))


def _in_utf_8(text: str) -> str:
    r"""Bytes of a file name that are not UTF-8 by their numbers, which JSON reads as they were."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
