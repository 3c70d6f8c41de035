"""Features of a small HuBERT, against transformers."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
transformers = pytest.importorskip("transformers", reason="needs the extra ssl")

from sordino.errors import UsageError
from sordino.training.features.base import load_features
from sordino.training.features.ssl_source import SslFeatures
from tests.training.tiny_hubert import save_hubert


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_hubert(tmp_path_factory.mktemp("ssl") / "theirs")


def source(folder, layer=None):
    return SslFeatures({"source": str(folder)}, layer, device="cpu")


@pytest.mark.parametrize("layer", [0, 1, 2, None])
def test_are_hidden_states(folder, layer, speech_like):
    wave = speech_like(16000, 0.5)[0]
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        padded = torch.from_numpy(np.pad(wave, 40))[None]
        states = model(padded, output_hidden_states=True).hidden_states
    expected = states[-1 if layer is None else layer][0].numpy()
    found = source(folder, layer)
    assert found.dimension == 24
    assert expected.shape == (25, 24)
    np.testing.assert_allclose(found.features(wave), expected, atol=1e-5)


def test_description_opens_the_same(folder):
    first = source(folder, 1)
    described = json.loads(json.dumps(first.description))
    again = load_features(described, device="cpu")
    assert again.key == first.key == described["key"]
    assert again.description == first.description
    assert load_features(source(folder).description, device="cpu").description == (
        source(folder).description
    )


def test_key_is_of_what_decides_the_features(folder, tmp_path):
    same = save_hubert(tmp_path / "moved")
    other = save_hubert(tmp_path / "other", seed=1)
    assert source(same, 1).key == source(folder, 1).key
    assert len({source(folder, 1).key, source(folder, 2).key, source(other, 1).key}) == 3


def test_another_model_than_the_key_says(folder, tmp_path):
    described = source(folder, 1).description
    save_hubert(tmp_path / "other", seed=1)
    with pytest.raises(UsageError, match="is not the model that the units were found with"):
        load_features({**described, "ssl": {"source": str(tmp_path / "other")}}, device="cpu")


def test_refusals(folder, tmp_path):
    with pytest.raises(UsageError, match='with a "source" alone'):
        SslFeatures({"config": {}}, None)
    with pytest.raises(UsageError, match="the device mars cannot be used"):
        SslFeatures({"source": str(folder)}, None, device="mars")
    narrow = save_hubert(tmp_path / "narrow", conv_stride=[5, 2, 2, 2, 2, 2, 1])
    with pytest.raises(UsageError, match="a frame each 160 samples, not 320"):
        source(narrow)
