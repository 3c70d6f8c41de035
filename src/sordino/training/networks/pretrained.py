"""Self-supervised speech models of transformers: from a folder, the hub or a configuration."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import nn
from torch.nn.utils import parametrize

from sordino.errors import UsageError
from sordino.models.find import HUB_PREFIX
from sordino.models.hub import download

_LOG = logging.getLogger(__name__)

_FAMILIES = ("hubert", "wav2vec2", "wavlm")
# Parts of the model are left out and frames are hidden at random in pre-training; neither belongs
# to an encoder, and a layer that is left out would have no gradient where layers are weighted.
_WITHOUT_CHANCE = {
    "layerdrop": 0.0,
    "apply_spec_augment": False,
    "mask_time_prob": 0.0,
    "mask_feature_prob": 0.0,
}
_PLAIN_FILES, _PICKLED_FILES = ("config.json", "*.safetensors"), ("pytorch_model.bin",)


def load_ssl(chosen: Mapping[str, Any]) -> Any:
    """A self-supervised model, with plain weights and without what pre-training leaves to chance.

    Args:
        chosen: either "source" (the folder of a pre-trained HuBERT, wav2vec 2.0 or WavLM model in
            the form of transformers, or "hub:OWNER/NAME[@REVISION]"), or "config" (the content of
            such a model's config.json, for fresh weights).

    Raises:
        UsageError: transformers is missing, the model cannot be loaded or is of another kind.

    Example:
        >>> load_ssl({"source": "models/hubert-base"})  # doctest: +SKIP
    """
    if len(chosen) != 1 or not chosen.keys() <= {"source", "config"}:
        raise UsageError('"ssl" needs either a "source" or a "config", and nothing else')
    ssl = _pretrained(chosen["source"]) if "source" in chosen else _fresh(chosen["config"])
    _without_weight_norm(ssl)
    return ssl


def ssl_config(ssl: Any) -> dict[str, Any]:
    """The configuration of a model, with which `load_ssl` makes one of the same shape."""
    config: dict[str, Any] = json.loads(ssl.config.to_json_string(use_diff=True))
    return config


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
            "self-supervised models need transformers; install sordino with the extra ssl:"
            ' pip install "sordino[ssl]"'
        ) from error


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
