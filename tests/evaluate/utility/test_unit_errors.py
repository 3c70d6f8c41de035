from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.utility.unit_errors import (
    ceiling_rows,
    loss_rows,
    of_others,
    unit_distance,
    unit_rows,
    with_faint_noise,
)

UNITS = st.lists(st.integers(0, 5), max_size=12)


def said(name: str, **known: str) -> Utterance:
    return Utterance(name, Path(name), known.pop("speaker", name), **known)


def plain_distance(first: list[int], second: list[int]) -> int:
    """By the textbook's table."""
    row = list(range(len(second) + 1))
    for number, unit in enumerate(first, 1):
        before, row[0] = row[0], number
        for place, other in enumerate(second, 1):
            before, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, before + (unit != other)),
            )
    return row[-1]


@settings(max_examples=40)
@given(UNITS, UNITS)
def test_the_distance_is_the_textbooks(first, second) -> None:
    assert unit_distance(first, second) == plain_distance(first, second)


@settings(max_examples=40)
@given(UNITS, UNITS, st.permutations(range(6)))
def test_what_units_are_called_does_not_matter(first, second, names) -> None:
    renamed = [[names[unit] for unit in units] for units in (first, second)]
    assert unit_distance(*renamed) == unit_distance(first, second)


@pytest.mark.parametrize(
    ("heard", "distance"),
    [
        ([1, 2, 3, 4], 0),
        ([1, 2, 4], 1),
        ([1, 9, 3, 4], 1),
        ([1, 2, 9, 3, 4, 8], 2),
        ([5, 6, 7, 8], 4),
        ([], 4),
    ],
)
def test_distances_by_hand(heard, distance) -> None:
    assert unit_distance([1, 2, 3, 4], heard) == distance


def test_a_missing_package_is_named(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rapidfuzz.distance", None)
    with pytest.raises(UsageError, match="unit error rates need the package rapidfuzz"):
        unit_distance([1], [2])


def test_the_noise_is_as_faint_as_it_says(speech_like) -> None:
    samples = speech_like(16_000, 2.0)
    changed = with_faint_noise(Recording(samples, 16_000)).samples
    noise = changed / 10 ** (-3 / 20) - samples
    ratio = 10 * np.log10(np.mean(np.square(samples)) / np.mean(np.square(noise)))
    assert ratio == pytest.approx(30, abs=0.1)
    # White: as strong in the upper half of the band as in the lower.
    bands = np.square(np.abs(np.fft.rfft(noise[0])))
    lower, upper = bands[: bands.size // 2].sum(), bands[bands.size // 2 :].sum()
    assert upper / lower == pytest.approx(1, abs=0.1)


def test_the_same_recording_gets_the_same_noise(speech_like) -> None:
    samples = speech_like(16_000, 0.5)
    first, again = (with_faint_noise(Recording(samples.copy(), 16_000)).samples for _ in "ab")
    assert np.array_equal(first, again)
    other = with_faint_noise(Recording(samples + np.float32(1e-4), 16_000)).samples
    assert not np.allclose(other - first, 1e-4 * 10 ** (-3 / 20), atol=1e-5)
    stereo = with_faint_noise(Recording(np.repeat(samples, 2, axis=0), 16_000))
    assert stereo.samples == pytest.approx(first, abs=1e-6)


def test_others_speak_the_same_language_and_say_something_else() -> None:
    utterances = [
        said("a", language="en", text="Good morning"),
        said("b", language="en-GB", text="good  MORNING"),
        said("c", language="en", text="Good night"),
        said("d", language="de", text="Good night"),
        said("e"),
        said("f", text="Good morning"),
    ]
    units = [(1, 2, 3, 4, 5), (6, 7), (8, 9), (10,), (11, 12), (13,)]
    found = of_others(utterances, units)
    # Of the same text, or alone in their language: nothing to compare with.
    assert found[:2] == [[8, 9, 8, 9, 8], [8, 9]]
    assert found[2] in ([1, 2], [6, 7])
    assert found[3] is None
    assert found[4:] == [[13, 13], [11]]


def test_others_do_not_depend_on_the_order() -> None:
    utterances = [said(f"u{number}") for number in range(9)]
    units = [tuple(range(10 * number, 10 * number + number + 1)) for number in range(9)]
    found = of_others(utterances, units)
    back = of_others(utterances[::-1], units[::-1])[::-1]
    assert found == back
    for own, other in zip(units, found, strict=True):
        assert len(other) == len(own)
        assert not set(own) & set(other)


def test_rates_are_of_all_errors_to_all_units_by_group() -> None:
    utterances = [
        said("a", speaker="x", language="en", corpus="vctk"),
        said("b", speaker="x", language="en", corpus="other"),
        said("c", speaker="y", language="de"),
    ]
    rows = unit_rows("m", utterances, [1, 2, 9], [10, 10, 10])
    assert {row.group: round(row.value.value, 3) for row in rows} == {
        "all": 0.4,
        "language: de": 0.9,
        "language: en": 0.15,
        "speaker: x": 0.15,
        "speaker: y": 0.9,
        "corpus: other": 0.2,
        "corpus: vctk": 0.1,
    }
    assert {(row.measure, row.unit, row.system) for row in rows} == {("uer", "%", "m")}
    above = ceiling_rows("original", utterances, [10, 10, 10], [10, 10, 10])
    assert {(row.measure, row.value.value) for row in above} == {("uer-others", 1.0)}


def test_what_is_lost_lies_between_floor_and_ceiling() -> None:
    utterances = [said(name) for name in "abc"]

    def lost(errors: list[int]) -> float:
        rows = loss_rows("m", utterances, errors, [1, 2, 3], [10, 20, 12])
        return next(row.value.value for row in rows if row.group == "all")

    assert lost([1, 2, 3]) == 0
    assert lost([10, 20, 12]) == 1
    # 6 + 18 above a floor of 6; there are 36 between floor and ceiling.
    assert lost([4, 20, 0]) == pytest.approx(18 / 36)
    assert lost([0, 0, 0]) == pytest.approx(-6 / 36)
    (row, *_) = loss_rows("m", utterances, [1, 2, 3], [5, 5, 5], [5, 5, 5])
    assert row.value.value is None
    assert loss_rows("m", [], [], [], []) == ()
