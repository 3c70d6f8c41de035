"""Layers of a model of transformers as content, against the model itself."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("transformers", reason="needs the extra ssl")
pytest.importorskip("onnx")

from sordino.errors import UsageError
from sordino.training.importers import import_model
from tests.training.importers.released import PAD, SMALL, hubert, run
from tests.training.waves import speech


@pytest.mark.parametrize("layer", [None, 1])
def test_a_layer(tmp_path, speech_root, layer):
    model = hubert(seed=4, **SMALL)
    model.save_pretrained(tmp_path / "theirs")
    bundle = import_model(
        "ssl-features", tmp_path / "theirs", tmp_path / "ours", "ours", layer=layer
    )
    wave = speech(speech_root, 3.2, seed=2)
    with torch.inference_mode():
        padded = torch.from_numpy(np.pad(wave, PAD)[None])
        states = model(padded, output_hidden_states=True).hidden_states
    expected = states[2 if layer is None else layer][0].numpy()
    found = run(bundle, "content.onnx", wave=wave)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    assert (states[1] - states[2]).abs().max() > 0.1
    about = {"hop": 320, "channels": 128, "context": None}
    assert bundle.metadata["content"].items() >= about.items()
    assert "source" not in bundle.metadata["network"]["ssl"]
    assert ("layer 1" if layer else "the last layer") in bundle.card


def test_what_is_no_such_model(tmp_path):
    with pytest.raises(UsageError, match="is no folder"):
        import_model("ssl-features", tmp_path / "nowhere", tmp_path / "ours", "ours")
    hubert(**SMALL).save_pretrained(tmp_path / "theirs")
    with pytest.raises(UsageError, match="there is no layer 3; it has 2"):
        import_model("ssl-features", tmp_path / "theirs", tmp_path / "ours", "ours", layer=3)
