"""The public soft HuBERT against torch's own Transformer."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra ssl")
pytest.importorskip("onnx")

from sordino.errors import UsageError
from sordino.training.importers import import_model
from tests.training.importers.released import check_names, conversion_code, conversion_model, run
from tests.training.waves import RATE, speech

KIND = "public-soft-hubert"


def as_trained(weights):
    hubert = {f"module.{name}": value for name, value in weights.items()}
    return {"hubert": hubert, "optimizer": {"state": {}}, "step": 25000, "loss": 1.5}


def as_published(weights):
    return {f"module.{name}": value for name, value in weights.items()}


@pytest.mark.parametrize("layout", [as_trained, as_published, dict])
def test_on_speech(tmp_path, speech_root, layout):
    weights = conversion_model()
    torch.save(layout(weights), tmp_path / "hubert.pt")
    bundle = import_model(KIND, tmp_path / "hubert.pt", tmp_path / "ours", "ours")
    for seconds in (0.64, 3.2):
        wave = speech(speech_root, seconds, seed=11)
        expected = conversion_code(weights, wave, heads=2)
        found = run(bundle, "content.onnx", wave=wave)
        print(f"public soft HuBERT, {wave.size / RATE:g} s: {np.abs(found - expected).max():.1e}")
        assert found.shape == (wave.size // 320, 24)
        assert expected.std(axis=0).mean() > 0.1
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert bundle.kind == "content"
    assert bundle.licence == "MIT"
    about = {"hop": 320, "channels": 24, "context": None}
    assert bundle.metadata["content"].items() >= about.items()


def test_missing_surplus_and_misshapen_weights_are_named(tmp_path):
    def message(weights):
        torch.save({"hubert": weights}, tmp_path / "hubert.pt")
        with pytest.raises(UsageError) as caught:
            import_model(KIND, tmp_path / "hubert.pt", tmp_path / "ours", "ours")
        assert not (tmp_path / "ours").exists()
        return str(caught.value)

    keys = [
        "feature_extractor.conv0.weight",
        "feature_extractor.norm0.weight",
        "feature_projection.norm.bias",
        "feature_projection.projection.weight",
        "positional_embedding.conv.weight_g",
        "norm.weight",
        "encoder.layers.0.linear1.weight",
        "encoder.layers.1.self_attn.in_proj_weight",
        "encoder.layers.1.self_attn.in_proj_bias",
        "encoder.layers.1.norm2.bias",
        "proj.bias",
    ]
    check_names([f"module.{key}" for key in keys], message, as_published(conversion_model()))


def test_what_is_no_such_checkpoint(tmp_path):
    for content, message in (
        ({"hubert": [1]}, "hubert is no set of named tensors"),
        ({"hubert": {}}, r"has no weights for"),
        ({"step": 3}, "step is no tensor"),
    ):
        torch.save(content, tmp_path / "hubert.pt")
        with pytest.raises(UsageError, match=message):
            import_model(KIND, tmp_path / "hubert.pt", tmp_path / "ours", "ours")
