from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.anonymize.engine import run
from sordino.anonymize.plan import Plan, make_plan
from sordino.anonymize.pseudo.base import Source
from sordino.anonymize.render import Shape
from sordino.anonymize.segments import NOBODY
from sordino.anonymize.settings import Settings
from sordino.anonymize.sources import heard_source, mean_source, sources_of
from sordino.anonymize.systems import SYSTEMS
from sordino.audio.recording import Recording
from sordino.corpus.rttm import read_rttm
from sordino.corpus.speakers import by_folder
from sordino.privacy.keys import SecretKey
from tests.helpers import tree, voice, write_voice
from tests.listening import Listening
from tests.voices import CepstralEncoder

KEY = SecretKey(b"a key of 32 bytes for all tests.")


@pytest.fixture(autouse=True)
def _system(monkeypatch):
    monkeypatch.setitem(SYSTEMS, "listening", Listening)


@pytest.fixture
def recordings(tmp_path) -> Path:
    for number in range(4):
        name = f"in/speaker{number % 2}/{number}.wav"
        write_voice(tmp_path / name, 1.0, seed=number, subtype="FLOAT")
    write_voice(tmp_path / "in/speaker1/short.wav", 0.05, subtype="FLOAT")
    return tmp_path / "in"


def direction(path: Path) -> np.ndarray:
    vector = CepstralEncoder().embed(Recording.read(path)).astype(np.float64)
    return vector / np.linalg.norm(vector)


def anonymized(plan: Plan, level: str = "speaker", **options) -> dict[str, np.ndarray]:
    summary = run(plan, Settings("listening", (("level", level),), Shape(), KEY), **options)
    assert not summary.failed
    return {task.name: soundfile.read(task.target)[0] for task in plan.tasks}


def expected(path: Path, speaker: str, source: Source, level: str = "speaker") -> np.ndarray:
    recording = Recording.read(path)
    anonymizer = Listening(level=level)
    content = KEY.digest([path.read_bytes()])
    return anonymizer.anonymize(
        recording.samples,
        recording.sample_rate,
        speaker=speaker,
        key=KEY,
        utterance=content,
        source=source,
    )[0]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_speaker_sounds_like_the_mean_of_all_recordings(recordings, tmp_path, jobs, monkeypatch):
    if jobs == 2:  # other processes do not know the system: only what is heard is compared
        monkeypatch.setattr("sordino.anonymize.engine.map_jobs", one_process)
    plan = make_plan([recordings], tmp_path / "out", by_folder, sexes={"speaker1": "F"})
    found = anonymized(plan, jobs=jobs)
    for number, sex in (("0", ""), ("1", "F")):
        takes = sorted(recordings.glob(f"speaker{number}/?.wav"))
        source = mean_source([direction(take) for take in takes], sex)
        for take in recordings.glob(f"speaker{number}/*.wav"):
            name = f"speaker{number}/{take.name}"
            want = expected(take, f"speaker{number}", source)
            np.testing.assert_allclose(found[name], want, atol=1e-6)


def one_process(function, jobs, workers, advance, scratch):
    for job in jobs:
        yield job, function(job, advance)


def test_at_level_utterance_each_recording_speaks_for_itself(recordings, tmp_path):
    found = anonymized(make_plan([recordings], tmp_path / "out", by_folder), "utterance")
    for take in recordings.glob("speaker0/*.wav"):
        want = expected(take, "speaker0", mean_source([direction(take)]), "utterance")
        np.testing.assert_allclose(found[f"speaker0/{take.name}"], want, atol=1e-6)


def test_profiles_are_not_written_and_decide_what_is_kept(recordings, tmp_path):
    plan = make_plan([recordings], tmp_path / "out", by_folder)
    anonymized(plan)
    everything = b"".join(tree(tmp_path / "out").values())
    vector = direction(recordings / "speaker0/0.wav")
    assert vector.tobytes()[:8] not in everything
    assert str(vector[0])[:8].encode() not in everything
    # Speaker 0 has one recording more, and so is another; speaker 1 is the same.
    write_voice(recordings / "speaker0/more.wav", 1.0, seed=9, subtype="FLOAT")
    settings = Settings("listening", (("level", "speaker"),), Shape(), KEY)
    plan = make_plan([recordings], tmp_path / "out", by_folder)
    summary = run(plan, settings, mode="resume")
    assert (len(summary.done), summary.kept) == (6, 3)


