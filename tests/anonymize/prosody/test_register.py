from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.anonymize.prosody.register import Register
from sordino.errors import UsageError


def test_of_speech_it_is_the_mean_and_deviation_of_log_pitch():
    rng = np.random.default_rng(0)
    f0 = np.exp(rng.normal(math.log(180), 0.18, 5000))
    f0[::3] = 0
    register = Register.of(f0)
    assert register.mean == pytest.approx(math.log(180), abs=0.01)
    assert register.deviation == pytest.approx(0.18, rel=0.05)


def test_a_pitch_out_of_range_is_brought_to_its_edge():
    assert Register.of(np.full(10, 900.0)).mean == pytest.approx(math.log(600))
    assert Register.of(np.full(10, 42.0)).mean == pytest.approx(math.log(50))


@pytest.mark.parametrize(
    ("mean", "deviation"),
    [(3.5, 0.1), (6.6, 0.1), (math.nan, 0.1), (5.0, -0.1), (5.0, 1.1), (5.0, math.nan)],
)
def test_what_is_no_register_is_an_error(mean, deviation):
    with pytest.raises(UsageError, match=r"a register's (mean|deviation) is"):
        Register(mean, deviation)


def test_speech_without_voice_has_none():
    with pytest.raises(UsageError, match="without a voiced frame"):
        Register.of(np.zeros(10))
