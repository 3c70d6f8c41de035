"""Models of states: what was put in is found, and supervectors are means of it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from sordino.errors import AudioError, UsageError
from sordino.federated.features.states import StateModel, fit_states

pytest.importorskip("hmmlearn", reason="the extra federated is not installed")


def _said(levels: list[float], seed: int, length: int = 8) -> np.ndarray:
    """An utterance that goes through levels, with silence around it."""
    generator = np.random.default_rng(seed)
    pause, spoken = [[-20.0, 0.0]] * 6, [[0.0, level] for level in levels for _ in range(length)]
    frames = np.array([*pause, *spoken, *pause])
    return np.asarray(frames + 0.3 * generator.normal(size=frames.shape))


LEVELS = [4.0, -4.0, 8.0, 0.0]


@pytest.fixture(scope="module")
def phrase() -> StateModel:
    said = [_said(LEVELS, seed, length) for seed, length in enumerate((6, 8, 10, 9, 7))]
    return fit_states(said, "phrase", states=4)


def test_a_phrase_is_found_in_its_order(phrase: StateModel) -> None:
    assert np.allclose(phrase.means[phrase.voiced, 1], LEVELS, atol=0.3)
    assert np.allclose(phrase.means[[0, -1], 0], -20, atol=0.5)
    # Never back, and never over a state.
    allowed = np.eye(6, dtype=bool) | np.eye(6, k=1, dtype=bool)
    assert not phrase.transitions[~allowed].any()


def test_a_supervector_holds_the_speaker_s_means(phrase: StateModel) -> None:
    other = [level + 1.0 for level in LEVELS]
    row = phrase.supervector(_said(other, 9, 12), relevance=1e-6).reshape(4, 2)
    assert np.allclose(row[:, 1], other, atol=0.4)


def test_a_state_that_is_not_visited_says_what_the_model_says(phrase: StateModel) -> None:
    row = phrase.supervector(np.full((10, 2), (-20.0, 0.0))).reshape(4, 2)
    assert np.allclose(row, phrase.means[phrase.voiced], atol=0.05)


def test_occupation_is_that_of_forward_and_backward(phrase: StateModel) -> None:
    frames = _said(LEVELS, 3, 3)
    emission = norm.logpdf(frames[:, None], phrase.means, np.sqrt(phrase.variances)).sum(axis=2)
    with np.errstate(divide="ignore"):
        start, moves = np.log(phrase.start), np.log(phrase.transitions)
    forward, backward = np.empty_like(emission), np.zeros_like(emission)
    forward[0] = start + emission[0]
    for at in range(1, len(frames)):
        forward[at] = logsumexp(forward[at - 1][:, None] + moves, axis=0) + emission[at]
    for at in range(len(frames) - 2, -1, -1):
        backward[at] = logsumexp(moves + emission[at + 1] + backward[at + 1], axis=1)
    both = forward + backward
    expected = np.exp(both - logsumexp(both, axis=1, keepdims=True))
    assert np.allclose(phrase.occupation(frames), expected, atol=1e-6)


def test_any_words_find_their_sounds_in_any_order() -> None:
    generator = np.random.default_rng(1)
    said = [
        _said(list(generator.permutation([6.0, -6.0, 12.0, 0.0])), seed)[6:-6] for seed in range(8)
    ]
    model = fit_states(said, "any", states=4, seed=2)
    assert np.allclose(np.sort(model.means[:, 1]), [-6, 0, 6, 12], atol=0.5)
    assert model.dimension == 8


def test_refuses_too_little_speech(phrase: StateModel) -> None:
    with pytest.raises(AudioError, match="3 frames of speech"):
        phrase.supervector(np.zeros((3, 2)))
    with pytest.raises(UsageError, match="6 frames or more"):
        fit_states([np.zeros((5, 2))], "phrase", states=4)
    with pytest.raises(UsageError, match="needs utterances"):
        fit_states([], "any")
