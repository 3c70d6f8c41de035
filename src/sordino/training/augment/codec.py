"""Speech after a telephone line or a lossy file format."""

from __future__ import annotations

import io
from typing import Literal

import numpy as np
import numpy.typing as npt
import soundfile

from sordino.audio.resample import resample

FloatArray = npt.NDArray[np.float32]

LossyFormat = Literal["MP3", "OGG", "OPUS"]
_SUBTYPES = {"MP3": "MPEG_LAYER_III", "OGG": "VORBIS", "OPUS": "OPUS"}
_NARROW = 8000
_MU = 255.0
_FULL_SCALE = 0.99
# libsndfile takes levels up to 1, but its MP3 encoder not 1 itself.
_HIGHEST_LEVEL = 0.999


def telephone(samples: FloatArray, sample_rate: int) -> FloatArray:
    """Speech over a line of 8 kHz with 8-bit mu-law steps (the curve of ITU-T G.711).

    Args:
        samples: shape (n,), full scale 1.
        sample_rate: in Hz.

    Returns:
        Shape (n,).

    Example:
        >>> telephone(np.zeros(160, dtype=np.float32), 16000).shape
        (160,)
    """
    narrow = resample(samples[None], sample_rate, _NARROW).clip(-1, 1)
    curve = np.sign(narrow) * np.log1p(_MU * np.abs(narrow)) / np.log1p(_MU)
    steps = np.round(curve * 127) / 127
    line = np.sign(steps) * np.expm1(np.abs(steps) * np.log1p(_MU)) / _MU
    return _fitted(resample(line, _NARROW, sample_rate)[0], samples.size)


def compress(
    samples: FloatArray, sample_rate: int, format_: LossyFormat, level: float
) -> FloatArray:
    """Encode and decode.

    Args:
        samples: shape (n,), full scale 1; what exceeds it is clipped.
        sample_rate: in Hz, one that the format knows.
        format_: "MP3", "OGG" (Vorbis) or "OPUS".
        level: of compression, 0 (best sound) to 1 (smallest).

    Returns:
        Shape (n,).

    Example:
        >>> compress(np.zeros(16000, dtype=np.float32), 16000, "OPUS", 0.5).shape
        (16000,)
    """
    file = io.BytesIO()
    with soundfile.SoundFile(
        file,
        "w",
        sample_rate,
        1,
        subtype=_SUBTYPES[format_],
        format="OGG" if format_ == "OPUS" else format_,
        compression_level=min(level, _HIGHEST_LEVEL),
    ) as sink:
        sink.write(samples.clip(-_FULL_SCALE, _FULL_SCALE))
    file.seek(0)
    decoded, _ = soundfile.read(file, dtype="float32")
    return _fitted(decoded, samples.size)


def _fitted(samples: npt.NDArray[np.floating], length: int) -> FloatArray:
    cut = samples[:length].clip(-1, 1)
    return np.asarray(np.pad(cut, (0, length - cut.size)), dtype=np.float32)
