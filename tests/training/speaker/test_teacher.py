from __future__ import annotations

import pickle

import numpy as np
import pytest

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.scoring.cosine import unit
from sordino.training.speaker.teacher import (
    CropTeacher,
    in_space,
    target_space,
    teacher_vectors,
)
from tests.helpers import write_voice
from tests.talkers import talkers


class Spectrum(SpeakerEncoder):
    """Log spectrum in bands; counts what it is asked."""

    name = "spectrum"
    sample_rate = 16000
    digest = "abc"

    def __init__(self, dimension: int = 12) -> None:
        self.dimension = dimension
        self.asked = 0

    def embed(self, recording):
        self.asked += 1
        if recording.duration < 0.2:
            raise AudioError("is too short")
        spectrum = np.abs(np.fft.rfft(recording.samples[0]))[: 12 * 200].reshape(-1)
        bands = np.array_split(spectrum, self.dimension)
        return np.log([band.sum() + 1e-6 for band in bands]).astype(np.float32)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"), speakers=6, utterances=4, seconds=0.5)


def targets(corpus, cache, encoder=None, *, dimension=99, shrinkage=0.5, **options):
    vectors = teacher_vectors(encoder or Spectrum(), corpus.utterances, cache=cache, **options)
    names = [utterance.speaker for utterance in corpus]
    space = target_space(vectors, names, dimension=dimension, shrinkage=shrinkage)
    return in_space(space, vectors)


def cosines(vectors):
    rows = unit(vectors.astype(np.float64))
    return rows @ rows.T


def contrast(vectors, corpus) -> float:
    """Mean cosine of a speaker's pairs less that of others, in deviations of the latter."""
    names = np.array([utterance.speaker for utterance in corpus])
    same = names[:, None] == names
    pairs = ~np.eye(len(names), dtype=bool)
    scores = cosines(vectors)
    return (scores[same & pairs].mean() - scores[~same].mean()) / scores[~same].std()


def test_are_unit_vectors_in_the_order_of_the_utterances(corpus, tmp_path):
    found = targets(corpus, tmp_path / "t.npz")
    assert found.dtype == np.float32
    assert found.shape == (24, 12)
    assert np.allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_covariance_within_speakers_becomes_round(corpus, tmp_path):
    encoder = Spectrum(4)
    vectors = np.stack([encoder.embed(u.read()) for u in corpus]).astype(np.float64)
    names = [utterance.speaker for utterance in corpus]
    residuals = vectors - np.stack(
        [vectors[[n == name for n in names]].mean(axis=0) for name in names]
    )
    covariance = residuals.T @ residuals
    centred = vectors - vectors.mean(axis=0)
    inner = centred @ np.linalg.inv(covariance) @ centred.T
    lengths = np.sqrt(np.diag(inner))
    found = targets(corpus, tmp_path / "t.npz", Spectrum(4), shrinkage=0.0)
    assert np.allclose(cosines(found), inner / np.outer(lengths, lengths), atol=1e-3)


def test_full_shrinkage_leaves_the_shape(corpus, tmp_path):
    encoder = Spectrum()
    vectors = np.stack([encoder.embed(u.read()) for u in corpus]).astype(np.float64)
    found = targets(corpus, tmp_path / "t.npz", shrinkage=1.0)
    expected = cosines(vectors - vectors.mean(axis=0))
    assert np.allclose(cosines(found), expected, atol=1e-4)


def test_normalised_vectors_tell_speakers_apart_better(corpus, tmp_path):
    plain = targets(corpus, tmp_path / "one.npz", shrinkage=1.0)
    normalised = targets(corpus, tmp_path / "two.npz", shrinkage=0.2)
    assert contrast(normalised, corpus) > contrast(plain, corpus)


def test_fewer_dimensions_keep_the_largest_differences(corpus, tmp_path):
    whole = targets(corpus, tmp_path / "t.npz")
    errors = [
        np.abs(cosines(targets(corpus, tmp_path / "t.npz", dimension=d)) - cosines(whole)).mean()
        for d in (1, 3, 6, 12)
    ]
    assert targets(corpus, tmp_path / "t.npz", dimension=3).shape == (24, 3)
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.5 * errors[0]
    assert errors[3] == 0


