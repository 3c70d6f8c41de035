"""Models copied from a hub on this machine."""

from __future__ import annotations

import pytest

pytest.importorskip("huggingface_hub", reason="the hub's client (extra hub) is not installed")

from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle
from sordino.models.pull import pull
from tests.encoders import write_encoder
from tests.models.hub_server import COMMIT, Hub, serving


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
    files = {path.name: path.read_bytes() for path in folder.iterdir()} | {"huge.bin": b"1" * 1000}
    with serving(Hub("anna/tiny", files, frozenset({"encoder.onnx"}))) as server:
        yield server


def pulled(hub, tmp_path, **options) -> Bundle:
    return pull(
        "hub:anna/tiny",
        tmp_path / "models",
        endpoint=hub.address,
        cache=tmp_path / "cache",
        **options,
    )


def test_the_copy_is_the_model(hub, tmp_path):
    told: list[str] = []
    bundle = pulled(hub, tmp_path, tell=told.append)
    original = Bundle.load(tmp_path / "tiny")
    assert bundle.folder == tmp_path / "models/mean-energy"
    assert (bundle.digest, bundle.metadata) == (original.digest, original.metadata)
    assert Bundle.load(bundle.folder).card == "# Energies\n"
    assert not any(path.is_symlink() for path in bundle.folder.iterdir())
    # The list of files first, then what it names and no more.
    assert [text.partition(", ")[0] for text in told] == [
        f"downloading anna/tiny at commit {COMMIT}"
    ] * 2
    assert "encoder.onnx" in told[1]
    assert not any("huge.bin" in request for request in hub.requests)


def test_another_name(hub, tmp_path):
    bundle = pulled(hub, tmp_path, name="other")
    assert (bundle.name, bundle.folder.name) == ("other", "other")
    assert bundle.digest == Bundle.load(tmp_path / "tiny").digest


def test_what_is_there_is_left(hub, tmp_path):
    place = write_encoder(tmp_path / "models/mean-energy", card="# Mine\n")
    with pytest.raises(OutputError, match="exists already; choose another --name"):
        pulled(hub, tmp_path)
    assert Bundle.load(place.folder).card == "# Mine\n"


def test_what_is_no_model_or_damaged_is_refused(hub, tmp_path):
    with pytest.raises(UsageError, match="no such model"):
        pull("hub:anna/none", tmp_path, endpoint=hub.address, cache=tmp_path / "cache")
    with pytest.raises(UsageError, match="plain file name"):
        pulled(hub, tmp_path, name="../up")
    assert not (tmp_path / "up").exists()
    files = {name: data for name, data in hub.files.items() if name != "encoder.onnx"}
    hub.files = files | {"encoder.onnx": b"another"}
    with pytest.raises(UsageError, match=r"encoder\.onnx is damaged"):
        pull("hub:anna/tiny", tmp_path, endpoint=hub.address, cache=tmp_path / "other")
    hub.files = {"README.md": b"nothing"}
    with pytest.raises(UsageError, match=r"none of the files model\.json"):
        pull("hub:anna/tiny", tmp_path, endpoint=hub.address, cache=tmp_path / "third")
