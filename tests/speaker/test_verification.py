from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sklearn.metrics.pairwise import cosine_similarity

from sordino.audio.recording import Recording
from sordino.errors import AudioError, UsageError
from sordino.speaker.detector import SpeechDetector
from sordino.speaker.quality import Limits, Reason
from sordino.speaker.store import EncoderIdentity, Enrolment, Store, Template
from sordino.speaker.verification import (
    Gallery,
    Judge,
    Threshold,
    choose_threshold,
    decide,
    enroll,
    identity_of,
)
from tests.voices import KEY, CepstralEncoder, enrolments

KNOWN = {
    "thresholds": {"0.05": 0.3, "0.01": 0.4, "0.001": 0.6},
    "calibration": {"slope": 10.0, "offset": -4.0},
    "measured_on": "test speakers",
}


@pytest.fixture(scope="module")
def detector() -> SpeechDetector:
    return SpeechDetector()


@pytest.fixture(scope="module")
def encoder() -> CepstralEncoder:
    return CepstralEncoder()


@pytest.fixture(scope="module")
def voices(speech_root) -> dict[str, list[Recording]]:
    """Four recordings each of four people."""
    folders = sorted(path for path in (speech_root / "librispeech").iterdir() if path.is_dir())
    found = {}
    for folder in folders[:4]:
        files = sorted(folder.rglob("*.flac"))[:4]
        assert len(files) == 4
        found[folder.name] = [cut(path) for path in files]
    return found


