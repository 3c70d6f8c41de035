from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats.mstats import winsorize

from sordino.anonymize.prosody.statistics import RunningPitch

logs = st.lists(st.floats(np.log(50), np.log(1000)), min_size=1, max_size=300)


@settings(max_examples=50)
@given(logs, st.sampled_from([0.0, 25.0]))
def test_it_is_the_winsorised_mean_and_deviation_of_everything_so_far(values, doubt):
    heard = np.array(values)
    found = RunningPitch(doubt).add(heard)
    assert found.shape == (heard.size, 2)
    for size in {1, heard.size // 2 + 1, heard.size}:
        held = np.asarray(winsorize(heard[:size], limits=0.05))
        # A quarter of a semitone is 0.0144.
        assert found[size - 1, 0] == pytest.approx(held.mean(), abs=0.0144)
        if doubt == 0 and size >= 100:
            deviation = held.std() / np.sqrt(0.83125)
            assert found[size - 1, 1] == pytest.approx(deviation, abs=0.03)


def test_a_normal_pitch_has_its_own_deviation_and_a_steady_one_none():
    rng = np.random.default_rng(1)
    mean, deviation = RunningPitch().add(rng.normal(5, 0.2, 20_000))[-1]
    assert mean == pytest.approx(5, abs=0.005)
    assert deviation == pytest.approx(0.2, rel=0.02)
    steady = RunningPitch().add(np.full(500, np.log(163.7)))
    assert steady[:, 0] == pytest.approx(np.log(163.7), abs=1e-9)
    assert steady[:, 1] == pytest.approx(0, abs=1e-6)


def test_octave_errors_do_little():
    rng = np.random.default_rng(2)
    clean = rng.normal(4.8, 0.15, 4000)
    mistaken = clean + np.log(2) * (rng.random(clean.size) < 0.04)
    mean, deviation = RunningPitch().add(mistaken)[-1]
    assert abs(mean - clean.mean()) < 0.02 < abs(mistaken.mean() - clean.mean())
    assert deviation < 1.15 * clean.std() < mistaken.std()


@settings(max_examples=30)
@given(logs, st.data())
def test_pieces_give_exactly_what_the_whole_gives(values, data):
    heard = np.array(values * 3)
    whole = RunningPitch(25).add(heard)
    cuts = sorted(data.draw(st.sets(st.integers(0, heard.size), max_size=5)))
    running = RunningPitch(25)
    parts = [running.add(part) for part in np.split(heard, cuts)]
    assert np.array_equal(np.concatenate(parts), whole)


def test_little_speech_has_a_common_deviation():
    assert RunningPitch(25).add(np.full(1, 5.0))[-1, 1] == pytest.approx(0.2, rel=0.03)
    assert RunningPitch(25).add(np.full(2000, 5.0))[-1, 1] < 0.03
