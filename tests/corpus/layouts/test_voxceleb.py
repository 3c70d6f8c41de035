from __future__ import annotations

from pathlib import Path

import pytest

from sordino.corpus.layouts.voxceleb import read, recognises
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

META1 = (
    "VoxCeleb1 ID\tVGGFace1 ID\tGender\tNationality\tSet\n"
    "id10001\tA.J._Buckley\tm\tIreland\tdev\nid10002\tAnn_X\tf\tIreland\ttest\n"
)
META2 = "VoxCeleb2 ID ,VGGFace2 ID ,Gender ,Set \nid00012 ,n000012 ,f ,dev \n"


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


@pytest.mark.parametrize("above", ["", "wav", "dev/wav", "test/aac"])
def test_wherever_the_speakers_are(tmp_path: Path, above: str) -> None:
    name = "id10001/1zcIwhmdeo4/00001.wav"
    touch(tmp_path / above, name, "id10002/x/00001.m4a")
    assert recognises(tmp_path)
    assert recognises(tmp_path / above)
    (tmp_path / "vox1_meta.csv").write_text(META1)
    split = next((part for part in ("dev", "test") if above.startswith(part)), None)
    first, second = read(tmp_path)
    assert first == Utterance(
        name, tmp_path / above / name, "id10001", sex="M", corpus="voxceleb", split=split
    )
    assert (second.id, second.speaker, second.sex) == ("id10002/x/00001.m4a", "id10002", "F")
    assert [one.sex for one in read(tmp_path / above)] == ["M", "F"]


def test_both_kinds_of_tables(tmp_path: Path) -> None:
    touch(tmp_path, "id10001/x/1.wav", "id00012/x/1.wav", "id99999/x/1.wav")
    assert {one.sex for one in read(tmp_path)} == {None}
    (tmp_path / "vox1_meta.csv").write_text(META1)
    (tmp_path / "vox2_meta.csv").write_text(META2)
    sexes = {one.speaker: one.sex for one in read(tmp_path)}
    assert sexes == {"id10001": "M", "id00012": "F", "id99999": None}


@pytest.mark.parametrize("name", ["1.wav", "id10001/1.wav", "id10001/x/y/1.wav", "ann/x/1.wav"])
def test_what_lies_elsewhere_is_an_error(tmp_path: Path, name: str) -> None:
    touch(tmp_path, "id10001/x/1.wav", name)
    with pytest.raises(UsageError, match=f"^{tmp_path}/{name}: does not lie in a folder like id10"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": has no column 'Gender'"),
        ("VoxCeleb1 ID\tSet\n", ": has no column 'Gender'"),
        ("VoxCeleb1 ID\tGender\nid10001\tx\n", ", line 2: has no sex that is F or M"),
        ("VoxCeleb1 ID\tGender\nid10001\n", ", line 2: has no sex that is F or M"),
    ],
)
def test_wrong_tables_are_told(tmp_path: Path, content: str, message: str) -> None:
    touch(tmp_path, "id10001/x/1.wav")
    (tmp_path / "vox1_meta.csv").write_text(content)
    with pytest.raises(UsageError) as caught:
        read(tmp_path)
    assert str(caught.value) == f"{tmp_path / 'vox1_meta.csv'}{message}"


def test_what_does_not_look_like_one(tmp_path: Path) -> None:
    touch(tmp_path, "ann/1.wav", "id1/x/1.wav", "id10001")
    assert not recognises(tmp_path)
    assert not recognises(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert not recognises(tmp_path / "empty")
    with pytest.raises(UsageError, match="empty: there are no utterances"):
        read(tmp_path / "empty")
