"""A HiFi-GAN on content, pitch and a speaker vector: `config.json` and `g_00100000`.

The layout is that of speech resynthesis from discrete units (Polyak et al., Interspeech 2021), as
the authors of Miao et al., Odyssey 2022 released it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

from torch import Tensor

from sordino.errors import UsageError
from sordino.models.bundle import Bundle
from sordino.training.generator_export import SAMPLE_RATE, write_vocoder
from sordino.training.importers.checkpoint import (
    load_renamed,
    read_tensors,
    shape_of,
    tensors_only,
)
from sordino.training.importers.weight_norm import plain_weights
from sordino.training.networks.generators import build_generator

_CONFIG, _PREFIX = "config.json", "g_"
# What the authors' generator carries along: content encoder, speaker encoder and its features.
_CARRIED = (
    "latent_encoder.",
    "feat_model.",
    "xv_model.",
    "ssl_xv_model.",
    "fbank.",
    "mean_var_norm.",
)
_UNITS, _SPEAKER_OUT = "latent_encoder.W", "xv_model.fc.conv.weight"
_HOP, _USUAL_SPEAKER = 160, 192
# What is only of training or is settled elsewhere is not looked at; these change the network.
_SUPPORTED = (
    ("sampling_rate", SAMPLE_RATE),
    ("resblock", "1"),
    ("latent", True),
    ("f0", True),
    ("xv", True),
)

_CARD = """# {name}

HiFi-GAN vocoder on {channels} content channels, F0 in Hz and a speaker vector of {speaker} numbers.
Method: Kong et al., "HiFi-GAN", NeurIPS 2020; Miao et al., "Language-independent speaker
anonymization approach using self-supervised pre-trained models", Odyssey 2022.

- **Weights:** those of `{file}`, changed in form only.
- **Licence:** what the checkpoint's source says; ask it before you pass the weights on.
- **Kept as released:** the speaker vector is brought to mean 0 and deviation 1, and content is
  expected so over all values of a recording, as the soft HuBERT that belongs to it gives it.
