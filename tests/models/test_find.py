from __future__ import annotations

import pytest

import sordino.models.hub
from sordino.errors import UsageError
from sordino.models import find
from sordino.models.find import Place, find_model, installed, load_model, user_models
from tests.encoders import write_encoder


@pytest.fixture
def two_places(tmp_path, monkeypatch):
    """A user's folder and a package with models, both of which have one called "both"."""
    for place in ("user", "package"):
        for name in (place, "both"):
            write_encoder(tmp_path / place / name, summary=f"In the {place}.")
    monkeypatch.setattr(
        find,
        "places",
        lambda environment=None: tuple(
            Place(name, tmp_path / name) for name in ("user", "package")
        ),
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_order_of_places(two_places):
    assert find_model("package") == two_places / "package/package"
    assert find_model("both") == two_places / "user/both"
    assert load_model("both").summary == "In the user."


def test_a_path_is_a_path(two_places):
    write_encoder(two_places / "both")
    assert find_model("./both").resolve() == two_places / "both"
    assert find_model(str(two_places / "both")) == two_places / "both"
    assert find_model("both") == two_places / "user/both"
    write_encoder(two_places / "here")
    assert find_model("here").resolve() == two_places / "here"


def test_home_is_known(two_places, monkeypatch):
    monkeypatch.setenv("HOME", str(two_places))
    assert load_model("~/user/both").summary == "In the user."


@pytest.mark.parametrize("name", ["nothing", "", ".", "..", "user"])
def test_unknown_names_tell_the_known_ones(two_places, name, monkeypatch):
    monkeypatch.chdir(two_places / "user/both")
    (two_places / "user/both/model.json").rename(two_places / "user/both/other.json")
    if name == "user":
        (two_places / "user/user/model.json").unlink()
        (two_places / "package/both/model.json").unlink()
    with pytest.raises(UsageError, match=r"there is no model .*; there are: .*package"):
        find_model(name)


def test_list(two_places):
    write_encoder(two_places / "user/.both.01ab.part")
    (two_places / "user/empty").mkdir()
    (two_places / "user/file").write_text("")
    assert [(name, place.name) for name, place in installed()] == [
        ("both", "user"),
        ("user", "user"),
        ("package", "package"),
    ]


def test_the_users_folder(tmp_path, monkeypatch):
    assert user_models({"SORDINO_MODELS": str(tmp_path)}) == tmp_path
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert user_models({"SORDINO_MODELS": ""}).parts[-2:] == ("sordino", "models")
    assert list(installed({"SORDINO_MODELS": str(tmp_path / "nowhere")})) == [
        pair
        for pair in installed({"SORDINO_MODELS": str(tmp_path / "nowhere")})
        if pair[1].name == "package"
    ]
    write_encoder(tmp_path / "mine")
    assert find_model("mine", environment={"SORDINO_MODELS": str(tmp_path)}) == tmp_path / "mine"


def test_another_kind_is_refused(tmp_path):
    write_encoder(tmp_path / "tiny")
    assert load_model(str(tmp_path / "tiny"), "speaker-encoder").name == "mean-energy"
    with pytest.raises(UsageError, match="is a speaker-encoder; a vocoder is needed here"):
        load_model(str(tmp_path / "tiny"), "vocoder")


def test_the_hub_is_asked_only_when_named(tmp_path, monkeypatch):
    asked = []
    bundle = write_encoder(tmp_path / "tiny")

    def download(spec, *, tell):
        asked.append(spec)
        tell("downloading")
        return bundle.folder

    told: list[str] = []
    monkeypatch.setattr(sordino.models.hub, "download", download)
    load_model(str(tmp_path / "tiny"))
    with pytest.raises(UsageError):
        load_model("anna/tiny-that-is-not-there", tell=told.append)
    assert (asked, told) == ([], [])
    assert load_model("hub:anna/tiny@main", tell=told.append).name == "mean-energy"
    assert (asked, told) == (["hub:anna/tiny@main"], ["downloading"])