@pytest.fixture
def store(tmp_path) -> Store:
    with Store.open(tmp_path / "voices", KEY, create=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def prepared(encoder, voices, detector, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "voices"
    with Store.open(path, KEY, create=True) as store:
        for name, recordings in voices.items():
            enroll(store, encoder, name, named(recordings[:3]), detector=detector)
    return path


@pytest.fixture
def filled(prepared, tmp_path) -> Store:
    """A copy of a store with three recordings of each."""
    shutil.copy(prepared, tmp_path / "filled")
    with Store.open(tmp_path / "filled", KEY) as opened:
        yield opened


def cut(path: Path, seconds: float = 5.0) -> Recording:
    samples, rate = soundfile.read(path, dtype="float32")
    return Recording(samples[None, : round(seconds * rate)], rate)


def named(recordings: list[Recording]) -> list[tuple[str, Recording]]:
    return [(f"take {number}", recording) for number, recording in enumerate(recordings)]


def silence(seconds: float) -> Recording:
    return Recording(np.zeros((1, round(16000 * seconds)), dtype=np.float32), 16000)


# Enrolment


def test_enrolment_stores_vectors_and_seconds_of_speech(store, encoder, voices, detector):
    recordings = voices[min(voices)]
    given = enroll(store, encoder, "anna", named(recordings[:2]), detector=detector)
    enroll(store, encoder, "anna", named(recordings[2:3]), detector=detector)
    stored = store.template("anna")
    assert len(given.enrolments) == 2
    expected = np.stack([encoder.embed(recording) for recording in recordings[:3]])
    np.testing.assert_array_equal(stored.vectors, expected)
    assert stored.encoder == EncoderIdentity(encoder.name, encoder.digest)
    for enrolment, recording in zip(stored.enrolments, recordings, strict=False):
        assert 0.5 * recording.duration < enrolment.speech <= recording.duration


def test_one_bad_recording_stores_nothing(store, encoder, voices, detector):
    good = voices[min(voices)][0]
    noisy = np.random.default_rng(0).normal(0, 0.1, good.samples.shape).astype(np.float32)
    quiet = Recording(good.samples * np.float32(0.1) + noisy, good.sample_rate)
    clipped = Recording(np.clip(100 * good.samples, -1, 1), good.sample_rate)
    for bad, message in (
        (silence(2), "take 1: it is silent"),
        (Recording(noisy, 16000), "take 1: no speech was found in it"),
        (quiet, r"take 1: (too noisy|no speech|too little)"),
        (clipped, "take 1: .*clipped"),
    ):
        with pytest.raises(AudioError, match=message):
            enroll(store, encoder, "anna", named([good, bad]), detector=detector)
    assert len(store) == 0


def test_enrolment_needs_speech_as_a_whole(store, encoder, voices, detector):
    recording = voices[min(voices)][0]
    speech = detector.probabilities(recording.samples[0]) > 0.5
    start = int(np.argmax(speech)) * 512
    short = Recording(recording.samples[:, start : start + 24000], 16000)
    with pytest.raises(AudioError, match=r"'anna': too little speech: 1\.. s in all, needs 2\.0"):
        enroll(store, encoder, "anna", named([short]), detector=detector)
    assert len(store) == 0
    lower = Limits(speech=1.0)
    enroll(store, encoder, "anna", named([short]), limits=lower, detector=detector)
    enroll(store, encoder, "anna", named([short]), detector=detector)
    assert len(store.template("anna").enrolments) == 2


def test_what_the_encoder_refuses_is_named(store, encoder, voices, detector, monkeypatch):
    monkeypatch.setattr(CepstralEncoder, "shortest", 10**7)
    with pytest.raises(AudioError, match="take 0: is too short"):
        enroll(store, encoder, "anna", named(voices[min(voices)][:1]), detector=detector)


def test_names_and_recordings_are_needed(store, encoder, detector):
    with pytest.raises(UsageError, match="a name is empty"):
        enroll(store, encoder, " ", [], detector=detector)
    with pytest.raises(UsageError, match="needs vectors"):
        enroll(store, encoder, "anna", [], detector=detector)


def test_encoders_without_a_digest_are_refused():
    anonymous = CepstralEncoder()
    anonymous.digest = ""
    with pytest.raises(UsageError, match="encoder cepstral has no digest"):
        identity_of(anonymous)


# Verification and identification


def test_people_are_accepted_as_themselves_only(filled, encoder, voices, detector):
    scores = {}
    judge = Judge(encoder, Threshold(0.5), detector=detector)
    for name in voices:
        for other, recordings in voices.items():
            found = judge.verify(filled.template(name), recordings[3])
            assert (found.name, found.threshold, found.reasons) == (name, Threshold(0.5), ())
            assert found.decision == ("accept" if found.score >= 0.5 else "reject")
            assert found.llr is None
            assert found.quality.snr > 10
            scores[name, other] = found.score
    for name in voices:
        assert max(voices, key=lambda other: scores[name, other]) == name


@pytest.mark.parametrize("scoring", ["cosine", "mean-cosine"])
def test_scores_against_sklearn(filled, encoder, voices, detector, scoring):
    trial = voices[max(voices)][3]
    vector = encoder.embed(trial)[None]
    judge = Judge(encoder, Threshold(0.5), scoring=scoring, detector=detector)
    gallery = Gallery.of(filled.templates(), encoder, scoring)
    found = judge.identify(gallery, trial, top=10)
    expected = {}
    for template in filled.templates():
        if scoring == "cosine":
            rows = template.vectors.astype(np.float64)
            mean = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).mean(axis=0)
            expected[template.name] = cosine_similarity(mean[None], vector).item()
        else:
            expected[template.name] = cosine_similarity(template.vectors, vector).mean()
        verified = judge.verify(template, trial)
        assert verified.score == pytest.approx(expected[template.name], abs=1e-5)
    assert {match.name: match.score for match in found.matches} == pytest.approx(expected, abs=1e-5)
    ranked = sorted(expected, key=expected.__getitem__, reverse=True)
    assert [match.name for match in found.matches] == ranked


def test_identification_gives_the_best_or_nobody(filled, encoder, voices, detector):
    gallery = Gallery.of(filled.templates(), encoder)
    for name, recordings in voices.items():
        trial = recordings[3]
        best = Judge(encoder, Threshold(-1.0), detector=detector).identify(gallery, trial, top=2)
        assert (best.name, best.decision, len(best.matches)) == (name, "accept", 2)
        edge = Threshold(best.matches[0].score)
        assert Judge(encoder, edge, detector=detector).identify(gallery, trial).name == name
        above = Threshold(float(np.nextafter(edge.score, 2)))
        nobody = Judge(encoder, above, detector=detector).identify(gallery, trial)
        assert (nobody.name, nobody.decision) == (None, "reject")
        assert nobody.matches[0].name == name


def test_calibrated_scores(filled, encoder, voices, detector):
    judge = Judge(encoder, choose_threshold(KNOWN), detector=detector)
    name = min(voices)
    found = judge.verify(filled.template(name), voices[name][3])
    assert found.llr == pytest.approx(10 * found.score - 4)
    gallery = Gallery.of(filled.templates(), encoder)
    for match in judge.identify(gallery, voices[name][3]).matches:
        assert match.llr == pytest.approx(10 * match.score - 4)


def test_bad_recordings_are_not_judged(filled, encoder, voices, detector):
    name = min(voices)
    template, good = filled.template(name), voices[name][3]
    judge = Judge(encoder, Threshold(-1.0), detector=detector)
    assert judge.verify(template, good).decision == "accept"

    found = judge.verify(template, silence(3))
    assert (found.decision, found.score, found.llr) == ("cannot tell", None, None)
    assert [reason.code for reason in found.reasons] == ["silence"]

    strict = Judge(encoder, Threshold(-1.0), limits=Limits(speech=60), detector=detector)
    found = strict.verify(template, good)
    assert found.decision == "cannot tell"
    assert found.score is not None
    assert [reason.code for reason in found.reasons] == ["little-speech"]

    identified = strict.identify(Gallery.of([template], encoder), good)
    assert (identified.name, identified.decision) == (None, "cannot tell")
    assert identified.matches[0].name == name


def test_what_the_encoder_cannot_take_cannot_be_told(
    filled, encoder, voices, detector, monkeypatch
):
    monkeypatch.setattr(CepstralEncoder, "shortest", 10**7)
    judge = Judge(encoder, Threshold(-1.0), detector=detector)
    found = judge.verify(filled.templates()[0], voices[min(voices)][3])
    assert (found.decision, found.score) == ("cannot tell", None)
    assert found.reasons == (Reason("not-embedded", "is too short"),)


def test_templates_of_another_encoder_are_not_compared(filled, encoder, voices, detector):
    other = EncoderIdentity("cepstral", "deadbeef")
    filled.enroll("zoe", other, enrolments(dimension=encoder.dimension))
    judge = Judge(encoder, Threshold(-1.0), detector=detector)
    trial = voices[min(voices)][3]
    with pytest.raises(UsageError, match=r"'zoe' is enrolled with .*\(deadbeef\), which cannot be"):
        judge.verify(filled.template("zoe"), trial)
    gallery = Gallery.of(filled.templates(), encoder)
    assert gallery.left_out == ("zoe",)
    assert "zoe" not in {m.name for m in judge.identify(gallery, trial, top=10).matches}
    with pytest.raises(UsageError, match=r"nobody is enrolled with .*, only with .*\(deadbeef\)"):
        Gallery.of([filled.template("zoe")], encoder)
    with pytest.raises(UsageError, match="use sordino enroll first"):
        Gallery.of([], encoder)
    changed = CepstralEncoder()
    changed.digest = "deadbeef"
    with pytest.raises(UsageError, match="gallery is of another encoder"):
        Judge(changed, Threshold(0.5), detector=detector).identify(gallery, trial)
    with pytest.raises(UsageError, match="at least 1"):
        judge.identify(gallery, trial, top=0)


def test_a_thousand_names_are_one_product():
    rng = np.random.default_rng(0)
    encoder = CepstralEncoder()
    identity = identity_of(encoder)
    templates = []
    for number in range(1000):
        vectors = rng.normal(size=(1 + number % 3, 38)).astype(np.float32)
        templates.append(Template(f"n{number}", identity, tuple(Enrolment(v, 2) for v in vectors)))
    trial = rng.normal(size=38).astype(np.float32)
    for scoring in ("cosine", "mean-cosine"):
        gallery = Gallery.of(templates, encoder, scoring)
        assert gallery.models.shape == (1000, 38)
        scores = gallery.scores(trial)
        for number in (0, 1, 2, 998, 999):
            lone = Gallery.of([templates[number]], encoder, scoring)
            assert scores[number] == pytest.approx(lone.scores(trial).item(), abs=1e-6)


# Decisions and thresholds


def test_decisions():
    reason = Reason("noisy", "...")
    assert decide(0.5, 0.5, ()) == "accept"
    assert decide(np.nextafter(0.5, 0), 0.5, ()) == "reject"
    assert decide(0.9, 0.5, (reason,)) == decide(0.1, 0.5, (reason,)) == "cannot tell"
    assert decide(None, -1.0, ()) == "cannot tell"


def test_thresholds_by_rate():
    for rate, score in ((0.05, 0.3), (0.01, 0.4), (0.001, 0.6), (1e-3, 0.6)):
        chosen = choose_threshold(KNOWN, false_accepts=rate)
        assert (chosen.score, chosen.false_accepts) == (score, rate)
        assert chosen.measured_on == "test speakers"
        assert float(chosen.calibration(0.5)) == 1.0
    assert choose_threshold(KNOWN) == choose_threshold(KNOWN, false_accepts=0.01)


def test_thresholds_by_hand():
    assert choose_threshold(None, score=0.2) == Threshold(0.2)
    chosen = choose_threshold(KNOWN, score=-0.2)
    assert (chosen.score, chosen.false_accepts, chosen.measured_on) == (-0.2, None, None)
    assert chosen.calibration is not None
    assert choose_threshold(KNOWN, score=0.2, scoring="mean-cosine") == Threshold(0.2)


@pytest.mark.parametrize(
    ("known", "options", "message"),
    [
        (KNOWN, {"false_accepts": 0.02}, "rate of 0.02, only for 0.05, 0.01, 0.001; choose one"),
        (None, {}, "the encoder has no thresholds of its own; give one with --threshold"),
        ({}, {"false_accepts": 0.01}, "no thresholds of its own"),
        (KNOWN, {"scoring": "mean-cosine"}, "no thresholds for the scoring mean-cosine"),
        (KNOWN | {"scoring": "mean-cosine"}, {}, "no thresholds for the scoring cosine"),
        (KNOWN, {"score": 0.5, "false_accepts": 0.01}, "not both"),
        (KNOWN, {"score": float("nan")}, "threshold nan is not a cosine"),
        (KNOWN, {"score": 50.0}, "threshold 50 is not a cosine"),
        ([0.4], {}, "verification is no table"),
        ("0.4", {"score": 0.2}, "verification is no table"),
        ({"thresholds": {"0.01": "nan"}}, {}, "thresholds are not cosines"),
        ({"thresholds": {"0.01": 0.4, "0.1": -5}}, {}, "thresholds are not cosines"),
        ({"thresholds": {"0.01": "low"}}, {}, "not numbers by rates"),
        ({"thresholds": [0.1]}, {}, "not numbers by rates"),
        (KNOWN | {"calibration": {"slope": 1}}, {}, "no slope and offset"),
        (KNOWN | {"calibration": {"slope": -1, "offset": 0}}, {}, "not a rising line"),
        (KNOWN | {"calibration": {"slope": 1e308, "offset": 1e308}}, {}, "not a rising line"),
        (KNOWN | {"calibration": {"slope": 1, "offset": "nan"}}, {}, "not a rising line"),
    ],
)
def test_thresholds_that_there_are_not(known, options, message):
    with pytest.raises(UsageError, match=message):
        choose_threshold(known, **options)


def test_thresholds_for_another_scoring():
    known = KNOWN | {"scoring": "mean-cosine"}
    assert choose_threshold(known, scoring="mean-cosine").score == 0.4
