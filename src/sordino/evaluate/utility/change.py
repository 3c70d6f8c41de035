"""How much longer or louder the speech has become."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sordino.audio.loudness import LoudnessMeter
from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.evaluate.results import Quality
from sordino.evaluate.utility.groups import ratio_rows


@dataclass(frozen=True)
class Change:
    """How an utterance differs from the original.

    Attributes:
        duration: in seconds; above 0 where it has become longer.
        loudness: in LU; above 0 where it has become louder.
    """

    duration: float
    loudness: float


def change_of(original: Recording, changed: Recording) -> Change:
    """Compare length and loudness (ITU-R BS.1770, see `LoudnessMeter`).

    Args:
        original: before.
        changed: after; the rate and number of channels may be others.

    Raises:
        AudioError: one of them is digital silence, so that it has no loudness.

    Example:
        >>> noise = np.random.default_rng(0).uniform(-0.2, 0.2, (1, 16000)).astype(np.float32)
        >>> change = change_of(Recording(noise, 16000), Recording(noise[:, :8000] / 2, 16000))
        >>> round(change.duration, 3), round(change.loudness, 1)
        (-0.5, -6.0)
    """
    before, after = _loudness(original, "original"), _loudness(changed, "changed")
    return Change(changed.duration - original.duration, after - before)


def change_rows(
    system: str, utterances: Sequence[Utterance], changes: Sequence[Change]
) -> tuple[Quality, ...]:
    """Mean changes of a system, with their signs.

    Args:
        system: whose.
        utterances: what was measured.
        changes: of each.

    Example:
        >>> ann = [Utterance("a1", Path("a1"), "ann")]
        >>> rows = change_rows("mcadams", ann, [Change(0.0, 0.5)])
        >>> [(row.measure, row.unit, row.value.value) for row in rows if row.group == "all"]
        [('duration-change', 's', 0.0), ('loudness-change', 'LU', 0.5)]
    """
    durations = [change.duration for change in changes]
    louder = [change.loudness for change in changes]
    return (
        *ratio_rows(system, "duration-change", "s", utterances, durations),
        *ratio_rows(system, "loudness-change", "LU", utterances, louder),
    )


def _loudness(recording: Recording, which: str) -> float:
    meter = LoudnessMeter(recording.sample_rate)
    meter.add(recording.samples)
    loudness = meter.loudness()
    if not math.isfinite(loudness):
        raise AudioError(f"the {which} speech is digital silence and has no loudness")
    return loudness
