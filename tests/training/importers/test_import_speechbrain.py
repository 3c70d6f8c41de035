"""SpeechBrain's encoders, against SpeechBrain itself."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from sordino.audio.recording import Recording
from sordino.errors import UsageError
from sordino.models.hub import download
from sordino.speaker.encoders import load_encoder
from sordino.training.export import load_network
from sordino.training.importers import import_model
from tests.models.hub_server import Hub, serving
from tests.training.speechbrain_models import randomize, speechbrain, vectors
from tests.training.waves import RATE, cosine, speech

# As written by the authors of the VoxCeleb models, in the parts that count.
ECAPA_YAML = """
n_mels: 80  # bands
left_frames: 0
deltas: False
compute_features: !new:speechbrain.lobes.features.Fbank
    n_mels: !ref <n_mels>
    deltas: !ref <deltas>

mean_var_norm: !new:speechbrain.processing.features.InputNormalization
    norm_type: sentence
    std_norm: False

embedding_model: !new:speechbrain.lobes.models.ECAPA_TDNN.ECAPA_TDNN
    input_size: !ref <n_mels>
    channels: [1024, 1024, 1024, 1024, 3072]
    kernel_sizes: [5, 3, 3, 3, 1]
    dilations: [1, 2, 3, 4, 1]

mean_var_norm_emb: !new:speechbrain.processing.features.InputNormalization
    norm_type: global
    std_norm: False
