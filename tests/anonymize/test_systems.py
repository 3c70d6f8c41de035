from __future__ import annotations

import inspect
import json
import subprocess
import sys

import pytest

import sordino
from sordino.anonymize.base import Anonymizer
from sordino.anonymize.mcadams import McAdams
from sordino.anonymize.systems import SYSTEMS, load
from sordino.errors import UsageError
from tests.systems import make


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_system_says_what_it_is(name: str) -> None:
    system = SYSTEMS[name]
    assert issubclass(system, Anonymizer)
    assert system.name == name
    assert system.version >= 1
    assert system.protection.endswith(".")
    assert "\n" not in system.protection


@pytest.mark.parametrize("name", SYSTEMS)
def test_each_system_tells_all_its_settings(name: str) -> None:
    system = make(name)
    assert type(system) is SYSTEMS[name]
    assert set(system.parameters()) == set(inspect.signature(SYSTEMS[name]).parameters)
    assert json.loads(json.dumps(dict(system.parameters()))) == dict(system.parameters())


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_can_be_made_again_from_its_parameters(name: str) -> None:
    parameters = make(name).parameters()
    set_ones = {key: value for key, value in parameters.items() if value is not None}
    assert load(name, **set_ones).parameters() == parameters


def test_settings_reach_the_system() -> None:
    system = load("mcadams", alpha=0.8, level="utterance")
    assert isinstance(system, McAdams)
    assert system.parameters() == {
        "alpha": 0.8,
        "low": None,
        "high": None,
        "level": "utterance",
    }


@pytest.mark.parametrize("name", ["", "McAdams", "Neural", "mcadams "])
def test_an_unknown_system_is_refused_with_those_that_exist(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(name)
    assert str(caught.value) == f"there is no system {name!r}; there are: {', '.join(SYSTEMS)}"


@pytest.mark.parametrize("setting", ["alhpa", "self", "name"])
def test_an_unknown_setting_is_refused_with_those_that_exist(setting: str) -> None:
    message = rf"^mcadams has no setting '{setting}'; it has: alpha, low, .*level$"
    with pytest.raises(UsageError, match=message):
        load("mcadams", **{setting: 0.8})


def test_a_setting_of_another_system_is_refused_with_its_name() -> None:
    with pytest.raises(UsageError, match=r"^neural has no setting 'alpha', .* mcadams has"):
        load("neural", alpha=0.8)


def test_the_default_needs_nothing() -> None:
    default = sordino.load()
    assert default.parameters() == load("neural", voice="sordino-small").parameters()
    assert default.parameters()["voice"] == "sordino-small"
    assert sordino.load(prosody="flatten").parameters()["prosody"] == "flatten"


def test_the_package_loads_systems_too() -> None:
    assert sordino.load("mcadams", alpha=0.7).parameters()["alpha"] == 0.7
    with pytest.raises(UsageError, match=r"^there is no system"):
        sordino.load("nothing")


def test_importing_the_package_loads_nothing_heavy() -> None:
    script = "import sys, sordino; sys.exit(any(m in sys.modules for m in ('numpy', 'scipy')))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
