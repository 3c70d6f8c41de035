"""S-ECAPA: an ECAPA-TDNN on the hidden states of a self-supervised speech model.

Miao et al., "Language-independent speaker anonymization approach using self-supervised pre-trained
models", Odyssey 2022, section on S-ECAPA: the average of all hidden states with learned weights
takes the place of the filterbank, and the self-supervised model is trained along.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from sordino.training.networks.ecapa import Ecapa, EcapaSettings
from sordino.training.networks.encoder import settings_from
from sordino.training.networks.pretrained import load_ssl, ssl_config


class SslEcapa(nn.Module):
    """Waveform to speaker vector through a self-supervised model.

    - The waveform is brought to mean 0 and variance 1, as large models were trained to have it;
      models with group normalisation in their first layer do not notice.
    - The hidden states, that is what enters the first layer and what each layer gives, are
      averaged with weights that are a softmax of `layer_weights`.
    - Each channel's mean over the utterance is taken off, as for the filterbanks: what does not
      change within a recording is to a good part its microphone and room.

    All weights are trained, those of the self-supervised model's convolutions too.

    Args:
        ssl: a model of transformers that takes waveforms of 16 kHz.
        body: maps (batch, hidden size, frames) to (batch, dimension).

    Shapes:
        (batch, samples) at 16 kHz to (batch, dimension).
    """

    def __init__(self, ssl: Any, body: Ecapa) -> None:
        super().__init__()
        self.ssl = ssl
        self.layer_weights = nn.Parameter(torch.zeros(ssl.config.num_hidden_layers + 1))
        self.body = body

    def forward(self, wave: Tensor) -> Tensor:
        """Speaker vectors of a batch of waveforms of one length."""
        frames = self.frames(wave)
        vector: Tensor = self.body(frames - frames.mean(dim=2, keepdim=True))
        return vector

    def frames(self, wave: Tensor) -> Tensor:
        """The weighted average of the hidden states: (batch, hidden size, frames)."""
        centred = wave - wave.mean(dim=1, keepdim=True)
        scale = (centred.square().mean(dim=1, keepdim=True) + 1e-7).sqrt()
        states = self.ssl(centred / scale, output_hidden_states=True).hidden_states
        weights = torch.softmax(self.layer_weights, dim=0)
        average = torch.stack(states, dim=-1) @ weights
        return average.transpose(1, 2)


def build_ssl_ecapa(network: Mapping[str, Any]) -> SslEcapa:
    """An S-ECAPA from its description.

    Args:
        network: "ssl" has either "source" (the folder of a pre-trained HuBERT, wav2vec 2.0 or WavLM
            model in the form of transformers, or "hub:OWNER/NAME[@REVISION]"), or "config" (the
            content of such a model's config.json, for fresh weights); "sizes" has the fields of
            `EcapaSettings` that are not the defaults.

    Raises:
        UsageError: transformers is missing, the model cannot be loaded or is of another kind.

    Example:
        >>> config = {"model_type": "hubert", "hidden_size": 32, "num_hidden_layers": 2,
        ...           "num_attention_heads": 2, "intermediate_size": 64}
        >>> sizes = {"channels": 64, "aggregated": 96}
        >>> network = {"ssl": {"config": config}, "sizes": sizes}
        >>> encoder = build_ssl_ecapa(network).eval()  # doctest: +SKIP
        >>> encoder(torch.zeros(2, 8000)).shape  # doctest: +SKIP
        torch.Size([2, 192])
    """
    ssl = load_ssl(network.get("ssl", {}))
    sizes = {**network.get("sizes", {}), "inputs": ssl.config.hidden_size}
    return SslEcapa(ssl, Ecapa(settings_from(EcapaSettings, sizes)))


def self_contained(network: Mapping[str, Any], encoder: nn.Module) -> dict[str, Any]:
    """A network's description that needs nothing but itself, as a bundle keeps it.

    Args:
        network: what the encoder was built from; a pre-trained "source" in it is replaced by the
            configuration that it had. Descriptions of other architectures stay as they are.
        encoder: what was built.
    """
    if not isinstance(encoder, SslEcapa):
        return dict(network)
    return {**network, "ssl": {"config": ssl_config(encoder.ssl)}}
