"""A HuBERT with random weights, small enough to train in a test."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONFIG: Mapping[str, Any] = {
    "model_type": "hubert",
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "conv_dim": [12] * 7,
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
}


def save_hubert(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """Write it as transformers does, with masks as in pre-training; returns the folder."""
    import torch
    import transformers

    torch.manual_seed(seed)
    values = {"mask_time_prob": 0.05, "layerdrop": 0.1, **CONFIG, **changes}
    config = transformers.AutoConfig.for_model(**values)
    transformers.AutoModel.from_config(config).eval().save_pretrained(folder)
    return folder
