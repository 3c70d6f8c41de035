from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.speaker.scoring import snorm
from sordino.speaker.scoring.cosine import score_trials, unit
from sordino.speaker.scoring.plda import fit_plda
from sordino.speaker.scoring.products import product_blocks
from sordino.speaker.scoring.snorm import cohort_statistics, s_norm, s_norm_trials
from tests.speaker.scoring.simulated import simulate

RNG = np.random.default_rng(9)
MODELS, UTTERANCES, COHORT = (unit(RNG.normal(size=(n, 8)) + 0.3) for n in (7, 12, 40))


def plain(top):
    """AS-norm one trial after the other."""
    table = np.empty((len(MODELS), len(UTTERANCES)))
    for i, model in enumerate(MODELS):
        for j, utterance in enumerate(UTTERANCES):
            score = model @ utterance
            shares = []
            for side in (model, utterance):
                nearest = sorted((side @ c for c in COHORT), reverse=True)[:top]
                mean = sum(nearest) / len(nearest)
                deviation = (sum((x - mean) ** 2 for x in nearest) / len(nearest)) ** 0.5
                shares.append((score - mean) / deviation)
            table[i, j] = sum(shares) / 2
    return table


def statistics(top):
    return (cohort_statistics(rows, COHORT, top=top) for rows in (MODELS, UTTERANCES))


@pytest.mark.parametrize("top", [2, 10, 39, 40, None])
def test_equals_a_plain_loop(top):
    found = s_norm(MODELS @ UTTERANCES.T, *statistics(top))
    np.testing.assert_allclose(found, plain(top or 40), rtol=1e-9)


@pytest.mark.parametrize("top", [10, None])
def test_a_cohort_scored_in_small_blocks_gives_the_same(top, monkeypatch):
    whole = cohort_statistics(UTTERANCES, COHORT, top=top)
    sizes = []

    def blocks(rows, others):
        for block, scores in product_blocks(rows, others, 100):
            sizes.append(scores.size)
            yield block, scores

    monkeypatch.setattr(snorm, "product_blocks", blocks)
    parts = cohort_statistics(UTTERANCES, COHORT, top=top)
    assert len(sizes) == 6
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(parts.deviation, whole.deviation, rtol=1e-12)


def test_lists_of_trials_equal_the_matrix(monkeypatch):
    monkeypatch.setattr(snorm, "_BLOCK", 30)
    models, utterances = RNG.integers(7, size=100), RNG.integers(12, size=100)
    scores = score_trials(MODELS, UTTERANCES, models, utterances)
    found = s_norm_trials(scores, *statistics(10), models, utterances)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, plain(10)[models, utterances], rtol=1e-4, atol=1e-4)


def test_plda_scores_are_normalised_alike():
    _, vectors, labels = simulate(60, 4, 2, least=2)
    plda = fit_plda(vectors, labels)
    cohort, rest = vectors[:50], vectors[50:]
    models = plda.enrol_sets(rest, [[0], [1, 2]])
    found = s_norm(
        models @ plda.prepare(rest).T,
        cohort_statistics(models, plda.prepare(cohort), top=20),
        cohort_statistics(
            plda.prepare(rest), plda.enrol_sets(cohort, [[i] for i in range(50)]), top=20
        ),
    )
    score = plda.score(rest[[1, 2]], rest[[5]])[0]
    with_model = np.sort(plda.score(rest[[1, 2]], cohort))[-20:]
    with_utterance = np.sort([plda.score(c[None], rest[[5]])[0] for c in cohort])[-20:]
    expected = (score - with_model.mean()) / with_model.std()
    expected += (score - with_utterance.mean()) / with_utterance.std()
    assert found[1, 5] == pytest.approx(expected / 2, rel=1e-9)


@pytest.mark.parametrize("top", [0, 1, 41])
def test_a_top_out_of_range_is_refused(top):
    with pytest.raises(UsageError, match="from 2 to 40"):
        cohort_statistics(MODELS, COHORT, top=top)


def test_a_cohort_of_one_is_refused():
    with pytest.raises(UsageError, match="one member"):
        cohort_statistics(MODELS, COHORT[:1])


def test_a_cohort_of_copies_is_refused():
    with pytest.raises(UsageError, match="row 0 scores the same"):
        cohort_statistics(MODELS, np.repeat(COHORT[:1], 5, axis=0))


def test_what_does_not_fit_is_refused():
    first, second = statistics(10)
    with pytest.raises(UsageError, match="7 enrolments and 12 utterances"):
        s_norm(np.zeros((12, 7)), first, second)
    with pytest.raises(UsageError, match="needs all three"):
        s_norm_trials(np.zeros(3), first, second, [0, 1], [0, 1])
    with pytest.raises(UsageError, match="model_index"):
        s_norm_trials(np.zeros(1), first, second, [7], [0])
    with pytest.raises(UsageError, match="from one encoder"):
        cohort_statistics(MODELS, COHORT[:, :5])
