"""HuBERT under the names of other projects, as transformers' HubertModel.

Weights are told by name. What they do not show is as in HuBERT-Base (Hsu et al., "HuBERT",
IEEE/ACM TASLP 2021): strides of 5 and six times 2, heads of 64 channels, group normalisation in the
first convolution, layer normalisation after each half of a layer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from sordino.errors import UsageError
from sordino.training.importers.checkpoint import shape_of

_KERNELS, _STRIDES = (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2)
_HEAD = 64
_ATTENTION = ".self_attn."
_LAYER = re.compile(r"\bencoder\.layers\.(\d+)\.")

_FAIRSEQ = (
    (r"^feature_extractor\.conv_layers\.0\.layer_norm\.", "feature_extractor.conv_layers.0.2."),
    (r"^feature_extractor\.conv_layers\.(\d)\.conv\.", r"feature_extractor.conv_layers.\1.0."),
    (r"^feature_projection\.layer_norm\.", "layer_norm."),
    (r"^feature_projection\.projection\.", "post_extract_proj."),
    (r"^encoder\.pos_conv_embed\.conv\.", "encoder.pos_conv.0."),
    (r"^(encoder\.layers\.\d+)\.layer_norm\.", r"\1.self_attn_layer_norm."),
    (r"^(encoder\.layers\.\d+)\.attention\.", r"\1.self_attn."),
    (r"^(encoder\.layers\.\d+)\.feed_forward\.intermediate_dense\.", r"\1.fc1."),
    (r"^(encoder\.layers\.\d+)\.feed_forward\.output_dense\.", r"\1.fc2."),
)
# A layer as torch's own TransformerEncoderLayer.
_TORCH = (
    (r"^feature_extractor\.conv_layers\.0\.layer_norm\.", "feature_extractor.norm0."),
    (r"^feature_extractor\.conv_layers\.(\d)\.conv\.", r"feature_extractor.conv\1."),
    (r"^feature_projection\.layer_norm\.", "feature_projection.norm."),
    (r"^encoder\.pos_conv_embed\.conv\.", "positional_embedding.conv."),
    (r"^encoder\.layer_norm\.", "norm."),
    (r"^(encoder\.layers\.\d+)\.layer_norm\.", r"\1.norm1."),
    (r"^(encoder\.layers\.\d+)\.final_layer_norm\.", r"\1.norm2."),
    (r"^(encoder\.layers\.\d+)\.attention\.", r"\1.self_attn."),
    (r"^(encoder\.layers\.\d+)\.feed_forward\.intermediate_dense\.", r"\1.linear1."),
    (r"^(encoder\.layers\.\d+)\.feed_forward\.output_dense\.", r"\1.linear2."),
)
# Of pre-training only: what hides frames, and what guesses their units.
_FAIRSEQ_UNUSED = r"mask_emb|label_embs_concat|(final_proj|target_glu\.0)\.(weight|bias)"


def fairseq_name(ours: str) -> str:
    """What fairseq calls a weight of transformers' HubertModel.

    Example:
        >>> fairseq_name("encoder.layers.3.feed_forward.output_dense.bias")
        'encoder.layers.3.fc2.bias'
    """
    return _renamed(ours, _FAIRSEQ)


def torch_name(ours: str) -> str:
    """What it is called where the layers are torch's TransformerEncoderLayer.

    Example:
        >>> torch_name("encoder.layers.3.layer_norm.weight")
        'encoder.layers.3.norm1.weight'
    """
    return _renamed(ours, _TORCH)


def without_pretraining(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Weights less those of fairseq that only pre-training uses, below a prefix of their names."""
    unused = re.compile(re.escape(prefix) + f"({_FAIRSEQ_UNUSED})")
    return {name: value for name, value in weights.items() if not unused.fullmatch(name)}


def with_parted_attention(weights: Mapping[str, Tensor], where: str) -> dict[str, Tensor]:
    """torch's joint projection of queries, keys and values (in this order) as three.

    Raises:
        UsageError: a layer's joint projection is missing, or cannot be parted by three; the
            message names it.

    Example:
        >>> import torch
        >>> joint = {"a.self_attn.in_proj_bias": torch.arange(3.0)}
        >>> joint["a.self_attn.in_proj_weight"] = torch.ones(3, 1)
        >>> parted = with_parted_attention(joint, "x.pt")
        >>> [parted[f"a.self_attn.{letter}_proj.bias"].item() for letter in "qkv"]
        [0.0, 1.0, 2.0]
    """
    parted = dict(weights)
    for layer in sorted({name.partition(_ATTENTION)[0] for name in weights if _ATTENTION in name}):
        for leaf in ("weight", "bias"):
            joint, other = (f"{layer}{_ATTENTION}in_proj_{kind}" for kind in (leaf, "weight"))
            rows, width = shape_of(weights, other, where, axes=2)
            shape = shape_of(weights, joint, where, axes=2 if leaf == "weight" else 1)
            if shape[0] != rows or rows != 3 * width:
                raise UsageError(
                    f"{where}: {joint} has shape {shape}; expected three times {width} rows"
                )
            for letter, part in zip("qkv", parted.pop(joint).chunk(3), strict=True):
                parted[f"{layer}{_ATTENTION}{letter}_proj.{leaf}"] = part.clone()
    return parted


def hubert_config(
    weights: Mapping[str, Tensor], theirs: Callable[[str], str], where: str
) -> dict[str, Any]:
    """The configuration for transformers that weights of a HuBERT belong to.

    Args:
        weights: by their names in the checkpoint; other weights may be among them.
        theirs: what the checkpoint calls a weight of HubertModel.
        where: what to call the checkpoint in errors.

    Raises:
        UsageError: a weight that tells a size is missing, or the network is another one.
    """

    def shape(ours: str, axes: int) -> tuple[int, ...]:
        return shape_of(weights, theirs(ours), where, axes)

    convolutions = [
        shape(f"feature_extractor.conv_layers.{number}.conv.weight", 3)
        for number in range(len(_KERNELS))
    ]
    kernels = tuple(kernel for _, _, kernel in convolutions)
    if kernels != _KERNELS:
        raise UsageError(f"{where}: has convolutions of {kernels} samples; expected {_KERNELS}")
    hidden, per_group, positions = shape("encoder.pos_conv_embed.conv.weight", 3)
    intermediate, _ = shape("encoder.layers.0.feed_forward.intermediate_dense.weight", 2)
    if hidden % _HEAD or hidden % max(per_group, 1):
        raise UsageError(
            f"{where}: has {hidden} channels, {per_group} for each group of positions;"
            f" expected a multiple of {_HEAD}, in groups of one size"
        )
    layers = {match[1] for name in weights if (match := _LAYER.search(name))}
    return {
        "model_type": "hubert",
        "hidden_size": hidden,
        "num_hidden_layers": len(layers),
        "num_attention_heads": hidden // _HEAD,
        "intermediate_size": intermediate,
        "conv_dim": [channels for channels, _, _ in convolutions],
        "conv_kernel": list(_KERNELS),
        "conv_stride": list(_STRIDES),
        "conv_bias": False,
        "feat_extract_norm": "group",
        "feat_proj_layer_norm": True,
        "do_stable_layer_norm": False,
        "num_conv_pos_embeddings": positions,
        "num_conv_pos_embedding_groups": hidden // per_group,
    }


def _renamed(name: str, table: tuple[tuple[str, str], ...]) -> str:
    for pattern, replacement in table:
        changed, count = re.subn(pattern, replacement, name)
        if count:
            return changed
    return name
