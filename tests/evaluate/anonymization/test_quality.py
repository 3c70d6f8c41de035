from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.anonymize.mcadams import McAdams
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.anonymization import quality
from sordino.evaluate.anonymization.hearings import Bench, as_heard
from sordino.evaluate.anonymization.protocol import Protocol
from sordino.evaluate.anonymization.quality import measured
from sordino.evaluate.anonymization.speech import Heard, in_file
from sordino.evaluate.progress import Silent

PROTOCOL = Protocol(measures=("change",), demanding=True, draws=100)


@pytest.fixture(scope="module")
def spoken(speech_root) -> list[Utterance]:
    """Two utterances each of three people."""
    groups = read_corpus(speech_root / "manifest.csv").select(corpus="librispeech").by_speaker()
    return [utterance for group in list(groups.values())[:3] for utterance in group[:2]]


@pytest.fixture(scope="module")
def speech(spoken, tmp_path_factory) -> dict[str, Heard]:
    """The originals, and what McAdams makes of them, half as loud and a second longer."""
    folder = tmp_path_factory.mktemp("changed")
    changed = {}
    for number, utterance in enumerate(spoken):
        recording = utterance.read()
        samples = McAdams(alpha=0.8).anonymize(
            recording.samples, recording.sample_rate, speaker="x", key=b"a key for the tests"
        )
        longer = np.r_[samples[0] / 2, np.zeros(recording.sample_rate)]
        path = folder / f"{number}.flac"
        soundfile.write(path, longer, recording.sample_rate)
        changed[utterance.id] = in_file(utterance, path)
    return {"original": as_heard(spoken), "changed": changed}


def bench(folder: Path) -> Bench:
    return Bench(folder, 1, Silent())


def test_changes_are_of_the_system_against_the_original(speech, tmp_path) -> None:
    found = measured(speech, {}, PROTOCOL, bench(tmp_path))
    rows = {(row.system, row.measure): row for row in found.qualities if row.group == "all"}
    assert rows["changed", "duration-change"].value.value == pytest.approx(1.0, abs=1e-4)
    assert rows["changed", "loudness-change"].value.value == pytest.approx(-6, abs=0.5)
    assert rows["changed", "loudness-change"].utterances == 6
    assert ("original", "duration-change") not in rows
    assert not found.failures


def test_only_a_sample_is_heard(speech, tmp_path) -> None:
    found = measured(speech, {}, replace(PROTOCOL, utterances=3), bench(tmp_path))
    rows = [row for row in found.qualities if row.group == "all"]
    assert {row.utterances for row in rows} == {3}
    assert {row.speakers for row in rows} == {3}


def test_intonation_is_kept_by_mcadams(speech, tmp_path) -> None:
    pytest.importorskip("swift_f0")
    found = measured(speech, {}, replace(PROTOCOL, measures=("f0",)), bench(tmp_path))
    (row,) = (row for row in found.qualities if row.group == "all")
    assert row.system == "changed"
    assert row.value.value > 0.7


def test_what_cannot_be_heard_is_listed(speech, spoken, tmp_path) -> None:
    silent = tmp_path / "silent.flac"
    soundfile.write(silent, np.zeros(16000), 16000)
    name = spoken[0].id
    changed = {**speech["changed"], name: in_file(spoken[0], silent)}
    heard = {"original": speech["original"], "changed": changed}
    found = measured(heard, {}, PROTOCOL, bench(tmp_path / "work"))
    (failure,) = found.failures
    assert failure.where == str(spoken[0].path)
    assert "silence" in failure.why
    rows = [row for row in found.qualities if row.group == "all"]
    assert {row.utterances for row in rows} == {5}


def test_emotions_are_learnt_from_the_original_of_other_speakers(speech, spoken, tmp_path) -> None:
    pytest.importorskip("swift_f0")
    pytest.importorskip("sklearn")
    labels = {u.id: "joy" if number % 2 else "fear" for number, u in enumerate(spoken)}
    wanted = replace(PROTOCOL, measures=("emotion",))
    found = measured(speech, labels, wanted, bench(tmp_path))
    rows = {(row.system, row.group): row for row in found.qualities}
    assert rows["original", "all"].utterances == rows["changed", "all"].utterances == 6
    assert {row.group for row in found.qualities} >= {"emotion: joy", "emotion: fear"}
    few = dict(list(labels.items())[:2])
    with pytest.raises(UsageError, match="1 speakers have emotions"):
        measured(speech, few, wanted, bench(tmp_path))
    assert not measured(speech, {}, wanted, bench(tmp_path)).qualities


def test_a_measure_without_its_package_is_a_note_or_an_error(speech, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(quality, "find_spec", lambda name: None)
    wanted = replace(PROTOCOL, measures=("dnsmos", "change"), demanding=False)
    found = measured(speech, {}, wanted, bench(tmp_path))
    assert {row.measure for row in found.qualities} == {"duration-change", "loudness-change"}
    (note,) = found.notes
    assert note.startswith("Without naturalness: this needs the package speechmos")
    with pytest.raises(UsageError, match="speechmos"):
        measured(speech, {}, replace(wanted, demanding=True), bench(tmp_path))


def test_words_need_texts(speech, tmp_path) -> None:
    pytest.importorskip("faster_whisper")
    wordless = {
        system: {name: replace(u, text=None) for name, u in heard.items()}
        for system, heard in speech.items()
    }
    with pytest.raises(UsageError, match="no utterance has a text"):
        measured(wordless, {}, replace(PROTOCOL, measures=("wer",)), bench(tmp_path))
