"""Each chart draws what it is given, where it should be."""

from __future__ import annotations

import re
from statistics import NormalDist
from xml.etree import ElementTree as ET

import pytest

from sordino.evaluate.report.charts.det import Curve, det_chart
from sordino.evaluate.report.charts.gauge import gauge_chart
from sordino.evaluate.report.charts.histogram import histogram_chart
from sordino.evaluate.report.charts.identification import Found, identification_chart
from sordino.evaluate.report.charts.intervals import Row, intervals_chart
from sordino.evaluate.report.charts.matrices import matrices_chart
from sordino.evaluate.report.charts.shares import shares_chart
from sordino.evaluate.report.charts.strip import Band, strip_chart
from sordino.evaluate.report.charts.tradeoff import Trade, tradeoff_chart
from sordino.evaluate.results import Histogram, Measure

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text):
    return ET.fromstring(text)  # noqa: S314


def texts(drawing):
    return [(element.text or "").replace("\u00a0", " ") for element in drawing.iter(f"{SVG}text")]


def points(path):
    """The corners of a path of `corners`, back in the chart's units."""
    x = y = 0.0
    found = []
    for step in re.findall(r"[Ml]([-\d.]+) ([-\d.]+)", path.get("d")):
        x, y = x + float(step[0]), y + float(step[1])
        found.append((x, y))
    return found


def test_gaussian_scores_are_a_straight_line_in_a_det_chart():
    # Miss and false alarm of scores that are 2 deviations apart, at many thresholds.
    normal = NormalDist()
    rates = [(1 - normal.cdf(t / 20), normal.cdf(t / 20 - 2)) for t in range(-20, 60)]
    drawing = parsed(det_chart("Errors", [Curve("a", rates[::-1])]))
    curve = max(drawing.iter(f"{SVG}path"), key=lambda path: len(points(path)))
    sums = [x - y for x, y in points(curve)]
    assert len(sums) > 30
    # Down by as much as across: both axes are alike, and the line falls by 45 degrees.
    falls = [y - x for x, y in points(curve)]
    assert max(falls) - min(falls) < 1.5


def test_a_curve_without_errors_is_named_and_not_drawn():
    drawing = parsed(det_chart("Errors", [Curve("perfect", [(0.0, 1.0), (0.0, 0.0), (1.0, 0.0)])]))
    assert any("no errors: off the chart" in text for text in texts(drawing))


def test_det_curves_are_thinned():
    many = [(place / 100_000, 1 - place / 100_000) for place in range(100_001)]
    assert len(det_chart("Errors", [Curve("a", many)])) < 12_000


def test_histograms_have_the_same_area_for_few_and_for_many_trials():
    drawing = parsed(histogram_chart("Scores", Histogram((0.0, 1.0, 2.0), (1, 1), (4000, 0))))
    lines = [path for path in drawing.iter(f"{SVG}path") if path.get("class") in {"s0", "s1"}]
    different, same = (min(y for _, y in points(path)) for path in lines)
    assert different < same
    assert 96 - same == pytest.approx((96 - different) / 2, abs=0.2)


def test_many_bins_are_merged_and_none_is_lost():
    bins = 199
    edges = tuple(float(place) for place in range(bins + 1))
    drawing = histogram_chart("Scores", Histogram(edges, (1,) * bins, (1,) * bins))
    assert len(drawing) < 6000
    assert 'class="s0"' in drawing


@pytest.mark.parametrize(
    "histogram", [Histogram((), (), ()), Histogram((1.0, 1.0), (1,), (1,))], ids=["none", "one"]
)
def test_scores_that_are_all_one_are_not_drawn(histogram):
    assert texts(parsed(histogram_chart("Scores", histogram))) == ["no scores to show"]


def test_intervals_lie_where_their_figures_are():
    rows = [Row("women", [(0, Measure(0.25, 0.1, 0.4))]), Row("men", [(0, Measure(None))])]
    drawing = parsed(intervals_chart("Errors", rows, ["x"]))
    (bar,) = (one for one in drawing.iter(f"{SVG}line") if "bar" in one.get("class"))
    (dot,) = drawing.iter(f"{SVG}circle")
    left, right, middle = float(bar.get("x1")), float(bar.get("x2")), float(dot.get("cx"))
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert middle == pytest.approx((14 + 336) / 2, abs=0.1)
    assert {"women", "men", "a guess", "25.0 % (10.0 to 40.0)", "n/a"} <= set(texts(drawing))


