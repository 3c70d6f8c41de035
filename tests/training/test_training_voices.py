from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import soundfile

pyworld = pytest.importorskip(
    "pyworld", reason="WORLD is in the extra train, which is not installed"
)

from sordino.corpus.utterance import Utterance
from sordino.training.voices import Voice, VoiceSettings, draw_voice, make_voices, revoice
from tests.helpers import tree, voice
from tests.talkers import talkers

RATE = 16000
SETTINGS = VoiceSettings(copies=2)


@pytest.fixture(scope="module", params=["F", "M"])
def real(request, speech_root):
    """Two and a half seconds of a woman, and of a man."""
    with (speech_root / "manifest.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus"] == "librispeech"]
    path = next(row["path"] for row in rows if row["sex"] == request.param)
    return soundfile.read(speech_root / path)[0][: 5 * RATE // 2]


def pitch_ratio(before: np.ndarray, after: np.ndarray) -> float:
    """Median over frames of the pitches' ratio; the tracker is another than the code's."""
    tracks = [pyworld.harvest(np.ascontiguousarray(x), RATE)[0] for x in (before, after)]
    frames = min(map(len, tracks))
    one, other = (track[:frames] for track in tracks)
    voiced = (one > 0) & (other > 0)
    assert voiced.mean() > 0.3
    return float(np.median(other[voiced] / one[voiced]))


def envelope(samples: np.ndarray) -> np.ndarray:
    """Mean log spectrum without its fine structure, over 0 to 8 kHz."""
    frames = np.lib.stride_tricks.sliding_window_view(samples, 1024)[::256] * np.hanning(1024)
    frames = frames[np.square(frames).sum(axis=1) > np.square(frames).sum(axis=1).mean()]
    logarithm = np.log(np.abs(np.fft.rfft(frames)) + 1e-6).mean(axis=0)
    cepstrum = np.fft.irfft(logarithm)
    # Without level, tilt and pitch.
    cepstrum[[0, 1, -1]] = 0
    cepstrum[41:-40] = 0
    return np.fft.rfft(cepstrum).real


def warping(before: np.ndarray, after: np.ndarray) -> float:
    """The factor on frequency that brings one envelope nearest to another, below 4 kHz."""
    bins = np.arange(30, 256)
    ratios = np.linspace(0.75, 1.33, 117)
    fits = [
        np.corrcoef(np.interp(bins / ratio, np.arange(before.size), before), after[bins])[0, 1]
        for ratio in ratios
    ]
    return float(ratios[int(np.argmax(fits))])


@pytest.mark.parametrize("ratio", [0.8, 1.25])
def test_pitch_ratio_is_the_one_asked_for(real, ratio):
    (other,) = revoice(real, [Voice(ratio, 1.0, 1.0)])
    assert pitch_ratio(real, other) == pytest.approx(ratio, rel=0.03)


@pytest.mark.parametrize("ratio", [0.87, 1.15])
def test_formants_move_by_the_ratio_and_pitch_stays(real, ratio):
    (other,) = revoice(real, [Voice(1.0, ratio, 1.0)])
    assert warping(envelope(real), envelope(other)) == pytest.approx(ratio, rel=0.04)
    assert pitch_ratio(real, other) == pytest.approx(1, rel=0.03)


@pytest.mark.parametrize("tempo", [0.85, 1.2])
def test_tempo_changes_the_length_alone(real, tempo):
    (other,) = revoice(real, [Voice(1.0, 1.0, tempo)])
    assert other.size == pytest.approx(real.size / tempo, abs=0.01 * RATE)
    stretched = np.interp(np.arange(other.size) * tempo, np.arange(real.size), real)
    energies = [
        np.square(x[: other.size // 320 * 320].reshape(-1, 320)).sum(axis=1)
        for x in (other, stretched)
    ]
    assert np.corrcoef(np.sqrt(energies))[0, 1] > 0.9


def test_copies_do_not_depend_on_each_other():
    samples = voice(1.0, RATE)[:, 0]
    voices = [Voice(1.3, 1.1, 1.1), Voice(0.8, 0.9, 0.9)]
    assert np.array_equal(revoice(samples, voices)[1], revoice(samples, voices[1:])[0])


@pytest.mark.parametrize("samples", [np.zeros(8000), np.ones(400), 0.99 * np.ones(8000)])
def test_odd_input_stays_finite_and_within_full_scale(samples):
    for out in revoice(samples, [Voice(1.5, 1.2, 0.9), Voice(0.6, 0.8, 1.1)]):
        assert np.isfinite(out).all()
        assert np.abs(out).max() <= 1


def test_voices_of_many_copies_have_the_asked_spread():
    settings = VoiceSettings(copies=1, pitch=0.3, tract=0.1, tract_with_pitch=0.0, tempo=0.2)
    drawn = [draw_voice(settings, f"s{number}", 1, 0) for number in range(600)]
    octaves = np.log2([[v.pitch, v.tract, v.tempo] for v in drawn])
    # Clipped at two deviations, a normal distribution keeps 0.94 of its deviation.
    assert np.allclose(octaves.std(axis=0), 0.94 * np.array([0.3, 0.1, 0.2]), rtol=0.1)
    assert np.abs(octaves).max(axis=0) == pytest.approx([0.6, 0.2, 0.4])


def test_formants_follow_the_pitch_in_part():
    settings = VoiceSettings(copies=1, pitch=0.3, tract=0.0, tract_with_pitch=0.25)
    for number in range(20):
        drawn = draw_voice(settings, f"s{number}", 1, 0)
        assert np.log2(drawn.tract) == pytest.approx(0.25 * np.log2(drawn.pitch))


def test_speaker_copy_and_seed_each_make_another_voice():
    drawn = {
        draw_voice(SETTINGS, speaker, copy, seed)
        for speaker in ("anna", "ben")
        for copy in (1, 2)
        for seed in (0, 1)
    }
    assert len(drawn) == 8


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("voices")
    corpus = talkers(folder / "real", speakers=2, utterances=2, seconds=0.6)
    new = make_voices(corpus.utterances, folder / "new", SETTINGS, 0, 1, quiet=True)
    return corpus, folder / "new", new


def test_all_utterances_of_a_copy_are_one_speaker(made):
    corpus, _, new = made
    assert len(new) == 2 * len(corpus)
    for utterance in new:
        original, copy = utterance.id.rsplit("~", 1)
        assert utterance.speaker == f"{corpus.by_id()[original].speaker}~{copy}"
        assert (utterance.sex, utterance.corpus) == (corpus.by_id()[original].sex, "made")


def test_copies_of_a_speaker_share_the_voice(made):
    corpus, _, new = made
    for utterance in new:
        original, copy = utterance.id.rsplit("~", 1)
        drawn = draw_voice(SETTINGS, corpus.by_id()[original].speaker, int(copy), 0)
        samples, _ = soundfile.read(corpus.by_id()[original].path)
        (expected,) = revoice(samples, [drawn])
        stored, rate = soundfile.read(utterance.path)
        assert rate == RATE
        assert np.abs(stored - expected).max() <= 2**-15


def test_second_call_does_nothing_new(made):
    corpus, folder, new = made
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.flac")}
    assert make_voices(corpus.utterances, folder, SETTINGS, 0, 1, quiet=True) == new
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.flac")} == before


def test_more_processes_make_the_same_and_fill_gaps(made, tmp_path):
    corpus, folder, new = made
    before = tree(folder)
    new[1].path.unlink()
    make_voices(corpus.utterances, folder, SETTINGS, 0, 2, quiet=True)
    assert tree(folder) == before


def test_parts_of_recordings_and_other_rates(tmp_path):
    path = tmp_path / "long.wav"
    sound = voice(2.0, 44100, channels=2)
    soundfile.write(path, sound, 44100)
    part = Utterance("part", path, "anna", start=0.5, end=1.5, duration=1.0)
    settings = replace(SETTINGS, copies=1, tempo=0.0)
    (new,) = make_voices([part], tmp_path / "new", settings, 0, 1, quiet=True)
    assert (new.start, new.end, new.duration) == (None, None, None)
    assert soundfile.info(new.path).frames == pytest.approx(RATE, abs=0.01 * RATE)


def test_no_copies_make_no_folder(tmp_path):
    corpus = talkers(tmp_path / "real", speakers=1, utterances=1)
    assert make_voices(corpus.utterances, tmp_path / "new", VoiceSettings(), 0, 1) == []
    assert not (tmp_path / "new").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from sordino.corpus.utterance import Utterance
from sordino.training import voices

def killed(part, target):
    os.kill(os.getpid(), signal.SIGKILL)

Path.replace = killed
u = Utterance("u", Path(sys.argv[1]), "anna")
voices._make_copies((u, Path(sys.argv[2]), voices.VoiceSettings(copies=1), 0))
"""


def test_killed_while_writing_leaves_no_half_file(tmp_path):
    path = tmp_path / "u.flac"
    soundfile.write(path, voice(0.6, RATE), RATE)
    command = [sys.executable, "-c", KILLED, str(path), str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, env=os.environ, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list((tmp_path / "new").rglob("[!.]*.flac")) == []
    utterance = Utterance("u", path, "anna")
    settings = VoiceSettings(copies=1)
    (new,) = make_voices([utterance], tmp_path / "new", settings, 0, 1, quiet=True)
    assert soundfile.info(new.path).frames > 0.5 * RATE
