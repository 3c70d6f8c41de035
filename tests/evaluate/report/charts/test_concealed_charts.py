"""Charts of concealment draw what they are given, where it should be."""

from __future__ import annotations

import math
from xml.etree import ElementTree as ET

import pytest

from sordino.conceal.bounds import eer_at_least
from sordino.evaluate.report.charts.exposure import Exposure, exposure_chart
from sordino.evaluate.report.charts.sweep import Swept, sweep_chart
from sordino.evaluate.results import Measure

SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314


def texts(drawing: ET.Element) -> list[str]:
    return [(element.text or "").replace("\u00a0", " ") for element in drawing.iter(f"{SVG}text")]


def circles(drawing: ET.Element, kind: str) -> list[tuple[float, float]]:
    return [
        (float(one.get("cx")), float(one.get("cy")))
        for one in drawing.iter(f"{SVG}circle")
        if one.get("class") == f"{kind} s0" and len(one)
    ]


def test_better_hidden_is_lower_and_better_verified_further_left():
    ways = [
        Exposure("mine", Measure(0.05), Measure(0.6), Measure(0.8, 0.7, 0.9)),
        Exposure("unknown", Measure(None), Measure(0.6), Measure(0.7)),
    ]
    drawing = parsed(exposure_chart("Exposure", ways, "AUC"))
    ((x, ignorant),) = circles(drawing, "ring")
    ((same, informed),) = circles(drawing, "m")
    assert x == same
    assert informed < ignorant  # higher on the page
    # 0.5 to 1 over 360 units: 0.2 is 144 of them.
    assert ignorant - informed == pytest.approx(144, abs=0.2)
    assert {"1 mine", "2 unknown", "a guess", "AUC"} <= set(texts(drawing))
    (bar,) = (one for one in drawing.iter(f"{SVG}line") if one.get("class") == "bar s0")
    assert float(bar.get("y1")) - float(bar.get("y2")) == pytest.approx(144, abs=0.2)


def test_an_accuracy_of_many_values_starts_at_its_guess():
    way = Exposure("mine", Measure(0.1), Measure(0.25), Measure(0.5))
    drawing = parsed(exposure_chart("Exposure", [way], "balanced accuracy", 0.25))
    ((_, ignorant),) = circles(drawing, "ring")
    guide = next(one for one in drawing.iter(f"{SVG}line") if one.get("class") == "guide")
    assert float(guide.get("y1")) == pytest.approx(ignorant, abs=0.1)


def sweep(points, **more):
    return parsed(
        sweep_chart(
            "Sweep",
            [Swept("mine", points)],
            ("epsilon", "EER"),
            unit="%",
            ends=(0.0, 0.5),
            guess=0.5,
            **more,
        )
    )


def test_no_noise_stands_apart_at_the_right():
    drawing = sweep([(5.0, Measure(0.4)), (10.0, Measure(0.2)), (math.inf, Measure(0.1))])
    first, second, last = circles(drawing, "m")
    assert first[0] < second[0] < last[0] - 40
    assert first[1] < second[1] < last[1]
    assert {"5", "10", "no noise", "a guess"} <= set(texts(drawing))
    # The line does not lead to where there is no noise.
    (curve,) = (
        one
        for one in drawing.iter(f"{SVG}path")
        if one.get("class") == "s0" and one.get("d").startswith(f"M{first[0]:g}")
    )
    assert curve.get("d").count("l") == 1


def test_the_least_possible_error_is_drawn_as_theory_has_it():
    drawing = sweep(
        [(1.0, Measure(0.4)), (4.0, Measure(0.2))], bound=("least possible", eer_at_least)
    )
    lines = [one for one in drawing.iter(f"{SVG}line") if one.get("class") == "axis"]
    assert len(lines) == 60
    (start, _) = circles(drawing, "m")
    # 0.4 lies as far above 0 as 0.269 times 0.4 / 0.269.
    zero = max(float(one.get("y1")) for one in drawing.iter(f"{SVG}line"))
    height = zero - start[1]
    assert zero - float(lines[0].get("y1")) == pytest.approx(
        height * eer_at_least(1.0) / 0.4, abs=0.3
    )
    assert "least possible" in texts(drawing)


def test_one_point_and_points_without_a_figure():
    drawing = sweep([(5.0, Measure(None)), (15.0, Measure(0.3, 0.2, 0.4))])
    assert len(circles(drawing, "m")) == 1
    assert sweep([(math.inf, Measure(0.3))]) is not None
    crowded = [(float(e), Measure(0.3)) for e in range(1, 80)]
    shown = [text for text in texts(sweep(crowded)) if text.isdecimal()]
    assert 5 < len(shown) < 20
    assert shown[0] == "79"
