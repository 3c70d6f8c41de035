"""Features from a layer of a self-supervised model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from sordino.errors import UsageError
from sordino.training.features.base import HOP, FeatureSource
from sordino.training.networks.content_ssl import SslFrames, build_ssl_frames
from sordino.training.networks.pretrained import ssl_config

FloatArray = npt.NDArray[np.float32]


class SslFeatures(FeatureSource):
    """A hidden state of HuBERT, wav2vec 2.0 or WavLM.

    Args:
        ssl: where the model is: "source", a folder or "hub:OWNER/NAME".
        layer: see `SslFrames`.
        device: see `load_features`.

    Raises:
        UsageError: the model cannot be loaded, or has not a frame for each 320 samples.
    """

    def __init__(self, ssl: Mapping[str, Any], layer: int | None, *, device: str = "auto") -> None:
        if set(ssl) != {"source"}:
            raise UsageError('features of a self-supervised model need "ssl" with a "source" alone')
        self._ssl, self._layer = dict(ssl), layer
        self._frames = build_ssl_frames({"ssl": ssl, "layer": layer}).eval()
        if self._frames.hop != HOP:
            raise UsageError(
                f"{ssl['source']}: has a frame each {self._frames.hop} samples, not {HOP}"
            )
        self.dimension = self._frames.width
        self.key = source_key(self._frames, layer)
        self._device = torch_device(device)
        self._frames.to(self._device)

    @property
    def description(self) -> dict[str, Any]:
        """See `FeatureSource`."""
        layer = {} if self._layer is None else {"layer": self._layer}
        return {"source": "ssl", "ssl": self._ssl, **layer, "key": self.key}

    def batch(self, waves: FloatArray) -> FloatArray:
        """See `FeatureSource`."""
        with torch.inference_mode():
            rows = self._frames(torch.from_numpy(waves).to(self._device))
        found: FloatArray = rows.float().cpu().numpy()
        return found


def torch_device(name: str) -> torch.device:
    """A device by its name; "auto" is a GPU where there is one.

    Raises:
        UsageError: there is no such device.

    Example:
        >>> torch_device("cpu")
        device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(f"the device {name} cannot be used here") from error
    return device


def source_key(frames: SslFrames, layer: int | None) -> str:
    """What depends on everything that decides the frames of a model.

    Args:
        frames: on the processor.
        layer: which layer's they are.
    """
    digest = hashlib.sha256()
    config = ssl_config(frames.ssl)
    # Where it lay and who wrote it do not decide what it gives.
    for name in ("_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype"):
        config.pop(name, None)
    digest.update(json.dumps(config, sort_keys=True).encode())
    for name, value in sorted(frames.state_dict().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(value.float().numpy()).tobytes())
    return f"ssl/{layer}/{digest.hexdigest()}"