"""


def small_ecapa(**changes):
    settings = {"channels": [64] * 4 + [96], "attention_channels": 24, "se_channels": 16}
    model = speechbrain().Ecapa(80, lin_neurons=48, **{**settings, **changes})
    return randomize(model)


def small_xvector(**changes):
    settings = {"in_channels": 24, "tdnn_channels": [32, 32, 32, 32, 48], "lin_neurons": 40}
    return randomize(speechbrain().Xvector(**{**settings, **changes}))


def saved(folder, model, yaml=None):
    folder.mkdir(exist_ok=True)
    torch.save(model.state_dict(), folder / "embedding_model.ckpt")
    if yaml is not None:
        (folder / "hyperparams.yaml").write_text(yaml)
    return folder


def check(tmp_path, kind, model, bands, waves, yaml=None):
    """Import the model, run it on waves, compare with SpeechBrain; the bundle and the vectors."""
    bundle = import_model(kind, saved(tmp_path / "theirs", model, yaml), tmp_path / "ours", "ours")
    encoder = load_encoder(str(tmp_path / "ours"))
    ours = []
    for wave in waves:
        torch.manual_seed(0)
        expected = vectors(model, bands, torch.from_numpy(wave[None]))[0].numpy()
        found = encoder.embed(Recording(wave[None], RATE))
        difference = np.abs(found - expected).max() / np.abs(expected).max()
        print(f"{kind} {wave.size / RATE:.0f} s: cosine {cosine(found, expected):.8f},")
        print(f"  largest difference {difference:.1e} of the largest value")
        assert cosine(found, expected) > 0.9999
        assert difference < 3e-4
        ours.append(found)
    return bundle, ours


def test_ecapa_on_speech(tmp_path, speech_root):
    torch.manual_seed(1)
    model = randomize(speechbrain().Ecapa(80, channels=[512] * 4 + [1536]))
    waves = [speech(speech_root, seconds, seed=13 * seconds) for seconds in (1, 5, 20)]
    bundle, ours = check(tmp_path, "speechbrain-ecapa", model, 80, waves, ECAPA_YAML)
    # Else any network would do.
    assert cosine(ours[0], ours[1]) < 0.999
    assert bundle.metadata["dimension"] == 192
    assert bundle.licence == "Apache-2.0"
    assert "Apache-2.0 is what SpeechBrain's authors give" in bundle.card


def test_xvector_on_speech(tmp_path, speech_root):
    torch.manual_seed(2)
    model = randomize(speechbrain().Xvector(in_channels=24))
    waves = [speech(speech_root, seconds, seed=13 * seconds) for seconds in (1, 5, 20)]
    bundle, ours = check(tmp_path, "speechbrain-xvector", model, 24, waves)
    assert cosine(ours[0], ours[1]) < 0.999
    assert bundle.metadata["dimension"] == 512


@pytest.mark.parametrize(
    "changes",
    [
        {"res2net_scale": 4},
        {"kernel_sizes": [3, 3, 5, 3, 1]},
        {"kernel_sizes": [5, 3, 3, 3, 3]},
        {"channels": [32] * 4 + [40], "res2net_scale": 2, "se_channels": 8},
    ],
    ids=str,
)
def test_sizes_are_those_of_the_weights(tmp_path, speech_like, changes):
    waves = [speech_like(RATE, 1.5)[0]]
    check(tmp_path, "speechbrain-ecapa", small_ecapa(**changes), 80, waves)


def test_other_numbers_of_layers_and_dilations_are_read_from_the_settings(tmp_path, speech_like):
    sizes = {"channels": [64] * 5 + [96], "kernel_sizes": [5, 3, 3, 3, 3, 1]}
    model = small_ecapa(**sizes, dilations=[1, 3, 2, 5, 4, 1], groups=[1] * 6)
    yaml = ECAPA_YAML.replace("[1, 2, 3, 4, 1]", "[1, 3, 2, 5, 4, 1]")
    bundle, _ = check(tmp_path, "speechbrain-ecapa", model, 80, [speech_like(RATE, 2)[0]], yaml)
    assert bundle.metadata["network"]["sizes"]["dilations"] == [1, 3, 2, 5, 4, 1]


def test_other_sizes_of_x_vectors(tmp_path, speech_like):
    changes = {"in_channels": 30, "tdnn_kernel_sizes": [3, 3, 3, 1, 3]}
    model = small_xvector(**changes)
    check(tmp_path, "speechbrain-xvector", model, 30, [speech_like(RATE, 1.5)[0]])


def test_a_checkpoint_alone(tmp_path):
    model = small_ecapa()
    folder = saved(tmp_path / "theirs", model)
    import_model("speechbrain-ecapa", folder / "embedding_model.ckpt", tmp_path / "one", "same")
    import_model("speechbrain-ecapa", folder, tmp_path / "two", "same")
    first, second = (load_network(load_encoder(str(tmp_path / n)).bundle) for n in ("one", "two"))
    for name, value in first.state_dict().items():
        torch.testing.assert_close(second.state_dict()[name], value, rtol=0, atol=0)


def test_from_the_hub(tmp_path):
    files = {
        name: (saved(tmp_path / "theirs", small_ecapa(), ECAPA_YAML) / name).read_bytes()
        for name in ("embedding_model.ckpt", "hyperparams.yaml")
    }
    with serving(Hub("anna/ecapa", files, frozenset({"embedding_model.ckpt"}))) as hub:
        folder = download("hub:anna/ecapa", endpoint=hub.address, cache=tmp_path / "cache")
    assert import_model("speechbrain-ecapa", folder, tmp_path / "ours", "ours").name == "ours"


@pytest.mark.parametrize(
    ("kind", "model", "key"),
    [
        ("speechbrain-ecapa", small_ecapa, "blocks.2.res2net_block.blocks.3.norm.norm.running_var"),
        ("speechbrain-ecapa", small_ecapa, "asp_bn.norm.bias"),
        ("speechbrain-ecapa", small_ecapa, "fc.conv.weight"),
        ("speechbrain-ecapa", small_ecapa, "blocks.1.se_block.conv2.conv.bias"),
        ("speechbrain-xvector", small_xvector, "blocks.5.norm.running_mean"),
        ("speechbrain-xvector", small_xvector, "blocks.16.w.weight"),
    ],
)
def test_missing_surplus_and_misshapen_weights_are_named(tmp_path, kind, model, key):
    model = model()

    def message(weights):
        torch.save(weights, tmp_path / "weights.ckpt")
        with pytest.raises(UsageError) as caught:
            import_model(kind, tmp_path / "weights.ckpt", tmp_path / "ours", "ours")
        assert not (tmp_path / "ours").exists()
        return str(caught.value)

    weights = model.state_dict()
    missing = {name: value for name, value in weights.items() if name != key}
    assert f"has no weights for {key}" in message(missing)
    surplus = f"{key}.of.another"
    assert f"{surplus} has no place" in message({**weights, surplus: torch.zeros(1)})
    misshapen = torch.zeros(*weights[key].shape, 2)
    assert f"{key} has shape {tuple(misshapen.shape)}" in message({**weights, key: misshapen})
    assert f"{key} is no tensor" in message({**weights, key: [1, 2]})


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("std_norm: False", "std_norm: True", "mean_var_norm: std_norm is True; only False"),
        ("    std_norm: False\n", "", "mean_var_norm: std_norm is True; only False"),
        ("norm_type: sentence", "norm_type: global", "norm_type is global; only sentence"),
        ("deltas: False", "deltas: true", "compute_features: deltas is True; only False"),
        ("left_frames: 0", "sample_rate: 8000", "sample_rate is 8000; only 16000"),
        ("n_mels: !ref", "n_fft: 512\n    n_mels: !ref", "n_fft is 512; only 400"),
        ("input_size: !ref", "activation: !name:torch.nn.GELU\n    x: !ref", "activation is"),
        ("dilations: [1, 2, 3, 4, 1]", "dilations: [1, 2, 3, 4]", "has 5 layers over time"),
        ("dilations: [1, 2, 3, 4, 1]", "dilations: !apply:os.getcwd", "expected a list"),
    ],
)
def test_settings_that_are_not_supported(tmp_path, before, after, message):
    assert before in ECAPA_YAML
    folder = saved(tmp_path / "theirs", small_ecapa(), ECAPA_YAML.replace(before, after, 1))
    with pytest.raises(UsageError, match=message):
        import_model("speechbrain-ecapa", folder, tmp_path / "ours", "ours")


def test_attention_without_context_is_not_supported(tmp_path):
    folder = saved(tmp_path / "theirs", small_ecapa(global_context=False))
    with pytest.raises(UsageError, match="without global context"):
        import_model("speechbrain-ecapa", folder, tmp_path / "ours", "ours")


def test_what_is_no_such_model(tmp_path):
    with pytest.raises(UsageError, match=r"has no embedding_model\.ckpt"):
        import_model("speechbrain-ecapa", tmp_path, tmp_path / "ours", "ours")
    folder = saved(tmp_path / "theirs", small_xvector())
    with pytest.raises(UsageError, match=r"has no weights for blocks\.0\.conv\.conv\.weight"):
        import_model("speechbrain-ecapa", folder, tmp_path / "ours", "ours")
    with pytest.raises(UsageError, match=r"cannot be imported; known are .*speechbrain-ecapa"):
        import_model("speechbrain-resnet", folder, tmp_path / "ours", "ours")
