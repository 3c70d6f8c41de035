from __future__ import annotations

import inspect
import json
import subprocess
import sys

import numpy as np
import pytest

from sordino.anonymize.pseudo import STRATEGIES, make_strategy
from sordino.anonymize.pseudo.base import Source, Strategy
from sordino.errors import UsageError
from tests.anonymize.pseudo.pools import OTHER_KEY, draws, pool

FEW: dict[str, dict[str, object]] = {
    "average": {"candidates": 20, "averaged": 10},
    "density": {"voices": 100},
    "orthogonal": {},
    "pool": {},
}
SOURCE = Source(np.random.default_rng(8).normal(size=24), "F")


@pytest.fixture(params=STRATEGIES)
def strategy(request: pytest.FixtureRequest) -> Strategy:
    return make_strategy(request.param, **FEW[request.param])


def test_all_are_there() -> None:
    assert set(STRATEGIES) == {"average", "density", "orthogonal", "pool"}
    for name, kind in STRATEGIES.items():
        assert kind.name == name


def test_a_choice_is_a_direction_in_double_precision(strategy: Strategy) -> None:
    found = strategy.choose(pool(), draws(), SOURCE)
    assert found.shape == (24,)
    assert found.dtype == np.float64
    assert np.linalg.norm(found) == pytest.approx(1, abs=1e-12)


def test_a_choice_is_the_same_again(strategy: Strategy) -> None:
    first = strategy.choose(pool(), draws(), SOURCE)
    strategy.choose(pool(), draws("bob"), SOURCE)
    again = make_strategy(strategy.name, **strategy.settings())
    np.testing.assert_array_equal(first, again.choose(pool(), draws(), SOURCE))


def test_a_choice_depends_on_the_key(strategy: Strategy) -> None:
    names = [f"speaker {number}" for number in range(20)]
    one = np.array([strategy.choose(pool(), draws(name), SOURCE) for name in names])
    two = np.array([strategy.choose(pool(), draws(name, key=OTHER_KEY), SOURCE) for name in names])
    assert (one == two).all(axis=1).mean() <= 0.2


def test_a_choice_depends_on_who_speaks_or_how(strategy: Strategy) -> None:
    sources = [Source(np.random.default_rng(n).normal(size=24), "F") for n in range(20)]
    found = [strategy.choose(pool(), draws(f"{n}"), source) for n, source in enumerate(sources)]
    assert len(np.unique(found, axis=0)) >= 10


def test_nothing_given_is_changed(strategy: Strategy) -> None:
    whole, vector = pool(), SOURCE.vector.copy()
    strategy.choose(whole, draws(), SOURCE)
    assert whole == pool()
    np.testing.assert_array_equal(vector, SOURCE.vector)


def test_a_source_is_needed_or_makes_no_difference(strategy: Strategy) -> None:
    if strategy.needs_source:
        with pytest.raises(UsageError, match="needs to know how the speaker sounds"):
            strategy.choose(pool(), draws(), None)
    else:
        np.testing.assert_array_equal(
            strategy.choose(pool(), draws(), None), strategy.choose(pool(), draws(), SOURCE)
        )


def test_settings_are_public_and_complete(strategy: Strategy) -> None:
    settings = strategy.settings()
    assert list(settings) == list(inspect.signature(type(strategy)).parameters)
    assert json.loads(json.dumps(dict(settings))) == dict(settings)


def test_another_process_gives_the_same() -> None:
    code = (
        "from tests.anonymize.pseudo.test_strategies import *\n"
        "for name in STRATEGIES:\n"
        "    found = make_strategy(name, **FEW[name]).choose(pool(), draws(), SOURCE)\n"
        "    print(found.tobytes().hex())\n"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == [
        make_strategy(name, **FEW[name]).choose(pool(), draws(), SOURCE).tobytes().hex()
        for name in STRATEGIES
    ]


@pytest.mark.parametrize(
    ("name", "settings", "women", "men", "message"),
    [
        ("average", {"candidates": 9, "averaged": 5}, 8, 8, "8 voices of .*, 9 are needed"),
        ("average", {"candidates": 9, "averaged": 5, "gender": "F"}, 8, 20, "8 voices of women"),
        ("average", {"candidates": 9, "averaged": 5, "gender": "any"}, 8, 20, ""),
        ("average", {"candidates": 9, "averaged": 5, "gender": "cross"}, 20, 8, ""),
        ("density", {}, 2, 2, "2 voices of .*, 3 are needed"),
        ("density", {"gender": "same"}, 2, 3, ""),
        ("pool", {"gender": "M"}, 5, 0, "0 voices of men, 1 are needed"),
        ("pool", {}, 5, 0, ""),
        ("orthogonal", {}, 1, 1, "2 voices, 3 are needed"),
        ("orthogonal", {}, 2, 1, ""),
    ],
)
def test_pools_from_which_nobody_gets_a_voice_are_refused(
    name: str, settings: dict[str, object], women: int, men: int, message: str
) -> None:
    strategy, few = make_strategy(name, **settings), pool(women, men)
    if not message:
        strategy.check(few)
        return
    with pytest.raises(UsageError, match=message):
        strategy.check(few)


def test_names_and_settings_that_do_not_exist_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        make_strategy("mean")
    assert str(caught.value) == (
        "there is no pseudo-speaker strategy 'mean'; there are: density, average, orthogonal, pool"
    )
    with pytest.raises(UsageError) as caught:
        make_strategy("density", candidates=3)
    assert str(caught.value) == (
        "pseudo-speaker strategy density has no setting 'candidates'; it has: gender, voices,"
        " spread"
    )
