"""Hidden Markov models of speech, and the supervectors that they give."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from sordino.errors import AudioError, UsageError

if TYPE_CHECKING:
    from hmmlearn.hmm import GaussianHMM

FloatArray = npt.NDArray[np.float64]
Topology = Literal["phrase", "any"]

STATES = 20

_ROUNDS = 12
_LEAST_VARIANCE = 1e-2
_STAYING = 0.8
# A model of any words learns from so many frames at most; more change nothing but the time.
_MOST_FRAMES = 200_000


@dataclass(frozen=True, eq=False)
class StateModel:
    """A hidden Markov model with a Gaussian of independent coefficients in each state.

    Attributes:
        topology: "phrase": left to right through one phrase, with a state of silence before and
            after it; "any": from every state to every other, for any words.
        start: probabilities of the first state, shape (states,).
        transitions: probabilities of the next state, shape (states, states).
        means: shape (states, coefficients).
        variances: the same shape.
    """

    topology: Topology
    start: FloatArray
    transitions: FloatArray
    means: FloatArray
    variances: FloatArray

    @property
    def voiced(self) -> slice:
        """The states that do not model silence."""
        return slice(1, -1) if self.topology == "phrase" else slice(None)

    @property
    def dimension(self) -> int:
        """Numbers in a supervector."""
        return int(self.means[self.voiced].size)

    def occupation(self, frames: FloatArray) -> FloatArray:
        """The probability that each frame is in each state, shape (frames, states).

        Args:
            frames: shape (frames, coefficients).
        """
        found: FloatArray = _hmm(self).predict_proba(frames)
        return found

    def supervector(self, frames: FloatArray, *, relevance: float = 4.0) -> FloatArray:
        """The mean of an utterance's frames in each state that is not silence, end to end.

        Each mean is drawn to the model's as if `relevance` frames had been exactly there, so that
        a state which the utterance hardly visits says hardly anything.

        Args:
            frames: shape (frames, coefficients), at least as many as there are states.
            relevance: above 0.

        Returns:
            Shape (states * coefficients,): 20 * 26 = 520 for the paper's sizes.

        Raises:
            AudioError: there are fewer frames than states.

        Source: D. Reynolds, T. Quatieri, R. Dunn, "Speaker verification using adapted Gaussian
        mixture models", Digital Signal Processing 10, 2000, Eq. 11-13 (means only).
        """
        if len(frames) < len(self.means):
            raise AudioError(
                f"has {len(frames)} frames of speech; {len(self.means)} states need as many"
            )
        shares = self.occupation(frames)[:, self.voiced]
        sums = shares.T @ frames + relevance * self.means[self.voiced]
        adapted: FloatArray = sums / (shares.sum(axis=0) + relevance)[:, None]
        return adapted.ravel()


def fit_states(
    utterances: Sequence[FloatArray],
    topology: Topology = "any",
    *,
    states: int = STATES,
    seed: int = 0,
) -> StateModel:
    """Learn a model of states from utterances.

    Args:
        utterances: frames of each, shape (frames, coefficients); for "phrase" all say the same
            words, with pauses left in.
        topology: see `StateModel`.
        states: without those of silence, at least 2.
        seed: of what "any" begins with.

    Raises:
        UsageError: there are too few frames, or the library for it is not installed.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> sounds = np.repeat(np.arange(4.0), 10)[:, None]
        >>> said = [sounds + 0.1 * rng.normal(size=(40, 1)) for _ in range(5)]
        >>> fit_states(said, "any", states=4).means.round().ravel().sort() is None
        True
    """
    least = states + 2 if topology == "phrase" else states
    if not utterances or min(map(len, utterances)) < least:
        raise UsageError(f"a model of {states} states needs utterances of {least} frames or more")
    start = _left_to_right(utterances, states) if topology == "phrase" else None
    if start is None:
        utterances = _thinned(utterances, seed)
        start = _ergodic(np.concatenate(utterances), states, seed)
    hmm = _hmm(start)
    hmm.fit(np.concatenate(utterances), [len(frames) for frames in utterances])
    return StateModel(
        topology, hmm.startprob_, hmm.transmat_, hmm.means_, np.diagonal(hmm.covars_, 0, 1, 2)
    )


def _left_to_right(utterances: Sequence[FloatArray], states: int) -> StateModel:
    """What lies between the silences of each utterance cut into equal parts, one a state."""
    frames = np.concatenate(utterances)
    level = frames[:, 0]
    threshold = np.quantile(level, [0.05, 0.95]).mean()
    parts = np.concatenate([_parts(said[:, 0] > threshold, states) for said in utterances])
    quiet = parts < 0
    if not quiet.any():
        quiet = level <= np.quantile(level, 0.05)
    groups = [quiet, *(parts == part for part in range(states)), quiet]
    count = states + 2
    transitions = _STAYING * np.eye(count) + (1 - _STAYING) * np.eye(count, k=1)
    transitions[-1, -1] = 1.0
    # Not all recordings begin with silence.
    start = np.zeros(count)
    start[:2] = 0.5
    return StateModel(
        "phrase",
        start,
        transitions,
        np.stack([frames[group].mean(axis=0) for group in groups]),
        np.stack([frames[group].var(axis=0) for group in groups]) + _LEAST_VARIANCE,
    )


def _parts(loud: npt.NDArray[np.bool_], states: int) -> npt.NDArray[np.int64]:
    """Numbers of equal parts from the first loud frame to the last, -1 before and after.

    Where that is too short for all states, the whole is cut.
    """
    parts = np.full(len(loud), -1, dtype=np.int64)
    places = np.flatnonzero(loud)
    first, end = (places[0], places[-1] + 1) if len(places) else (0, 0)
    if end - first < states:
        first, end = 0, len(loud)
    parts[first:end] = np.arange(end - first) * states // (end - first)
    return parts


def _ergodic(frames: FloatArray, states: int, seed: int) -> StateModel:
    """States at centres of the frames that are far from each other."""
    generator = np.random.default_rng(seed)
    centres = frames[generator.choice(len(frames), size=1)]
    spread = frames.std(axis=0) + np.sqrt(_LEAST_VARIANCE)
    while len(centres) < states:
        # Every next centre with a probability that grows with its distance (k-means++).
        gaps = ((frames[:, None] - centres) / spread) ** 2
        nearest = gaps.sum(axis=2).min(axis=1)
        chosen = generator.choice(len(frames), p=nearest / nearest.sum())
        centres = np.concatenate([centres, frames[chosen][None]])
    transitions = np.full((states, states), (1 - _STAYING) / (states - 1))
    np.fill_diagonal(transitions, _STAYING)
    variances = np.tile(frames.var(axis=0) + _LEAST_VARIANCE, (states, 1))
    return StateModel("any", np.full(states, 1 / states), transitions, centres, variances)


def _thinned(utterances: Sequence[FloatArray], seed: int) -> list[FloatArray]:
    order = np.random.default_rng(seed).permutation(len(utterances))
    kept: list[FloatArray] = []
    for index in order:
        kept.append(utterances[int(index)])
        if sum(map(len, kept)) > _MOST_FRAMES:
            break
    return kept


def _hmm(model: StateModel) -> GaussianHMM:
    """The library's model with the same numbers; learning starts from them."""
    try:
        from hmmlearn.hmm import GaussianHMM
    except ImportError as error:
        raise UsageError(
            "hidden Markov models need hmmlearn: pip install 'sordino[federated]'"
        ) from error
    # It warns of states that can be left for none: the last of a phrase is meant to be one.
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    hmm = GaussianHMM(
        len(model.means),
        "diag",
        min_covar=_LEAST_VARIANCE,
        n_iter=_ROUNDS,
        init_params="",
        params="tmc" if model.topology == "phrase" else "stmc",
    )
    hmm.n_features = model.means.shape[1]
    hmm.startprob_, hmm.transmat_ = model.start, model.transitions
    hmm.means_, hmm.covars_ = model.means, model.variances
    return hmm