def test_figures_beyond_the_axis_make_it_longer():
    rows = [Row("a", [(0, Measure(0.7, 0.6, 0.8))])]
    assert "80 %" in texts(parsed(intervals_chart("Errors", rows, ["x"])))


def test_the_trade_off_puts_better_systems_to_the_top_left():
    trades = [
        Trade("bad", Measure(0.05, 0.02, 0.1), Measure(0.4, 0.3, 0.5)),
        Trade("good", Measure(0.45, 0.4, 0.5), Measure(0.05)),
        Trade("unknown", Measure(None), Measure(0.1)),
    ]
    drawing = parsed(tradeoff_chart("Trade-off", trades, "word errors"))
    tips = [title.text for title in drawing.iter(f"{SVG}title")]
    assert sum("attacker" in tip for tip in tips) == 2
    (bad,) = (dot for dot in drawing.iter(f"{SVG}circle") if len(dot))
    (good,) = (path for path in drawing.iter(f"{SVG}path") if len(path))
    x, y = points(good)[0]
    assert x < float(bad.get("cx"))
    assert y < float(bad.get("cy"))


def test_identification_falls_and_says_so_when_there_is_nothing_to_draw():
    curves = [Found("a", (1, 10, 100), (1.0, 0.8, None)), Found("a guess", (1, 10), (1.0, 0.1))]
    drawing = parsed(identification_chart("Found", curves, "found"))
    curve = next(path for path in drawing.iter(f"{SVG}path") if len(points(path)) == 2)
    assert points(curve)[0][1] <= points(curve)[1][1]
    assert {"1", "10", "100"} <= set(texts(drawing))
    nothing = parsed(identification_chart("Found", [Found("a", (1,), (1.0,))], "found"))
    assert "too few speakers to draw" in texts(nothing)


def test_shares_are_as_long_as_they_are_large():
    rows = [("anna", 1, 4, "; EER 5.0 %"), ("bo", 0, 0, "")]
    drawing = parsed(shares_chart("Recognised", rows))
    empty, full = list(drawing.iter(f"{SVG}rect"))[:2]
    assert float(full.get("width")) == pytest.approx(float(empty.get("width")) / 4, abs=0.1)
    assert "1 of 4; EER 5.0 %" in texts(drawing)
    assert "0 of 0" in texts(drawing)


def test_the_worst_speaker_is_named_and_every_speaker_has_a_dot():
    band = Band("mine", [("anna", 0.2), ("bo", 1.7), ("eve", 0.1)])
    drawing = parsed(strip_chart("Errors", [band, Band("none", [])]))
    assert "highest: bo, 170.0 %" in texts(drawing)
    tips = [title.text.replace("\u00a0", " ") for title in drawing.iter(f"{SVG}title")]
    assert tips[1:] == ["eve: 10.0 %", "anna: 20.0 %", "bo: 170.0 %"]


def test_matrices_are_pictures_with_names():
    rows = [[1.0, 0.0], [0.0, 1.0]]
    drawing = parsed(matrices_chart("Alike", [("before", rows), ("after", rows), ("none", [])]))
    assert len(list(drawing.iter(f"{SVG}image"))) == 3  # and the scale
    assert {"before", "after", "none", "surely one voice"} <= set(texts(drawing))


def test_the_gauge_shows_both_errors():
    bands = [(0.0, "hardly any"), (0.15, "weak")]
    drawing = parsed(gauge_chart("Error", Measure(0.25, 0.2, 0.3), Measure(0.05), bands))
    ring, dot = drawing.iter(f"{SVG}circle")
    assert float(ring.get("cx")) < float(dot.get("cx"))
    alone = parsed(gauge_chart("Error", Measure(None), None, bands))
    assert list(alone.iter(f"{SVG}circle")) == []
