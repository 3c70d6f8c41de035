from __future__ import annotations

import numpy as np
from sklearn.covariance import LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from sordino.anonymize.pseudo.discriminant import Discriminant
from sordino.anonymize.pseudo.gaussian import Gaussian
from sordino.anonymize.pseudo.pool import Pool
from tests.anonymize.pseudo.pools import part, pool


def reference(voices: Pool) -> LinearDiscriminantAnalysis:
    chosen = voices.sex != ""
    analysis = LinearDiscriminantAnalysis(
        solver="lsqr", priors=[0.5, 0.5], covariance_estimator=LedoitWolf()
    )
    return analysis.fit(voices.vectors[chosen], voices.sex[chosen] == "F")


def compare(voices: Pool) -> None:
    expected = reference(voices).decision_function(voices.vectors)
    guesses = [voices.sex_of(vector) for vector in voices.vectors]
    found = [guess.margin if guess.sex == "F" else -guess.margin for guess in guesses]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_guesses_and_margins_are_those_of_scikit_learn() -> None:
    compare(pool(40, 25, 7))


def test_guesses_and_margins_for_real_voices_are_those_of_scikit_learn(real_pool: Pool) -> None:
    compare(real_pool)


def test_the_sex_of_real_people_outside_the_pool_is_found(real_pool: Pool) -> None:
    known = np.arange(0, len(real_pool), 2)
    half = part(real_pool, known)
    others = np.setdiff1d(np.arange(len(real_pool)), known)
    right = [half.sex_of(real_pool.vectors[n]).sex == real_pool.sex[n] for n in others]
    assert np.mean(right) >= 0.9


def test_in_the_middle_the_margin_is_0() -> None:
    spread = np.diag([1.0, 4.0])
    women, men = Gaussian(np.array([1.0, 2]), spread), Gaussian(np.array([3.0, -2]), spread)
    between = Discriminant.between(women, men)
    assert abs(between.guess(np.array([2.0, 0.0])).margin) < 1e-12
    # (x - m_M)' C^-1 (x - m_M) / 2 - (x - m_F)' C^-1 (x - m_F) / 2 at the women's mean.
    guess = between.guess(women.mean)
    assert guess.sex == "F"
    np.testing.assert_allclose(guess.margin, (2**2 + 4**2 / 4) / 2)
    assert between.guess(men.mean) == ("M", guess.margin)
