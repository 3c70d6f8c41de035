"""Checkpoints as others release them, with random weights, and what they compute, told otherwise.

The tables here are written from how those checkpoints name their weights, independently of the
importers' own; the passes are transformers', torch's own layers or plain functions of tensors.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
from torch.nn import functional

SMALL = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 192,
    "conv_dim": [32] * 7,
    "num_conv_pos_embedding_groups": 16,
}
PAD = 40

HIFIGAN = {
    "model_in_dim": 393,
    "resblock": "1",
    "upsample_rates": [5, 4, 2, 2, 2],
    "upsample_kernel_sizes": [11, 8, 4, 4, 4],
    "upsample_initial_channel": 512,
    "resblock_kernel_sizes": [3, 7, 11],
    "resblock_dilation_sizes": [[1, 3, 5], [1, 3, 5], [1, 3, 5]],
    "latent": True,
    "f0": True,
    "xv": True,
    "num_mels": 80,
    "sampling_rate": 16000,
    "ssl_freeze": True,
    "dist_config": {"dist_backend": "nccl"},
}
SMALL_HIFIGAN = {
    **HIFIGAN,
    "model_in_dim": 24 + 1 + 192,
    "upsample_initial_channel": 64,
    "resblock_kernel_sizes": [3, 5],
    "resblock_dilation_sizes": [[1, 3, 5], [1, 2, 4]],
}


def hubert(seed=0, **config):
    """transformers' HubertModel in which no two weights are alike."""
    transformers = pytest.importorskip("transformers", reason="needs the extra ssl")
    torch.manual_seed(seed)
    model = transformers.HubertModel(transformers.HubertConfig(**config)).eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "layer_norm" in name:
                value.add_(0.2 * torch.randn_like(value))
            elif name.endswith("bias"):
                value.copy_(0.1 * torch.randn_like(value))
            elif "q_proj" in name or "k_proj" in name:
                value.mul_(4)
            elif name.endswith("original0"):
                value.mul_(1 + 0.3 * torch.rand_like(value))
    return model


def hidden_states(model, wave):
    """Result of HubertModel on a waveform with 40 zeros on each side: (frames, hidden size)."""
    padded = torch.from_numpy(np.pad(wave, PAD)[None])
    with torch.inference_mode():
        return model(padded).last_hidden_state[0].numpy().astype(np.float64)


def fairseq_weights(model, prefix="", *, recent=False, pretraining=True):
    """A HubertModel's weights as fairseq names them."""
    state = model.state_dict()
    names = {
        "masked_spec_embed": "mask_emb",
        "feature_extractor.conv_layers.0.layer_norm.weight": (
            "feature_extractor.conv_layers.0.2.weight"
        ),
        "feature_extractor.conv_layers.0.layer_norm.bias": "feature_extractor.conv_layers.0.2.bias",
        "feature_projection.layer_norm.weight": "layer_norm.weight",
        "feature_projection.layer_norm.bias": "layer_norm.bias",
        "feature_projection.projection.weight": "post_extract_proj.weight",
        "feature_projection.projection.bias": "post_extract_proj.bias",
        "encoder.pos_conv_embed.conv.bias": "encoder.pos_conv.0.bias",
        "encoder.layer_norm.weight": "encoder.layer_norm.weight",
        "encoder.layer_norm.bias": "encoder.layer_norm.bias",
    }
    for number, kept in enumerate(("weight_g", "weight_v")):
        ours = f"parametrizations.weight.original{number}"
        names[f"encoder.pos_conv_embed.conv.{ours}"] = (
            f"encoder.pos_conv.0.{ours if recent else kept}"
        )
    for number in range(7):
        part = f"feature_extractor.conv_layers.{number}"
        names[f"{part}.conv.weight"] = f"{part}.0.weight"
    parts = {
        "attention.k_proj": "self_attn.k_proj",
        "attention.v_proj": "self_attn.v_proj",
        "attention.q_proj": "self_attn.q_proj",
        "attention.out_proj": "self_attn.out_proj",
        "layer_norm": "self_attn_layer_norm",
        "feed_forward.intermediate_dense": "fc1",
        "feed_forward.output_dense": "fc2",
        "final_layer_norm": "final_layer_norm",
    }
    for number in range(model.config.num_hidden_layers):
        for ours, theirs in parts.items():
            for leaf in ("weight", "bias"):
                names[f"encoder.layers.{number}.{ours}.{leaf}"] = (
                    f"encoder.layers.{number}.{theirs}.{leaf}"
                )
    assert state.keys() <= names.keys()
    weights = {names[name]: value.clone() for name, value in state.items()}
    if pretraining:
        size = model.config.hidden_size
        weights |= {
            "mask_emb": torch.randn(size),
            "final_proj.weight": torch.randn(256, size),
            "final_proj.bias": torch.randn(256),
            "label_embs_concat": torch.randn(504, 256),
        }
    return {prefix + name: value for name, value in weights.items()}


