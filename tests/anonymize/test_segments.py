from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.anonymize.base import Anonymizer, Blocks, Draws
from sordino.anonymize.mcadams import McAdams
from sordino.anonymize.segments import NOBODY, Span, spans, spoken, transform_spans
from sordino.corpus.rttm import Turn
from sordino.errors import AudioError, SordinoError
from sordino.privacy.keys import SecretKey
from tests.helpers import voice

KEY = SecretKey(b"a key of 32 bytes for all tests.")


class Keep(Anonymizer):
    """Multiplies by a number that depends on the speaker, and remembers what it was given."""

    name, version, protection = "keep", 1, "None."

    def __init__(self, gains: Mapping[str, float] | None = None, lost: int = 0) -> None:
        super().__init__()
        self.gains = dict(gains or {})
        self.lost = lost
        self.given: dict[str, np.ndarray] = {}

    def parameters(self) -> Mapping[str, object]:
        return {}

    def transform(self, blocks: Blocks, sample_rate: int, draws: Draws) -> Iterator[np.ndarray]:
        speaker = draws.labels[2]
        samples = np.concatenate(list(blocks), axis=1)
        self.given[speaker] = samples
        changed = samples * self.gains.get(speaker, 1.0)
        # In pieces of another size than they came in.
        for start in range(0, changed.shape[1] - self.lost, 333):
            yield changed[:, start : min(start + 333, changed.shape[1] - self.lost)]


def turned(times: list[tuple[str, float, float]]) -> list[Turn]:
    return sorted((Turn(*turn) for turn in times), key=lambda turn: (turn.start, -turn.end))


def cut(samples: np.ndarray, size: int) -> list[np.ndarray]:
    return [samples[:, start : start + size] for start in range(0, samples.shape[1], size)]


def changed(
    anonymizer: Anonymizer,
    samples: np.ndarray,
    rate: int,
    parts: tuple[Span, ...],
    tmp_path,
    *,
    silent: tuple[str, ...] = (),
    size: int = 1000,
) -> np.ndarray:
    draws = {
        span.speaker: anonymizer.draws(KEY, span.speaker)
        for span in parts
        if span.speaker not in silent
    }
    found = transform_spans(
        anonymizer,
        lambda: cut(samples, size),
        samples.shape,
        rate,
        parts,
        draws,
        scratch=tmp_path,
        block=777,
    )
    return np.concatenate(list(found), axis=1)


def named(parts: tuple[Span, ...]) -> list[tuple[int, int, str]]:
    return [(span.start, span.end, span.speaker) for span in parts]


def test_whoever_began_first_has_the_voice() -> None:
    turns = turned([("a", 0, 4), ("b", 2, 6), ("c", 3, 3.5), ("d", 5, 8)])
    assert named(spans(turns, 10, 80)) == [(0, 40, "a"), (40, 60, "b"), (60, 80, "d")]


def test_parts_without_a_speaker_are_nobodys_and_short_pauses_are_not() -> None:
    turns = turned([("a", 1, 2), ("b", 2.2, 3), ("b", 5, 6)])
    assert named(spans(turns, 10, 80)) == [
        (0, 10, NOBODY),
        (10, 22, "a"),
        (22, 30, "b"),
        (30, 50, NOBODY),
        (50, 60, "b"),
        (60, 80, NOBODY),
    ]
    assert named(spans(turns, 10, 80, "silence"))[1:4] == [
        (10, 20, "a"),
        (20, 22, NOBODY),
        (22, 30, "b"),
    ]
    # At the edges of the recording, too.
    assert named(spans(turned([("a", 0.1, 1.9)]), 10, 20)) == [(0, 20, "a")]


def test_a_turn_may_end_a_little_after_the_recording() -> None:
    assert named(spans(turned([("a", 0, 2.4)]), 10, 20)) == [(0, 20, "a")]
    for turn in (("a", 0.0, 2.6), ("a", 2.0, 2.1)):
        with pytest.raises(AudioError, match=r"lasts 2\.000 s, but the RTTM file has a turn from"):
            spans(turned([turn]), 10, 20)


