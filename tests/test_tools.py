"""The scripts in tools/ that draw from results, without what only they need."""

from __future__ import annotations

import csv
import importlib.util
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.evaluate.report.evaluations import SYSTEMS, realistic

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def tradeoff() -> Iterator[ModuleType]:
    path = Path(__file__).parents[1] / "tools" / "make_tradeoff.py"
    spec = importlib.util.spec_from_file_location("make_tradeoff", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Data classes look their module up by its name.
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


def markers(svg: str) -> int:
    """Marks in the panels and the legend that are those of systems."""
    root = ET.fromstring(svg)  # noqa: S314
    return sum(element.get("class", "").startswith("m s") for element in root.iter())


def test_every_system_has_a_point_for_each_attacker(tradeoff, tmp_path) -> None:
    (tmp_path / "results.json").write_text(realistic().to_json())
    points = tradeoff.read_points(tmp_path / "results.json")
    assert [point.name for point in points] == ["original", *SYSTEMS]
    assert points[0].errors.keys() == {"OO"}
    for point, (_, *errors) in zip(points[1:], SYSTEMS.values(), strict=True):
        found = [point.errors[scenario].value for scenario in tradeoff.PANELS]
        assert found == pytest.approx(errors, abs=0.12)
        assert point.words.value is not None
    drawn = tradeoff.drawing(points, "words & <more>")
    assert markers(drawn) == len(SYSTEMS) * (1 + len(tradeoff.PANELS))
    assert "words &amp; &lt;more&gt;" in drawn
    assert len(drawn) < 50_000


def test_a_table_and_chosen_systems(tradeoff, tmp_path) -> None:
    row = {
        "EER original": 0.03,
        "word errors": 0.2,
        "word errors low": 0.1,
        "word errors high": 0.3,
    }
    row |= {"EER ignorant": 0.4, "EER lazy": 0.3, "EER lazy low": 0.2, "EER lazy high": 0.35}
    rows = [{"system": name, **row} for name in ("original", "one", "two")]
    with (tmp_path / "ablation.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    points = tradeoff.read_points(tmp_path / "ablation.csv")
    assert points[1].errors["AA-lazy"].high == 0.35
    assert points[1].errors["AA-semi-informed"].value is None
    several = tradeoff.joined([points, points])
    assert [point.name for point in several] == ["original", "one", "two"]
    chosen = tradeoff.chosen(several, {"two": "a second one"})
    assert [point.name for point in chosen] == ["original", "a second one"]
    # Two of three attackers were measured, and there is the legend.
    assert markers(tradeoff.drawing(chosen, "words")) == 3
    with pytest.raises(SystemExit, match="there is no system 'three'; there are: original; one"):
        tradeoff.chosen(points, {"three": "three"})