def soft_model(model, units, prefix="", **options):
    """`soft_model.pt`: HuBERT and the vectors of the units."""
    torch.manual_seed(5)
    weights = fairseq_weights(model, f"{prefix}ssl_model.", **options)
    weights[f"{prefix}W"] = torch.randn(units, model.config.hidden_size)
    return weights


def soft_units(states, vectors):
    """What the authors' code makes of HuBERT's result, in double precision."""
    over_time = states / np.linalg.norm(states, axis=0, keepdims=True)
    vectors = vectors.numpy().astype(np.float64)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return whole_norm(over_time @ vectors.T)


def whole_norm(values):
    """Mean 0 and deviation 1 over all values at once, in double precision."""
    return (values - values.mean()) / np.sqrt(values.var() + 1e-5)


def conversion_model(width=128, layers=2, inside=192, channels=32, units=10, code=24, seed=0):
    """The public soft HuBERT: its weights, by name."""
    torch.manual_seed(seed)

    def normal(*shape, scale=1.0):
        return scale * torch.randn(*shape)

    weights = {"feature_extractor.conv0.weight": normal(channels, 1, 10, scale=0.5)}
    for number, kernel in enumerate((3, 3, 3, 3, 2, 2), 1):
        weights[f"feature_extractor.conv{number}.weight"] = normal(
            channels, channels, kernel, scale=(2 / channels / kernel) ** 0.5
        )
    for name, size in (("feature_extractor.norm0", channels), ("norm", width)):
        weights[f"{name}.weight"] = 1 + normal(size, scale=0.2)
        weights[f"{name}.bias"] = normal(size, scale=0.2)
    weights["feature_projection.norm.weight"] = 1 + normal(channels, scale=0.2)
    weights["feature_projection.norm.bias"] = normal(channels, scale=0.2)
    for name, rows, columns in (
        ("feature_projection.projection", width, channels),
        ("proj", code, width),
    ):
        weights[f"{name}.weight"] = normal(rows, columns, scale=columns**-0.5)
        weights[f"{name}.bias"] = normal(rows, scale=0.1)
    weights["positional_embedding.conv.weight_v"] = normal(width, width // 16, 128)
    weights["positional_embedding.conv.weight_g"] = 0.5 + torch.rand(1, 1, 128)
    weights["positional_embedding.conv.bias"] = normal(width, scale=0.1)
    layer = torch.nn.TransformerEncoderLayer(width, 1, inside)
    for number in range(layers):
        for name, value in layer.state_dict().items():
            scale = value.shape[-1] ** -0.5 if value.ndim == 2 else 0.2
            start = float("norm" in name and name.endswith("weight"))
            weights[f"encoder.layers.{number}.{name}"] = start + normal(*value.shape, scale=scale)
    weights["label_embedding.weight"] = normal(units, code)
    weights["masked_spec_embed"] = normal(width)
    return weights


def conversion_code(weights, wave, heads):
    """What the public soft HuBERT gives, by torch's own layers: (frames, code)."""
    signal = functional.pad(torch.from_numpy(wave[None, None]), (PAD, PAD))
    for number in range(7):
        stride = 5 if number == 0 else 2
        signal = functional.conv1d(
            signal, weights[f"feature_extractor.conv{number}.weight"], stride=stride
        )
        if number == 0:
            norm = "feature_extractor.norm0"
            channels = signal.shape[1]
            signal = functional.group_norm(
                signal, channels, weights[f"{norm}.weight"], weights[f"{norm}.bias"]
            )
        signal = functional.gelu(signal)

    def normed(values, name):
        return functional.layer_norm(
            values, values.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"]
        )

    def linear(values, name):
        return functional.linear(values, weights[f"{name}.weight"], weights[f"{name}.bias"])

    frames = normed(signal.transpose(1, 2), "feature_projection.norm")
    frames = linear(frames, "feature_projection.projection")
    conv = "positional_embedding.conv"
    filters = plain(weights[f"{conv}.weight_g"], weights[f"{conv}.weight_v"], kept_axis=2)
    positions = functional.conv1d(
        frames.transpose(1, 2), filters, weights[f"{conv}.bias"], padding=64, groups=16
    )
    frames = normed(frames + functional.gelu(positions[:, :, :-1]).transpose(1, 2), "norm")
    inside = weights["encoder.layers.0.linear1.weight"].shape[0]
    width = frames.shape[2]
    layers = len({name.split(".")[2] for name in weights if name.startswith("encoder.layers.")})
    encoder = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(
            width, heads, inside, activation="gelu", batch_first=True, dropout=0.0
        ),
        layers,
        enable_nested_tensor=False,
    )
    own = {name[8:]: value for name, value in weights.items() if name.startswith("encoder.")}
    encoder.load_state_dict(own)
    with torch.inference_mode():
        return linear(encoder.eval()(frames), "proj")[0].numpy()


