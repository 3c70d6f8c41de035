"""The pictures of an evaluation of concealers."""

from __future__ import annotations

import importlib
import xml.etree.ElementTree as ET
from pathlib import Path

from sordino.evaluate.concealment.run import evaluate_concealment
from sordino.evaluate.concealment.settings import Settings
from sordino.evaluate.concealment.ways import Way
from tests.evaluate.concealment_of import Noise
from tests.evaluate.embeddings_of import made, table_of

SVG = "{http://www.w3.org/2000/svg}"


def test_one_for_the_trade_off_and_two_for_a_sweep(monkeypatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "tools"))
    tool = importlib.import_module("make_concealment")
    vectors = made(20, 3, dimension=6)
    ways = [
        Way("mine", (Noise(0.5),), mechanism="gaussian"),
        *(
            Way("swept", (Noise(1 / e, epsilon=e),), mechanism="hope", sweep="epsilon")
            for e in (30.0, 60.0)
        ),
    ]
    linear = ("logistic-regression",)
    settings = Settings(linear, linear, folds=2, copies=1, draws=100)
    results = evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, settings)
    drawn = [ET.fromstring(text) for text in tool.pictures(results)]  # noqa: S314
    assert [picture.tag for picture in drawn] == [f"{SVG}svg"] * 3
    assert all(picture.find(f"{SVG}style") is not None for picture in drawn)
    words = " ".join("".join(picture.itertext()) for picture in drawn)
    assert "mine" in words
    assert "swept, both sides" in words
