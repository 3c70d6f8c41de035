"""What every source of features gives, and how one is opened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import AudioError, UsageError

FloatArray = npt.NDArray[np.float32]

HOP = 320

# Longer speech is heard in pieces, with so much more at each joint, of which nothing is kept.
_LONGEST, _MARGIN = 1500, 50


class FeatureSource(ABC):
    """Features of speech, frame k centred on sample 320 k + 160 at 16 kHz.

    Attributes:
        dimension: values of a frame.
        key: depends on everything that decides the features.
    """

    dimension: int
    key: str

    @property
    @abstractmethod
    def description(self) -> dict[str, Any]:
        """What `load_features` opens the same source by; plain values."""

    @abstractmethod
    def batch(self, waves: FloatArray) -> FloatArray:
        """Features of waves of one length.

        Args:
            waves: shape (batch, 320 * frames), at most 30 s.

        Returns:
            Shape (batch, frames, dimension).
        """

    def features(self, wave: FloatArray) -> FloatArray:
        """Features of one wave of any length.

        Args:
            wave: shape (samples,), at 16 kHz, full scale 1.

        Returns:
            Shape (samples // 320, dimension).

        Raises:
            AudioError: it is shorter than a frame, or the features are no numbers.
        """
        return self.features_many([wave])[0]

    def features_many(self, waves: Sequence[FloatArray]) -> list[FloatArray]:
        """Features of several waves; those of one length are computed together.

        Zeros after shorter waves would change what is computed, so nothing is filled up. Speech of
        more than 30 s is heard in pieces that overlap by 2 s.

        Args:
            waves: of any lengths.

        Returns:
            One array for each, shape (samples // 320, dimension).

        Raises:
            AudioError: a wave is shorter than a frame, or the features are no numbers.
        """
        plans = [_pieces(wave.size // HOP) for wave in waves]
        groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for index, plan in enumerate(plans):
            for number, (first, last, _, _) in enumerate(plan):
                groups[last - first].append((index, number))
        found: dict[tuple[int, int], FloatArray] = {}
        for members in groups.values():
            spans = [(waves[index], plans[index][number]) for index, number in members]
            cut = np.stack([wave[HOP * span[0] : HOP * span[1]] for wave, span in spans])
            for (index, number), rows in zip(members, self._checked(cut), strict=True):
                _, _, skip, keep = plans[index][number]
                found[index, number] = rows[skip : skip + keep]
        return [
            np.concatenate([found[index, number] for number in range(len(plan))])
            for index, plan in enumerate(plans)
        ]

    def _checked(self, waves: FloatArray) -> FloatArray:
        rows = self.batch(np.ascontiguousarray(waves, dtype=np.float32))
        expected = (len(waves), waves.shape[1] // HOP, self.dimension)
        if rows.shape != expected:
            raise UsageError(
                f"the features' model gives frames of shape {rows.shape}; expected {expected}"
            )
        if not np.isfinite(rows).all():
            raise AudioError("its features are NaN or infinity")
        return rows


def load_features(description: Mapping[str, Any], *, device: str = "auto") -> FeatureSource:
    """Open a source of features.

    Args:
        description: "source" is

            - "ssl", with "ssl" (see `networks.pretrained.load_ssl`; only a "source") and "layer"
              (see `networks.content_ssl.SslFrames`);
            - "whisper", the result of Whisper's encoder, with "model" (see
              `evaluate.utility.whisper_models.find_whisper`).

            "key", where there is one, is what the source's key has to be.
        device: "cpu", "cuda", or "auto" for a GPU where there is one.

    Raises:
        UsageError: there is no such source, it cannot be opened, or it is another one than "key"
            says.

    Example:
        >>> load_features({"source": "whisper", "model": "base"}).dimension  # doctest: +SKIP
        512
    """
    values = dict(description)
    kind, key = values.pop("source", None), values.pop("key", None)
    source: FeatureSource
    if kind == "ssl":
        from sordino.training.features.ssl_source import SslFeatures

        _refuse_unknown(values, {"ssl", "layer"})
        source = SslFeatures(values.get("ssl", {}), values.get("layer"), device=device)
    elif kind == "whisper":
        from sordino.training.features.whisper_source import WhisperFeatures

        _refuse_unknown(values, {"model"})
        source = WhisperFeatures(values.get("model"), device=device)
    else:
        raise UsageError(f"features cannot come from {kind!r}; expected ssl or whisper")
    if key is not None and source.key != key:
        raise UsageError(
            f"{_place(description)}: is not the model that the units were found with; its features"
            " are others"
        )
    return source


def _refuse_unknown(values: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(set(values) - known):
        raise UsageError(f"features have no setting {unknown[0]!r}; they have {sorted(known)}")


def _place(description: Mapping[str, Any]) -> str:
    if description["source"] == "ssl":
        return str(description["ssl"].get("source"))
    return f"Whisper {description.get('model')}"


def _pieces(frames: int) -> list[tuple[int, int, int, int]]:
    """Where to cut: (first frame, last, how many to leave out at its start, how many to keep)."""
    if frames < 1:
        raise AudioError(f"is shorter than {HOP} samples at 16 kHz")
    pieces, done = [], 0
    while done < frames:
        first = max(0, done - _MARGIN)
        last = min(frames, first + _LONGEST)
        end = frames if last == frames else last - _MARGIN
        pieces.append((first, last, done - first, end - done))
        done = end
    return pieces
