"""The anonymizer's soft HuBERT against transformers' HubertModel and its formula in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra ssl")
pytest.importorskip("onnx")

from sordino.errors import UsageError
from sordino.training.importers import import_model, soft_hubert
from tests.training.importers.released import (
    SMALL,
    check_names,
    fairseq_weights,
    hidden_states,
    hubert,
    run,
    soft_model,
    soft_units,
)
from tests.training.waves import RATE, speech


def save(folder, weights):
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(weights, folder / "soft_model.pt")
    return folder


def check(bundle, model, weights, wave, prefix=""):
    expected = soft_units(hidden_states(model, wave), weights[f"{prefix}W"])
    found = run(bundle, "content.onnx", wave=wave)
    print(f"soft HuBERT, {wave.size / RATE:g} s: {np.abs(found - expected).max():.1e}")
    assert found.shape == (wave.size // 320, len(weights[f"{prefix}W"]))
    # Else a network that gives the same at all times would do.
    assert expected.std(axis=0).mean() > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    place = tmp_path_factory.mktemp("soft")
    model = hubert(**SMALL)
    weights = soft_model(model, 24)
    bundle = import_model("soft-hubert", save(place / "theirs", weights), place / "ours", "ours")
    return model, weights, bundle


@pytest.mark.parametrize("seconds", [0.64, 3.2, 12.8])
def test_on_speech(small, speech_root, seconds):
    model, weights, bundle = small
    check(bundle, model, weights, speech(speech_root, seconds, seed=3))


def test_what_the_bundle_says(small):
    _, _, bundle = small
    assert bundle.kind == "content"
    about = {"hop": 320, "channels": 24, "context": None}
    assert bundle.metadata["content"].items() >= about.items()
    network = bundle.metadata["network"]
    assert network["normalise_over"] == "time"
    assert network["temperature_at_inference"] is False
    assert network["layer_norm_output"] is True
    assert "features have length 1 over time" in bundle.card


def test_full_size(tmp_path, speech_root, monkeypatch):
    """Without the export, which takes a minute at this size, and is the same at any."""
    built = []
    monkeypatch.setattr(
        soft_hubert, "write_content", lambda _, content, *args: built.append(content)
    )
    model = hubert(seed=1)
    assert (model.config.hidden_size, model.config.num_hidden_layers) == (768, 12)
    weights = soft_model(model, 200)
    import_model("soft-hubert", save(tmp_path / "theirs", weights), tmp_path / "ours", "ours")
    wave = speech(speech_root, 0.96, seed=7)
    expected = soft_units(hidden_states(model, wave), weights["W"])
    with torch.inference_mode():
        found = built[0].eval()(torch.from_numpy(wave[None]))[0].numpy()
    assert found.shape == (48, 200)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


@pytest.mark.parametrize("recent", [False, True])
def test_from_what_a_generator_carries_along(tmp_path, speech_root, recent):
    model, prefix = hubert(seed=2, **SMALL), "latent_encoder."
    weights = soft_model(model, 12, prefix, recent=recent, pretraining=False)
    others = {"conv_pre.bias": torch.zeros(2), "xv_model.fc.conv.bias": torch.zeros(3)}
    torch.save({"generator": {**others, **weights}}, tmp_path / "g_00100000")
    bundle = import_model("soft-hubert", tmp_path / "g_00100000", tmp_path / "ours", "ours")
    check(bundle, model, weights, speech(speech_root, 2.4, seed=5), prefix)


def test_missing_surplus_and_misshapen_weights_are_named(tmp_path):
    def message(weights):
        folder = save(tmp_path / "theirs", weights)
        with pytest.raises(UsageError) as caught:
            import_model("soft-hubert", folder, tmp_path / "ours", "ours")
        assert not (tmp_path / "ours").exists()
        return str(caught.value)

    weights = soft_model(hubert(**SMALL), 8)
    keys = [
        "W",
        "ssl_model.feature_extractor.conv_layers.0.2.bias",
        "ssl_model.feature_extractor.conv_layers.3.0.weight",
        "ssl_model.layer_norm.weight",
        "ssl_model.post_extract_proj.bias",
        "ssl_model.encoder.pos_conv.0.weight_v",
        "ssl_model.encoder.layers.0.final_layer_norm.weight",
        "ssl_model.encoder.layers.1.self_attn.out_proj.weight",
        "ssl_model.encoder.layers.1.fc2.bias",
    ]
    check_names(keys, message, weights)
    # Names of pre-training are known; only these are.
    unknown = "ssl_model.final_proj.scale"
    assert f"{unknown} has no place" in message({**weights, unknown: torch.zeros(1)})
    assert "label_embs_concat has no place" in message(
        {**weights, "label_embs_concat": torch.zeros(1)}
    )


def test_other_networks(tmp_path):
    def message(weights):
        with pytest.raises(UsageError) as caught:
            import_model(
                "soft-hubert", save(tmp_path / "theirs", weights), tmp_path / "ours", "ours"
            )
        return str(caught.value)

    plain = fairseq_weights(hubert(**SMALL))
    assert "has no weights for W" in message(plain)
    kernels = hubert(**{**SMALL, "conv_kernel": [10, 3, 3, 3, 3, 3, 2]})
    assert "expected (10, 3, 3, 3, 3, 2, 2)" in message(soft_model(kernels, 8))
    heads = hubert(**{**SMALL, "hidden_size": 96, "num_attention_heads": 1})
    assert "has 96 channels" in message(soft_model(heads, 8))
    with pytest.raises(UsageError, match=r"has no soft_model\.pt"):
        import_model("soft-hubert", tmp_path, tmp_path / "ours", "ours")
