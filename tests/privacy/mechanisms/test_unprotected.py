from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.privacy.mechanisms.unprotected import Unprotected


def test_vectors_are_clipped_and_nothing_is_added() -> None:
    x = [[3.0, -4.0], [0.1, 0.2]]
    assert np.allclose(Unprotected(clip=3.5).release(x), [[1.5, -2.0], [0.1, 0.2]])
    assert np.allclose(Unprotected(clip=2.5, norm="l2").release(x), [[1.5, -2.0], [0.1, 0.2]])


def test_it_says_so() -> None:
    mechanism = Unprotected(clip=1.0)
    assert mechanism.epsilon == math.inf
    assert mechanism.mean_squared_error(64) == 0
    assert mechanism.statement()["epsilon"] == "inf"
    assert mechanism.statement()["guarantee"] is False
    assert "no DP guarantee" in str(mechanism.statement()["why_not"])


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(UsageError, match="clip None"):
        Unprotected()
    with pytest.raises(UsageError, match="l3"):
        Unprotected(clip=1.0, norm="l3")
