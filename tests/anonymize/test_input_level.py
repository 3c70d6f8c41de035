from __future__ import annotations

import numpy as np
import pytest
import soundfile

from sordino.anonymize.input_level import FLOOR, OPEN, TARGET, amplitudes, levelled
from sordino.anonymize.windows import UNIT, WAVE, Piece, cells


def run(wave: np.ndarray, *, units: int = 20, ahead: int = 12) -> list[Piece]:
    return list(levelled(cells([np.atleast_2d(wave)], units), ahead))


def joined(pieces: list[Piece], name: str = WAVE) -> np.ndarray:
    return np.concatenate([piece.tracks[name] for piece in pieces], axis=1)


def tone(seconds: float, amplitude: float) -> np.ndarray:
    return amplitude * np.sqrt(2) * np.sin(0.3 * np.arange(int(16000 * seconds)))


def level(wave: np.ndarray) -> float:
    sound = amplitudes(np.atleast_2d(wave)[:, : wave.size // 160 * 160])[0]
    return float((sound**2).sum() / sound.sum())


def test_amplitudes_are_standard_deviations():
    wave = np.random.default_rng(0).normal(3, 2, (2, 1600))
    np.testing.assert_allclose(amplitudes(wave), wave.reshape(2, 10, 160).std(axis=2))
    assert not amplitudes(np.full((1, 320), 0.7, dtype=np.float32)).any()


@pytest.mark.parametrize("amplitude", [0.3, 0.08, 0.02, 0.01])
def test_levels_are_brought_to_one(amplitude):
    out = joined(run(tone(4, amplitude)))[0]
    np.testing.assert_allclose(out, tone(4, TARGET), atol=2e-3)


def test_gain_is_bounded():
    out = joined(run(tone(2, 0.001)))[0]
    np.testing.assert_allclose(out, tone(2, 0.01), atol=1e-4)


def test_what_is_under_the_floor_is_left_and_shut():
    wave = tone(1, FLOOR / 2)
    pieces = run(wave)
    np.testing.assert_allclose(joined(pieces)[0, : wave.size], wave, rtol=1e-6)
    assert not joined(pieces, OPEN).any()
    # An offset is no sound.
    assert not joined(run(np.full(16000, 0.3)), OPEN)[:, :-10].any()


def test_open_tells_where_there_is_sound():
    wave = np.concatenate([np.zeros(1600), tone(0.1, 0.1), np.zeros(16000)])
    opened = joined(run(wave), OPEN)[0]
    assert np.flatnonzero(opened).tolist() == list(range(10, 20))


@pytest.mark.parametrize("units", [1, 3, 50])
def test_gains_do_not_depend_on_the_cutting(units):
    rng = np.random.default_rng(0)
    wave = rng.normal(size=(2, 60 * UNIT)) * np.repeat(rng.uniform(0, 0.2, (2, 60)), UNIT, axis=1)
    whole, cut = run(wave, units=100), run(wave, units=units)
    np.testing.assert_array_equal(joined(cut), joined(whole))
    np.testing.assert_array_equal(joined(cut, OPEN), joined(whole, OPEN))


def test_a_gain_follows_from_what_is_heard_up_to_a_fixed_time_later():
    wave = tone(8, 0.1)
    louder = wave.copy()
    louder[4 * 16000 :] *= 3
    before, after = joined(run(wave, ahead=10))[0], joined(run(louder, ahead=10))[0]
    same = 4 * 16000 - 10 * UNIT
    np.testing.assert_array_equal(after[:same], before[:same])
    assert (np.abs(after[same:]) < np.abs(before[same:]) * 3 + 1e-9).all()
    assert level(after[same + UNIT : 4 * 16000]) < 0.97 * TARGET


def test_gain_is_smooth():
    wave = np.concatenate([tone(3, 0.01), tone(3, 0.3)])
    gain = joined(run(wave))[0] / np.where(np.abs(wave) > 1e-4, wave, np.nan)
    steps = np.abs(np.diff(gain[~np.isnan(gain)]))
    assert steps.max() < 0.02


def test_pauses_and_clicks_hardly_count():
    speech = np.concatenate([tone(1, 0.05), np.zeros(16000)] * 4)
    clicked = speech.copy()
    clicked[20000:20160:2] = 1
    for wave in (speech, clicked):
        out = joined(run(wave, ahead=200))[0]
        assert 0.85 * TARGET < level(out[:16000]) < 1.15 * TARGET


def test_channels_are_levelled_for_themselves():
    quiet, loud = tone(3, 0.02), tone(3, 0.2)
    out = joined(run(np.stack([quiet, loud])))
    np.testing.assert_allclose(out[0], out[1], atol=1e-3)


def test_typical_recordings_are_hardly_changed(speech_root):
    paths = sorted((speech_root / "librispeech").rglob("*.flac"))[::14]
    gains = [TARGET / level(soundfile.read(path)[0]) for path in paths]
    assert len(gains) > 5
    assert 0.7 < np.median(gains) < 1.4