def test_fewer_vectors_than_dimensions_give_as_many(tmp_path):
    corpus = talkers(tmp_path / "few", speakers=3, utterances=2, seconds=0.5)
    assert targets(corpus, tmp_path / "t.npz", dimension=10).shape == (6, 6)


def test_vectors_are_computed_once(corpus, tmp_path):
    encoder = Spectrum()
    first = targets(corpus, tmp_path / "t.npz", encoder)
    written = (tmp_path / "t.npz").stat().st_mtime_ns
    again = targets(corpus, tmp_path / "t.npz", encoder)
    assert encoder.asked == 24
    assert np.array_equal(first, again)
    assert (tmp_path / "t.npz").stat().st_mtime_ns == written
    assert [path.name for path in tmp_path.iterdir()] == ["t.npz"]


def test_only_new_utterances_are_computed(corpus, tmp_path):
    encoder = Spectrum()
    some = corpus.select(speaker=["v0", "v1", "v2"])
    targets(some, tmp_path / "t.npz", encoder)
    both = targets(corpus, tmp_path / "t.npz", encoder)
    assert encoder.asked == 24
    assert np.array_equal(both, targets(corpus, tmp_path / "fresh.npz"))


def test_vectors_of_another_encoder_do_not_count(corpus, tmp_path):
    targets(corpus, tmp_path / "t.npz")
    other = Spectrum()
    other.digest = "other"
    targets(corpus, tmp_path / "t.npz", other)
    assert other.asked == 24


def test_progress_is_told(corpus, tmp_path):
    ticks = []
    targets(corpus, tmp_path / "t.npz", tick=lambda: ticks.append(1))
    assert len(ticks) == 24


def test_utterance_that_cannot_be_embedded_is_named(corpus, tmp_path):
    path = write_voice(tmp_path / "short.flac", 0.1)
    with pytest.raises(AudioError, match=r"short\.flac: is too short"):
        targets(Corpus((*corpus, Utterance("s", path, "v0"))), tmp_path / "t.npz")


class TestCropTeacher:
    @pytest.fixture
    def space(self, corpus, tmp_path):
        vectors = teacher_vectors(Spectrum(), corpus.utterances, cache=tmp_path / "t.npz")
        names = [utterance.speaker for utterance in corpus]
        return target_space(vectors, names, dimension=5, shrinkage=0.5)

    def test_says_of_a_whole_utterance_what_the_teacher_said(
        self, corpus, space, tmp_path, monkeypatch
    ):
        opened = []
        monkeypatch.setattr(
            "sordino.speaker.encoders.load_encoder", lambda name: opened.append(name) or Spectrum()
        )
        teacher = CropTeacher("spectrum", space)
        assert opened == []
        expected = targets(corpus, tmp_path / "t.npz", dimension=5)
        waves = np.stack([utterance.read().samples[0] for utterance in corpus])
        assert np.allclose(teacher(waves, 16000), expected, atol=1e-5)
        assert np.allclose(teacher(waves[:3], 16000), expected[:3], atol=1e-5)
        assert opened == ["spectrum"]
        assert teacher.dimension == 5

    def test_can_be_sent_to_another_process(self, space):
        sent = pickle.loads(pickle.dumps(CropTeacher("spectrum", space)))  # noqa: S301
        assert sent.dimension == 5


def test_crop_teacher_says_what_the_targets_say(corpus, tmp_path, monkeypatch):
    vectors = teacher_vectors(Spectrum(), corpus.utterances, cache=tmp_path / "t.npz")
    space = target_space(vectors, [u.speaker for u in corpus], dimension=5, shrinkage=0.5)
    opened = []

    def load(name):
        opened.append(name)
        return Spectrum()

    monkeypatch.setattr("sordino.speaker.encoders.load_encoder", load)
    teacher = CropTeacher("some-teacher", space)
    assert opened == []
    assert teacher.dimension == 5
    waves = np.stack([u.read().samples[0][:8000] for u in corpus.utterances[:3]])
    said = teacher(waves, 16000)
    assert said.shape == (3, 5)
    assert np.allclose(said, in_space(space, vectors)[:3], atol=1e-5)
    assert opened == ["some-teacher"]
