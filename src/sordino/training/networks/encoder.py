"""A speaker encoder as a whole: waveform in, vector out, described by a plain dictionary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from sordino.errors import UsageError
from sordino.training.networks.ecapa import Ecapa, EcapaSettings
from sordino.training.networks.filterbank import Filterbank, FilterbankSettings
from sordino.training.networks.ge2e import Ge2e
from sordino.training.networks.xvector import Xvector, XvectorSettings

Settings = TypeVar("Settings")

MEANS: Mapping[str, tuple[int, ...]] = {"band": (2,), "level": (1, 2)}


class WaveEncoder(nn.Module):
    """Filterbank frames, their mean over the utterance taken off, and a network on top.

    Args:
        filterbank: the features.
        body: maps (batch, bands, frames) to (batch, dimension).
        mean: what is taken off: "band", the mean of each band, as is usual for encoders that
            learn from many sessions of each speaker; "level", one mean of all, which leaves the
            average spectrum: it tells voices apart, and microphones too.

    Shapes:
        (batch, samples), full scale 1, to (batch, dimension).

    Example:
        >>> sizes = EcapaSettings(channels=64, aggregated=96)
        >>> encoder = WaveEncoder(Filterbank(FilterbankSettings()), Ecapa(sizes)).eval()
        >>> encoder(torch.zeros(2, 16000)).shape
        torch.Size([2, 192])
    """

    def __init__(self, filterbank: Filterbank, body: nn.Module, mean: str = "band") -> None:
        super().__init__()
        if mean not in MEANS:
            raise UsageError(f"the mean {mean!r} is not one of {', '.join(MEANS)}")
        self._axes = MEANS[mean]
        self.filterbank = filterbank
        self.body = body

    def forward(self, wave: Tensor) -> Tensor:
        """Speaker vectors of a batch of waveforms of one length."""
        frames = self.filterbank(wave)
        vector: Tensor = self.body(frames - frames.mean(dim=self._axes, keepdim=True))
        return vector


def build_encoder(network: Mapping[str, Any]) -> nn.Module:
    """The network that a recipe or a bundle describes, with fresh weights.

    Args:
        network: "architecture" ("ecapa", "xvector", "s-ecapa" or "ge2e"), "sizes" (the fields of
            the architecture's settings that are not the defaults), "filterbank" (the fields of
            `FilterbankSettings`) and "mean" (see `WaveEncoder`); for "s-ecapa" "ssl" in its place.

    Raises:
        UsageError: unknown architecture or size.

    Example:
        >>> build_encoder({"architecture": "xvector"})(torch.zeros(2, 16000)).shape
        torch.Size([2, 512])
    """
    architecture = network.get("architecture")
    sizes = dict(network.get("sizes", {}))
    mean = str(network.get("mean", "band"))
    if architecture == "ge2e":
        return Ge2e()
    if architecture == "s-ecapa":
        from sordino.training.networks.ssl import build_ssl_ecapa

        return build_ssl_ecapa(network)
    if architecture == "ecapa":
        bank = settings_from(FilterbankSettings, network.get("filterbank", {}))
        sizes.setdefault("inputs", bank.bands)
        return WaveEncoder(Filterbank(bank), Ecapa(settings_from(EcapaSettings, sizes)), mean)
    if architecture == "xvector":
        bank = settings_from(FilterbankSettings, {"bands": 24, **network.get("filterbank", {})})
        sizes.setdefault("inputs", bank.bands)
        return WaveEncoder(Filterbank(bank), Xvector(settings_from(XvectorSettings, sizes)), mean)
    raise UsageError(
        f"there is no architecture {architecture!r}; there are ecapa, xvector, s-ecapa, ge2e"
    )


def dimension_of(encoder: nn.Module) -> int:
    """Length of the vectors that an encoder gives."""
    training = encoder.training
    with torch.no_grad():
        dimension = int(encoder.eval()(torch.zeros(1, 16000)).shape[1])
    encoder.train(training)
    return dimension


def settings_from(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """A settings class filled from a dictionary; lists become tuples.

    Raises:
        UsageError: a name that the class does not have.

    Example:
        >>> settings_from(EcapaSettings, {"channels": 1024}).channels
        1024
    """
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(values) - known)
    if unknown:
        raise UsageError(
            f"{kind.__name__} has no {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    return kind(**{k: tuple(v) if isinstance(v, list) else v for k, v in values.items()})
