from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from sordino.corpus.layouts.manifest import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError


def manifest(folder: Path, content: str, *files: str) -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    path = folder / "list.csv"
    path.write_text(content, encoding="utf-8")
    return path


def test_all_columns(tmp_path: Path) -> None:
    path = manifest(
        tmp_path,
        "speaker,path,id,sex,language,text,corpus,split,duration_s,start,end,more\n"
        'ann,a/1.wav,u1,female,en,"one, two",x,dev,2.5,1,3.5,?\n'
        "bob,b.wav,,,,,,,,,,\n",
        "a/1.wav",
        "b.wav",
    )
    assert read(path).utterances == (
        Utterance(
            "u1",
            tmp_path / "a/1.wav",
            "ann",
            sex="F",
            language="en",
            text="one, two",
            corpus="x",
            split="dev",
            duration=2.5,
            start=1.0,
            end=3.5,
        ),
        Utterance("b.wav", tmp_path / "b.wav", "bob"),
    )


def test_the_least_that_is_needed(tmp_path: Path) -> None:
    path = manifest(tmp_path, "\ufeffpath,speaker\n\na/1.wav, ann \n", "a/1.wav")
    assert read(path).utterances == (Utterance("a/1.wav", tmp_path / "a/1.wav", "ann"),)


def test_absolute_paths_and_other_names_of_columns(tmp_path: Path) -> None:
    (tmp_path / "1.wav").touch()
    (tmp_path / "lists").mkdir()
    path = manifest(
        tmp_path / "lists", f"utterance,path,speaker,gender,duration\nu,{tmp_path}/1.wav,ann,m,3\n"
    )
    assert read(path).utterances == (
        Utterance("u", tmp_path / "1.wav", "ann", sex="M", duration=3.0),
    )


def test_a_part_of_a_file_for_each_line(tmp_path: Path) -> None:
    rows = "path,speaker,id,start,end\n1.wav,ann,a,0,1\n1.wav,bob,b,1,2\n"
    corpus = read(manifest(tmp_path, rows, "1.wav"))
    assert [(one.speaker, one.start, one.end) for one in corpus] == [
        ("ann", 0.0, 1.0),
        ("bob", 1.0, 2.0),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": has no column 'path'; it needs path and speaker"),
        ("path\n1.wav\n", ": has no column 'speaker'; it needs path and speaker"),
        ("path,speaker,sex,gender\n", ": has two columns for the sex"),
        ("path,speaker\n", ": there are no utterances"),
        ("path,speaker\n1.wav,ann\n2.wav\n", ", line 3: has 1 fields; the columns that are read"),
        ("path,speaker\n1.wav,\n", ", line 2: path or speaker is empty"),
        ("path,speaker,sex\n1.wav,ann,femal\n", ", line 2: the sex 'femal' is not F, M or empty"),
        ("path,speaker,duration\n1.wav,ann,2s\n", ", line 2: the duration '2s' is not a number"),
        ("path,speaker,duration\n1.wav,ann,0\n", ", line 2: utterance 1.wav has a duration of 0"),
        ("path,speaker,start,end\n1.wav,ann,3,2\n", ", line 2: utterance 1.wav goes from 3.0 to 2"),
        ('path,speaker\n1.wav,"ann"x\n', ", line 2: is not a CSV table ("),
        ('path,speaker\n1.wav,"ann\n', "is not a CSV table (unexpected end of data"),
        ("path,speaker\n1.wav,ann\n1.wav,ann\n", ": two utterances have the id '1.wav'"),
        (
            "path,speaker,sex\n1.wav,ann,F\n2.wav,ann,M\n",
            ": speaker ann is both F and M (see utterance 2.wav)",
        ),
        (
            'path,speaker,text\n1.wav,ann,"two\nlines"\n3.wav,ann,\n4.wav,ann,\n',
            ": 2 of 3 recordings missing, the first is {}/3.wav (line 4)",
        ),
    ],
)
def test_wrong_manifests_are_told_by_line(tmp_path: Path, content: str, message: str) -> None:
    path = manifest(tmp_path, content, "1.wav", "2.wav")
    with pytest.raises(UsageError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert message.format(tmp_path) in str(caught.value)


def test_a_manifest_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"list\.csv: No such file"):
        read(tmp_path / "list.csv")


def test_what_looks_like_one(tmp_path: Path) -> None:
    assert recognises(tmp_path / "LIST.CSV")
    assert not recognises(tmp_path / "list.txt")
    assert not recognises(tmp_path)
    (tmp_path / "manifest.csv").touch()
    assert recognises(tmp_path)


def test_real_speech_is_read_as_its_table_has_it(speech_root: Path) -> None:
    corpus = read(speech_root)
    with (speech_root / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(corpus) == len(rows)
    for utterance, row in zip(corpus, rows, strict=True):
        assert utterance.path == speech_root / row["path"]
        assert (utterance.speaker, utterance.corpus) == (row["speaker"], row["corpus"])
        assert (utterance.sex or "", utterance.text or "") == (row["sex"], row["text"])
        assert utterance.duration == float(row["duration_s"])
    counts = Counter(utterance.split for utterance in corpus)
    assert counts == Counter(row["split"] for row in rows)
    longest = max(corpus.select(corpus="vctk"), key=lambda one: one.duration)
    assert longest.read().duration == pytest.approx(longest.duration, abs=1e-3)
