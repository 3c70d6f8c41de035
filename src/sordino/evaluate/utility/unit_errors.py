"""How many units are lost, beside what a faint noise and other words would lose."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, cycle, islice

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.corpus.draws import digest
from sordino.corpus.utterance import Utterance
from sordino.dsp.sequences import normals
from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import Statistic
from sordino.evaluate.metrics.ordered import Weights
from sordino.evaluate.metrics.ratio import WeightedRatio
from sordino.evaluate.results import Quality
from sordino.evaluate.utility.groups import Places, grouped_rows
from sordino.evaluate.utility.wave import RATE, wave_of
from sordino.evaluate.utility.wording import language_of

Spelling = Sequence[int]

# Of the power of speech to that of the noise. At 30 dB a recogniser lost half a word in 100 more.
_RATIO_DB = 30.0
_LEVEL_DB = -3.0


def unit_distance(original: Spelling, heard: Spelling) -> int:
    """How many units have to be replaced, added or removed: the Levenshtein distance.

    Args:
        original: units of the original; see `UnitListener`.
        heard: those of the changed speech.

    Raises:
        UsageError: the package rapidfuzz is not installed.

    Example:
        >>> unit_distance([7, 3, 9, 3], [7, 9, 4])
        2
    """
    try:
        from rapidfuzz.distance import Levenshtein
    except ImportError:
        raise UsageError(
            "unit error rates need the package rapidfuzz: pip install 'sordino[evaluate]'"
        ) from None
    return int(Levenshtein.distance(original, heard))


def with_faint_noise(recording: Recording) -> Recording:
    """A recording with a change that costs no words: white noise 30 dB below it, and 3 dB less.

    Args:
        recording: of any rate, length and number of channels.

    Returns:
        One channel at 16 kHz. The same recording always gets the same noise.

    Example:
        >>> tone = np.sin(np.arange(16000) / 9)[None].astype(np.float32)
        >>> level = np.square(with_faint_noise(Recording(tone, 16000)).samples).mean()
        >>> round(float(10 * np.log10(level / np.square(tone).mean())), 2)
        -3.0
    """
    wave = wave_of(recording).astype(np.float64)
    seed = int.from_bytes(hashlib.sha256(wave.astype("<f4").tobytes()).digest()[:8], "big")
    level = math.sqrt(float(np.mean(np.square(wave)))) * 10 ** (-_RATIO_DB / 20)
    noisy = wave + level * normals(0, wave.size, seed)
    return Recording((10 ** (_LEVEL_DB / 20) * noisy)[None].astype(np.float32), RATE)


def of_others(utterances: Sequence[Utterance], units: Sequence[Spelling]) -> list[Spelling | None]:
    """What somebody else says in as many units: the worst that a system can do.

    Args:
        utterances: which.
        units: of each.

    Returns:
        For each utterance as many units as it has, of the utterances that follow it in a fixed
        order of all those in its language, without those of the same text; from the first of them
        again where they are too short. None where there are none.

    Example:
        >>> said = [Utterance(name, Path(name), name, language="en") for name in "abc"]
        >>> of_others(said, [(1, 2, 1), (3,), (4, 5)])
        [[3, 4, 5], [4], [1, 2]]
        >>> of_others(said[:1], [(1, 2)])
        [None]
    """
    texts = [_compared(utterance.text) for utterance in utterances]
    groups: dict[str | None, list[int]] = defaultdict(list)
    for place in sorted(range(len(units)), key=lambda place: digest(0, utterances[place].id)):
        groups[language_of(utterances[place].language)].append(place)
    found: list[Spelling | None] = [None] * len(units)
    for group in groups.values():
        for number, place in enumerate(group):
            others = (group[(number + step) % len(group)] for step in range(1, len(group)))
            text = texts[place]
            stream = chain.from_iterable(
                units[other] for other in others if text is None or texts[other] != text
            )
            wanted = len(units[place])
            if taken := list(islice(stream, wanted)):
                found[place] = list(islice(cycle(taken), wanted))
    return found


def unit_rows(
    system: str, utterances: Sequence[Utterance], errors: npt.ArrayLike, lengths: npt.ArrayLike
) -> tuple[Quality, ...]:
    """Unit error rates of a system: for all, each language, each speaker, each corpus.

    A rate is of all errors to all units, so that long utterances weigh more, as with words.

    Args:
        system: whose.
        utterances: what was heard.
        errors: see `unit_distance`, of each.
        lengths: units of each original.

    Example:
        >>> ann = [Utterance(name, Path(name), "ann", corpus="vctk") for name in ("a1", "a2")]
        >>> for row in unit_rows("mcadams", ann, [3, 4], [10, 4]):
        ...     print(row.measure, row.group, row.value.value)
        uer all 0.5
        uer speaker: ann 0.5
        uer corpus: vctk 0.5
    """
    return _rows(system, "uer", utterances, errors, lengths)


def ceiling_rows(
    system: str, utterances: Sequence[Utterance], errors: npt.ArrayLike, lengths: npt.ArrayLike
) -> tuple[Quality, ...]:
    """The same of units of other utterances; see `of_others` and `unit_rows`."""
    return _rows(system, "uer-others", utterances, errors, lengths)


def loss_rows(
    system: str,
    utterances: Sequence[Utterance],
    errors: npt.ArrayLike,
    floors: npt.ArrayLike,
    ceilings: npt.ArrayLike,
) -> tuple[Quality, ...]:
    """Units that are lost, between what faint noise and what other words would lose.

    It is 0 where a system costs as much as faint noise, 1 where nothing is left of what was said;
    a little below 0 where it costs less. Languages, and recordings with more or less noise in them,
    become comparable.

    Args:
        system: whose.
        utterances: what was heard.
        errors: see `unit_distance`, of each.
        floors: the same of the original with faint noise.
        ceilings: the same of other utterances.

    Example:
        >>> ann = [Utterance("a1", Path("a1"), "ann")]
        >>> loss_rows("mcadams", ann, [4], [2], [10])[0].value.value
        0.25
    """
    lost, floor, ceiling = (np.asarray(of, np.float64) for of in (errors, floors, ceilings))

    def of(places: Places) -> Statistic:
        def share(weights: Weights) -> float:
            room = float(weights @ (ceiling - floor)[places])
            return float(weights @ (lost - floor)[places]) / room if room > 0 else math.nan

        return share

    further = _corpora(utterances)
    return grouped_rows(system, "unit-loss", "%", utterances, of, further=further)


def _rows(
    system: str,
    measure: str,
    utterances: Sequence[Utterance],
    errors: npt.ArrayLike,
    lengths: npt.ArrayLike,
) -> tuple[Quality, ...]:
    parts, wholes = np.asarray(errors, np.float64), np.asarray(lengths, np.float64)

    def of(places: Places) -> Statistic:
        return WeightedRatio(parts[places], wholes[places])

    return grouped_rows(system, measure, "%", utterances, of, further=_corpora(utterances))


def _corpora(utterances: Sequence[Utterance]) -> dict[str, Places]:
    corpora = np.array([utterance.corpus or "" for utterance in utterances])
    return {
        f"corpus: {name}": np.flatnonzero(corpora == name) for name in sorted({*corpora} - {""})
    }


def _compared(text: str | None) -> str | None:
    """A text as it is compared with another; None where it is not known."""
    return " ".join(text.casefold().split()) or None if text else None
