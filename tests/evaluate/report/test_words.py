import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.evaluate.report.words import (
    columns_of,
    counted,
    figure,
    scenario_meaning,
    scenario_name,
    shortened,
    with_interval,
)
from sordino.evaluate.results import Measure


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0449, "%", "4.5 %"),
        (0.0, "%", "0.0 %"),
        (0.0004, "%", "below 0.1 %"),
        (0.0005, "%", "0.1 %"),
        (1.2, "%", "120.0 %"),
        (None, "%", "n/a"),
        (math.nan, "%", "n/a"),
        (math.inf, "", "infinite"),
        (-math.inf, "dB", "minus infinite dB"),
        (-0.04, "dB", "0.0 dB"),
        (3.126, "MOS", "3.13"),
        (38.04, "x", "38.0x"),
        (-0.25, "LU", "-0.2 LU"),
        (0.0123, "s", "0.012 s"),
    ],
)
def test_figures(value, unit, text):
    assert figure(value, unit).replace("\u00a0", " ") == text


@pytest.mark.parametrize(
    ("measure", "unit", "text"),
    [
        (Measure(0.1, 0.05, 0.2), "%", "10.0 % (5.0 to 20.0)"),
        (Measure(0.1), "%", "10.0 %"),
        (Measure(0.1, 0.05, None), "%", "10.0 %"),
        (Measure(None, 0.1, 0.2), "%", "n/a"),
        (None, "%", "n/a"),
        (Measure(-1.0, -math.inf, 0.1), "dB", "-1.0 dB (minus infinite to 0.1)"),
    ],
)
def test_intervals(measure, unit, text):
    assert with_interval(measure, unit).replace("\u00a0", " ") == text


def test_intervals_are_not_parted_at_the_end_of_a_line():
    assert " " not in with_interval(Measure(0.1, 0.05, 0.2))


@given(st.text(), st.integers(3, 40))
def test_shortened_text_fits_and_keeps_its_ends(text, width):
    short = shortened(text, width)
    assert columns_of(short) <= width
    if short == text:
        assert columns_of(text) <= width
    else:
        assert columns_of(text) > width
        # One of the places where it could have been cut; the text may hold dots itself.
        assert any(
            short[place : place + 3] == "..."
            and text.startswith(short[:place])
            and text.endswith(short[place + 3 :])
            for place in range(len(short) - 2)
        )


def test_a_short_text_stays_whole():
    assert shortened("abc", 3) == "abc"
    assert shortened("abcdefghij", 9) == "abc...hij"


def test_plurals():
    assert counted(0, "speaker") == "0 speakers"
    assert counted(1234567, "trial") == "1,234,567 trials"


@pytest.mark.parametrize("scenario", ["OO", "OA", "AA-lazy", "AA-semi-informed", "OR", "given"])
def test_every_scenario_has_a_name_and_a_meaning(scenario):
    assert scenario_name(scenario) != scenario or scenario == "given"
    assert len(scenario_meaning(scenario)) > len(scenario_name(scenario))
