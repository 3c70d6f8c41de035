"""S-ECAPA on a small HuBERT with random weights."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.models.hub import download
from sordino.training.export import load_network, onnx_graph, write_encoder
from sordino.training.networks import pretrained as loading
from sordino.training.networks import ssl
from sordino.training.networks.encoder import build_encoder
from tests.models.hub_server import Hub, serving
from tests.training.waves import RATE

CONFIG = {
    "model_type": "hubert",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "conv_dim": [32] * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
LARGE = {"do_stable_layer_norm": True, "feat_extract_norm": "layer", "conv_bias": True}
SIZES = {"channels": 64, "aggregated": 96, "dimension": 24}
METADATA = {"name": "s", "summary": "s", "licence": "CC0-1.0", "sample_rate": RATE}


def description(**changes):
    return {"architecture": "s-ecapa", "ssl": {"config": {**CONFIG, **changes}}, "sizes": SIZES}


def small(**changes):
    torch.manual_seed(0)
    encoder = build_encoder(description(**changes)).eval()
    with torch.no_grad():
        encoder.layer_weights.copy_(torch.tensor([0.4, -1.0, 0.7]))
    return encoder


@pytest.fixture
def pretrained(tmp_path):
    """A folder as transformers writes it, with masks as in pre-training."""
    torch.manual_seed(1)
    config = transformers.AutoConfig.for_model(**CONFIG, mask_time_prob=0.05, layerdrop=0.1)
    model = transformers.AutoModel.from_config(config).eval()
    model.save_pretrained(tmp_path / "theirs")
    return tmp_path / "theirs", model


def test_the_weighted_sum_of_all_hidden_states(speech_like):
    encoder = small()
    wave = torch.from_numpy(0.2 * speech_like(RATE, 1, channels=2)) + 0.01
    normal = (wave - wave.mean(1, keepdim=True)) / wave.std(1, correction=0, keepdim=True)
    with torch.inference_mode():
        states = encoder.ssl(normal, output_hidden_states=True).hidden_states
        assert len(states) == 3
        exponentials = np.exp([0.4, -1.0, 0.7])
        weights = exponentials / exponentials.sum()
        expected = sum(w * state.numpy() for w, state in zip(weights, states, strict=True))
        found = encoder.frames(wave)
        np.testing.assert_allclose(found.transpose(1, 2), expected, atol=1e-4)
        body = encoder.body(found - found.mean(2, keepdim=True))
        torch.testing.assert_close(encoder(wave), body)


def test_the_first_and_last_hidden_states_are_the_ends_of_the_layers():
    encoder = small()
    seen = {}
    layers = encoder.ssl.encoder.layers
    layers[0].register_forward_pre_hook(lambda _, inputs: seen.update(first=inputs[0]))
    layers[1].register_forward_hook(lambda *call: seen.update(last=call[2]))
    wave = torch.randn(1, 8000)
    with torch.inference_mode():
        for place, weights in (("first", [99.0, 0, 0]), ("last", [0, 0, 99.0])):
            encoder.layer_weights.copy_(torch.tensor(weights))
            frames = encoder.frames(wave)
            torch.testing.assert_close(frames.transpose(1, 2), seen[place])


@pytest.mark.parametrize("changes", [{}, LARGE], ids=["base", "large"])
@pytest.mark.parametrize("family", ["hubert", "wav2vec2", "wavlm"])
def test_exported_graph(family, changes):
    encoder = small(model_type=family, **changes)
    session = onnxruntime.InferenceSession(onnx_graph(encoder))
    generator = np.random.default_rng(0)
    for batch, samples in ((1, 4800), (3, 16001), (2, 81234)):
        wave = 0.1 * generator.standard_normal((batch, samples)).astype(np.float32)
        found = session.run(["vector"], {"wave": wave})[0]
        with torch.inference_mode():
            expected = encoder(torch.from_numpy(wave)).numpy()
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def test_everything_is_trained():
    encoder = small().train()
    before = {name: value.clone() for name, value in encoder.named_parameters()}
    optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)
    vectors = encoder(torch.randn(3, 8000))
    torch.nn.functional.normalize(vectors)[:, 0].sum().backward()
    for name, value in encoder.named_parameters():
        assert value.grad is not None, name
        assert torch.isfinite(value.grad).all(), name
    optimizer.step()
    for part in (
        "layer_weights",
        "ssl.feature_extractor.conv_layers.0.conv.weight",
        "ssl.encoder.layers.1.attention.q_proj.weight",
        "body.first.conv.weight",
    ):
        assert not torch.equal(encoder.get_parameter(part), before[part]), part


def test_training_has_no_masks_and_leaves_no_layer_out():
    encoder = small(
        mask_time_prob=0.9,
        mask_feature_prob=0.9,
        layerdrop=1.0,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        activation_dropout=0.0,
        feat_proj_dropout=0.0,
    )
    wave = torch.randn(2, 8000)
    expected = encoder.frames(wave)
    torch.testing.assert_close(encoder.train().frames(wave), expected)


def test_gain_and_offset_leave_no_trace():
    encoder = small(**LARGE)
    wave = torch.randn(1, 8000)
    torch.testing.assert_close(encoder(0.02 * wave + 0.1), encoder(wave), rtol=1e-3, atol=1e-3)


def test_from_a_folder(pretrained):
    folder, model = pretrained
    encoder = build_encoder({**description(), "ssl": {"source": str(folder)}}).eval()
    wave = torch.randn(1, 8000)
    wave = (wave - wave.mean()) / wave.std(correction=0)
    with torch.inference_mode():
        expected = torch.stack(model(wave, output_hidden_states=True).hidden_states).mean(0)
        torch.testing.assert_close(encoder.frames(wave).transpose(1, 2), expected)


def test_loading_is_quiet(pretrained, capfd):
    build_encoder({**description(), "ssl": {"source": str(pretrained[0])}})
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("pickled", [False, True])
def test_from_the_hub(pretrained, tmp_path, monkeypatch, caplog, pickled):
    folder, model = pretrained
    files = {"config.json": (folder / "config.json").read_bytes(), "README.md": b"# x"}
    if pickled:
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
        files["pytorch_model.bin"] = (folder / "pytorch_model.bin").read_bytes()
    else:
        files["model.safetensors"] = (folder / "model.safetensors").read_bytes()
    with serving(Hub("anna/hubert", files)) as hub:
        here = partial(download, endpoint=hub.address, cache=tmp_path / "cache")
        monkeypatch.setattr(loading, "download", here)
        encoder = build_encoder({**description(), "ssl": {"source": "hub:anna/hubert"}})
    weight = encoder.ssl.encoder.layers[1].feed_forward.output_dense.weight
    assert torch.equal(weight, model.encoder.layers[1].feed_forward.output_dense.weight)
    assert "downloading anna/hubert at commit" in caplog.text
    assert "README.md" not in caplog.text


def test_a_bundle_needs_its_source_no_more(pretrained, tmp_path):
    folder, _ = pretrained
    network = {**description(), "ssl": {"source": str(folder)}}
    encoder = build_encoder(network).eval()
    write_encoder(tmp_path / "bundle", encoder, network, METADATA, "# s")
    assert str(folder) not in (tmp_path / "bundle" / "model.json").read_text()
    for file in folder.iterdir():
        file.unlink()
    bundle = Bundle.load(tmp_path / "bundle")
    loaded = load_network(bundle)
    for name, value in encoder.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            assert torch.equal(loaded.state_dict()[name], value), name
    wave = torch.randn(2, 9000)
    torch.testing.assert_close(loaded(wave), encoder(wave))
    # Once more, from what was loaded.
    again = ssl.self_contained(bundle.metadata["network"], loaded)
    assert again == bundle.metadata["network"]


def test_other_descriptions_stay_as_they_are():
    network = {"architecture": "ecapa", "sizes": SIZES}
    assert ssl.self_contained(network, build_encoder(network)) == network


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (None, 'needs either a "source" or a "config"'),
        ({"source": "x", "config": {}}, 'needs either a "source" or a "config"'),
        ({"source": "x", "revision": "y"}, 'needs either a "source" or a "config"'),
        ({"source": "nowhere"}, "nowhere: is no folder"),
        ({"source": "anna/hubert"}, r"is no folder \(a model of the hub is hub:OWNER/NAME\)"),
        ({"config": {"model_type": "bert"}}, "is a model of type bert; expected hubert"),
        ({"config": {}}, "is a model of type None; expected hubert"),
        ({"config": {**CONFIG, "num_attention_heads": 3}}, "config: is of no use"),
        ({"config": {**CONFIG, "conv_dim": [32]}}, "config: is of no use"),
    ],
)
def test_wrong_descriptions(chosen, message):
    network = {"architecture": "s-ecapa", "sizes": SIZES}
    with pytest.raises(UsageError, match=message):
        build_encoder(network if chosen is None else {**network, "ssl": chosen})


def test_folders_that_hold_something_else(pretrained, tmp_path):
    folder, model = pretrained
    network = {**description(), "ssl": {"source": str(folder)}}
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="cannot be loaded"):
        build_encoder({**network, "ssl": {"source": str(tmp_path / "empty")}})
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "num_hidden_layers": 3}))
    with pytest.raises(UsageError, match=r"has no weights for encoder\.layers\.2\."):
        build_encoder(network)
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 40}))
    with pytest.raises(UsageError, match="cannot be loaded"):
        build_encoder(network)
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "bert"}))
    with pytest.raises(UsageError, match="is a model of type bert"):
        build_encoder(network)
    assert model is not None


def test_without_transformers(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(UsageError, match=r'pip install "sordino\[ssl\]"'):
        build_encoder(description())