TIMES = st.lists(
    st.tuples(st.sampled_from("abc"), st.floats(0, 9.9), st.floats(0.001, 5)), max_size=12
)


@given(times=TIMES, unassigned=st.sampled_from(["voice", "silence"]))
def test_spans_part_the_recording_and_their_weights_sum_up_to_one(times, unassigned) -> None:
    turns = turned([(who, start, min(start + length, 10)) for who, start, length in times])
    parts = spans([turn for turn in turns if turn.end > turn.start], 1000, 10_000, unassigned)
    assert parts[0].start == 0
    assert parts[-1].end == 10_000
    assert all(one.end == other.start for one, other in pairwise(parts))
    assert all(one.speaker != other.speaker for one, other in pairwise(parts))
    total = sum(span.weights(0, 10_000) for span in parts)
    np.testing.assert_allclose(total, 1, atol=1e-12)
    for span in parts:
        weights = span.weights(0, 10_000)
        inside = weights[span.start + span.fade_in : span.end - span.fade_out]
        np.testing.assert_array_equal(inside, 1)
        assert not weights[: span.start - span.fade_in].any()
        assert not weights[span.end + span.fade_out :].any()


@given(times=TIMES, size=st.sampled_from([1, 97, 4000, 10_000]))
def test_a_voice_that_changes_nothing_gives_the_recording_back(tmp_path_factory, times, size):
    turns = turned([(who, start, start + length) for who, start, length in times])
    turns = [turn for turn in turns if turn.end < 10.5]
    samples = np.random.default_rng(0).normal(0, 0.1, (2, 10_000)).astype(np.float32)
    if size == 1:
        samples, turns = samples[:, :300], []
    parts = spans(turns, 1000, samples.shape[1])
    output = changed(Keep(), samples, 1000, parts, tmp_path_factory.getbasetemp(), size=size)
    np.testing.assert_allclose(output, samples, atol=1e-6)


def test_one_voice_throughout_is_the_plain_transform(tmp_path) -> None:
    samples, rate = voice(2.0, 16000, channels=2).T, 16000
    anonymizer = McAdams()
    plain = np.concatenate(
        list(anonymizer.transform([samples], rate, anonymizer.draws(KEY, "ann"))), axis=1
    )
    parts = spans(turned([("ann", 0.0, 2.0)]), rate, samples.shape[1])
    output = changed(anonymizer, samples, rate, parts, tmp_path)
    gain = np.sqrt(np.sum(samples**2) / np.sum(plain**2))
    np.testing.assert_allclose(output, gain * plain, atol=1e-5)


def test_each_stretch_has_its_speakers_voice(tmp_path) -> None:
    samples, rate = voice(6.0, 16000, seed=3).T, 16000
    anonymizer = McAdams()
    turns = turned([("ann", 0, 2), ("bob", 2, 3.5), ("ann", 4, 6)])
    parts = spans(turns, rate, samples.shape[1])
    output = changed(anonymizer, samples, rate, parts, tmp_path, size=5000)
    for span in parts:
        whole = anonymizer.transform([samples], rate, anonymizer.draws(KEY, span.speaker))
        alone = np.concatenate(list(whole), axis=1)
        inner = slice(span.start + 400, span.end - 400)
        heard = [each for each in parts if each.speaker == span.speaker]
        gain = np.sqrt(
            sum(np.sum(samples[:, each.start : each.end] ** 2) for each in heard)
            / sum(np.sum(alone[:, each.start : each.end] ** 2) for each in heard)
        )
        # Frames lie as in the whole, so that not a sample differs but for the level.
        np.testing.assert_allclose(output[:, inner], gain * alone[:, inner], rtol=0.02, atol=1e-4)


def test_speakers_stay_as_loud_as_they_were(tmp_path) -> None:
    samples = np.random.default_rng(1).normal(0, 0.1, (1, 20_000))
    parts = spans(turned([("a", 0, 10), ("b", 10, 20)]), 1000, 20_000)
    output = changed(Keep({"a": 30.0, "b": 0.01}), samples, 1000, parts, tmp_path)
    np.testing.assert_allclose(output, samples, atol=1e-5)


