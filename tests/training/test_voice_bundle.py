"""Content, vocoder and pool as one bundle."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.anonymize.pseudo.pool import Pool
from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle, write_bundle
from sordino.training.voice_bundle import write_voice

ABOUT = {"summary": "A part.", "licence": "CC0", "sample_rate": 16000}
POOL = {
    "vectors": np.random.default_rng(0).standard_normal((4, 6)),
    "sex": np.array(["F", "M", "", "F"]),
    "pitch_mean": np.log([200.0, 120.0, 150.0, 210.0]),
    "pitch_deviation": np.full(4, 0.2),
}
CONTENT = {"hop": 320, "channels": 5, "context": 4000, "architecture": "conv"}


def part(path, kind, graph, **metadata):
    described = {**ABOUT, "kind": kind, "name": path.name, **metadata}
    return write_bundle(path, described, {graph: graph.encode(), "CARD.md": b"# part"})


@pytest.fixture
def parts(tmp_path):
    """A content bundle and a vocoder's."""
    return (
        part(tmp_path / "soft", "content", "content.onnx", content=CONTENT),
        part(
            tmp_path / "hifi",
            "vocoder",
            "generator.onnx",
            content={**CONTENT, "context": None},
            generator={"hop": 160, "context": 15, "architecture": "hifigan"},
            pitch={"tracker": "swift"},
            speaker={"dimension": 6, "encoder": "ecapa-small", "digest": "0" * 64},
            network={"architecture": "hifigan"},
        ),
    )


def write(tmp_path, parts, pool=POOL, **metadata):
    about = {"name": "mine", "summary": "Mine.", "licence": "MIT", **metadata}
    return write_voice(tmp_path / "mine", *parts, pool, about, "# mine")


def test_what_it_holds(tmp_path, parts):
    voice = write(tmp_path, parts, quantised=True)
    assert (voice.kind, voice.name, voice.licence, voice.card) == ("voice", "mine", "MIT", "# mine")
    assert voice.path("content.onnx").read_bytes() == b"content.onnx"
    assert voice.path("generator.onnx").read_bytes() == b"generator.onnx"
    # The vocoder's metadata, and of the content network what it says itself.
    assert voice.metadata["generator"] == parts[1].metadata["generator"]
    assert voice.metadata["speaker"]["encoder"] == "ecapa-small"
    assert voice.metadata["content"] == CONTENT
    assert voice.metadata["sample_rate"] == 16000
    assert voice.metadata["quantised"] is True
    pool = Pool.from_arrays(voice.arrays("pool.npz"), "pool")
    assert len(pool) == 4
    assert voice.arrays("pool.npz").keys() == POOL.keys()
    assert voice.arrays("pool.npz")["vectors"].dtype == np.float32
    assert Bundle.load(tmp_path / "mine").digest == voice.digest


def test_the_same_parts_give_the_same_bytes(tmp_path, parts):
    one, two = (write(tmp_path / name, parts) for name in ("one", "two"))
    assert one.files == two.files
    with pytest.raises(OutputError, match="exists already"):
        write(tmp_path / "one", parts)


def test_parts_of_another_kind(tmp_path, parts):
    with pytest.raises(UsageError, match="hifi: is a model of kind vocoder; expected content"):
        write(tmp_path, parts[::-1])
    with pytest.raises(UsageError, match="soft: is a model of kind content; expected vocoder"):
        write(tmp_path, (parts[0], parts[0]))


@pytest.mark.parametrize(("key", "value"), [("channels", 6), ("hop", 160)])
def test_content_that_the_vocoder_does_not_take(tmp_path, parts, key, value):
    other = part(tmp_path / "other", "content", "content.onnx", content={**CONTENT, key: value})
    expected = f"the vocoder hifi takes content with {key} {CONTENT[key]}; other gives {value}"
    with pytest.raises(UsageError, match=expected):
        write(tmp_path, (other, parts[1]))
    silent = part(tmp_path / "silent", "content", "content.onnx")
    with pytest.raises(UsageError, match="silent and hifi: do not both describe their content"):
        write(tmp_path, (silent, parts[1]))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vectors": np.ones((4, 7))}, "vectors have 7 numbers; the vocoder hifi takes 6"),
        ({"vectors": np.ones((3, 6))}, "pool: sex has shape"),
        ({"pitch_mean": np.full(4, np.nan)}, "pool: pitch_mean"),
        ({"sex": None}, "pool: has no array 'sex'"),
        ({"name": np.array(["ann", "bob", "cy", "di"])}, "pool: has an array name"),
    ],
)
def test_pools_that_are_none(tmp_path, parts, changes, message):
    pool = {name: array for name, array in {**POOL, **changes}.items() if array is not None}
    with pytest.raises(UsageError, match=message):
        write(tmp_path, parts, pool)
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("key", ["encoder", "digest"])
def test_a_vocoder_whose_encoder_is_not_known(tmp_path, parts, key):
    speaker = {**parts[1].metadata["speaker"], key: None}
    with pytest.raises(UsageError, match="hifi: does not say which speaker encoder"):
        write(tmp_path, parts, speaker=speaker)
