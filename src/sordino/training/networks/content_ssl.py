"""Frames of a self-supervised speech model, each of them exactly a hop of the waveform."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import pad

from sordino.errors import UsageError
from sordino.training.networks.pretrained import load_ssl


class SslFrames(nn.Module):
    """A hidden state of HuBERT, wav2vec 2.0 or WavLM.

    The first layers of these models see 400 samples and go on by 320. With 40 zeros on each side a
    waveform of 320 k samples has exactly k frames, and frame k is centred on sample 320 k + 160.

    Args:
        ssl: a model of transformers that takes waveforms of 16 kHz; layers that are not needed are
            taken out of it.
        layer: 0 for what enters the first layer, n for what layer n gives; None for the model's
            result. They differ at the last layer of models that normalise before each layer (the
            large ones): only the result is normalised once more.
        normalise_wave: whether the waveform is brought to mean 0 and variance 1; None for as the
            kind of model was trained, that is where its first layer normalises layers, not groups.

    Attributes:
        hop: samples from frame to frame.
        width: values of a frame.
        context: None, a frame depends on all samples.

    Raises:
        UsageError: there is no such layer, or the frames are no whole hop of 10 ms.

    Shapes:
        (batch, samples) to (batch, samples // hop, width).
    """

    context: int | None = None

    def __init__(
        self, ssl: Any, layer: int | None = None, *, normalise_wave: bool | None = None
    ) -> None:
        super().__init__()
        config = ssl.config
        self.hop = prod(config.conv_stride)
        if self.hop % 160:
            raise UsageError(f"ssl: a frame every {self.hop} samples is not one of whole 10 ms")
        outside = _field(config.conv_kernel, config.conv_stride) - self.hop
        if outside < 0:
            raise UsageError("ssl: its frames do not see all samples")
        self._outside = (outside // 2, outside - outside // 2)
        if layer is not None:
            _cut(ssl, layer)
        self.ssl = ssl
        self.width: int = config.hidden_size
        self._normalise = (
            config.feat_extract_norm == "layer" if normalise_wave is None else normalise_wave
        )

    def forward(self, wave: Tensor) -> Tensor:
        """Frames of a batch of waveforms of one length."""
        if self._normalise:
            wave = wave - wave.mean(dim=1, keepdim=True)
            wave = wave / (wave.square().mean(dim=1, keepdim=True) + 1e-7).sqrt()
        frames: Tensor = self.ssl(pad(wave, self._outside)).last_hidden_state
        return frames


def build_ssl_frames(network: Mapping[str, Any]) -> SslFrames:
    """The first part of a content network of architecture "ssl"; see `content.build_content`.

    Raises:
        UsageError: the model cannot be loaded, or its description is wrong.
    """
    layer = network.get("layer")
    if layer is not None and (not isinstance(layer, int) or isinstance(layer, bool)):
        raise UsageError(f"a content network's layer is {layer!r}; expected a whole number")
    ssl = load_ssl(network.get("ssl", {}))
    return SslFrames(ssl, layer, normalise_wave=network.get("normalise_wave"))


def _field(kernels: list[int], strides: list[int]) -> int:
    """How many samples a frame sees."""
    field, step = 1, 1
    for kernel, stride in zip(kernels, strides, strict=True):
        field += (kernel - 1) * step
        step *= stride
    return field


def _cut(ssl: Any, layer: int) -> None:
    layers = ssl.encoder.layers
    if not 0 <= layer <= len(layers):
        raise UsageError(f"ssl: there is no layer {layer}; it has {len(layers)}")
    ssl.encoder.layers = layers[:layer]
    if ssl.config.do_stable_layer_norm:
        # It belongs to the result, not to what a layer gives.
        ssl.encoder.layer_norm = nn.Identity()
