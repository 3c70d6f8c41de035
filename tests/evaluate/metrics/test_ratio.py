from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.metrics.bootstrap import bootstrap_over_speakers
from sordino.evaluate.metrics.ratio import WeightedRatio


def test_ratio_is_that_of_copies():
    rng = np.random.default_rng(0)
    parts, wholes, weights = rng.integers(0, 5, 30), rng.integers(1, 9, 30), rng.integers(0, 4, 30)
    copies = np.repeat(np.arange(30), weights)
    expected = parts[copies].sum() / wholes[copies].sum()
    assert WeightedRatio(parts, wholes)(weights) == pytest.approx(expected, rel=1e-12)
    assert WeightedRatio(parts)(weights) == pytest.approx(parts[copies].mean(), rel=1e-12)
    assert math.isnan(WeightedRatio(parts)(np.zeros(30, dtype=int)))


def test_interval_over_speakers_is_wider_than_over_utterances():
    rng = np.random.default_rng(0)
    speaker = np.repeat(np.arange(15), 20)
    errors = rng.binomial(10, np.repeat(rng.uniform(0.05, 0.5, 15), 20))
    rate = WeightedRatio(errors, np.full(300, 10))
    by_speaker = bootstrap_over_speakers(rate, speaker, speaker, draws=200)
    alone = np.arange(300)
    by_utterance = bootstrap_over_speakers(rate, alone, alone, draws=200)
    assert by_speaker.value == pytest.approx(errors.mean() / 10)
    assert by_speaker.high - by_speaker.low > 2 * (by_utterance.high - by_utterance.low)


def test_what_does_not_fit_is_refused():
    with pytest.raises(UsageError, match="2 and 1 parts and wholes"):
        WeightedRatio([1, 2], [1])
    with pytest.raises(UsageError, match="a whole is below 0"):
        WeightedRatio([1, 2], [1, -1])
    with pytest.raises(UsageError, match="the parts hold NaN"):
        WeightedRatio([math.nan])
