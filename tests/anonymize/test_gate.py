from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from sordino.anonymize.gate import gate_frames, gated
from sordino.anonymize.input_level import OPEN
from sordino.anonymize.windows import FRAMES, UNIT, WAVE, Piece

UNITS = 30


def run(opened: np.ndarray, units: int = UNITS) -> np.ndarray:
    wave = np.ones((len(opened), UNITS * UNIT), dtype=np.float32)
    whole = Piece(UNITS, {WAVE: wave, OPEN: opened}, last=True)
    edges = [*range(0, UNITS, units), UNITS]
    parts = (whole.part(a, b) for a, b in pairwise(edges))
    pieces = list(gated(parts))
    assert all(OPEN not in piece.tracks for piece in pieces)
    return np.concatenate([piece.tracks[WAVE] for piece in pieces], axis=1)


def mask(*ranges: tuple[int, int]) -> np.ndarray:
    opened = np.zeros((1, UNITS * FRAMES), dtype=bool)
    for start, stop in ranges:
        opened[0, start:stop] = True
    return opened


def test_silence_is_exactly_silent_and_sound_is_left():
    gain = run(mask((100, 140)))[0]
    assert not gain[: 94 * 160].any()
    assert not gain[146 * 160 :].any()
    assert (gain[97 * 160 + 80 : 143 * 160 - 80] == 1).all()


def test_edges_are_smooth_and_monotonous():
    gain = run(mask((100, 140)))[0]
    rise = np.diff(gain[90 * 160 : 100 * 160])
    assert (rise >= 0).all()
    assert np.abs(np.diff(gain)).max() < 1 / 300


def test_short_gaps_are_not_shut():
    assert (run(mask((0, 100), (108, 240))) == 1).all()
    assert not (run(mask((0, 100), (120, 240))) == 1).all()


def test_all_open_and_all_shut():
    assert (run(mask((0, 240))) == 1).all()
    assert not run(mask()).any()


@pytest.mark.parametrize("units", [1, 2, 7])
def test_pieces_give_the_whole(units):
    opened = np.random.default_rng(0).random((3, UNITS * FRAMES)) < 0.05
    np.testing.assert_array_equal(run(opened, units), run(opened))


def test_frames_by_hand():
    gate = gate_frames(mask((100, 101)))[0]
    np.testing.assert_allclose(gate[95:106], [1 / 3, 2 / 3, *[1.0] * 7, 2 / 3, 1 / 3], atol=1e-8)
    assert not gate[:95].any()
    assert not gate[106:].any()
