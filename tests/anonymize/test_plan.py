from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from sordino.anonymize.plan import make_plan
from sordino.corpus.rttm import Turn, Turns
from sordino.corpus.speakers import by_folder
from sordino.errors import UsageError
from sordino.privacy.keys import SecretKey

KEY = SecretKey.from_secret(b"a key for the tests")


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def names(plan) -> list[str]:
    return [task.name for task in plan.tasks]


@pytest.fixture
def folder(tmp_path) -> Path:
    for name in ("anna/1.wav", "anna/2.mp3", "bruno/deep/3.m4a", "bruno/notes.txt", "top.flac"):
        touch(tmp_path / "in" / name)
    return tmp_path / "in"


def test_contents_of_one_folder_go_straight_below_the_output(folder, tmp_path):
    plan = make_plan([folder], tmp_path / "out", by_folder)
    assert names(plan) == ["anna/1.wav", "anna/2.mp3", "bruno/deep/3.m4a", "top.flac"]
    assert [task.speaker for task in plan.tasks] == ["anna", "anna", "deep", "in"]
    assert [task.format for task in plan.tasks] == ["wav", "mp3", "m4a", "flac"]
    assert plan.tasks[0].target == tmp_path / "out" / "anna" / "1.wav"
    assert plan.ignored == {".txt": 1}
    assert not (tmp_path / "out").exists()


def test_several_inputs_keep_their_folders_names(folder, tmp_path):
    plan = make_plan(
        [folder / "anna", folder / "bruno", folder / "top.flac"], tmp_path / "out", by_folder
    )
    assert names(plan) == ["anna/1.wav", "anna/2.mp3", "bruno/deep/3.m4a", "top.flac"]


@pytest.mark.parametrize(
    ("source", "written"),
    [
        ("a.WAV", "a.WAV"),
        ("a.wave", "a.wave"),
        ("a.aiff", "a.wav"),
        ("a.mp4", "a.m4a"),
        ("a.webm", "a.ogg"),
        ("a.oga", "a.oga"),
        ("a.b.opus", "a.b.opus"),
    ],
)
def test_name_of_output_follows_its_format(tmp_path, source, written):
    plan = make_plan([touch(tmp_path / source)], tmp_path / "out", by_folder)
    assert names(plan) == [written]


def test_one_format_for_all(folder, tmp_path):
    plan = make_plan([folder], tmp_path / "out", by_folder, format_name="flac")
    assert names(plan) == ["anna/1.flac", "anna/2.flac", "bruno/deep/3.flac", "top.flac"]


def test_one_file_can_be_given_a_name(folder, tmp_path):
    plan = make_plan([folder / "top.flac"], tmp_path / "out.mp3", by_folder)
    (task,) = plan.tasks
    assert (task.target, task.format) == (tmp_path / "out.mp3", "mp3")
    assert plan.record == tmp_path / "out.mp3.sordino-run.json"


def test_pseudonyms_hide_every_name_and_are_listed(folder, tmp_path):
    plan = make_plan([folder], tmp_path / "out", by_folder, rename_key=KEY)
    joined = " ".join(names(plan))
    assert not any(word in joined for word in ("anna", "bruno", "deep", "top"))
    assert sorted(plan.original_names) == names(plan)
    new = {original: Path(name) for name, original in plan.original_names.items()}
    assert new["anna/1.wav"].parent == new["anna/2.mp3"].parent != new["top.flac"].parent
    assert new["anna/1.wav"].suffix == ".wav"
    assert plan.mapping == tmp_path / "out.names.csv"
    again = make_plan([folder], tmp_path / "elsewhere", by_folder, rename_key=KEY)
    assert names(again) == names(plan)
    other = SecretKey.from_secret(b"another key for tests")
    assert not set(names(plan)) & set(
        names(make_plan([folder], tmp_path / "out", by_folder, rename_key=other))
    )


def test_recordings_that_the_rule_leaves_out_are_counted(folder, tmp_path):
    plan = make_plan(
        [folder], tmp_path / "out", lambda path: "s" if path.suffix == ".wav" else None
    )
    assert names(plan) == ["anna/1.wav"]
    assert plan.left_out == 3


