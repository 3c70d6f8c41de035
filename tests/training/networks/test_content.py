"""Content networks: tiny ones with random weights, against formulas written out in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.training.networks.content import ContentNetwork, build_content, has_trained_units
from sordino.training.networks.content_conv import ConvSizes

RATE = 16000
CONFIG = {
    "model_type": "hubert",
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 48,
    "conv_dim": [16] * 7,
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
LARGE = {"do_stable_layer_norm": True, "feat_extract_norm": "layer", "conv_bias": True}
SIZES = {"channels": 16, "early": 1, "blocks": 2, "bands": 20, "level": 5, "kernel": 3}


def build(**network: object) -> ContentNetwork:
    torch.manual_seed(0)
    return build_content(network).eval()


def conv(output: str = "soft", **changes: object) -> ContentNetwork:
    sizes = {**SIZES, **changes.pop("sizes", {})}
    units = {"units": 7} if output in {"soft", "units"} else {}
    return build(architecture="conv", output=output, sizes=sizes, **units, **changes)


def test_frames_without_a_change_are_the_same_bit_by_bit():
    network = conv("bottleneck")
    frames, wave = network.frames, noise(6400, batch=2)
    with torch.inference_mode():
        plain = network(wave)
        bank = frames.filterbank.mel.expand(2, -1, -1)
        assert torch.equal(network.coded(frames(wave)), plain)
        assert torch.equal(network.coded(frames(wave, bank, torch.ones(2, 20))), plain)
        louder = network.coded(frames(wave, None, torch.full((2, 20), 8.0)))
        tilted = network.coded(frames(wave, None, torch.linspace(0.1, 10, 20).expand(2, -1)))
    # The level leaves next to no trace, a filter does.
    assert (louder - plain).abs().mean() < 0.02 < (tilted - plain).abs().mean()


def ssl(output: str = "soft", config: dict[str, object] | None = None, **changes) -> ContentNetwork:
    pytest.importorskip("transformers", reason="needs the extra ssl")
    units = {"units": 7} if output in {"soft", "units"} else {}
    chosen = {"config": {**CONFIG, **(config or {})}}
    return build(architecture="ssl", ssl=chosen, output=output, **units, **changes)


def run(network: torch.nn.Module, wave: np.ndarray | torch.Tensor) -> np.ndarray:
    with torch.inference_mode():
        return network(torch.as_tensor(wave)).numpy()


def unit(rows: np.ndarray, axis: int = -1) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=axis, keepdims=True)


def noise(samples: int, batch: int = 1, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 0.1 * torch.randn(batch, samples, generator=generator)


class TestFrames:
    @settings(max_examples=15)
    @given(frames=st.integers(2, 60), rest=st.integers(0, 319))
    def test_one_for_each_320_samples(self, frames, rest):
        wave = noise(320 * frames + rest)
        assert run(CONV, wave).shape == (1, frames, 7)
        assert run(conv(sizes={"hop": 160}), wave).shape == (1, (320 * frames + rest) // 160, 7)

    @pytest.mark.parametrize("family", ["hubert", "wav2vec2", "wavlm"])
    @pytest.mark.parametrize("frames", [1, 2, 17, 50])
    def test_one_for_each_320_samples_of_a_large_model(self, family, frames):
        network = ssl("features", {"model_type": family})
        assert (network.hop, network.channels, network.context) == (320, 32, None)
        assert run(network, noise(320 * frames, batch=2)).shape == (2, frames, 32)

    def test_are_those_of_the_model_on_40_more_zeros_at_both_ends(self):
        network = ssl("features")
        wave = noise(6400)
        with torch.inference_mode():
            padded = torch.nn.functional.pad(wave, (40, 40))
            expected = network.frames.ssl(padded).last_hidden_state
        np.testing.assert_array_equal(run(network, wave), expected)

    @pytest.mark.parametrize("changes", [{}, LARGE], ids=["base", "large"])
    @pytest.mark.parametrize("family", ["hubert", "wav2vec2", "wavlm"])
    def test_layer_is_a_hidden_state(self, family, changes):
        whole = ssl("features", {"model_type": family, **changes})
        seen = []
        encoder = whole.frames.ssl.encoder
        encoder.layers[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        for layer in encoder.layers:
            layer.register_forward_hook(
                lambda *call: seen.append(call[2][0] if isinstance(call[2], tuple) else call[2])
            )
        wave = noise(4800)
        result = run(whole, wave)
        assert len(seen) == 4
        for number, expected in enumerate(seen):
            part = ssl("features", {"model_type": family, **changes}, layer=number)
            kept = part.frames.ssl.state_dict()
            part.frames.ssl.load_state_dict(
                {name: whole.frames.ssl.state_dict()[name] for name in kept}
            )
            np.testing.assert_allclose(run(part, wave), expected.numpy(), atol=1e-5)
            assert len(part.frames.ssl.encoder.layers) == number
        assert np.allclose(result, seen[-1], atol=1e-5) == (not changes)

    def test_waveform_is_normalised_where_the_model_was_trained_so(self):
        wave = noise(4800)
        for changes, expected in (({}, False), (LARGE, True)):
            network = ssl("features", changes)
            normal = (wave - wave.mean()) / wave.std(correction=0)
            with torch.inference_mode():
                padded = torch.nn.functional.pad(normal if expected else wave, (40, 40))
                found = network.frames.ssl(padded).last_hidden_state
            np.testing.assert_allclose(run(network, wave), found, atol=1e-4)
        forced = ssl("features", LARGE, normalise_wave=False)
        assert not np.allclose(run(forced, wave), run(ssl("features", LARGE), wave), atol=1e-2)


CONV = conv()


class TestReach:
    @pytest.mark.parametrize("hop", [320, 160])
    @pytest.mark.parametrize("level", [0, 5])
    def test_of_the_small_network_is_its_context(self, hop, level):
        network = conv("features", sizes={"hop": hop, "level": level})
        count = 64
        wave = noise(count * hop)
        for frame in (count // 2, count // 2 + 1):
            first = hop * frame - network.context
            last = hop * (frame + 1) + network.context - 1
            reached = []
            for place in (first - 1, first, last, last + 1):
                changed = wave.clone()
                # So loud that it is heard at the window's edge and through the average.
                changed[0, place] = 1e3
                difference = run(network, changed) - run(network, wave)
                reached.append(bool(np.abs(difference[0, frame]).max() > 0))
            assert reached == [False, True, True, False]

    def test_pieces_with_context_give_the_whole(self):
        network = conv("features")
        wave = noise(320 * 120)
        whole = run(network, wave)
        margin = -(-network.context // 320)
        first, last = 40, 60
        piece = wave[:, 320 * (first - margin) : 320 * (last + margin)]
        found = run(network, piece)[:, margin:-margin]
        np.testing.assert_allclose(found, whole[:, first:last], atol=1e-5)
        shorter = run(network, wave[:, 320 * (first - 1) : 320 * (last + 1)])[:, 1:-1]
        assert not np.allclose(shorter, whole[:, first:last], atol=1e-2)

    def test_is_unbounded_where_an_operation_runs_over_the_utterance(self):
        assert conv().context == CONV.frames.context
        assert conv(normalise_over="time").context is None
        assert conv(layer_norm_output=True).context is None

    def test_level_leaves_no_trace(self, speech_like):
        wave = speech_like(RATE, 1.0)
        network = conv("features")
        for gain in (0.05, 0.5):
            np.testing.assert_allclose(run(network, gain * wave), run(network, wave), atol=0.05)
        raw = conv("features", sizes={"level": 0})
        assert np.abs(run(raw, 0.05 * wave) - run(raw, wave)).max() > 0.5

    def test_silence_is_finite(self):
        for network in (conv("features"), conv("bottleneck"), conv("soft"), conv("units")):
            assert np.isfinite(run(network, torch.zeros(1, 3200))).all()


class TestSoft:
    """Against the formula of Eq. 1 in double precision."""

    def parts(self, network, wave) -> tuple[np.ndarray, np.ndarray]:
        with torch.inference_mode():
            frames = network.projected(wave)
        return frames.double().numpy(), network.head.vectors.detach().double().numpy()

    @pytest.mark.parametrize("projection", [None, 5])
    @pytest.mark.parametrize("kind", [conv, ssl])
    def test_cosines_over_the_temperature(self, kind, projection):
        network = kind(projection=projection, temperature=0.2)
        wave = noise(6400, batch=2)
        frames, vectors = self.parts(network, wave)
        assert vectors.shape == (7, projection or network.frames.width)
        expected = unit(frames) @ unit(vectors).T / 0.2
        np.testing.assert_allclose(run(network, wave), expected, atol=1e-5)
        with torch.inference_mode():
            np.testing.assert_allclose(network.logits(wave), expected, atol=1e-5)

    def test_as_published_models_give_them(self):
        network = ssl(temperature_at_inference=False, normalise_over="time")
        wave = noise(6400, batch=2)
        frames, vectors = self.parts(network, wave)
        expected = unit(frames, axis=1) @ unit(vectors).T
        np.testing.assert_allclose(run(network, wave), expected, atol=1e-5)
        with torch.inference_mode():
            np.testing.assert_allclose(network.logits(wave), expected / 0.1, atol=1e-4)

    def test_distribution(self):
        network = conv(softmax=True)
        wave = noise(6400)
        frames, vectors = self.parts(network, wave)
        weights = np.exp(unit(frames) @ unit(vectors).T / 0.1)
        expected = weights / weights.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(run(network, wave), expected, atol=1e-5)

    def test_layer_norm_over_the_whole(self):
        wave = noise(6400, batch=2)
        plain = run(conv(), wave).astype(np.float64)
        mean = plain.mean(axis=(1, 2), keepdims=True)
        deviation = plain.std(axis=(1, 2), keepdims=True)
        found = run(conv(layer_norm_output=True), wave)
        np.testing.assert_allclose(found, (plain - mean) / deviation, atol=1e-3)

    def test_units_of_the_small_network_are_the_most_similar(self):
        wave = noise(6400, batch=2)
        soft, hard = run(conv(), wave), run(conv("units"), wave)
        np.testing.assert_array_equal(hard, np.eye(7)[soft.argmax(axis=2)])


class TestOtherOutputs:
    def test_units_are_the_nearest_centroids(self):
        network = ssl("units", layer=2)
        generator = np.random.default_rng(0)
        wave = noise(32000)
        features = run(ssl("features", layer=2), wave)[0].astype(np.float64)
        mean, deviation = features.mean(axis=0), features.std(axis=0)
        standard = (features - mean) / deviation
        centroids = standard[generator.choice(len(standard), 7)]
        with torch.no_grad():
            network.head.centroids.copy_(torch.from_numpy(centroids))
            network.head.mean.copy_(torch.from_numpy(mean))
            network.head.deviation.copy_(torch.from_numpy(deviation))
        distances = np.linalg.norm(standard[:, None] - centroids, axis=2)
        np.testing.assert_array_equal(run(network, wave)[0], np.eye(7)[distances.argmin(axis=1)])
        assert len(set(distances.argmin(axis=1))) > 4

    def test_projection_is_the_content(self):
        network = ssl("features", projection=5)
        wave = noise(3200)
        frames = run(ssl("features"), wave)
        weight, bias = (p.detach().numpy() for p in network.projection.parameters())
        # The same seed gave the same model, and the projection comes after it.
        np.testing.assert_allclose(run(network, wave), frames @ weight.T + bias, atol=1e-5)

    @pytest.mark.parametrize("frame_norm", [True, False])
    def test_bottleneck(self, frame_norm):
        network = conv("bottleneck", projection=6, frame_norm=frame_norm)
        wave = noise(3200)
        with torch.inference_mode():
            code = network.projected(wave).double().numpy()
        if frame_norm:
            code = (code - code.mean(axis=2, keepdims=True)) / code.std(axis=2, keepdims=True)
        np.testing.assert_allclose(run(network, wave), code, atol=1e-3)
        assert conv("bottleneck").channels == 48

    def test_which_units_are_learned(self):
        assert has_trained_units({"architecture": "ssl", "output": "soft"})
        assert has_trained_units({"architecture": "conv", "output": "units"})
        assert not has_trained_units({"architecture": "ssl", "output": "units"})
        assert not has_trained_units({"architecture": "conv", "output": "bottleneck"})


class TestTraining:
    @pytest.mark.parametrize("kind", [conv, ssl])
    def test_everything_learns(self, kind):
        network = kind(projection=5).train()
        loss = torch.nn.functional.cross_entropy(
            network.logits(noise(6400, batch=2)).flatten(0, 1), torch.arange(40) % 7
        )
        loss.backward()
        for name, value in network.named_parameters():
            assert value.grad is not None, name
            assert torch.isfinite(value.grad).all(), name


class TestRefusals:
    @pytest.mark.parametrize(
        ("network", "told"),
        [
            ({}, "no content network 'None'; there are ssl, conv"),
            ({"architecture": "conv"}, "no output None; it has features, units, soft, bottleneck"),
            ({"architecture": "conv", "output": "soft"}, 'needs "units"'),
            ({"architecture": "conv", "output": "soft", "units": 0}, "units is 0"),
            ({"architecture": "conv", "output": "soft", "unit": 1}, "has no 'unit'"),
            ({"architecture": "conv", "output": "features", "layer": 1}, "conv has no 'layer'"),
            (
                {"architecture": "conv", "output": "features", "projection": 1.5},
                "projection is 1.5",
            ),
            ({"architecture": "ssl", "output": "features", "layer": "6"}, "layer is '6'"),
            ({"architecture": "ssl", "output": "features"}, 'needs either a "source"'),
        ],
    )
    def test_descriptions(self, network, told):
        with pytest.raises(UsageError, match=told):
            build_content(network)

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"temperature": 0.0}, "temperature of 0.0"),
            ({"temperature": "hot"}, "temperature of 'hot'"),
            ({"normalise_over": "frames"}, "over 'frames'; there are channels, time"),
        ],
    )
    def test_soft_settings(self, changes, told):
        with pytest.raises(UsageError, match=told):
            conv(**changes)

    @pytest.mark.parametrize(
        "changes",
        [{"kernel": 4}, {"hop": 200}, {"blocks": -1}, {"channels": 0}, {"level": -1}, {"depth": 3}],
    )
    def test_sizes(self, changes):
        with pytest.raises(UsageError):
            conv(sizes=changes)
        if "depth" not in changes:
            with pytest.raises(UsageError):
                ConvSizes(**changes)

    @pytest.mark.parametrize(
        ("config", "layer", "told"),
        [
            ({}, 4, "no layer 4; it has 3"),
            ({}, -1, "no layer -1"),
            ({"conv_stride": [5, 2, 2, 2, 2, 2, 1]}, None, None),
            ({"conv_stride": [5, 2, 2, 2, 2, 1, 1]}, None, "every 80 samples"),
            ({"conv_kernel": [5, 2, 2, 2, 2, 1, 1]}, None, "do not see all samples"),
        ],
    )
    def test_models(self, config, layer, told):
        if told is None:
            assert ssl("features", config).hop == 160
            return
        with pytest.raises(UsageError, match=told):
            ssl("features", config, layer=layer)

    def test_logits_without_units(self):
        with pytest.raises(UsageError, match="no units that could be trained"):
            conv("features").logits(noise(3200))
