"""How much of the intonation is left: pitch tracks and their correlation, rho_F0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.evaluate.metrics.correlation import pitch_correlation
from sordino.evaluate.results import Quality
from sordino.evaluate.utility.extra import load_extra
from sordino.evaluate.utility.groups import ratio_rows
from sordino.evaluate.utility.wave import RATE, wave_of

FRAME_S = 0.016
LOWEST_HZ, HIGHEST_HZ = 50.0, 600.0
_VOICED = 0.5

Track = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PitchTracker:
    """Fundamental frequency of speech by SwiftF0, a small network that its package ships.

    It can be pickled; each process opens the network once.

    Args:
        threads: how many threads the network may use.

    Raises:
        UsageError: less than one thread.

    Source: L. Nieradzik, "SwiftF0: fast and accurate monophonic pitch detection", 2025.
    """

    threads: int = 1

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise UsageError(f"{self.threads} threads: at least 1 is needed")

    def track(self, recording: Recording) -> Track:
        """Pitch in hertz, 0 where there is no voice.

        Args:
            recording: of any rate, length and number of channels.

        Returns:
            Shape (frames,), a frame every 16 ms; 0, or 50 to 600 Hz.

        Raises:
            UsageError: the package swift-f0 is not installed.
        """
        found = _network(self.threads).detect(wave_of(recording), RATE, LOWEST_HZ, HIGHEST_HZ)
        voiced = np.asarray(found.confidence) >= _VOICED
        return np.where(voiced, np.asarray(found.pitch_hz, dtype=np.float64), 0.0)


def intonation(original: Track, changed: Track) -> float:
    """rho_F0 of an utterance: see `pitch_correlation`.

    Args:
        original: pitch by frame in hertz, 0 where unvoiced, shape (frames,).
        changed: the same of the changed speech.

    Raises:
        AudioError: fewer than 10 frames are voiced in both, or a pitch does not move.

    Example:
        >>> track = 120 + 20 * np.sin(np.arange(60) / 5)
        >>> round(intonation(track, 2 * track), 6)
        1.0
    """
    found = pitch_correlation(original, changed)
    if found.rho is None:
        raise AudioError(
            f"{found.frames} frames are voiced before and after: too few, or with a pitch that does"
            " not move, for a correlation"
        )
    return found.rho


def intonation_rows(
    system: str, utterances: Sequence[Utterance], correlations: Sequence[float]
) -> tuple[Quality, ...]:
    """Mean rho_F0 of a system.

    Args:
        system: whose.
        utterances: what was compared with its original.
        correlations: of each.

    Example:
        >>> ann = [Utterance("a1", Path("a1"), "ann")]
        >>> intonation_rows("mcadams", ann, [0.75])[0].value.value
        0.75
    """
    return ratio_rows(system, "f0-correlation", "", utterances, correlations)


@lru_cache(maxsize=2)
def _network(threads: int) -> Any:
    module = load_extra("swift_f0", "pitch tracks", "swift-f0")
    # Threads that wait must not take the processor from others.
    return module.SwiftF0(threads=threads, spin=False)