def refused(*arguments, **options) -> str:
    with pytest.raises(UsageError) as caught:
        make_plan(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_output_that_is_the_input_or_inside_it_is_refused(folder):
    assert "input folder itself" in refused([folder], folder, by_folder)
    assert "inside the input folder" in refused([folder], folder / "anna" / "out", by_folder)
    assert "inside the input folder" in refused([folder], folder / "new", by_folder)


def test_links_do_not_hide_that_output_is_the_input(folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    assert "input folder itself" in refused([folder], link, by_folder)
    assert "inside" in refused([link], folder / "out", by_folder)


def test_output_may_not_replace_an_input(folder, tmp_path):
    assert "is one of the inputs" in refused([folder / "top.flac"], folder, by_folder)
    touch(tmp_path / "out" / "raw" / "raw" / "x.wav")
    touch(tmp_path / "out" / "raw" / "x.wav")
    message = refused([tmp_path / "out" / "raw", folder / "top.flac"], tmp_path / "out", by_folder)
    assert "is one of the inputs" in message


def test_colliding_outputs_name_both_inputs(folder, tmp_path):
    touch(folder / "anna" / "2.wav")
    message = refused([folder], tmp_path / "out", by_folder, format_name="flac")
    assert "2.mp3" in message
    assert "2.wav" in message
    same = [folder / "anna" / "1.wav", touch(folder / "bruno" / "1.wav")]
    assert "would both become" in refused(same, tmp_path / "out", by_folder)
    assert names(make_plan(same[:1], tmp_path / "out", by_folder)) == ["1.wav"]


def test_composed_and_decomposed_names_collide(tmp_path):
    touch(tmp_path / "in" / "caf\u00e9.wav")
    touch(tmp_path / "in" / "cafe\u0301.wav")
    if len(list((tmp_path / "in").iterdir())) == 1:
        pytest.skip("this file system does not tell the two names apart")
    assert "would both become" in refused([tmp_path / "in"], tmp_path / "out", by_folder)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"inputs": ["missing.wav"]}, "there is no such file or folder"),
        ({"output": "top.flac", "inputs": ["anna"]}, "is a file"),
        ({"output": "out.mp4", "inputs": ["top.flac"]}, ".mp4 files are not written"),
        ({"output": "out.wav", "inputs": ["top.flac"], "format_name": "mp3"}, "--format says mp3"),
        ({"output": "out.wav", "inputs": ["top.flac"], "rename_key": KEY}, "--rename"),
        ({"format_name": "aiff"}, "there is no format 'aiff'"),
    ],
)
def test_refusals(folder, arguments, word):
    options = dict(arguments)
    inputs = [folder / name for name in options.pop("inputs", ["anna"])]
    output = folder / options.pop("output", "../out")
    assert word in refused(inputs, output, by_folder, **options)


def test_list_of_names_may_not_lie_in_the_output(folder, tmp_path):
    out = tmp_path / "out"
    message = refused([folder], out, by_folder, rename_key=KEY, mapping=out / "names.csv")
    assert "would be shared" in message


@pytest.mark.skipif(sys.platform == "win32", reason="such names cannot exist on Windows")
def test_odd_names_are_kept(tmp_path):
    odd = [b"two words.wav", b"new\nline.wav", b"not-utf8-\xff.wav"]
    for name in odd:
        (tmp_path / "in").mkdir(exist_ok=True)
        Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/" + name)).write_bytes(b"x")
    plan = make_plan([tmp_path / "in"], tmp_path / "out", by_folder)
    assert sorted(os.fsencode(task.target.name) for task in plan.tasks) == sorted(odd)


def test_order_of_pseudonyms_does_not_tell_the_order_of_names(tmp_path):
    for number in range(40):
        touch(tmp_path / "in" / f"{number:02d}.wav")
    plan = make_plan([tmp_path / "in"], tmp_path / "out", by_folder, rename_key=KEY)
    originals = [plan.original_names[name] for name in names(plan)]
    assert names(plan) == sorted(names(plan))
    assert originals != sorted(originals)


def test_mapping_goes_with_rename_and_is_looked_at_first(folder, tmp_path):
    listed = tmp_path / "names.csv"
    assert "--rename" in refused([folder], tmp_path / "out", by_folder, mapping=listed)
    listed.write_text("something else")
    message = refused([folder], tmp_path / "out", by_folder, rename_key=KEY, mapping=listed)
    assert "is something else" in message


def test_turns_say_who_speaks(folder, tmp_path):
    ann, bob = Turn("ann", 0, 1, "F"), Turn("bob", 1, 2)
    turns = Turns(tmp_path, {"1": (ann, bob), "2": (bob, ann), "3": (bob,), "top": (ann,)})
    plan = make_plan([folder], tmp_path / "out", turns)
    assert {task.name: task.speakers for task in plan.tasks} == {
        "anna/1.wav": ("ann", "bob"),
        "anna/2.mp3": ("bob", "ann"),
        "bruno/deep/3.m4a": ("bob",),
        "top.flac": ("ann",),
    }
    assert plan.speakers == ("ann", "bob")
    first = plan.tasks[0]
    assert (first.speaker, first.turns) == ("ann + bob", (ann, bob))
    assert (first.sex_of("ann"), first.sex_of("bob")) == ("F", "")


def test_turns_must_be_of_one_recording_each(folder, tmp_path):
    turns = Turns(tmp_path, {name: (Turn("ann", 0, 1),) for name in ("1", "2", "3", "top")})
    touch(folder / "bruno/1.flac")
    with pytest.raises(UsageError, match="would both have the turns of '1'"):
        make_plan([folder], tmp_path / "out", turns)


def test_single_speakers_have_the_sex_that_is_known(folder, tmp_path):
    plan = make_plan([folder], tmp_path / "out", by_folder, sexes={"anna": "F"})
    assert [task.sex_of(task.speaker) for task in plan.tasks] == ["F", "F", "", ""]
    assert plan.tasks[0].speakers == ("anna",)
