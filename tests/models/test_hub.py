"""Downloads with the hub's own client, from a server on this machine."""

from __future__ import annotations

import sys

import pytest

pytest.importorskip("huggingface_hub", reason="the hub's client (extra hub) is not installed")

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.hub import download
from tests.encoders import write_encoder
from tests.models.hub_server import COMMIT, Hub, serving

# A port on which nothing listens.
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("HF_TOKEN_PATH", "/nonexistent")


@pytest.fixture
def hub(tmp_path):
    folder = write_encoder(tmp_path / "tiny").folder
    files = {path.name: path.read_bytes() for path in folder.iterdir()} | {"extra/a.bin": b"123"}
    with serving(Hub("anna/tiny", files, frozenset({"encoder.onnx"}))) as server:
        yield server


def test_download(hub, tmp_path, capfd):
    told: list[str] = []

    def tell(text: str) -> None:
        assert not any("/resolve/" in request for request in hub.requests)
        told.append(text)

    folder = download("hub:anna/tiny", tell=tell, endpoint=hub.address, cache=tmp_path / "cache")
    assert Bundle.load(folder).name == "mean-energy"
    assert (folder / "extra/a.bin").read_bytes() == b"123"
    assert folder.is_relative_to(tmp_path / "cache")
    (announced,) = told
    assert announced.startswith(f"downloading anna/tiny at commit {COMMIT}, 1.3 kB: ")
    assert f"encoder.onnx ({len(hub.files['encoder.onnx']) / 1e3:.1f} kB)" in announced
    assert capfd.readouterr() == ("", "")


def test_what_is_there_is_not_downloaded_again(hub, tmp_path):
    told: list[str] = []
    options = {"tell": told.append, "endpoint": hub.address, "cache": tmp_path / "cache"}
    first = download("hub:anna/tiny@main", **options)
    hub.requests.clear()
    assert download("hub:anna/tiny@main", **options) == first
    assert not any("/resolve/" in request for request in hub.requests)
    hub.requests.clear()
    assert download(f"hub:anna/tiny@{COMMIT}", **options) == first
    assert hub.requests == []
    assert len(told) == 1


def test_a_commit_in_the_cache_needs_no_hub(hub, tmp_path):
    spec, cache = f"hub:anna/tiny@{COMMIT}", tmp_path / "cache"
    first = download(spec, endpoint=hub.address, cache=cache)
    assert download(spec, endpoint=NOWHERE, cache=cache) == first
    with pytest.raises(UsageError, match=r"the hub cannot be reached .*named with its commit"):
        download("hub:anna/tiny", endpoint=NOWHERE, cache=cache)


def test_offline(tmp_path):
    with pytest.raises(UsageError, match=r"^hub:anna/tiny: the hub cannot be reached") as caught:
        download("hub:anna/tiny", endpoint=NOWHERE, cache=tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_only_some_files(hub, tmp_path):
    told: list[str] = []
    folder = download(
        "hub:anna/tiny",
        only=("*.json", "*.md"),
        tell=told.append,
        endpoint=hub.address,
        cache=tmp_path / "cache",
    )
    assert sorted(path.name for path in folder.iterdir()) == ["CARD.md", "model.json"]
    assert "onnx" not in told[0]
    with pytest.raises(UsageError, match=r"has none of the files \*.ckpt"):
        download("hub:anna/tiny", only=("*.ckpt",), endpoint=hub.address, cache=tmp_path / "c")


@pytest.mark.parametrize("name", ["encoder.onnx", "CARD.md"])
def test_contents_that_are_not_as_described(hub, tmp_path, name):
    options = {"endpoint": hub.address, "cache": tmp_path / "cache"}
    data = bytearray(hub.files[name])
    data[-1] ^= 1
    hub.sent[name] = bytes(data)
    for spec in ("hub:anna/tiny", f"hub:anna/tiny@{COMMIT}"):
        with pytest.raises(UsageError, match=f"{name}: what came is not what the hub describes"):
            download(spec, **options)
    hub.sent.clear()
    assert Bundle.load(download("hub:anna/tiny", **options)).name == "mean-energy"


def test_a_file_that_is_cut_short(hub, tmp_path):
    hub.sent["encoder.onnx"] = hub.files["encoder.onnx"][:-1]
    with pytest.raises(UsageError, match="hub:anna/tiny: "):
        download("hub:anna/tiny", endpoint=hub.address, cache=tmp_path / "cache")


def test_names_outside_the_folder(hub, tmp_path):
    hub.files = {**hub.files, "../up": b"x"}
    with pytest.raises(UsageError, match="outside its folder"):
        download("hub:anna/tiny", endpoint=hub.address, cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hub:anna/nothing", "no such model, or it is private"),
        ("hub:anna/tiny@v9", "no such revision"),
        ("hub:tiny", "is not hub:OWNER/NAME"),
        ("hub:../..", "is not hub:OWNER/NAME"),
        ("hub:anna/tiny@", "is not hub:OWNER/NAME"),
        ("hub:anna/tiny/more", "is not hub:OWNER/NAME"),
    ],
)
def test_names_that_lead_nowhere(hub, tmp_path, spec, message):
    with pytest.raises(UsageError, match=message):
        download(spec, endpoint=hub.address, cache=tmp_path / "cache")


def test_without_the_client(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(UsageError, match=r'pip install "sordino\[hub\]"'):
        download("hub:anna/tiny")
