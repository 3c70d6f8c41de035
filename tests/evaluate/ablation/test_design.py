from __future__ import annotations

import pytest

from sordino.errors import UsageError
from sordino.evaluate.ablation.design import Choice, variants

STRATEGIES = [Choice("density"), Choice("average", {"candidates": 20})]
PROSODIES = [Choice("normalise"), Choice("copy"), Choice("flatten")]


def test_one_factor_at_a_time() -> None:
    found = variants(["a", "models/b"], STRATEGIES, PROSODIES)
    assert [variant.label for variant in found] == [
        "a, density, normalise",
        "b, density, normalise",
        "a, average candidates 20, normalise",
        "a, density, copy",
        "a, density, flatten",
    ]
    assert found[1].settings == {
        "voice": "models/b",
        "strategy": "density",
        "prosody": "normalise",
    }
    assert found[2].settings["candidates"] == 20


def test_all_combinations() -> None:
    found = variants(["a", "b"], STRATEGIES, PROSODIES, {"window": 2}, full=True)
    assert len({variant.label for variant in found}) == 12
    assert all(variant.settings["window"] == 2 for variant in found)


def test_what_is_not_given_is_left_to_the_system() -> None:
    (only,) = variants(["a"])
    assert (only.label, only.settings) == ("a", {"voice": "a"})


def test_what_is_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="'a' is given twice"):
        variants(["a", "deep/a"])
    with pytest.raises(UsageError, match="setting candidates is given twice"):
        variants(["a"], STRATEGIES, common={"candidates": 3})
    with pytest.raises(UsageError, match="at least one voice"):
        variants([])
