"""From figures of utterances to figures of a system, by language and by speaker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import Statistic, bootstrap_over_speakers
from sordino.evaluate.metrics.ratio import WeightedRatio
from sordino.evaluate.results import ALL, Measure, Quality

Places = npt.NDArray[np.int64]


def ratio_rows(
    system: str,
    measure: str,
    unit: str,
    utterances: Sequence[Utterance],
    parts: npt.ArrayLike,
    wholes: npt.ArrayLike | None = None,
) -> tuple[Quality, ...]:
    """Rows of a figure that is a ratio of sums, or a mean: for all, each language, each speaker.

    Args:
        system: whose.
        measure: a name of `Quality.measure`.
        unit: its unit.
        utterances: what was measured.
        parts: of each utterance, such as errors, shape (utterances,).
        wholes: of each utterance, such as words; 1 each where there are none: the figure is then
            the mean over utterances.

    Returns:
        None at all where there are no utterances. Utterances without a language are in no row for
        a language.

    Raises:
        UsageError: the lists do not fit together, or hold NaN or infinity.

    Example:
        >>> ann = [Utterance(name, Path(name), "ann", language="en") for name in ("a1", "a2")]
        >>> for row in ratio_rows("original", "wer", "%", ann, [1, 0], [4, 6]):
        ...     print(row.group, row.value.value)
        all 0.1
        language: en 0.1
        speaker: ann 0.1
    """
    numerators = np.asarray(parts, dtype=np.float64)
    denominators = np.ones(numerators.size) if wholes is None else np.asarray(wholes, np.float64)
    if len(utterances) != numerators.size:
        raise UsageError(f"there are {numerators.size} values of {len(utterances)} utterances")

    def of(places: Places) -> Statistic:
        return WeightedRatio(numerators[places], denominators[places])

    return grouped_rows(system, measure, unit, utterances, of)


def grouped_rows(
    system: str,
    measure: str,
    unit: str,
    utterances: Sequence[Utterance],
    statistic: Callable[[Places], Statistic],
    *,
    further: Mapping[str, Places] | None = None,
) -> tuple[Quality, ...]:
    """Rows of any figure: for all, each language, each speaker, and further groups.

    Intervals are over speakers; where a group has one speaker, or too few for an interval, there
    is none.

    Args:
        system: whose.
        measure: a name of `Quality.measure`.
        unit: its unit.
        utterances: what was measured.
        statistic: the figure of a group, from the places of its utterances in the list.
        further: more groups, by name, with the places of their utterances.

    Raises:
        UsageError: from `statistic`.
    """
    if not utterances:
        return ()
    speakers = np.array([utterance.speaker for utterance in utterances])
    languages = np.array([utterance.language or "" for utterance in utterances])
    groups = {ALL: np.arange(len(utterances))}
    groups |= _places("language", languages)
    groups |= _places("speaker", speakers)
    groups |= further or {}
    return tuple(
        Quality(
            system=system,
            measure=measure,
            unit=unit,
            group=name,
            value=_measured(statistic(places), speakers[places]),
            utterances=len(places),
            speakers=len(set(speakers[places])),
        )
        for name, places in groups.items()
    )


def _places(kind: str, labels: npt.NDArray[np.str_]) -> dict[str, Places]:
    found = [str(label) for label in np.unique(labels) if label]
    return {f"{kind}: {label}": np.flatnonzero(labels == label) for label in found}


def _measured(statistic: Statistic, speakers: npt.NDArray[np.str_]) -> Measure:
    value = statistic(np.ones(speakers.size, dtype=np.int64))
    if np.isnan(value):
        return Measure(None)
    if len(set(speakers)) < 2:
        return Measure(value)
    try:
        return Measure.of(bootstrap_over_speakers(statistic, speakers, speakers))
    except UsageError:  # too few speakers for an interval
        return Measure(value)
