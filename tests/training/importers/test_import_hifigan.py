"""A released HiFi-GAN against convolutions written out, in double precision."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
pytest.importorskip("onnx")

from sordino.errors import UsageError
from sordino.training.importers import import_model
from tests.training.importers.released import (
    HIFIGAN,
    SMALL_HIFIGAN,
    check_names,
    generator,
    run,
    save_generator,
    speech_of,
    whole_norm,
)


def conditions(frames, channels, seed=0):
    rng = np.random.default_rng(seed)
    content = whole_norm(np.cumsum(rng.standard_normal((frames, channels)), axis=0))
    f0 = np.where(rng.random(2 * frames) < 0.7, rng.uniform(80, 300, 2 * frames), 0.0)
    return content, f0, 30 * rng.standard_normal(192)


def check(tmp_path, config, weights, frames, channels):
    folder = save_generator(tmp_path / "theirs", weights, config)
    bundle = import_model("hifigan", folder, tmp_path / "ours", "ours")
    content, f0, speaker = conditions(frames, channels)
    expected = speech_of(weights, config, content, f0, speaker)
    found = run(bundle, "generator.onnx", content=content, f0=f0, speaker=speaker)
    print(f"HiFi-GAN: largest difference {np.abs(found - expected).max():.1e}")
    assert found.shape == (320 * frames,)
    assert expected.std() > 0.02
    assert np.abs(expected).max() < 0.999
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)
    return bundle


def test_as_released_but_for_the_width(tmp_path):
    config = {**HIFIGAN, "upsample_initial_channel": 64}
    bundle = check(tmp_path, config, generator(config), 30, 200)
    assert bundle.kind == "vocoder"
    assert bundle.metadata["content"] == {"hop": 320, "channels": 200, "context": None}
    assert bundle.metadata["pitch"] == {"tracker": "yaapt"}
    assert bundle.metadata["speaker"]["dimension"] == 192
    assert bundle.metadata["generator"]["hop"] == 160
    assert "as the soft HuBERT that belongs to it gives it" in bundle.card


@pytest.mark.parametrize("recent", [False, True])
def test_small(tmp_path, recent):
    weights = generator(SMALL_HIFIGAN, recent=recent)
    bundle = check(tmp_path, SMALL_HIFIGAN, weights, 30, 24)
    assert bundle.metadata["network"]["sizes"]["resblock_dilations"] == [[1, 3, 5], [1, 2, 4]]


def test_the_speaker_vectors_scale_and_the_content_of_other_frames_leave_no_trace(tmp_path):
    folder = save_generator(tmp_path / "theirs", generator(SMALL_HIFIGAN), SMALL_HIFIGAN)
    bundle = import_model("hifigan", folder, tmp_path / "ours", "ours")
    content, f0, speaker = conditions(60, 24)
    first = run(bundle, "generator.onnx", content=content, f0=f0, speaker=speaker)
    scaled = run(bundle, "generator.onnx", content=content, f0=f0, speaker=3 * speaker + 1)
    np.testing.assert_allclose(scaled, first, rtol=0, atol=1e-4)
    content[50:] += 1
    other = run(bundle, "generator.onnx", content=content, f0=f0, speaker=speaker)
    context = bundle.metadata["generator"]["context"]
    same = 320 * 50 - 160 * context
    np.testing.assert_allclose(other[:same], first[:same], rtol=0, atol=1e-5)
    assert np.abs(other[same:] - first[same:]).max() > 0.01


def test_parts_that_the_checkpoint_carries_along_tell_the_sizes(tmp_path):
    config = {**SMALL_HIFIGAN, "model_in_dim": 20 + 1 + 40}
    weights = generator(config, speaker=40)
    carried = {
        "latent_encoder.W": torch.zeros(20, 128),
        "latent_encoder.ssl_model.mask_emb": torch.zeros(128),
        "xv_model.fc.conv.weight": torch.zeros(40, 64, 1),
    }
    bundles = []
    for number, parts in enumerate((carried, dict(list(carried.items())[:1]), carried)):
        folder = save_generator(tmp_path / f"t{number}", {**weights, **parts}, config)
        bundles.append(import_model("hifigan", folder, tmp_path / f"o{number}", "ours"))
    for bundle in bundles:
        assert bundle.metadata["content"]["channels"] == 20
        assert bundle.metadata["speaker"]["dimension"] == 40
    save_generator(tmp_path / "wrong", {**weights, **carried}, {**config, "model_in_dim": 62})
    with pytest.raises(UsageError, match="model_in_dim is 62; expected content"):
        import_model("hifigan", tmp_path / "wrong", tmp_path / "none", "ours")


def test_of_several_checkpoints_the_last(tmp_path):
    folder = save_generator(tmp_path / "theirs", {"old": torch.zeros(1)}, SMALL_HIFIGAN)
    torch.save({"generator": generator(SMALL_HIFIGAN)}, folder / "g_00250000")
    torch.save({"mpd": {}, "steps": 3}, folder / "do_00250000")
    import_model("hifigan", folder, tmp_path / "one", "one")
    import_model("hifigan", folder / "g_00250000", tmp_path / "two", "two")
    with pytest.raises(UsageError, match="has no weights for conv_pre"):
        import_model("hifigan", folder / "g_00100000", tmp_path / "three", "three")


def test_missing_surplus_and_misshapen_weights_are_named(tmp_path):
    def message(weights):
        folder = save_generator(tmp_path / "theirs", weights, SMALL_HIFIGAN)
        with pytest.raises(UsageError) as caught:
            import_model("hifigan", folder, tmp_path / "ours", "ours")
        assert not (tmp_path / "ours").exists()
        return str(caught.value)

    weights = generator(SMALL_HIFIGAN)
    keys = [
        "conv_pre.bias",
        "ups.2.weight_g",
        "resblocks.9.convs2.1.weight_v",
        "conv_post.weight_v",
    ]
    check_names(keys, message, weights)
    assert "dict.weight has no place" in message({**weights, "dict.weight": torch.zeros(200, 200)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"resblock": "2"}, "resblock is '2'; only '1' is supported"),
        ({"sampling_rate": 22050}, "sampling_rate is 22050; only 16000"),
        ({"f0": False}, "f0 is False; only True"),
        ({"xv": None}, "xv is None; only True"),
        ({"upsample_rates": [5, 4, 4, 2, 2]}, "give 320 samples a frame; expected 160"),
        ({"upsample_rates": "5,4"}, "upsample_rates is no list of numbers"),
        ({"upsample_initial_channel": 128}, "upsample_initial_channel is 128, and g_00100000 has"),
        ({"upsample_kernel_sizes": [11, 8, 4, 4, 6]}, r"upsample_kernel_sizes\[4\] is 6, and"),
        ({"resblock_kernel_sizes": [3, 7]}, r"resblock_kernel_sizes\[1\] is 7, and g_00100000 has"),
        ({"resblock_dilation_sizes": [[1, 3, 5]]}, "is not one list for each kernel"),
        ({"resblock_dilation_sizes": [[1, 3, 5], 3]}, "resblock_dilation_sizes is no list"),
        ({"resblock_dilation_sizes": [[1, 3], [1, 3]]}, r"convs1\.2\.\w+ has no place"),
        ({"model_in_dim": 218}, r"conv_pre\.weight has shape \(64, 217, 7\); expected"),
        ({"model_in_dim": 100}, "model_in_dim is 100; expected content"),
        ({"model_in_dim": None}, "model_in_dim is None; expected a number"),
    ],
)
def test_settings_that_do_not_fit(tmp_path, changes, message):
    folder = save_generator(
        tmp_path / "theirs", generator(SMALL_HIFIGAN), {**SMALL_HIFIGAN, **changes}
    )
    with pytest.raises(UsageError, match=message):
        import_model("hifigan", folder, tmp_path / "ours", "ours")


def test_what_is_no_such_checkpoint(tmp_path):
    folder = save_generator(tmp_path / "theirs", generator(SMALL_HIFIGAN))

    def fails(message, source=folder):
        with pytest.raises(UsageError, match=message):
            import_model("hifigan", source, tmp_path / "ours", "ours")

    fails(r"config\.json: No such file or directory; it belongs beside the checkpoint")
    (folder / "config.json").write_text("{")
    fails(r"config\.json: is not JSON")
    (folder / "config.json").write_text("[]")
    fails(r"config\.json: holds no settings")
    (folder / "config.json").write_text(json.dumps(SMALL_HIFIGAN))
    torch.save({"generator": {}, "optim_g": {}}, folder / "g_00100000")
    fails("optim_g has no place in a generator's checkpoint")
    torch.save({"mpd": {}}, folder / "g_00100000")
    fails("has no generator; expected a checkpoint of HiFi-GAN")
    (folder / "g_00100000").write_bytes(pickle.dumps(print))
    fails("is no checkpoint of plain tensors")
    (folder / "g_00100000").unlink()
    fails("has no checkpoint of a generator")
    fails("is no file or folder", tmp_path / "nowhere")
