"""SpeechBrain's own classes, as references.

SpeechBrain imports torchaudio, which need not fit the torch that is installed; what is used of it
here works without, so that a module without content takes its place.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

STUB = "torchaudio"


@cache
def speechbrain() -> SimpleNamespace:
    """Ecapa, Xvector, Fbank and InputNormalization; the test is skipped where they are not."""
    with _stub(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("speechbrain", reason="SpeechBrain is not installed")
        models = importlib.import_module("speechbrain.lobes.models.ECAPA_TDNN")
        xvector = importlib.import_module("speechbrain.lobes.models.Xvector")
        features = importlib.import_module("speechbrain.lobes.features")
        processing = importlib.import_module("speechbrain.processing.features")
    return SimpleNamespace(
        Ecapa=models.ECAPA_TDNN,
        Xvector=xvector.Xvector,
        Fbank=features.Fbank,
        InputNormalization=processing.InputNormalization,
    )


def randomize(model: nn.Module, seed: int = 0) -> nn.Module:
    """Batch normalisation as after training: nothing is 0 or 1 any more."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.state_dict().items():
        if name.endswith("running_mean") or (".norm" in name and name.endswith("bias")):
            value.copy_(0.3 * torch.randn(value.shape, generator=generator))
        elif name.endswith("running_var") or (".norm" in name and name.endswith("weight")):
            value.copy_(0.5 + torch.rand(value.shape, generator=generator))
    return model.eval()


def vectors(model: nn.Module, bands: int, wave: torch.Tensor) -> torch.Tensor:
    """What SpeechBrain's `encode_batch` does: (batch, samples) to (batch, dimension)."""
    brain = speechbrain()
    lengths = torch.ones(len(wave))
    normalize = brain.InputNormalization(norm_type="sentence", std_norm=False)
    with torch.inference_mode():
        frames = brain.Fbank(n_mels=bands).eval()(wave)
        return model(normalize(frames, lengths), lengths).squeeze(1)


@contextmanager
def _stub() -> Iterator[None]:
    there = STUB in sys.modules
    if not there:
        stub = ModuleType(STUB)
        stub.__spec__ = ModuleSpec(STUB, None)
        sys.modules[STUB] = stub
    try:
        yield
    finally:
        if not there:
            del sys.modules[STUB]
        # SpeechBrain's lazy modules import more of it when somebody, as hypothesis does, asks all
        # modules where they lie.
        for name, module in list(sys.modules.items()):
            if name.startswith("speechbrain.") and type(module) is not ModuleType:
                del sys.modules[name]
