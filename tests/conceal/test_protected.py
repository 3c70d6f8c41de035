from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.conceal.protected import (
    ProtectedEncoder,
    comparable,
    counted_for,
    is_protected,
    measured,
)
from sordino.errors import UsageError
from sordino.privacy.ledger import Ledger, Limit
from sordino.speaker.store import Enrolment, Template
from sordino.speaker.verification import identity_of
from tests.concealers import laplace, write_concealer
from tests.voices import CepstralEncoder

KNOWN = {"thresholds": {"0.01": 0.2}}
TABLE = {
    "both": {"5": {"thresholds": {"0.01": 0.3}}, "inf": {"thresholds": {"0.01": 0.4}}},
    "one": {"5": {"thresholds": {"0.01": 0.5}}},
}


@pytest.fixture
def encoder() -> CepstralEncoder:
    return CepstralEncoder(KNOWN)


@pytest.fixture
def concealer(tmp_path):
    about = laplace(
        clip=30.0,
        encoder="cepstral",
        encoder_digest=CepstralEncoder.digest,
        dimension=38,
        latent=24,
        length=1.0,
    )
    return write_concealer(tmp_path / "concealer", about, verification=TABLE)


@pytest.fixture
def recording(speech_like) -> Recording:
    return Recording(speech_like(16000, 1.0), 16000)


def template(encoder: CepstralEncoder | ProtectedEncoder) -> Template:
    rows = np.random.default_rng(0).normal(size=(2, 38)).astype(np.float32)
    return Template("ann", identity_of(encoder), tuple(Enrolment(row, 2.0) for row in rows))


def test_vectors_are_those_of_the_concealer(encoder, concealer, recording):
    protected = ProtectedEncoder(encoder, concealer.at(math.inf))
    expected = concealer.conceal(encoder.embed(recording)[None])[0]
    np.testing.assert_array_equal(protected.embed(recording), expected)
    blocks = [recording.samples[:, :7000], recording.samples[:, 7000:]]
    np.testing.assert_array_equal(protected.embed_blocks(blocks, 16000), expected)
    noisy = ProtectedEncoder(encoder, concealer.at(5.0))
    assert (noisy.embed(recording) != noisy.embed(recording)).all()
    assert (noisy.dimension, noisy.sample_rate) == (38, 16000)


def test_a_name_tells_how(encoder, concealer):
    names = [ProtectedEncoder(encoder, concealer.at(e)).name for e in (5.0, 7.5, math.inf)]
    assert names == [
        "cepstral + tiny-concealer (laplace, epsilon 5)",
        "cepstral + tiny-concealer (laplace, epsilon 7.5)",
        "cepstral + tiny-concealer (no DP guarantee)",
    ]
    digest = ProtectedEncoder(encoder, concealer.at(5.0)).digest
    assert (is_protected(digest), is_protected(encoder.digest)) == (True, False)


def test_another_encoder_is_refused(encoder, concealer, monkeypatch):
    monkeypatch.setattr(CepstralEncoder, "digest", "decade")
    with pytest.raises(UsageError, match=r"for vectors of cepstral \(c0ffeec0\), not of cepstral"):
        ProtectedEncoder(encoder, concealer.at(5.0))


def test_a_ledger_counts_recordings(encoder, concealer, recording, tmp_path):
    ledger = Ledger(tmp_path / "ledger", create=True)
    ledger.set_limit(Limit(5.0), purpose="log-in")
    count = counted_for(ledger, "ann", "log-in")
    protected = ProtectedEncoder(encoder, concealer.at(5.0), count)
    first = protected.embed(recording)
    np.testing.assert_array_equal(protected.embed(recording), first)
    assert ledger.spent("ann").releases == 1
    louder = Recording(0.5 * recording.samples, 16000)
    with pytest.raises(UsageError, match="ann"):
        protected.embed(louder)


def test_either_side_may_be_protected(encoder, concealer):
    protected = ProtectedEncoder(encoder, concealer.at(5.0))
    for enrolled in (encoder, protected):
        for trial in (encoder, protected, ProtectedEncoder(encoder, concealer.at(9.0))):
            found = comparable(template(enrolled), trial)
            assert found.encoder == identity_of(trial)
            assert len(found.enrolments) == 2


def test_another_space_stays_another(encoder, concealer, monkeypatch):
    enrolled = template(ProtectedEncoder(encoder, concealer.at(5.0)))
    monkeypatch.setattr(CepstralEncoder, "digest", "decade")
    assert comparable(enrolled, encoder) is enrolled


def test_thresholds_are_those_that_were_measured_for_it(encoder, concealer):
    protected, bare = (ProtectedEncoder(encoder, concealer.at(e)) for e in (5.0, math.inf))
    assert measured(template(encoder), encoder) == KNOWN
    assert measured(template(protected), encoder) is None
    assert measured(template(protected), protected) == TABLE["both"]["5"]
    assert measured(template(bare), bare) == TABLE["both"]["inf"]
    assert measured(template(encoder), protected) == TABLE["one"]["5"]
    assert measured(template(encoder), bare) is None
    assert measured(template(bare), protected) is None
    other = ProtectedEncoder(encoder, concealer.at(5.0, "privunit"))
    assert measured(template(other), other) is None
