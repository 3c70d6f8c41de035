from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError
from sordino.evaluate.utility.change import Change, change_of, change_rows


def test_change_of_real_speech_is_that_of_an_independent_meter(speech_root):
    pyloudnorm = pytest.importorskip("pyloudnorm", reason="no reference meter")
    path = next((speech_root / "librispeech" / "26").glob("*.flac"))
    original = Recording.read(path)
    softer = 0.3 * original.samples[:, 4000:]
    changed = Recording(softer.astype(np.float32), 16_000)
    found = change_of(original, changed)
    assert found.duration == pytest.approx(-0.25)
    meter = pyloudnorm.Meter(16_000)
    expected = meter.integrated_loudness(changed.samples[0].astype(float))
    expected -= meter.integrated_loudness(original.samples[0].astype(float))
    assert found.loudness == pytest.approx(expected, abs=0.1)


def test_other_rates_compare(speech_like):
    voice = speech_like(44_100, 2)
    half = Recording(0.5 * voice, 44_100)
    found = change_of(Recording(speech_like(16_000, 2), 16_000), half)
    assert found.duration == 0
    assert -9 < found.loudness < -3


@pytest.mark.parametrize(("which", "place"), [("original", 0), ("changed", 1)])
def test_silence_has_no_loudness(speech_like, which, place):
    pair = [Recording(speech_like(16_000, 1), 16_000)] * 2
    pair[place] = Recording(np.zeros((1, 16_000), dtype=np.float32), 16_000)
    with pytest.raises(AudioError, match=f"the {which} speech is digital silence"):
        change_of(*pair)


def test_rows_keep_signs_and_units():
    utterances = [Utterance(name, Path(name), name) for name in ("a", "b")]
    rows = change_rows("x", utterances, [Change(-0.5, 1.0), Change(0.1, 2.0)])
    found = {(row.measure, row.unit): row.value.value for row in rows if row.group == "all"}
    assert found == {
        ("duration-change", "s"): pytest.approx(-0.2),
        ("loudness-change", "LU"): pytest.approx(1.5),
    }