"""


def import_hifigan(source: Path, destination: Path, name: str) -> Bundle:
    """Turn a released HiFi-GAN into a vocoder bundle.

    Sizes are those of config.json, checked against the weights. Content and speaker encoders that
    the file carries along are left out; see `voice.import_release`.

    Args:
        source: the folder of `config.json` and one `g_...` (of several, the highest number), or
            the `g_...` itself with `config.json` beside it.
        destination: the bundle's folder.
        name: the bundle's name.

    Raises:
        UsageError: the source is no such model, or has settings that are not supported here.
        OutputError: the bundle cannot be written.

    Example:
        >>> import_hifigan(Path("HiFi-GAN/libri"), Path("models/libri"), "libri")
        ... # doctest: +SKIP
    """
    file = generator_file(source)
    config = _config(file.with_name(_CONFIG))
    held = generator_weights(file)
    own = {key: held[key] for key in held if not key.startswith(_CARRIED)}
    weights = plain_weights(own, str(file))
    channels, speaker = _widths(config, held, file)
    network = {
        "architecture": "hifigan",
        "content": {"channels": channels, "hop": 320},
        "speaker": speaker,
        "pitch": "hertz",
        "normalise": ["speaker"],
        "sizes": _sizes(config, weights, file),
    }
    generator = build_generator(network)
    load_renamed(generator, weights, lambda ours: ours, str(file))
    metadata = {
        "name": name,
        "summary": f"HiFi-GAN vocoder as released, {channels} content channels.",
        "licence": "see its source",
        "content": {"hop": 320, "channels": channels, "context": None},
        "pitch": {"tracker": "yaapt"},
        "speaker": {"dimension": speaker, "encoder": None, "digest": None},
    }
    card = _CARD.format(name=name, channels=channels, speaker=speaker, file=file.name)
    return write_vocoder(destination, generator, network, metadata, card)


def generator_file(source: Path) -> Path:
    """The checkpoint that is meant: `source` itself, or the last `g_...` of a folder.

    Raises:
        UsageError: there is none.
    """
    if not source.is_dir():
        if not source.is_file():
            raise UsageError(f"{source}: is no file or folder")
        return source
    files = [place for place in source.glob(f"{_PREFIX}*") if place.is_file()]
    if not files:
        raise UsageError(f"{source}: has no checkpoint of a generator ({_PREFIX}00100000 or so)")
    return max(files)


def generator_weights(file: Path) -> dict[str, Tensor]:
    """All weights that the checkpoint of a generator holds.

    Raises:
        UsageError: it is no such checkpoint.
    """
    content = read_tensors(file, str(file))
    weights = content.get("generator")
    if not isinstance(weights, Mapping):
        raise UsageError(f"{file}: has no generator; expected a checkpoint of HiFi-GAN")
    surplus = sorted(content.keys() - {"generator"})
    if surplus:
        raise UsageError(f"{file}: {surplus[0]} has no place in a generator's checkpoint")
    return tensors_only(weights, str(file))


def _config(file: Path) -> Mapping[str, Any]:
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}; it belongs beside the checkpoint") from error
    except ValueError as error:
        raise UsageError(f"{file}: is not JSON ({error})") from error
    if not isinstance(config, Mapping):
        raise UsageError(f"{file}: holds no settings by name")
    for key, supported in _SUPPORTED:
        value = config.get(key)
        if (str(value) if key == "resblock" else value) != supported:
            raise UsageError(f"{file}: {key} is {value!r}; only {supported!r} is supported")
    return config


def _sizes(config: Mapping[str, Any], weights: Mapping[str, Tensor], file: Path) -> dict[str, Any]:
    where = str(file.with_name(_CONFIG))
    rates = _whole_numbers(config, "upsample_rates", where)
    kernels = _whole_numbers(config, "upsample_kernel_sizes", where)
    residual = _whole_numbers(config, "resblock_kernel_sizes", where)
    dilations = config.get("resblock_dilation_sizes")
    if not isinstance(dilations, list) or len(dilations) != len(residual):
        raise UsageError(f"{where}: resblock_dilation_sizes is not one list for each kernel")
    parted = [_whole_numbers({"": item}, "", where) for item in dilations]
    if prod(rates) != _HOP:
        raise UsageError(
            f"{where}: upsample_rates {rates} give {prod(rates)} samples a frame; expected {_HOP}"
        )
    channels = config.get("upsample_initial_channel")
    written: list[tuple[str, Any, Any]] = [
        ("upsample_initial_channel", channels, _shape(weights, "conv_pre", file)[0]),
    ]
    written += [
        (f"upsample_kernel_sizes[{place}]", kernel, _shape(weights, f"ups.{place}", file)[2])
        for place, kernel in enumerate(kernels[: len(rates)])
    ]
    written += [
        (
            f"resblock_kernel_sizes[{place}]",
            kernel,
            _shape(weights, f"resblocks.{place}.convs1.0", file)[2],
        )
        for place, kernel in enumerate(residual)
    ]
    for key, said, found in written:
        if said != found:
            raise UsageError(f"{where}: {key} is {said!r}, and {file.name} has {found}")
    return {
        "channels": channels,
        "rates": rates,
        "kernels": kernels,
        "resblock_kernels": residual,
        "resblock_dilations": parted,
    }


def _widths(config: Mapping[str, Any], held: Mapping[str, Tensor], file: Path) -> tuple[int, int]:
    """Content channels and speaker numbers, which the joint input does not tell apart."""
    width = config.get("model_in_dim")
    if not isinstance(width, int) or width < 3:
        raise UsageError(
            f"{file.with_name(_CONFIG)}: model_in_dim is {width!r}; expected a number of channels"
        )
    where = str(file)
    channels = shape_of(held, _UNITS, where, axes=2)[0] if _UNITS in held else None
    speaker = shape_of(held, _SPEAKER_OUT, where)[0] if _SPEAKER_OUT in held else None
    if channels is None:
        speaker = speaker or _USUAL_SPEAKER
        channels = width - 1 - speaker
    elif speaker is None:
        speaker = width - 1 - channels
    if channels < 1 or speaker < 1 or channels + 1 + speaker != width:
        raise UsageError(
            f"{file.with_name(_CONFIG)}: model_in_dim is {width}; expected content, one channel"
            f" of F0 and {speaker} of the speaker"
        )
    return channels, speaker


def _whole_numbers(config: Mapping[str, Any], key: str, where: str) -> list[int]:
    value = config.get(key)
    if not isinstance(value, list) or not all(type(item) is int and item > 0 for item in value):
        raise UsageError(f"{where}: {key or 'resblock_dilation_sizes'} is no list of numbers")
    return value


def _shape(weights: Mapping[str, Tensor], layer: str, file: Path) -> tuple[int, ...]:
    return shape_of(weights, f"{layer}.weight", str(file))
