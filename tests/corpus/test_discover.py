from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from sordino.corpus.discover import find_recordings
from sordino.errors import UsageError

links = pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a file system without rules")


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in find_recordings(folder).recordings]


def test_recordings_of_all_folders_are_found_in_order(tmp_path: Path) -> None:
    expected = ["a/b/c/1.wav", "a/z.mp3", "b.flac", "c/2.opus", "c/10.ogg"]
    touch(*(tmp_path / name for name in expected))
    (tmp_path / "empty").mkdir()
    assert names(tmp_path) == sorted(expected)


def test_paths_start_with_the_folder_as_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    touch(tmp_path / "corpus" / "alice" / "1.wav")
    monkeypatch.chdir(tmp_path)
    assert find_recordings(Path("corpus")).recordings == (Path("corpus/alice/1.wav"),)
    assert find_recordings(Path()).recordings == (Path("corpus/alice/1.wav"),)


@pytest.mark.parametrize("ending", ["wav", "WAV", "Flac", "mp3", "m4a", "mp4", "webm", "sph"])
def test_endings_count_in_either_case(tmp_path: Path, ending: str) -> None:
    touch(tmp_path / f"1.{ending}")
    assert names(tmp_path) == [f"1.{ending}"]


def test_other_files_are_counted_by_ending(tmp_path: Path) -> None:
    other = ["a.txt", "b.TXT", "c/d.lab", "README", "wav", "e.wav.bak"]
    touch(*(tmp_path / name for name in [*other, "1.wav"]))
    found = find_recordings(tmp_path)
    assert [path.name for path in found.recordings] == ["1.wav"]
    assert found.ignored == Counter({".txt": 2, ".lab": 1, "": 2, ".bak": 1})


def test_hidden_files_and_folders_are_ignored_and_counted(tmp_path: Path) -> None:
    touch(tmp_path / ".1.wav", tmp_path / ".git" / "2.wav", tmp_path / "a" / "._3.wav")
    found = find_recordings(tmp_path)
    assert found.recordings == ()
    assert found.ignored == Counter({"hidden": 3})


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    found = find_recordings(tmp_path)
    assert (found.recordings, found.ignored, found.loops) == ((), Counter(), ())


@links
def test_links_to_files_and_folders_are_followed(tmp_path: Path) -> None:
    touch(tmp_path / "store" / "1.wav")
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "linked").symlink_to(tmp_path / "store")
    (corpus / "2.wav").symlink_to(tmp_path / "store" / "1.wav")
    assert names(corpus) == ["2.wav", "linked/1.wav"]


@links
def test_a_folder_linked_twice_is_no_loop(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "1.wav")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    found = find_recordings(tmp_path)
    assert names(tmp_path) == ["a/1.wav", "b/1.wav"]
    assert found.loops == ()


@links
def test_a_link_to_a_folder_above_is_a_loop(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "b" / "1.wav")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "here").symlink_to(".")
    found = find_recordings(tmp_path)
    assert names(tmp_path) == ["a/b/1.wav"]
    assert found.loops == (tmp_path / "a" / "b" / "up", tmp_path / "a" / "here")


@links
def test_two_folders_that_link_to_each_other_are_a_loop(tmp_path: Path) -> None:
    touch(tmp_path / "a" / "1.wav", tmp_path / "b" / "2.wav")
    (tmp_path / "a" / "b").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "a").symlink_to(tmp_path / "a")
    found = find_recordings(tmp_path)
    assert names(tmp_path) == ["a/1.wav", "a/b/2.wav", "b/2.wav", "b/a/1.wav"]
    assert found.loops == (tmp_path / "a" / "b" / "a", tmp_path / "b" / "a" / "b")


@links
def test_a_broken_link_stays_in_sight(tmp_path: Path) -> None:
    (tmp_path / "gone.wav").symlink_to(tmp_path / "nowhere.wav")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    found = find_recordings(tmp_path)
    assert found.recordings == (tmp_path / "gone.wav",)
    assert found.ignored == Counter({"": 1})


@links
def test_a_link_to_itself_counts_by_its_name(tmp_path: Path) -> None:
    for name in ("self", "self.wav"):
        (tmp_path / name).symlink_to(name)
    found = find_recordings(tmp_path)
    assert found.recordings == (tmp_path / "self.wav",)
    assert +found.ignored == {"": 1}


@linux
@pytest.mark.parametrize(
    "name",
    ["two\nlines.wav", " .wav", "a'\"\\.wav", "-rf.wav", "音声.wav", b"caf\xe9.wav", "*?.wav"],
)
def test_odd_names_are_names(tmp_path: Path, name: str | bytes) -> None:
    path = tmp_path / os.fsdecode(name)
    touch(path)
    assert find_recordings(tmp_path).recordings == (path,)


@pytest.mark.parametrize("name", ["nowhere", "1.wav"])
def test_what_is_no_folder_is_refused_by_name(tmp_path: Path, name: str) -> None:
    touch(tmp_path / "1.wav")
    with pytest.raises(UsageError, match=rf"^folder .*{name} cannot be listed: .*$"):
        find_recordings(tmp_path / name)


LOOK = """
import os, sys
from pathlib import Path
from sordino.corpus.discover import find_recordings
from sordino.errors import UsageError
if os.getuid() == 0:
    os.setgroups([])
    os.setuid(65534)
try:
    find_recordings(Path("."))
except UsageError as error:
    sys.exit(str(error))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such permissions")
@pytest.mark.parametrize("mode", [0o000, 0o444])
def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path, mode: int) -> None:
    touch(tmp_path / "a" / "1.wav", tmp_path / "locked" / "inner" / "2.wav")
    tmp_path.chmod(0o755)
    (tmp_path / "locked").chmod(mode)
    try:
        done = subprocess.run(
            [sys.executable, "-c", LOOK], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    finally:
        (tmp_path / "locked").chmod(0o755)
    assert done.returncode == 1
    assert done.stderr.startswith("folder locked")
    assert done.stderr.endswith("cannot be listed: Permission denied\n")
