from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.anonymize.base import Draws
from sordino.anonymize.prosody import MODES, Register, make_prosody
from sordino.errors import UsageError

HERS = Register(math.log(210), 0.22)


def convert(name, f0, draws, register=HERS, **options):
    return make_prosody(name, **options).contour(register, draws).process(f0, last=True)


def semitones(f0, register=HERS):
    return 12 * (np.log2(f0[f0 > 0]) - register.mean / math.log(2))


@settings(max_examples=40)
@given(
    name=st.sampled_from(sorted(MODES)), lookahead=st.sampled_from([0, 0.3, 3.0]), data=st.data()
)
def test_the_result_does_not_depend_on_how_the_track_is_cut(name, lookahead, data, track, draws):
    f0 = track[: data.draw(st.integers(0, 900))]
    prosody = make_prosody(name, lookahead=lookahead)
    whole = prosody.contour(HERS, draws).process(f0, last=True)
    cuts = sorted(data.draw(st.sets(st.integers(0, f0.size), max_size=6)))
    contour = prosody.contour(HERS, draws)
    pieces = np.split(f0, cuts)
    parts, came, left = [], 0, 0
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        parts.append(contour.process(piece, last=last))
        came += piece.size
        left += parts[-1].size
        assert came - left <= contour.delay
    assert np.array_equal(np.concatenate(parts), whole)
    assert whole.size == f0.size


@pytest.mark.parametrize("name", sorted(MODES))
def test_voicing_is_kept_and_hertz_stay_in_range(name, track, draws):
    for register in (HERS, Register(math.log(60), 0.5), Register(math.log(550), 0.5)):
        changed = convert(name, track, draws, register)
        assert np.array_equal(changed > 0, track > 0)
        voiced = changed[changed > 0]
        assert voiced.min() >= 50
        assert voiced.max() <= 600


@pytest.mark.parametrize("name", sorted(MODES))
@pytest.mark.parametrize("frames", [0, 1, 40])
def test_without_voice_nothing_comes_of_it(name, frames, draws):
    assert convert(name, np.zeros(frames), draws).tolist() == [0.0] * frames


def test_copy_is_the_source(track, draws):
    assert np.array_equal(convert("copy", track, draws), track)


def test_keep_moves_the_mean_and_nothing_else(track, draws):
    # With a look-ahead over all of it, the whole track is moved by one interval.
    changed = convert("keep", track, draws, lookahead=60)
    interval = np.log(changed[track > 0] / track[track > 0])
    assert interval == pytest.approx(interval[0], abs=1e-9)
    assert Register.of(changed).mean == pytest.approx(HERS.mean, abs=1e-3)
    assert Register.of(changed).deviation == pytest.approx(Register.of(track).deviation, abs=1e-2)


def test_normalise_moves_mean_and_deviation(track, draws):
    changed = Register.of(convert("normalise", track, draws, lookahead=60))
    assert changed.mean == pytest.approx(HERS.mean, abs=1e-3)
    assert changed.deviation == pytest.approx(HERS.deviation, rel=0.03)


def test_two_speakers_who_differ_in_register_alone_become_the_same(track, draws):
    logs = np.log(np.where(track > 0, track, 1))
    other = np.where(track > 0, np.exp(5.2 + 0.6 * (logs - np.log(120))), 0)
    for name in ("normalise", "quantise"):
        first, second = (convert(name, f0, draws, lookahead=60) for f0 in (track, other))
        voiced = track > 0
        assert np.log(second[voiced]) == pytest.approx(np.log(first[voiced]), abs=0.15)
        assert np.corrcoef(first[voiced], second[voiced])[0, 1] > 0.95


def test_what_comes_later_than_the_look_ahead_does_not_count(track, draws):
    first = convert("normalise", track, draws, lookahead=1)
    other = track.copy()
    other[1200:] *= 1.7
    second = convert("normalise", other, draws, lookahead=1)
    assert np.array_equal(first[:1100], second[:1100])
    assert not np.allclose(first[1100:1200], second[1100:1200])


def test_the_first_voiced_frame_without_look_ahead_is_at_the_registers_mean(track, draws):
    changed = convert("keep", track, draws, lookahead=0)
    assert changed[changed > 0][0] == pytest.approx(HERS.hertz)


def test_a_monotonous_source_is_not_blown_up(draws):
    rng = np.random.default_rng(3)
    steady = 100 * np.exp(0.002 * rng.standard_normal(500))
    changed = convert("normalise", steady, draws, lookahead=60)
    assert np.log(changed).std() < 0.006


