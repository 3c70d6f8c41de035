from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.layouts import manifest
from sordino.corpus.layouts.commonvoice import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

OLD = "client_id\tpath\tsentence\tup_votes\tdown_votes\tage\tgender\taccents\tlocale\tsegment\n"
NEW = (
    "client_id\tpath\tsentence_id\tsentence\tsentence_domain\tup_votes\tdown_votes\tage\tgender"
    "\taccents\tvariant\tlocale\tsegment\n"
)


def old(client: str, clip: int, gender: str = "", text: str = "Bore da.") -> str:
    return f"{client}\tcommon_voice_cy_{clip}.mp3\t{text}\t2\t0\t\t{gender}\t\tcy\t\n"


def new(client: str, clip: int, gender: str = "", locale: str = "cy") -> str:
    row = (client, f"common_voice_cy_{clip}.mp3", "9f", "Bore da.", "", "2", "0", "", gender)
    return "\t".join((*row, "", "", locale, "")) + "\n"


def tree(folder: Path, tables: dict[str, str], clips: int = 4) -> Path:
    (folder / "clips").mkdir(parents=True)
    for clip in range(clips):
        (folder / "clips" / f"common_voice_cy_{clip}.mp3").touch()
    for name, content in tables.items():
        (folder / name).write_text(content, encoding="utf-8")
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tree(
        tmp_path / "cy",
        {
            "validated.tsv": OLD
            + old("aa", 0, "female")
            + old("bb", 1, "male", 'Dywedodd "ie".')
            + old("cc", 2)
            + old("dd", 3, "other"),
            "train.tsv": OLD + old("aa", 0, "female"),
            "dev.tsv": OLD + old("bb", 1, "male", 'Dywedodd "ie".'),
            "test.tsv": OLD + old("cc", 2),
            "other.tsv": OLD + old("ee", 9),
            "invalidated.tsv": "not read",
            "clip_durations.tsv": "clip\tduration[ms]\ncommon_voice_cy_0.mp3\t4250\n"
            "common_voice_cy_1.mp3\t0\n",
        },
    )


def test_the_clips_that_were_validated(root: Path) -> None:
    first, second, *_ = corpus = read(root)
    assert first == Utterance(
        "common_voice_cy_0",
        root / "clips/common_voice_cy_0.mp3",
        "aa",
        sex="F",
        language="cy",
        text="Bore da.",
        corpus="commonvoice",
        split="train",
        duration=4.25,
    )
    assert (second.sex, second.text, second.duration) == ("M", 'Dywedodd "ie".', None)
    assert [one.split for one in corpus] == ["train", "dev", "test", None]
    assert [one.sex for one in corpus] == ["F", "M", None, None]
    assert recognises(root)


def test_without_the_table_of_all(root: Path) -> None:
    whole = read(root)
    (root / "validated.tsv").unlink()
    assert recognises(root)
    assert read(root).utterances == whole.utterances[:3]


@pytest.mark.parametrize(
    ("gender", "sex"),
    [
        ("female_feminine", "F"),
        ("male_masculine", "M"),
        ("male", "M"),
        ("transgender", None),
        ("non-binary", None),
        ("intersex", None),
        ("do_not_wish_to_say", None),
        ("", None),
    ],
)
def test_newer_releases(tmp_path: Path, gender: str, sex: str | None) -> None:
    content = NEW + new("aa", 0, gender) + new("aa", 1)
    assert [one.sex for one in read(tree(tmp_path / "x", {"train.tsv": content}))] == [sex, sex]


def test_who_does_not_agree_with_themselves_is_of_unknown_sex(tmp_path: Path) -> None:
    content = NEW + new("aa", 0, "male") + new("aa", 1, "female_feminine") + new("bb", 2, "male")
    corpus = read(tree(tmp_path / "x", {"validated.tsv": content}))
    assert [one.sex for one in corpus] == [None, None, "M"]


