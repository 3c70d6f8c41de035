import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.evaluate.report.charts.svg import Scale, corners, label, legend, marker, ticks


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 9))
def test_ticks_are_round_inside_and_not_too_many(low, span, most):
    high = low + span
    found = ticks(low, high, most)
    assert len(found) <= most
    slack = 1e-6 * max(1.0, abs(low), abs(high))
    assert all(low - slack <= tick <= high + slack for tick in found)
    assert found == sorted(set(found))


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 0.5, [0, 0.1, 0.2, 0.3, 0.4, 0.5]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3.2, 8, [-2, 0, 2, 4, 6, 8]),
        (0.5, 1.0, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
    ],
)
def test_ticks(low, high, expected):
    assert ticks(low, high) == pytest.approx(expected)


def test_a_scale_bends_and_stays_inside():
    scale = Scale(1, 100, 0, 200, math.log)
    assert scale(10) == pytest.approx(100)
    assert (scale(0.1), scale(1e9)) == (0, 200)


@given(st.lists(st.tuples(st.floats(0, 480), st.floats(0, 480)), min_size=1, max_size=300))
def test_short_paths_end_where_they_should(points):
    x = y = 0.0
    for step in corners(points).replace("M", " ").replace("l", " L").split(" L"):
        across, down = map(float, step.split())
        x, y = x + across, y + down
    assert (x, y) == pytest.approx((points[-1][0], points[-1][1]), abs=0.051)


def test_all_looks_differ_without_colour():
    shapes = {marker(10, 10, series).split("class")[0] for series in range(6)}
    assert len(shapes) == 6
    rows, bottom = legend([f"name {number}" for number in range(6)], 0)
    dashes = {part.split('"')[0] for part in rows.split('stroke-dasharray="')[1:]}
    assert len(dashes) == 5  # and one whole line
    assert bottom == 108


def test_a_long_label_is_cut_in_the_middle_and_whole_in_its_tip():
    text = label(0, 0, "a" * 50 + "b" * 50, room=20)
    assert f"<title>{'a' * 50 + 'b' * 50}</title>" in text
    assert "aaaaaaaaa...bbbbbbbb<" in text
