"""Content bundles: graph against network, weights there and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx", reason="needs the extra train")

from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle
from sordino.models.session import Session
from sordino.training.content import export
from sordino.training.content.export import content_graph, load_content, write_content
from sordino.training.networks.content import build_content
from tests.training.tiny_hubert import CONFIG, save_hubert

LARGE = {"do_stable_layer_norm": True, "feat_extract_norm": "layer", "conv_bias": True}
ABOUT = {"name": "c", "summary": "s", "licence": "CC0-1.0"}
CONV = {
    "architecture": "conv",
    "sizes": {"channels": 16, "early": 1, "blocks": 1, "bands": 20, "level": 5, "kernel": 3},
}
SSL = {"architecture": "ssl", "ssl": {"config": dict(CONFIG)}}
QUIRKS = {
    "normalise_over": "time",
    "temperature_at_inference": False,
    "layer_norm_output": True,
}


def build(network):
    torch.manual_seed(0)
    content = build_content(network).eval()
    if network["output"] == "units" and network["architecture"] == "ssl":
        torch.nn.init.normal_(content.head.centroids)
    return content


DESCRIPTIONS = {
    "conv soft": {**CONV, "output": "soft", "units": 7, "projection": 5},
    "conv units": {**CONV, "output": "units", "units": 7},
    "conv features": {**CONV, "output": "features"},
    "conv bottleneck": {**CONV, "output": "bottleneck", "projection": 6},
    "conv at 100 Hz": {
        **CONV,
        "output": "features",
        "sizes": {**CONV["sizes"], "hop": 160, "level": 0},
    },
    "ssl soft": {**SSL, "output": "soft", "units": 7},
    "ssl as released": {**SSL, "output": "soft", "units": 7, **QUIRKS},
    "ssl distribution": {**SSL, "output": "soft", "units": 7, "softmax": True},
    "ssl units of a layer": {**SSL, "output": "units", "units": 7, "layer": 1},
    "ssl features": {**SSL, "output": "features", "projection": 5},
    "large ssl layer": {
        **SSL,
        "ssl": {"config": {**CONFIG, **LARGE, "model_type": "wavlm"}},
        "output": "features",
        "layer": 1,
    },
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_graph_gives_what_the_network_gives(name, tmp_path, speech_like):
    network = DESCRIPTIONS[name]
    if network["architecture"] == "ssl":
        pytest.importorskip("transformers", reason="needs the extra ssl")
    content = build(network)
    bundle = write_content(tmp_path / "c", content, network, ABOUT, "# c")
    wave = speech_like(16000, 1.3, channels=2)
    session = Session(bundle, "content.onnx")
    assert list(session.inputs) == ["wave"]
    with torch.inference_mode():
        for part in (wave, wave[:1, :5000], wave[:, :640]):
            expected = content(torch.from_numpy(part)).numpy()
            (found,) = session.run({"wave": part}, ["content"])
            if "units" in name.split():
                assert set(np.unique(found)) == {0, 1}
                assert (found.argmax(axis=2) == expected.argmax(axis=2)).mean() > 0.98
            else:
                np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
            hop = bundle.metadata["content"]["hop"]
            assert found.shape == (len(part), part.shape[1] // hop, content.channels)
    described = bundle.metadata["content"]
    assert described["channels"] == content.channels
    assert described["context"] == content.context
    assert (described["architecture"], described["output"]) == (
        network["architecture"],
        network["output"],
    )
    assert (bundle.kind, bundle.metadata["sample_rate"]) == ("content", 16000)
    again = load_content(bundle)
    for key, value in content.state_dict().items():
        assert torch.equal(again.state_dict()[key], value), key


def test_a_bundle_needs_its_source_no_more(tmp_path):
    pytest.importorskip("transformers", reason="needs the extra ssl")
    folder = save_hubert(tmp_path / "theirs")
    network = {**SSL, "ssl": {"source": str(folder)}, "output": "features", "layer": 1}
    content = build(network)
    bundle = write_content(tmp_path / "c", content, network, ABOUT, "# c")
    for file in folder.iterdir():
        file.unlink()
    assert str(tmp_path) not in (bundle.folder / "model.json").read_text()
    wave = torch.randn(1, 3200)
    again = load_content(Bundle.load(bundle.folder))
    torch.testing.assert_close(again(wave), content(wave))
    copied = write_content(tmp_path / "d", again, bundle.metadata["network"], ABOUT, "# c")
    assert copied.digest == bundle.digest


def test_a_graph_that_gives_something_else(monkeypatch):
    content = build(DESCRIPTIONS["conv features"])
    right = content_graph(content)
    monkeypatch.setattr(export, "traced", lambda *_: right)
    with torch.no_grad():
        content.frames.last_norm.bias.add_(0.1)
    with pytest.raises(OutputError, match="does not give what the network gives"):
        content_graph(content)


def test_a_graph_that_gives_other_units(monkeypatch):
    content = build(DESCRIPTIONS["conv units"])
    right = content_graph(content)
    monkeypatch.setattr(export, "traced", lambda *_: right)
    with torch.no_grad():
        content.head.vectors[0].mul_(-1)
    with pytest.raises(OutputError, match="does not give what the network gives"):
        content_graph(content)


def test_a_few_units_may_differ_where_two_are_as_near():
    expected = np.eye(4, dtype=np.float32)[np.zeros((1, 200), int)]
    found = expected.copy()
    found[0, :2] = np.eye(4)[1]
    assert export._same(found, expected)
    found[0, :3] = np.eye(4)[1]
    assert not export._same(found, expected)
    # What is no unit may not differ at all.
    assert not export._same(0.5 * found, 0.5 * expected)


def test_weights_of_another_network(tmp_path):
    network = DESCRIPTIONS["conv soft"]
    bundle = write_content(tmp_path / "c", build(network), network, ABOUT, "# c")
    told = bundle.folder / "model.json"
    metadata = json.loads(told.read_text())
    metadata["network"]["projection"] = 4
    told.write_text(json.dumps(metadata))
    with pytest.raises(UsageError, match=r"its graph has projection\.weight of shape \(5, 16\)"):
        load_content(Bundle.load(bundle.folder))
    del metadata["network"]
    told.write_text(json.dumps(metadata))
    with pytest.raises(UsageError, match="does not describe its network"):
        load_content(Bundle.load(bundle.folder))
