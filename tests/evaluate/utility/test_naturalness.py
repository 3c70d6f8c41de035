from __future__ import annotations

import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.evaluate.utility import naturalness
from sordino.evaluate.utility.extra import installed_folder
from sordino.evaluate.utility.naturalness import WINDOW, Listener, Opinion, opinion_rows, windows

needs_network = pytest.mark.skipif(
    installed_folder("speechmos") is None, reason="opinion scores need the extra evaluate"
)


@pytest.fixture
def published(monkeypatch):
    """The published script, without what it needs for the score that is not used here."""
    librosa = types.ModuleType("librosa")
    librosa.feature = types.SimpleNamespace(
        melspectrogram=lambda y, **rest: np.zeros((120, y.size // 160))
    )
    librosa.power_to_db = lambda power, ref: power
    requests = types.ModuleType("requests")
    requests.session = None
    monkeypatch.setitem(sys.modules, "librosa", librosa)
    monkeypatch.setitem(sys.modules, "requests", requests)
    monkeypatch.delitem(sys.modules, "speechmos.dnsmos", raising=False)
    from speechmos import dnsmos

    yield lambda wave: dnsmos.run(wave, 16_000)
    monkeypatch.delitem(sys.modules, "speechmos.dnsmos", raising=False)


@needs_network
@pytest.mark.parametrize("seconds", [5, 9.01, 11.5])
def test_scores_are_those_of_the_published_script(published, speech_root, seconds):
    path = speech_root / "librispeech" / "26" / "26-495-0012.flac"
    wave = Recording.read(path).samples[:, : int(seconds * 16_000)]
    expected = published(wave[0])
    found = Listener().opinion(Recording(wave, 16_000))
    assert found.overall == pytest.approx(expected["ovrl_mos"], abs=1e-3)
    assert found.speech == pytest.approx(expected["sig_mos"], abs=1e-3)
    assert found.background == pytest.approx(expected["bak_mos"], abs=1e-3)


@needs_network
def test_noise_is_heard(speech_root):
    path = next((speech_root / "vctk" / "p227").glob("*.flac"))
    clean = Recording.read(path)
    rng = np.random.default_rng(0)
    noisy = clean.samples + 0.02 * rng.standard_normal(clean.samples.shape)
    before = Listener().opinion(clean)
    after = Listener().opinion(Recording(noisy.astype(np.float32), 16_000))
    assert after.background < before.background - 1
    assert after.overall < before.overall - 0.3


@pytest.mark.parametrize("seconds", [9.01, 9.5, 10.0, 10.2, 11.0, 11.9, 14.3, 31.0])
def test_windows_start_where_those_of_the_published_script_do(seconds):
    wave = np.arange(int(seconds * 16_000), dtype=np.float32)
    count = int(np.floor(wave.size / 16_000) - 9.01) + 1
    expected = [
        wave[int(number * 16_000) : int((number + 9.01) * 16_000)] for number in range(count)
    ]
    expected = [piece for piece in expected if piece.size >= WINDOW]
    found = windows(wave, 16_000)
    # Rounding makes the script leave out some windows, from the eighth on.
    assert [piece[0] for piece in found][:7] == [piece[0] for piece in expected][:7]
    assert {piece[0] for piece in found} >= {piece[0] for piece in expected}
    assert len(found) == count
    assert {piece.size for piece in found} == {WINDOW}


def test_a_short_recording_is_repeated_and_a_hop_skips():
    (window,) = windows(np.array([1, 2, 3], dtype=np.float32), 16_000)
    assert window.size == WINDOW
    assert window[:7].tolist() == [1, 2, 3, 1, 2, 3, 1]
    wave = np.zeros(30 * 16_000, dtype=np.float32)
    assert len(windows(wave, 3 * 16_000)) == 7
    assert len(windows(wave, 16_000)) == 21


def test_silence_and_wrong_settings_are_refused():
    with pytest.raises(AudioError, match="digital silence"):
        Listener().opinion(Recording(np.zeros((1, 16_000), dtype=np.float32), 16_000))
    with pytest.raises(UsageError, match="0 threads"):
        Listener(threads=0)
    with pytest.raises(UsageError, match=r"every 0\.5 s"):
        Listener(hop=0.5)


def test_a_missing_package_is_named(monkeypatch, speech_like):
    monkeypatch.setattr("sordino.evaluate.utility.extra.find_spec", lambda module: None)
    naturalness._network.cache_clear()
    with pytest.raises(UsageError, match="opinion scores need the package speechmos"):
        Listener().opinion(Recording(speech_like(16_000, 1), 16_000))


def test_it_goes_to_other_processes():
    listener = Listener(threads=2, hop=3)
    assert pickle.loads(pickle.dumps(listener)) == listener  # noqa: S301


def test_rows_are_means():
    utterances = [Utterance(name, Path(name), name) for name in ("a", "b")]
    rows = opinion_rows("x", utterances, [Opinion(3, 4, 5), Opinion(2, 3, 3)])
    found = {row.measure: row.value.value for row in rows if row.group == "all"}
    assert found == {"dnsmos-ovrl": 2.5, "dnsmos-sig": 3.5, "dnsmos-bak": 4}
    assert {row.unit for row in rows} == {"MOS"}