def test_speakers_of_one_recording_are_heard_apart(tmp_path):
    rate = 16000
    ann, bob = (voice(2.0, rate, seed=seed)[:, 0] for seed in (1, 2))
    (tmp_path / "in").mkdir()
    soundfile.write(tmp_path / "in/both.wav", np.concatenate([ann, bob]), rate, subtype="FLOAT")
    soundfile.write(tmp_path / "in/ann.wav", voice(1.5, rate, seed=3), rate, subtype="FLOAT")
    (tmp_path / "turns.rttm").write_text(
        "SPEAKER both 1 0 2 - - ann\nSPEAKER both 1 2 1 - - bob\nSPEAKER ann 1 0 1.5 - - ann\n"
        "SPKR-INFO both 1 - - - adult_male bob\n"
    )
    plan = make_plan([tmp_path / "in"], tmp_path / "out", read_rttm(tmp_path / "turns.rttm"))
    alone, both = sources_of(
        plan.tasks, CepstralEncoder(), by_speaker=True, workers=1, scratch=tmp_path
    )

    def heard(samples: np.ndarray) -> np.ndarray:
        source = heard_source(CepstralEncoder(), [samples[None]], rate)
        assert source is not None
        return source.vector

    other, _ = soundfile.read(tmp_path / "in/ann.wav")
    mean = mean_source([heard(ann), heard(other)]).vector
    np.testing.assert_allclose(both["ann"].vector, mean, atol=1e-4)
    np.testing.assert_array_equal(alone["ann"].vector, both["ann"].vector)
    np.testing.assert_allclose(both["bob"].vector, heard(bob[:rate]), atol=1e-4)
    np.testing.assert_allclose(both[NOBODY].vector, heard(bob[rate:]), atol=1e-4)
    assert (both["ann"].sex, both["bob"].sex) == ("", "M")
    found = anonymized(plan)
    assert {name: len(samples) for name, samples in found.items()} == {
        "both.wav": 4 * rate,
        "ann.wav": 1.5 * rate,
    }


def test_what_cannot_be_heard_tells_nothing(recordings, tmp_path):
    (recordings / "speaker0/bad.wav").write_text("text")
    plan = make_plan([recordings / "speaker0"], tmp_path / "out", by_folder)
    found = sources_of(plan.tasks, CepstralEncoder(), by_speaker=False, workers=1, scratch=tmp_path)
    assert [sorted(sources) for sources in found] == [["speaker0"], ["speaker0"], []]
    found = sources_of(plan.tasks, CepstralEncoder(), by_speaker=True, workers=1, scratch=tmp_path)
    assert [sorted(sources) for sources in found] == [["speaker0"]] * 3
    assert heard_source(CepstralEncoder(), [np.zeros((1, 100))], 16000) is None


def test_arrays_are_heard_where_no_source_is_given() -> None:
    signal = voice(1.0, 16000, seed=4)[:, 0]
    anonymizer = Listening()
    arguments = {"speaker": "ann", "key": KEY}
    source = heard_source(CepstralEncoder(), [signal[None]], 16000)
    given = anonymizer.anonymize(signal, 16000, **arguments, source=source)
    np.testing.assert_array_equal(anonymizer.anonymize(signal, 16000, **arguments), given)
    other = Source(-source.vector)
    changed = anonymizer.anonymize(signal, 16000, **arguments, source=other)
    assert np.abs(changed - given).max() > 1e-3
    live = np.concatenate(list(anonymizer.stream([signal], 16000, **arguments, source=source)))
    nothing = np.concatenate(list(anonymizer.stream([signal], 16000, **arguments)))
    assert np.abs(live - nothing).max() > 1e-3


def test_a_source_is_not_shown() -> None:
    source = Source(np.array([0.6, 0.8]))
    draws = Listening().draws(KEY, "ann", source=source)
    assert "0.6" not in repr(draws)
    assert draws == Listening().draws(KEY, "ann")
