"""The weights of resemblyzer: random ones in its layout, and its own where they lie here."""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
from torch import nn

from sordino.audio.recording import Recording
from sordino.errors import UsageError
from sordino.speaker.encoders import load_encoder
from sordino.training.importers import import_model
from sordino.training.importers.checkpoint import read_tensors
from tests.training.resemblyzer_by_hand import embed_utterance
from tests.training.waves import RATE, cosine, speech


def random_state(seed=0):
    torch.manual_seed(seed)
    lstm, linear = nn.LSTM(40, 256, num_layers=3, batch_first=True), nn.Linear(256, 256)
    # Larger than fresh weights, so that the vectors differ from one another.
    for value in lstm.parameters():
        value.data.mul_(2)
    state = {f"lstm.{name}": value for name, value in lstm.state_dict().items()}
    state |= {f"linear.{name}": value for name, value in linear.state_dict().items()}
    return state | {"similarity_weight": torch.ones(1), "similarity_bias": torch.zeros(1)}


def checkpoint(folder, state, **others):
    folder.mkdir(exist_ok=True)
    torch.save({"step": 7, "model_state": state, **others}, folder / "pretrained.pt")
    return folder / "pretrained.pt"


def check(tmp_path, source, state, waves):
    import_model("ge2e", source, tmp_path / "ours", "ours")
    encoder = load_encoder(str(tmp_path / "ours"))
    ours = [encoder.embed(Recording(wave[None], RATE)) for wave in waves]
    for wave, vector in zip(waves, ours, strict=True):
        expected = embed_utterance(wave, state)
        assert cosine(vector, expected) > 0.99999
        np.testing.assert_allclose(vector, expected, atol=1e-3 * np.abs(expected).max())
    return ours


def test_random_weights(tmp_path, speech_root):
    state = random_state()
    waves = [speech(speech_root, seconds, seed=int(9 * seconds)) for seconds in (0.5, 1.7, 7)]
    ours = check(tmp_path, checkpoint(tmp_path / "theirs", state), state, waves)
    assert cosine(ours[1], ours[2]) < 0.9999


def test_the_weights_that_the_package_carries(tmp_path, speech_root):
    spec = find_spec("resemblyzer")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("resemblyzer is not installed")
    folder = Path(spec.submodule_search_locations[0])
    state = read_tensors(folder / "pretrained.pt", "theirs")["model_state"]
    # A quiet one too: below -30 dBFS the level is raised.
    waves = [speech(speech_root, 5), 0.02 * speech(speech_root, 6, seed=40)]
    ours = check(tmp_path, folder, state, waves)
    same = load_encoder(str(tmp_path / "ours")).embed(
        Recording(speech(speech_root, 5, seed=1)[None], RATE)
    )
    assert cosine(ours[0], same) > 0.7 > cosine(ours[0], ours[1])


def test_from_a_wheel(tmp_path):
    file = checkpoint(tmp_path / "theirs", random_state())
    with zipfile.ZipFile(tmp_path / "resemblyzer-0.1.4.whl", "w") as wheel:
        wheel.write(file, "resemblyzer/pretrained.pt")
    first = import_model("ge2e", tmp_path / "resemblyzer-0.1.4.whl", tmp_path / "one", "same")
    second = import_model("ge2e", tmp_path / "theirs", tmp_path / "two", "same")
    assert first.digest == second.digest
    assert first.licence == "Apache-2.0"
    with zipfile.ZipFile(tmp_path / "empty.whl", "w"):
        pass
    with pytest.raises(UsageError, match=r"is no wheel that holds resemblyzer/pretrained\.pt"):
        import_model("ge2e", tmp_path / "empty.whl", tmp_path / "three", "same")


def test_what_does_not_fit(tmp_path):
    state = random_state()
    del state["lstm.bias_hh_l1"]
    with pytest.raises(UsageError, match=r"has no weights for lstm\.bias_hh_l1"):
        import_model("ge2e", checkpoint(tmp_path / "a", state), tmp_path / "x", "x")
    torch.save({"weights": {}}, tmp_path / "b.pt")
    with pytest.raises(UsageError, match="has no model_state"):
        import_model("ge2e", tmp_path / "b.pt", tmp_path / "x", "x")
    assert not (tmp_path / "x").exists()
