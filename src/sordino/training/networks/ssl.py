"""S-ECAPA: an ECAPA-TDNN on the hidden states of a self-supervised speech model.

Miao et al., "Language-independent speaker anonymization approach using self-supervised pre-trained
models", Odyssey 2022, section on S-ECAPA: the average of all hidden states with learned weights
takes the place of the filterbank, and the self-supervised model is trained along.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from sordino.errors import UsageError
from sordino.models.find import HUB_PREFIX
from sordino.models.hub import download
from sordino.training.networks.ecapa import Ecapa, EcapaSettings
from sordino.training.networks.encoder import settings_from

_LOG = logging.getLogger(__name__)

_FAMILIES = ("hubert", "wav2vec2", "wavlm")
# Parts of the model are left out and frames are hidden at random in pre-training; neither belongs
# to an encoder, and a layer that is left out would have no gradient for its weight here.
_WITHOUT_CHANCE = {
    "layerdrop": 0.0,
    "apply_spec_augment": False,
    "mask_time_prob": 0.0,
    "mask_feature_prob": 0.0,
}
_PLAIN_FILES, _PICKLED_FILES = ("config.json", "*.safetensors"), ("pytorch_model.bin",)


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
    chosen = dict(network.get("ssl", {}))
    if len(chosen) != 1 or not chosen.keys() <= {"source", "config"}:
        raise UsageError('"ssl" needs either a "source" or a "config", and nothing else')
    ssl = _pretrained(chosen["source"]) if "source" in chosen else _fresh(chosen["config"])
    _without_weight_norm(ssl)
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
    config = json.loads(encoder.ssl.config.to_json_string(use_diff=True))
    return {**network, "ssl": {"config": config}}


def _fresh(config: Mapping[str, Any]) -> Any:
    transformers = _transformers()
    _check_family(config.get("model_type"), "ssl: config")
    try:
        settings = transformers.AutoConfig.for_model(**{**config, **_WITHOUT_CHANCE})
        return transformers.AutoModel.from_config(settings)
    except Exception as error:  # it checks with classes of errors that change with its version
        raise UsageError(f"ssl: config: is of no use ({_reason(error)})") from error


def _pretrained(source: str) -> Any:
    transformers = _transformers()
    folder = _folder(source)
    try:
        config = transformers.AutoConfig.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # as above
        raise UsageError(f"{source}: cannot be loaded ({_reason(error)})") from error
    _check_family(config.model_type, source)
    try:
        with _quiet(transformers.utils.logging):
            model, report = transformers.AutoModel.from_pretrained(
                folder,
                local_files_only=True,
                weights_only=True,
                output_loading_info=True,
                **_WITHOUT_CHANCE,
            )
    except Exception as error:  # as above
        raise UsageError(f"{source}: cannot be loaded ({_reason(error)})") from error
    if report["missing_keys"]:
        raise UsageError(f"{source}: has no weights for {min(report['missing_keys'])}")
    return model.float()


def _folder(source: str) -> Path:
    folder = Path(source)
    if source.startswith(HUB_PREFIX):
        # A download is told of even where nobody has set up logging.
        folder = download(source, only=_PLAIN_FILES, tell=_LOG.warning)
        if not any(folder.glob("*.safetensors")):
            folder = download(source, only=_PICKLED_FILES, tell=_LOG.warning)
    if not folder.is_dir():
        raise UsageError(f"{source}: is no folder (a model of the hub is hub:OWNER/NAME)")
    return folder


@contextmanager
def _quiet(log: Any) -> Iterator[None]:
    """Without transformers' progress bar, and its report of weights that have no use here."""
    level, bars = log.get_verbosity(), log.is_progress_bar_enabled()
    log.set_verbosity_error()
    log.disable_progress_bar()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            log.enable_progress_bar()


def _without_weight_norm(model: nn.Module) -> None:
    """Make weights plain that are kept as direction and length: those of a graph are plain."""
    for module in model.modules():
        if parametrize.is_parametrized(module, "weight"):
            parametrize.remove_parametrizations(module, "weight")


def _check_family(family: object, where: str) -> None:
    if family not in _FAMILIES:
        raise UsageError(f"{where}: is a model of type {family}; expected {', '.join(_FAMILIES)}")


def _transformers() -> Any:
    try:
        return import_module("transformers")
    except ImportError as error:
        raise UsageError(
            "an s-ecapa needs transformers; install sordino with the extra ssl:"
            ' pip install "sordino[ssl]"'
        ) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