@pytest.mark.parametrize(
    ("locale", "language"), [("zh-CN", "zh"), ("rm-sursilv", "rm"), ("cy", "cy"), ("", None)]
)
def test_the_language_is_that_of_the_locale(
    tmp_path: Path, locale: str, language: str | None
) -> None:
    content = NEW + new("aa", 0, locale=locale)
    (utterance,) = read(tree(tmp_path / "x", {"validated.tsv": content}))
    assert utterance.language == language


def test_the_first_releases_leave_columns_and_endings_out(tmp_path: Path) -> None:
    content = "client_id\tpath\tsentence\nbb\tcommon_voice_cy_1\tNos da.\n"
    (utterance,) = read(tree(tmp_path / "x", {"train.tsv": content}))
    assert utterance.path == tmp_path / "x/clips/common_voice_cy_1.mp3"
    assert (utterance.id, utterance.sex, utterance.language) == ("common_voice_cy_1", None, None)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        (
            {"dev.tsv": OLD + old("aa", 0)},
            "/dev.tsv, line 2: common_voice_cy_0.mp3 is in train.tsv",
        ),
        (
            {"validated.tsv": OLD + old("aa", 0) + old("bb", 0)},
            "/validated.tsv, line 3: common_voice_cy_0.mp3 stands in line 2 too",
        ),
        ({"test.tsv": "client_id\tpath\n"}, "/test.tsv: has no column 'sentence'"),
        ({"test.tsv": ""}, "/test.tsv: has no column 'client_id'"),
        ({"test.tsv": f"{OLD}cc\tx.mp3\n"}, "/test.tsv, line 2: has 2 fields; the columns that"),
        ({"test.tsv": OLD + old("", 2)}, "/test.tsv, line 2: client_id or path is empty"),
        ({"test.tsv": OLD + old("cc", 2, "femal")}, "/test.tsv, line 2: the gender 'femal' is not"),
        (
            {"test.tsv": OLD + old("cc", 7) + old("cc", 8)},
            ": 2 of 6 recordings missing, the first is {}/clips/common_voice_cy_7.mp3 (test.tsv, "
            "line 2)",
        ),
        (
            {"clip_durations.tsv": "clip\tduration[ms]\nx.mp3\tlong\n"},
            "/clip_durations.tsv, line 2: 'long' is not a number of milliseconds",
        ),
        ({"clip_durations.tsv": "clip\tms\n"}, "/clip_durations.tsv: has no column 'duration[ms]'"),
    ],
)
def test_wrong_tables_are_told(root: Path, tables: dict[str, str], message: str) -> None:
    for name, content in tables.items():
        (root / name).write_text(content)
    with pytest.raises(UsageError) as caught:
        read(root)
    assert str(caught.value).startswith(f"{root}{message.format(root)}")


def test_what_does_not_look_like_one(tmp_path: Path) -> None:
    assert not recognises(tree(tmp_path / "x", {"other.tsv": OLD}))
    assert not recognises(tmp_path / "nowhere")
    with pytest.raises(UsageError, match=f"^{tmp_path / 'x'}: there are no utterances$"):
        read(tmp_path / "x")


def test_real_speech_is_read(tmp_path: Path, speech_root: Path) -> None:
    chosen = manifest.read(speech_root).select(corpus="commonvoice_es_mx").utterances[:4]
    root = tree(tmp_path / "es", {}, clips=0)
    rows = []
    for one in chosen:
        shutil.copy(one.path, root / "clips")
        gender = {"F": "female_feminine", "M": "male_masculine"}[one.sex or ""]
        rows.append(f"{one.speaker}\t{one.path.name}\tHola.\t{gender}\tes\n")
    table = "client_id\tpath\tsentence\tgender\tlocale\n" + "".join(rows)
    (root / "validated.tsv").write_text(table, encoding="utf-8")
    for one, same in zip(chosen, read(root), strict=True):
        assert (same.speaker, same.sex, same.language) == (one.speaker, one.sex, "es")
        np.testing.assert_array_equal(same.read().samples, Recording.read(one.path).samples)
