from __future__ import annotations

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import Interval
from sordino.evaluate.results import (
    Attack,
    Attacker,
    AttributeAttack,
    Failure,
    Histogram,
    Identification,
    Measure,
    Privacy,
    Quality,
    Results,
    Similarity,
    System,
    WorstCase,
    read_results,
)

PRIVACY = Privacy(
    targets=3,
    nontargets=4,
    speakers=2,
    eer=Measure(0.25, 0.1, 0.4),
    eer_hull=Measure(0.2),
    min_dcf=Measure(1.0),
    cllr=Measure(math.inf),
    min_cllr=Measure(0.5),
    linkability=Measure(None),
    disclosure=Measure(0.1),
    worst=math.inf,
    category="F",
    det=((0.0, 1.0), (0.5, 0.25), (1.0, 0.0)),
    histogram=Histogram((0.0, 0.5, 1.0), (1, 2), (4, 0)),
)
FULL = Results(
    kind="anonymization",
    created="2026-01-02T03:04:05+00:00",
    version="1.2",
    command="sordino evaluate 'é 東京'",
    machine={"processors": "2"},
    data={"utterances": "7", "speakers": "2"},
    protocol={"seed": "0"},
    seconds=1.5,
    systems=(System("original", "as recorded"), System("mute", "a mute", "none")),
    attackers=(Attacker("cosine", "compares"),),
    attacks=(
        Attack("mute", "OA", "cosine", "all", PRIVACY),
        Attack(
            "mute",
            "OA",
            "cosine",
            "F-F",
            dataclasses.replace(PRIVACY, cllr=None),
            Identification((2, 5), (0.75, 0.5), (0.5, None), (0.5, 0.4096)),
        ),
    ),
    worst_cases=(WorstCase("mute", "OA", "cosine", "ann", 2, 1, None),),
    similarities=(
        Similarity(
            "mute",
            "cosine",
            ("a", "b"),
            ((1.0, 0.0), (0.0, 1.0)),
            ((0.5, 0.5), (0.5, 0.5)),
            ((1.0, 0.25), (0.25, 1.0)),
            Measure(-math.inf),
            Measure(1.0),
        ),
    ),
    qualities=(Quality("mute", "wer", "%", "all", Measure(0.1, 0.05, 0.2), 7, 2),),
    attributes=(
        AttributeAttack(
            "mute", "sex", "knn", "clean", 1, 9, 3, None, Measure(0.5), None, Measure(0.0)
        ),
    ),
    failures=(Failure("recognised words", "a.wav", "too short", "1 left out"),),
    notes=("One.", "Two."),
)


def test_all_comes_back():
    again = Results.from_json(FULL.to_json())
    assert again == FULL
    assert again.to_json() == FULL.to_json()
    assert isinstance(again.attacks[0].privacy.det[0], tuple)
    assert isinstance(again.attacks[0].privacy, Privacy)


def test_file_is_plain_json_that_any_tool_reads():
    content = json.loads(FULL.to_json(), parse_constant=pytest.fail)
    assert content["format"] == 1
    assert content["attacks"][0]["privacy"]["worst"] == "inf"
    assert content["similarities"][0]["distinctiveness"]["value"] == "-inf"
    assert content["attacks"][1]["identification"]["singled_out"] == [0.5, None]
    assert "東京" in FULL.to_json()


@given(
    st.one_of(st.none(), st.floats(allow_nan=False)),
    st.one_of(st.none(), st.floats(allow_nan=False)),
    st.text(),
)
def test_any_figure_and_any_text_come_back(value, low, text):
    quality = Quality("mute", "wer", "%", text, Measure(value, low), 1, 1)
    results = dataclasses.replace(FULL, qualities=(quality,), notes=(text,))
    assert Results.from_json(results.to_json()) == results


def test_whole_numbers_are_figures_too():
    content = json.loads(FULL.to_json())
    content["attacks"][0]["privacy"]["eer"]["value"] = 0
    eer = Results.from_json(json.dumps(content)).attacks[0].privacy.eer
    assert eer.value == 0.0
    assert isinstance(eer.value, float)


def test_a_measure_is_that_of_an_interval():
    assert Measure.of(Interval(0.2, 0.1, 0.3, 0.95, 9, 1)) == Measure(0.2, 0.1, 0.3)


def broken(change) -> str:
    content = json.loads(FULL.to_json())
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.pop("systems"),
        lambda content: content.update(more=1),
        lambda content: content.update(systems=3),
        lambda content: content.update(kind=4),
        lambda content: content["systems"][0].pop("what"),
        lambda content: content["attacks"][0]["privacy"].update(worst="much"),
        lambda content: content["attacks"][0]["privacy"].update(targets=1.5),
        lambda content: content["attacks"][0]["privacy"]["det"].append([0.1]),
        lambda content: content["attacks"][0].update(privacy=[]),
        lambda content: content["worst_cases"][0].update(eer=[]),
    ],
)
def test_damage_is_one_clear_error(change):
    with pytest.raises(UsageError, match="the results are damaged"):
        Results.from_json(broken(change))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '"format"', "{}", "null"])
def test_what_are_no_results(text):
    with pytest.raises(UsageError, match="these are not the results of an evaluation"):
        Results.from_json(text)


def test_another_format_is_named():
    with pytest.raises(UsageError, match="have format 2; this version reads 1"):
        Results.from_json(broken(lambda content: content.update(format=2)))


def test_files(tmp_path):
    path = tmp_path / "results.json"
    with pytest.raises(UsageError, match=r"results\.json: cannot be read: No such file"):
        read_results(path)
    path.write_text(FULL.to_json(), encoding="utf-8")
    assert read_results(path) == FULL
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="is not text in UTF-8"):
        read_results(path)
    path.write_text("{}")
    with pytest.raises(UsageError) as caught:
        read_results(path)
    assert str(caught.value).startswith(f"{path}: ")
