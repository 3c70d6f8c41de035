from __future__ import annotations

import subprocess
import sys

import pytest

import sordino.privacy
from sordino.privacy.mechanisms.gaussian import Gaussian
from sordino.privacy.mechanisms.laplace import Laplace
from sordino.privacy.mechanisms.privunit import PrivUnit, PrivUnitG


@pytest.mark.parametrize("mechanism", [Gaussian, Laplace, PrivUnit, PrivUnitG])
def test_mechanisms_have_short_names(mechanism: type) -> None:
    assert getattr(sordino.privacy, mechanism.__name__) is mechanism


def test_every_public_name_is_there() -> None:
    for name in sordino.privacy.__all__:
        assert getattr(sordino.privacy, name).__name__ == name
        assert name in dir(sordino.privacy)


def test_other_names_are_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Exponential'"):
        _ = sordino.privacy.Exponential


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import sordino.privacy", {"numpy", "scipy", "sqlite3"}),
        ("from sordino.privacy import Laplace; Laplace(clip=1, epsilon=1)", {"scipy", "sqlite3"}),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str, absent: set[str]) -> None:
    found = subprocess.run(
        [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert absent & set(found.stdout.split()) == set()