def test_no_original_sound_comes_through(tmp_path) -> None:
    samples = np.random.default_rng(1).normal(0, 0.1, (1, 20_000))
    parts = spans(turned([("a", 3, 10), ("b", 8, 15)]), 1000, 20_000)
    gone = Keep(dict.fromkeys(["a", "b", NOBODY], 0.0))
    assert not changed(gone, samples, 1000, parts, tmp_path).any()


def test_all_sound_that_is_done_is_told(tmp_path) -> None:
    told: list[float] = []
    parts = spans(turned([("a", 3, 10), ("b", 8, 15)]), 1000, 20_000)
    anonymizer = Keep()
    draws = {span.speaker: anonymizer.draws(KEY, span.speaker) for span in parts}
    blocks = [np.ones((1, 20_000))]
    arguments = (anonymizer, lambda: blocks, (1, 20_000), 1000, parts, draws)
    list(transform_spans(*arguments, scratch=tmp_path, advance=told.append))
    assert sum(told) == pytest.approx(20)


def test_an_anonymizer_is_given_its_own_speakers_speech(tmp_path) -> None:
    samples = np.ones((1, 100_000))
    samples[:, 40_000:60_000] = 2
    parts = spans(turned([("a", 0, 40), ("b", 40, 60), ("a", 60, 100)]), 1000, 100_000)
    anonymizer = Keep()
    changed(anonymizer, samples, 1000, parts, tmp_path)
    # What surrounds a stretch is heard for a fifth of a second, on a grid of 80 ms.
    for speaker, length in (("a", 80_000), ("b", 20_000)):
        assert length < anonymizer.given[speaker].shape[1] <= length + 800
    assert np.sum(anonymizer.given["a"] > 1.5) < 600


def test_nothing_clicks_where_voices_change(tmp_path) -> None:
    rate = 16000
    samples = 0.5 * np.sin(2 * np.pi * 200 / rate * np.arange(4 * rate))[None]
    turns = turned([("a", 0, 1.0003), ("b", 1.0003, 2.1), ("a", 2.6, 4)])
    for unassigned, silent in (("voice", ()), ("silence", (NOBODY,))):
        parts = spans(turns, rate, samples.shape[1], unassigned)
        unheard = [span for span in parts if span.speaker in silent]
        source = np.concatenate(list(spoken(cut(samples, 3000), unheard)), axis=1)
        output = changed(Keep({"a": -1.0}), source, rate, parts, tmp_path, silent=silent)
        steepest = np.abs(np.diff(samples)).max()
        assert np.abs(np.diff(output)).max() < 1.6 * steepest
        middle = output[0, int(2.2 * rate) : int(2.5 * rate)]
        assert middle.any() == (unassigned == "voice")


def test_unheard_parts_are_silent_before_anything_else_is_done() -> None:
    samples = np.ones((1, 3000))
    parts = spans(turned([("a", 1, 2)]), 1000, 3000, "silence")
    unheard = [span for span in parts if span.speaker == NOBODY]
    heard = np.concatenate(list(spoken(cut(samples, 700), unheard)), axis=1)[0]
    assert not heard[:989].any()
    assert not heard[2011:].any()
    np.testing.assert_array_equal(heard[1011:1989], 1)


def test_an_anonymizer_that_loses_samples_is_found_out(tmp_path) -> None:
    samples = np.ones((1, 3000))
    parts = spans(turned([("a", 0, 3)]), 1000, 3000)
    with pytest.raises(SordinoError, match="came out with 2990 samples for 3000"):
        changed(Keep(lost=10), samples, 1000, parts, tmp_path)


def test_a_recording_that_grows_is_refused(tmp_path) -> None:
    parts = spans(turned([("a", 0, 3)]), 1000, 3000)
    anonymizer = Keep()
    draws = {"a": anonymizer.draws(KEY, "a")}
    longer = [np.ones((1, 3500))]
    with pytest.raises(AudioError, match="had 3000 samples and has 3500"):
        list(
            transform_spans(
                anonymizer, lambda: longer, (1, 3000), 1000, parts, draws, scratch=tmp_path
            )
        )
