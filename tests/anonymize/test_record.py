from __future__ import annotations

import json

import pytest

from sordino.anonymize.record import (
    Entry,
    Journal,
    has_journal,
    read_progress,
    write_record,
    write_whole,
)
from sordino.errors import OutputError, UsageError

DONE = Entry("a.wav", "done", input="1", output="2", sample_rate=8000, channels=1, samples=4000)
FAILED = Entry("b.wav", "failed", reason="is empty (0 bytes)")


def test_journal_and_record_give_back_finished_files(tmp_path):
    record, work = tmp_path / "record.json", tmp_path
    write_record(record, {"settings": "s"}, [DONE, FAILED])
    later = Entry("c.wav", "done", input="3", output="4")
    journal = Journal(work, "s", [])
    journal.add(later)
    journal.close()
    assert has_journal(work)
    assert read_progress(record, work, "s") == {"a.wav": DONE, "c.wav": later}
    assert DONE.seconds == 0.5


def test_line_that_was_being_written_does_not_count(tmp_path):
    journal = Journal(tmp_path, "s", [DONE])
    journal.add(Entry("c.wav", "done"))
    journal.close()
    (path,) = tmp_path.glob("journal*")
    whole = path.read_bytes()
    first = whole.index(b"c.wav")
    for cut in range(first, len(whole)):
        path.write_bytes(whole[:cut])
        assert set(read_progress(tmp_path / "none", tmp_path, "s")) == {"a.wav"}


def test_other_settings_are_refused(tmp_path):
    record = tmp_path / "record.json"
    write_record(record, {"settings": "s"}, [DONE])
    with pytest.raises(UsageError, match="other settings or another key"):
        read_progress(record, tmp_path, "t")
    record.unlink()
    Journal(tmp_path, "s", []).close()
    with pytest.raises(UsageError, match="other settings or another key"):
        read_progress(record, tmp_path, "t")


@pytest.mark.parametrize(
    "content", ["", "no json", "[1]", '{"settings": "s", "files": [{"x": 1}]}']
)
def test_damaged_record_is_refused(tmp_path, content):
    (tmp_path / "record.json").write_text(content)
    with pytest.raises(UsageError, match="--overwrite"):
        read_progress(tmp_path / "record.json", tmp_path, "s")


def test_record_is_json_without_empty_fields(tmp_path):
    write_record(tmp_path / "r.json", {"settings": "s"}, [DONE, FAILED])
    content = json.loads((tmp_path / "r.json").read_text())
    assert content["schema"] == 1
    assert content["files"][1] == {
        "name": "b.wav",
        "status": "failed",
        "reason": "is empty (0 bytes)",
    }


def test_file_that_cannot_be_replaced_is_left_as_it_was(tmp_path):
    (tmp_path / "r.json").mkdir()
    with pytest.raises(OutputError, match=r"r\.json"):
        write_whole(tmp_path / "r.json", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]


def test_permissions_are_as_asked_for(tmp_path):
    write_whole(tmp_path / "secret", "text", mode=0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