def test_quantise_lets_no_shake_through(track, draws):
    rng = np.random.default_rng(4)
    time = np.arange(3000) / 100
    slow = 120 * 2 ** (3 * np.sin(2 * np.pi * 0.4 * time) / 12)
    shake = np.exp(0.02 * rng.standard_normal(time.size))
    changed = np.log(convert("quantise", slow * shake, draws))
    kept = np.log(convert("normalise", slow * shake, draws))

    def roughness(logs):
        """What is left of the shake: the part that is faster than 12 Hz."""
        spectrum = np.abs(np.fft.rfft(logs * np.hanning(logs.size))) ** 2
        return spectrum[(12 * 30) :].sum()

    assert roughness(changed) < 1e-3 * roughness(kept)
    fast = np.fft.rfft((kept - changed)[500:2500])[240:]
    left = np.fft.rfft(changed[500:2500])[240:]
    assert abs(np.vdot(fast, left)) < 0.1 * np.linalg.norm(fast) ** 2


def test_quantise_rests_on_steps_that_the_key_moves(draws, key):
    time = np.arange(4000) / 100
    f0 = 120 * 2 ** (4 * np.sign(np.sin(2 * np.pi * 0.25 * time)) / 12)
    plain = semitones(convert("quantise", f0, draws, steps=2, jitter=0, lookahead=60))
    resting = plain[np.abs(np.diff(plain, prepend=np.inf)) < 1e-9]
    levels = np.unique(resting.round(6))
    assert levels.size == 2
    assert np.diff(levels) / 2 == pytest.approx(np.rint(np.diff(levels) / 2), abs=1e-5)
    moved = semitones(convert("quantise", f0, draws, steps=2, jitter=1, lookahead=60))
    resting = moved[np.abs(np.diff(moved, prepend=np.inf)) < 1e-9]
    assert np.unique(resting.round(6)).size > 10
    assert np.abs(moved - plain).max() <= 1.0 + 1e-9
    other = Draws(key, ("neural", "speaker", "bert"))
    elsewhere = semitones(convert("quantise", f0, other, steps=2, jitter=0, lookahead=60))
    assert np.abs(elsewhere - plain).max() > 0.05


def test_quantise_glides_as_fast_as_people_do(track, draws):
    changed = convert("quantise", track, draws, steps=4)
    both = (changed[1:] > 0) & (changed[:-1] > 0)
    steps = 12 * np.abs(np.diff(np.log2(np.where(changed > 0, changed, 1))))[both]
    # 4 semitones and jitter over 170 ms, twice at most at once.
    assert steps.max() < 2


def test_flatten_has_nothing_of_the_source(track, draws):
    other = np.where(track > 0, 300.0, 0)
    assert np.array_equal(convert("flatten", track, draws), convert("flatten", other, draws))
    level = convert("flatten", track, draws, drift=0)
    assert level[level > 0] == pytest.approx(HERS.hertz)
    drifting = semitones(convert("flatten", np.full(20_000, 100.0), draws, drift=2))
    assert np.abs(drifting).max() <= 2
    assert drifting.std() > 0.3
    assert abs(drifting.mean()) < 0.2
    assert np.abs(np.diff(drifting)).max() <= 2 * 2 * 0.01 / 0.4


def test_the_key_decides_and_nothing_else(track, draws, key):
    again = Draws(key, draws.labels)
    other = Draws(key, (*draws.labels[:-1], "bert"))
    for name in ("quantise", "flatten"):
        first = convert(name, track, draws)
        assert np.array_equal(first, convert(name, track, again))
        assert not np.allclose(first, convert(name, track, other))


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("sing", {}, "there is no prosody 'sing'; there are: copy, keep, normalise"),
        ("keep", {"steps": 2}, "prosody keep has no setting 'steps'; it has: lookahead"),
        ("keep", {"lookahead": -1}, "prosody keep: lookahead is -1; expected 0 to 60"),
        ("copy", {"lookahead": True}, "lookahead is True"),
        ("quantise", {"steps": "2"}, "steps is '2'; expected 0.25 to 12"),
        ("quantise", {"jitter": 1.5}, "jitter is 1.5; expected 0 to 1"),
        ("quantise", {"steps": math.nan}, "steps is nan"),
        ("flatten", {"drift": 7}, "drift is 7; expected 0 to 6"),
    ],
)
def test_what_cannot_be_set_is_said(name, options, words):
    with pytest.raises(UsageError) as caught:
        make_prosody(name, **options)
    assert words in str(caught.value)


def test_on_real_speech_the_pseudo_speakers_register_is_reached(speech_root, draws):
    pytest.importorskip("swift_f0", reason="the tracker swift needs the package swift-f0")
    import soundfile

    from sordino.dsp.pitch import load_tracker

    path = sorted((speech_root / "librispeech").rglob("*.flac"))[0]
    wave, _ = soundfile.read(path, dtype="float32")
    f0 = load_tracker("swift").track(wave[: wave.size // 160 * 160])
    assert abs(Register.of(f0).mean - HERS.mean) > 0.05
    for name in ("keep", "normalise", "quantise", "flatten"):
        changed = Register.of(convert(name, f0, draws))
        assert changed.mean == pytest.approx(HERS.mean, abs=0.06)
    assert changed.deviation < 0.06
