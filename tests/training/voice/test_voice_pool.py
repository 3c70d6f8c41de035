"""The pool: who is in it, and what is kept of them."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile

pytest.importorskip("torch", reason="torch is in the extra train, not installed")
pytest.importorskip("swift_f0", reason="swift-f0 is in the extra evaluate, not installed")

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.dsp.pitch import load_tracker
from sordino.errors import UsageError
from sordino.speaker.encoders import load_encoder
from sordino.training.vocoder.frames import training_wave
from sordino.training.voice.pool import Ear, PoolSettings, chosen, make_pool
from tests.talkers import talkers

EAR = Ear("ecapa-small", "swift", 8000, 40000)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"), speakers=4, utterances=3)


@pytest.fixture(scope="module")
def pool(corpus, tmp_path_factory):
    return make_pool(corpus.utterances, tmp_path_factory.mktemp("pool"), EAR, 1, quiet=True)


def test_is_means_of_unit_vectors_with_registers(corpus, pool):
    encoder, tracker = load_encoder("ecapa-small"), load_tracker("swift")
    for utterances in corpus.by_speaker().values():
        vectors, logs = [], []
        for utterance in utterances:
            recording = utterance.read()
            vector = encoder.embed(recording)
            vectors.append(vector / np.linalg.norm(vector))
            f0 = tracker.track(training_wave(recording, 40000))
            logs.append(np.log(f0[f0 > 0]))
        mean, joined = np.mean(vectors, axis=0), np.concatenate(logs)
        (row,) = np.flatnonzero(np.abs(pool["vectors"] - mean).max(axis=1) < 0.02)
        assert pool["sex"][row] == utterances[0].sex
        # Utterances of different lengths count by their voiced frames.
        assert pool["pitch_mean"][row] == pytest.approx(joined.mean(), abs=1e-9)
        assert pool["pitch_deviation"][row] == pytest.approx(joined.std(), abs=1e-6)


def test_order_says_nothing_of_who_it_is(corpus, pool, tmp_path):
    turned = make_pool(corpus.utterances[::-1], tmp_path, EAR, 1, quiet=True)
    for name, array in pool.items():
        same = np.array_equal if array.dtype.kind == "U" else np.allclose
        assert same(turned[name], array), name
    assert np.all(np.diff(pool["vectors"][:, 0]) > 0)


def test_measured_once_and_by_processes_the_same(corpus, pool, tmp_path):
    again = make_pool(corpus.utterances[:4], tmp_path, EAR, 2, quiet=True)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(files) == 4
    third = make_pool(corpus.utterances[:4], tmp_path, EAR, 1, quiet=True)
    assert files == {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    for name, array in again.items():
        assert np.array_equal(third[name], array)


def test_who_has_no_voice_is_not_in_it(corpus, tmp_path):
    noise = 0.1 * np.random.default_rng(0).normal(size=32000)
    soundfile.write(tmp_path / "noise.wav", noise, 16000)
    soundfile.write(tmp_path / "short.wav", noise[:4000], 16000)
    mute = [Utterance(name, tmp_path / f"{name}.wav", name) for name in ("noise", "short")]
    found = make_pool([*mute, corpus.utterances[0]], tmp_path / "kept", EAR, 1, quiet=True)
    assert len(found["sex"]) == 1
    with pytest.raises(UsageError, match="pool is empty"):
        make_pool(mute, tmp_path / "kept", EAR, 1, quiet=True)


def test_chosen_are_so_many_of_each_sex_whatever_the_order(corpus):
    settings = PoolSettings(speakers=1, utterances=2, seed=4)
    found = chosen(corpus, settings)
    assert sorted(u.sex for u in found) == ["F", "F", "M", "M"]
    turned = chosen(Corpus(corpus.utterances[::-1]), settings)
    assert {u.id for u in turned} == {u.id for u in found}
    assert {u.id for u in found} < {u.id for u in chosen(corpus, PoolSettings(seed=4))}
    assert {u.id for u in chosen(corpus, PoolSettings(speakers=1, utterances=2, seed=9))} != {
        u.id for u in found
    }