def plain(length, direction, *, kept_axis):
    """Weight normalisation, one filter of the kept axis after the other."""
    filters = torch.empty_like(direction)
    lengths = length.flatten()
    for index in range(direction.shape[kept_axis]):
        part = direction.select(kept_axis, index)
        filters.select(kept_axis, index).copy_(part * lengths[index] / part.square().sum().sqrt())
    return filters


def generator(config, seed=0, *, recent=False, speaker=192):
    """The weights in `g_00100000`, by name; loud, but not so loud that tanh hides differences."""
    torch.manual_seed(seed)
    weights = {}

    def add(name, *shape, out):
        pair = (
            ("parametrizations.weight.original0", "parametrizations.weight.original1")
            if recent
            else ("weight_g", "weight_v")
        )
        fan = np.prod(shape[1:])
        weights[f"{name}.{pair[0]}"] = (1 + 0.3 * torch.rand(shape[0], 1, 1)) * 1.2
        weights[f"{name}.{pair[1]}"] = torch.randn(*shape) * fan**-0.5
        weights[f"{name}.bias"] = 0.1 * torch.randn(out)

    width = config["upsample_initial_channel"]
    add("conv_pre", width, config["model_in_dim"], 7, out=width)
    blocks = len(config["resblock_kernel_sizes"])
    for stage, kernel in enumerate(config["upsample_kernel_sizes"]):
        after = width // 2
        add(f"ups.{stage}", width, after, kernel, out=after)
        for block, size in enumerate(config["resblock_kernel_sizes"]):
            for kind in ("convs1", "convs2"):
                for place in range(len(config["resblock_dilation_sizes"][block])):
                    name = f"resblocks.{stage * blocks + block}.{kind}.{place}"
                    add(name, after, after, size, out=after)
        width = after
    add("conv_post", 1, width, 7, out=1)
    final = next(name for name in weights if re.fullmatch(r"conv_post\..*(_g|original0)", name))
    weights[final] *= 0.05
    # F0 comes in hertz, and trained weights for it are small.
    direction = next(name for name in weights if re.fullmatch(r"conv_pre\..*(_v|original1)", name))
    weights[direction][:, -1 - speaker] *= 0.005
    return weights


