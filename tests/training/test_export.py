"""Bundles of encoders: the graph gives what the network gives, and gives the network back."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

from sordino.audio.recording import Recording
from sordino.errors import OutputError, UsageError
from sordino.models.bundle import Bundle, write_bundle
from sordino.speaker.encoders import load_encoder
from sordino.training import export
from sordino.training.export import load_network, onnx_graph, write_encoder
from sordino.training.networks.encoder import build_encoder
from tests.training.speechbrain_models import randomize
from tests.training.waves import RATE, cosine, speech

NETWORKS = {
    "ecapa": {"architecture": "ecapa", "sizes": {"channels": 64, "aggregated": 96}},
    "ecapa-fast": {
        "architecture": "ecapa",
        "sizes": {"channels": 64, "aggregated": 96, "stride": 2, "padding": "zeros"},
        "filterbank": {"bands": 40},
    },
    "xvector": {"architecture": "xvector", "sizes": {"channels": [32, 32, 32, 32, 64]}},
    "ge2e": {"architecture": "ge2e"},
}
METADATA = {"name": "mine", "summary": "Mine.", "licence": "CC0-1.0", "sample_rate": RATE}


def built(name):
    torch.manual_seed(0)
    return randomize(build_encoder(NETWORKS[name]))


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    """One bundle of each network, with the network."""
    folder = tmp_path_factory.mktemp("bundles")
    made = {}
    for name, network in NETWORKS.items():
        encoder = built(name)
        made[name] = encoder, write_encoder(folder / name, encoder, network, METADATA, "# Mine")
    return made


@pytest.fixture(params=list(NETWORKS))
def pair(request, bundles):
    encoder, bundle = bundles[request.param]
    return encoder, load_encoder(str(bundle.folder))


def run(encoder, waves):
    with torch.inference_mode():
        return encoder(torch.from_numpy(np.ascontiguousarray(waves))).numpy()


@pytest.mark.parametrize("seconds", [0.3, 1.0, 3.21, 60.0])
def test_graph_and_network_agree_on_speech(pair, speech_root, seconds):
    encoder, exported = pair
    wave = speech(speech_root, seconds, seed=3)[None]
    expected = run(encoder, wave)[0]
    found = exported.embed(Recording(wave, RATE))
    assert cosine(found, expected) > 0.999999
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_a_batch_gives_what_each_gives_alone(pair, speech_root):
    _, exported = pair
    recordings = [Recording(speech(speech_root, 2.5, seed=s)[None], RATE) for s in (0, 30, 60, 90)]
    together = exported.embed_many(recordings)
    alone = np.stack([exported.embed(recording) for recording in recordings])
    np.testing.assert_allclose(together, alone, atol=1e-4 * np.abs(alone).max())
    assert np.abs(alone[0] - alone[1]).max() > 1e-3 * np.abs(alone).max()


@pytest.mark.parametrize("name", list(NETWORKS))
def test_the_network_comes_back(bundles, name):
    encoder, bundle = bundles[name]
    loaded = load_network(Bundle.load(bundle.folder))
    assert not loaded.training
    expected = encoder.state_dict()
    assert loaded.state_dict().keys() == expected.keys()
    for key, value in loaded.state_dict().items():
        assert torch.equal(value, expected[key]), key


@pytest.mark.parametrize("name", list(NETWORKS))
def test_fresh_weights_come_back(tmp_path, name):
    """Many of them are equal, so that the exporter keeps only one."""
    torch.manual_seed(5)
    encoder = build_encoder(NETWORKS[name])
    bundle = write_encoder(tmp_path / "fresh", encoder, NETWORKS[name], METADATA, "# Fresh")
    for key, value in load_network(bundle).state_dict().items():
        assert torch.equal(value, encoder.state_dict()[key]), key


def test_what_the_bundle_says(bundles):
    _, bundle = bundles["ecapa-fast"]
    about = json.loads((bundle.folder / "model.json").read_text())
    assert about["kind"] == "speaker-encoder"
    assert about["dimension"] == 192
    assert about["minimum_samples"] == 4800
    assert about["sample_rate"] == RATE
    assert about["network"] == NETWORKS["ecapa-fast"]
    assert bundle.card == "# Mine"


def test_metadata_may_say_more(tmp_path):
    more = {**METADATA, "minimum_samples": 8000, "training": {"steps": 3}}
    bundle = write_encoder(tmp_path / "m", built("xvector"), NETWORKS["xvector"], more, "# M")
    assert bundle.metadata["minimum_samples"] == 8000
    assert bundle.metadata["training"] == {"steps": 3}


def test_a_bundle_is_replaced_only_when_asked(tmp_path):
    arguments = (built("xvector"), NETWORKS["xvector"], METADATA, "# M")
    write_encoder(tmp_path / "m", *arguments)
    with pytest.raises(OutputError):
        write_encoder(tmp_path / "m", *arguments)
    write_encoder(tmp_path / "m", *arguments, replace=True)


def test_a_graph_that_differs_is_not_written(tmp_path, monkeypatch):
    other = randomize(build_encoder(NETWORKS["xvector"]), seed=9)
    graph = onnx_graph(other)
    monkeypatch.setattr(export, "onnx_graph", lambda encoder: graph)
    with pytest.raises(OutputError, match="does not give what the network gives"):
        write_encoder(tmp_path / "m", built("xvector"), NETWORKS["xvector"], METADATA, "# M")
    assert not (tmp_path / "m").exists()


def test_the_graph_takes_and_gives_what_the_contract_says():
    model = onnx.load_from_string(onnx_graph(built("xvector")))
    onnx.checker.check_model(model)
    (wave,), (vector,) = model.graph.input, model.graph.output
    assert (wave.name, vector.name) == ("wave", "vector")
    assert [axis.dim_param for axis in wave.type.tensor_type.shape.dim] == ["batch", "samples"]
    assert [o.version for o in model.opset_import if not o.domain] == [export.OPSET]


def changed(bundle, folder, **changes):
    metadata = {
        key: value
        for key, value in bundle.metadata.items()
        if key
        in {
            "kind",
            "name",
            "summary",
            "licence",
            "sample_rate",
            "dimension",
            "minimum_samples",
            "network",
        }
    }
    files = {name: bundle.path(name).read_bytes() for name in ("encoder.onnx", "CARD.md")}
    kept = {key: value for key, value in {**metadata, **changes}.items() if value is not None}
    return write_bundle(folder, kept, files)


def test_bundles_that_hold_no_such_network(bundles, tmp_path):
    _, bundle = bundles["ecapa"]
    with pytest.raises(UsageError, match="model mine: does not describe its network"):
        load_network(changed(bundle, tmp_path / "a", network=None))
    more = {
        "architecture": "ecapa",
        "sizes": {
            "channels": 64,
            "kernels": [5, 3, 3, 3, 3, 1],
            "dilations": [1, 2, 3, 4, 5, 1],
            "aggregated": 96,
        },
    }
    with pytest.raises(UsageError, match=r"its graph has no weights named body\.blocks\.3\."):
        load_network(changed(bundle, tmp_path / "b", network=more))
    wider = {"architecture": "ecapa", "sizes": {"channels": 64, "aggregated": 128}}
    with pytest.raises(UsageError, match=r"body\.mfa\.conv\.weight"):
        load_network(changed(bundle, tmp_path / "c", network=wider))
