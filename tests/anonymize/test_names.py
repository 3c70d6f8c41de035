from __future__ import annotations

import csv

import pytest

from sordino.anonymize.names import read_mapping, write_mapping
from sordino.errors import UsageError

NAMES = {"x7/p1.wav": "anna, 1/one.wav", "x7/p2.wav": 'say "hi"\nthere.wav', "p3": "\udcff.wav"}


def test_list_leads_back_and_is_private(tmp_path):
    write_mapping(tmp_path / "names.csv", NAMES)
    assert read_mapping(tmp_path / "names.csv") == NAMES
    assert (tmp_path / "names.csv").stat().st_mode & 0o777 == 0o600


def test_it_is_a_plain_csv_table(tmp_path):
    write_mapping(tmp_path / "names.csv", {"b": "2", "a": "3", "c": "1"})
    with (tmp_path / "names.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [
            ["output", "original"],
            ["c", "1"],
            ["b", "2"],
            ["a", "3"],
        ]


def test_names_of_earlier_runs_are_kept(tmp_path):
    write_mapping(tmp_path / "names.csv", {"a": "1"})
    write_mapping(tmp_path / "names.csv", {"b": "2"})
    assert read_mapping(tmp_path / "names.csv") == {"a": "1", "b": "2"}


@pytest.mark.parametrize("content", ["", "path,speaker\n", "output,original\nx\n", 'output,"orig'])
def test_another_file_is_not_touched(tmp_path, content):
    (tmp_path / "names.csv").write_text(content)
    with pytest.raises(UsageError, match=r"names\.csv"):
        write_mapping(tmp_path / "names.csv", NAMES)
    assert (tmp_path / "names.csv").read_text() == content