def speech_of(weights, config, content, f0, speaker):
    """What the authors' code makes of content at mean 0 and deviation 1, in double precision.

    Args:
        weights: of `generator`.
        config: its `config.json`.
        content: (frames, channels), 50 a second.
        f0: (2 * frames,), in Hz.
        speaker: (numbers,).

    Returns:
        (320 * frames,).
    """

    def layer(name):
        pairs = (
            ("weight_g", "weight_v"),
            ("parametrizations.weight.original0", "parametrizations.weight.original1"),
        )
        found = next(pair for pair in pairs if f"{name}.{pair[0]}" in weights)
        length, direction = (weights[f"{name}.{half}"] for half in found)
        bias = weights[f"{name}.bias"].double()
        return plain(length.double(), direction.double(), kept_axis=0), bias

    repeated = np.repeat(content, 2, axis=0)
    voice = np.tile(whole_norm(speaker.astype(np.float64)), (len(repeated), 1))
    joined = np.concatenate([repeated, f0[:, None], voice], axis=1).T
    signal = functional.conv1d(torch.from_numpy(joined[None]), *layer("conv_pre"), padding=3)
    blocks = len(config["resblock_kernel_sizes"])
    stages = zip(config["upsample_rates"], config["upsample_kernel_sizes"], strict=True)
    for stage, (rate, kernel) in enumerate(stages):
        signal = functional.conv_transpose1d(
            functional.leaky_relu(signal, 0.1),
            *layer(f"ups.{stage}"),
            stride=rate,
            padding=(kernel - rate) // 2,
        )
        results = []
        for block, size in enumerate(config["resblock_kernel_sizes"]):
            result = signal
            for place, dilation in enumerate(config["resblock_dilation_sizes"][block]):
                name = f"resblocks.{stage * blocks + block}"
                inner = functional.conv1d(
                    functional.leaky_relu(result, 0.1),
                    *layer(f"{name}.convs1.{place}"),
                    padding=dilation * (size - 1) // 2,
                    dilation=dilation,
                )
                inner = functional.conv1d(
                    functional.leaky_relu(inner, 0.1),
                    *layer(f"{name}.convs2.{place}"),
                    padding=(size - 1) // 2,
                )
                result = result + inner
            results.append(result)
        signal = torch.stack(results).mean(dim=0)
    signal = functional.conv1d(functional.leaky_relu(signal, 0.01), *layer("conv_post"), padding=3)
    return torch.tanh(signal)[0, 0].numpy()


def save_generator(folder: Path, weights, config=None) -> Path:
    """Write `config.json` and `g_00100000`."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save({"generator": weights}, folder / "g_00100000")
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config, indent=4) + "\n\n")
    return folder


def run(bundle, graph, **inputs):
    """What a bundle's graph gives for a batch of one."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(bundle.path(graph)), options)
    batch = {name: np.asarray(value, dtype=np.float32)[None] for name, value in inputs.items()}
    return session.run(None, batch)[0][0]


def check_names(keys, message, weights):
    """Missing, surplus and misshapen weights are errors that name them, and are no tensors.

    Args:
        keys: of weights that are needed.
        message: saves weights, imports them, and gives the error's text.
        weights: a good checkpoint's.
    """
    for key in keys:
        missing = {name: value for name, value in weights.items() if name != key}
        assert f"has no weights for {key}" in message(missing)
        misshapen = torch.zeros(*weights[key].shape, 2)
        said = message({**weights, key: misshapen})
        assert key in said, said
        assert f"{key} is no tensor" in message({**weights, key: [1, 2]})
        surplus = f"{key}.of.another"
        assert f"{surplus} has no place" in message({**weights, surplus: torch.zeros(1)})
