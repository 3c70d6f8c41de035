"""Rows on disk: complete or not there, and not made twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import soundfile

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, OutputError
from sordino.training.features.cache import RowCache, fill_caches


@pytest.fixture
def utterances(tmp_path):
    found = []
    for number in range(5):
        path = tmp_path / f"{number}.wav"
        wave = np.full(320 * (number + 1), 0.1 * number, np.float32)
        soundfile.write(path, wave, 16000, subtype="FLOAT")
        found.append(Utterance(str(number), path, "anna"))
    return found


def doubled(waves):
    return [(wave.reshape(-1, 320), 2 * wave.reshape(-1, 320)) for wave in waves]


def test_rows_come_back(tmp_path, utterances):
    caches = RowCache(tmp_path / "a"), RowCache(tmp_path / "b")
    fill_caches(caches, utterances, doubled, label="rows", quiet=True)
    for number, utterance in enumerate(utterances):
        expected = np.full((number + 1, 320), np.float32(0.1 * number))
        for cache, factor in zip(caches, (1, 2), strict=True):
            assert cache.count(utterance) == number + 1
            np.testing.assert_array_equal(cache.read(utterance), factor * expected)
            np.testing.assert_array_equal(cache.read(utterance, 1, 2), factor * expected[1:3])
    assert not list(tmp_path.rglob("*.part"))


def test_a_kill_costs_only_what_was_not_done(tmp_path, utterances, monkeypatch):
    cache = RowCache(tmp_path / "rows")
    store, done = RowCache.store, []

    def dying(self, utterance, rows):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(utterance.id)
        store(self, utterance, rows)

    with monkeypatch.context() as patch:
        patch.setattr(RowCache, "store", dying)
        with pytest.raises(KeyboardInterrupt):
            fill_caches([cache], utterances, single, label="rows", quiet=True)
    assert sum(map(cache.has, utterances)) == 2
    asked: list[int] = []

    def counting(waves):
        asked.extend(wave.size for wave in waves)
        return single(waves)

    fill_caches([cache], utterances, counting, label="rows", quiet=True)
    assert len(asked) == 3
    assert all(map(cache.has, utterances))


def single(waves):
    return [rows[:1] for rows in doubled(waves)]


def test_recordings_that_were_moved_are_the_same_and_changed_ones_are_not(tmp_path, utterances):
    cache = RowCache(tmp_path / "rows")
    first = utterances[0]
    cache.store(first, np.zeros(3))
    moved = replace(first, path=first.path.rename(tmp_path / "moved.wav"))
    assert cache.has(moved)
    assert not cache.has(replace(moved, id="other"))
    assert not cache.has(replace(moved, start=0.01))
    moved.path.write_bytes(moved.path.read_bytes() + b"more")
    assert not cache.has(moved)


def test_what_cannot_be_used_is_named(tmp_path, utterances):
    cache = RowCache(tmp_path / "rows")

    def picky(waves):
        if any(wave.size == 960 for wave in waves):
            raise AudioError("is odd")
        return single(waves)

    with pytest.raises(AudioError, match=r"2\.wav: is odd"):
        fill_caches([cache], utterances, picky, label="rows", quiet=True)
    cache.store(utterances[0], np.zeros(3))
    cache.path(utterances[0]).write_bytes(b"\x93NUMPY")
    with pytest.raises(OutputError, match="cannot be read; remove it"):
        cache.read(utterances[0])
    utterances[1].path.unlink()
    with pytest.raises(AudioError, match=r"1\.wav: No such file"):
        cache.has(utterances[1])
