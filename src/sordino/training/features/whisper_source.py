"""Features from the encoder of Whisper."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.utility.extra import load_extra
from sordino.evaluate.utility.whisper_models import WEIGHTS, find_whisper
from sordino.training.features.base import HOP, FeatureSource

FloatArray = npt.NDArray[np.float32]


class WhisperFeatures(FeatureSource):
    """What the encoder of Whisper gives, by CTranslate2 in 32 bits.

    The encoder takes spectra of any length up to 30 s. Its frame k is centred on sample 320 k; the
    wave is moved by half a frame, so that here it is 320 k + 160.

    Args:
        model: see `find_whisper`; None for what is installed.
        device: see `load_features`.
        threads: how many threads it may use.

    Raises:
        UsageError: there is no such model, or it cannot be opened.
    """

    def __init__(self, model: str | None, *, device: str = "auto", threads: int = 1) -> None:
        files = find_whisper(model, [None] if model is None else [])
        module = load_extra("faster_whisper", "features of Whisper", "faster-whisper")
        try:
            self._whisper = module.WhisperModel(
                str(files.folder), device=device, compute_type="float32", cpu_threads=threads
            )
        except (RuntimeError, ValueError, OSError) as error:
            reason = " ".join(str(error).split())[:200]
            raise UsageError(
                f"{files.folder}: {WEIGHTS} cannot be opened as a Whisper model: {reason}"
            ) from error
        self._model = model
        self.key = f"whisper/{files.digest}"
        self.dimension = int(self.batch(np.zeros((1, 2 * HOP), np.float32)).shape[2])

    @property
    def description(self) -> dict[str, Any]:
        """See `FeatureSource`."""
        model = {} if self._model is None else {"model": self._model}
        return {"source": "whisper", **model, "key": self.key}

    def batch(self, waves: FloatArray) -> FloatArray:
        """See `FeatureSource`."""
        half = HOP // 2
        moved = np.pad(waves[:, half:], ((0, 0), (0, half)))
        spectra = [self._whisper.feature_extractor(wave, padding=0) for wave in moved]
        wanted = 2 * waves.shape[1] // HOP
        stacked = np.stack([spectrum[:, :wanted] for spectrum in spectra]).astype(np.float32)
        storage = load_extra("ctranslate2", "features of Whisper", "faster-whisper").StorageView
        encoded = self._whisper.model.encode(
            storage.from_array(np.ascontiguousarray(stacked)), to_cpu=True
        )
        return np.array(encoded, dtype=np.float32)
