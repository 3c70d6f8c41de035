from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.anonymize.windows import (
    UNIT,
    WAVE,
    Piece,
    Tracks,
    Window,
    cells,
    each_channel,
    gridded,
    windowed,
)

SMALL = 20
FRAMES = UNIT // SMALL


def blocks(signal: np.ndarray, cuts: list[int]) -> list[np.ndarray]:
    edges = [0, *sorted(min(cut, signal.shape[1]) for cut in cuts), signal.shape[1]]
    return [signal[:, start:end] for start, end in pairwise(edges)]


def joined(pieces: list[Piece], name: str) -> np.ndarray:
    return np.concatenate([piece.tracks[name] for piece in pieces], axis=1)


def signal(samples: int, channels: int = 2) -> np.ndarray:
    # Whole numbers, whose sums are exact in any order.
    return np.random.default_rng(samples).integers(-99, 99, (channels, samples)).astype(float)


def filtered(wave: np.ndarray, reach: int) -> np.ndarray:
    """Sums of what lies within `reach` frames of each frame, shape (channels, frames, 2)."""
    frames = wave.reshape(len(wave), -1, SMALL).sum(axis=2)
    ones = np.ones(2 * reach + 1)
    sums = np.stack([np.convolve(row, ones)[reach : reach + row.size] for row in frames])
    return np.stack([sums, frames], axis=2)


def filter_of(reach: int):
    def apply(window: Window) -> Tracks:
        return {"sums": window.kept(filtered(window.tracks[WAVE].astype(float), reach))}

    return apply


@given(
    samples=st.integers(1, 12 * UNIT),
    units=st.integers(1, 9),
    most=st.integers(1, 9),
    reach=st.integers(0, 3 * FRAMES),
    cuts=st.lists(st.integers(0, 12 * UNIT), max_size=6),
)
def test_windows_give_exactly_what_the_whole_gives(samples, units, most, reach, cuts):
    wave = signal(samples)
    context = -(-reach // FRAMES)
    pieces = list(
        windowed(
            cells(blocks(wave, cuts), units),
            filter_of(reach),
            before=context,
            after=context,
            most=most,
        )
    )
    padded = joined(pieces, WAVE)
    np.testing.assert_array_equal(padded[:, :samples], wave)
    assert not padded[:, samples:].any()
    np.testing.assert_array_equal(joined(pieces, "sums"), filtered(padded, reach))
    assert [piece.last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
    assert all(0 < piece.units <= most for piece in pieces)
    assert padded.shape[1] == UNIT * max(8, -(-samples // UNIT))


@settings(max_examples=30)
@given(cuts=st.lists(st.integers(0, 40 * UNIT), max_size=8), fade=st.integers(0, 2))
def test_windows_of_a_function_that_sees_all_are_the_same_for_any_cutting(cuts, fade):
    wave = np.random.default_rng(0).normal(size=(2, 39 * UNIT - 7))

    def centred(window: Window) -> Tracks:
        track = window.tracks[WAVE]
        return {"rest": window.kept(track - track.mean(axis=1, keepdims=True))}

    def made(cuts: list[int], units: int) -> list[Piece]:
        arriving = cells(blocks(wave, cuts), units)
        return list(gridded(arriving, centred, kept=9, around=3, fade=fade))

    whole, parts = made([], 5), made(cuts, 5)
    assert [piece.units for piece in parts] == [piece.units for piece in whole]
    for name in (WAVE, "rest"):
        np.testing.assert_array_equal(joined(parts, name), joined(whole, name))
    np.testing.assert_array_equal(joined(made(cuts, 7), "rest"), joined(whole, "rest"))
    np.testing.assert_array_equal(joined(whole, WAVE)[:, : wave.shape[1]], wave.astype("f4"))
    assert [piece.last for piece in whole] == [False] * (len(whole) - 1) + [True]


@pytest.mark.parametrize("units", range(8, 45))
def test_a_grid_covers_everything_once(units):
    wave = signal(units * UNIT, 1)

    def twice(window: Window) -> Tracks:
        assert window.piece.units <= 9 + 2 * 3
        return {"twice": window.kept(2 * window.tracks[WAVE])}

    pieces = list(gridded(cells([wave], 4), twice, kept=9, around=3, fade=2))
    np.testing.assert_allclose(joined(pieces, "twice"), 2 * wave, rtol=1e-6)


def test_joins_of_a_grid_fade():
    def number(window: Window) -> Tracks:
        return {"n": window.kept(np.full((1, 4 * window.piece.units), float(window.start > 0)))}

    pieces = list(gridded(cells([np.zeros((1, 20 * UNIT))], 4), number, kept=10, around=4, fade=2))
    track = joined(pieces, "n")[0]
    assert not track[: 4 * 8].any()
    assert (track[4 * 12 :] == 1).all()
    np.testing.assert_allclose(track[4 * 8 : 4 * 12], (np.arange(16) + 0.5) / 16)


def test_nothing_gives_nothing():
    assert list(cells([], 4)) == []
    assert list(cells([np.zeros((2, 0))], 4)) == []
    assert list(windowed([], filter_of(0), before=1, after=1, most=4)) == []


def test_blocks_may_be_overwritten_afterwards():
    block = np.ones((1, 5 * UNIT))

    def arriving():
        for value in (1.0, 2.0):
            block[:] = value
            yield block

    wave = joined(list(cells(arriving(), 3)), WAVE)[0]
    assert (wave[: 5 * UNIT] == 1).all()
    assert (wave[5 * UNIT :] == 2).all()


def test_windows_keep_a_bounded_stretch_and_drop_tracks():
    seen = []

    def look(window: Window) -> Tracks:
        seen.append(window.piece.units)
        return {"x": window.kept(window.tracks[WAVE])}

    blocks_of_one = (np.ones((1, UNIT)) for _ in range(500))
    pieces = list(windowed(cells(blocks_of_one, 10), look, before=2, after=3, most=4, drop=(WAVE,)))
    assert max(seen) <= 2 + 4 + 3
    assert {name for piece in pieces for name in piece.tracks} == {"x"}


def test_equal_channels_are_done_once_and_others_each():
    calls = []

    def double(own: dict[str, np.ndarray]) -> np.ndarray:
        calls.append(own["a"][0])
        return own["a"] + own["b"]

    a = np.array([[1.0, 2], [3, 4], [1, 2], [1, 2]])
    b = np.array([[0.0, 0], [0, 0], [0, 0], [0, 1]])
    np.testing.assert_array_equal(each_channel(double, {"a": a, "b": b}), a + b)
    assert calls == [1, 3, 1]


def test_tracks_that_do_not_cover_the_units_are_refused():
    with pytest.raises(ValueError, match="7 values do not cover 2 units"):
        Piece(2, {"x": np.zeros((1, 7))}).part(0, 1)
