from __future__ import annotations

import numpy as np
import pytest
import soundfile

pytest.importorskip("amfm_decompy", reason="the tracker yaapt needs the package AMFM-decompy")

from amfm_decompy import basic_tools, pYAAPT

from sordino.dsp.pitch import yaapt
from sordino.dsp.pitch.yaapt import Yaapt
from sordino.errors import AudioError

RATE, HOP = 16_000, 160


@pytest.mark.parametrize("frequency", [100, 150, 210, 330])
def test_a_steady_pitch_is_found(buzz, frequency):
    wave, f0 = buzz(np.full(RATE, float(frequency)))
    track = Yaapt().track(wave)
    assert track.shape == f0.shape
    assert (track[5:-5] > 0).all()
    assert track[5:-5] == pytest.approx(frequency, rel=0.02)


def test_it_is_the_package_with_the_papers_settings(speech_root):
    path = sorted((speech_root / "vctk" / "p228").glob("*.flac"))[0]
    wave, _ = soundfile.read(path)
    wave = wave[RATE : 3 * RATE]
    padded = np.pad(wave, HOP)
    expected = pYAAPT.yaapt(
        basic_tools.SignalObj(padded, RATE),
        frame_length=20.0,
        frame_space=10.0,
        nccf_thresh1=0.25,
        tda_frame_length=25.0,
    ).samp_values
    track = Yaapt().track(wave.astype(np.float32))
    assert (track > 0).mean() > 0.3
    assert track == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 4, 5, 7, 10, 50])
def test_silence_of_any_length_is_unvoiced(frames):
    assert Yaapt().track(np.zeros(frames * HOP)).tolist() == [0.0] * frames
    assert Yaapt().track(np.full(frames * HOP, 1e-5)).tolist() == [0.0] * frames


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 6, 9])
def test_the_shortest_signals_have_a_track(speech_like, frames):
    track = Yaapt().track(speech_like(RATE, 1)[0, 1600 : 1600 + frames * HOP])
    assert track.shape == (frames,)
    assert np.isfinite(track).all()


def test_where_no_pitch_is_a_candidate_there_is_no_voice():
    click = np.zeros(RATE)
    click[RATE // 2] = 0.5
    for wave in (
        click,
        np.full(RATE, 0.1),
        0.1 * np.sin(2 * np.pi * 1100 * np.arange(RATE) / RATE),
    ):
        assert not Yaapt().track(wave).any()


def test_silence_between_words_is_unvoiced(buzz):
    wave, _ = buzz(np.full(2 * RATE, 130.0))
    wave[6400:22400] = 0
    track = Yaapt().track(wave)
    assert not track[41:139].any()
    assert (track[5:35] > 0).all()


def test_a_failure_is_an_error_and_never_a_whisper(buzz, monkeypatch):
    wave, _ = buzz(np.full(RATE, 130.0))
    for error in (ValueError("broken"), IndexError("broken"), AssertionError("broken")):

        def fail(signal, error=error, **settings):
            raise error

        monkeypatch.setattr(pYAAPT, "yaapt", fail)
        with pytest.raises(AudioError, match=r"yaapt failed \(broken\); use a voice with swift"):
            Yaapt().track(wave)


def test_long_signals_are_tracked_in_blocks(buzz, monkeypatch):
    time = np.arange(4 * RATE) / RATE
    wave, f0 = buzz(150 * 2 ** (0.3 * np.sin(2 * np.pi * time)))
    monkeypatch.setattr(yaapt, "_BLOCK", 150 * HOP)
    track = Yaapt().track(wave)
    assert track.shape == f0.shape
    assert track[5:-5] == pytest.approx(f0[5:-5], rel=0.06)
