from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sordino.evaluate.concealment.impossible import BUG, accuracy_at_most, impossible
from sordino.evaluate.results import Measure, Repeated
from tests.evaluate.concealment_of import concealed, guessed


def test_what_epsilon_forbids_is_a_bug():
    # epsilon 1: AUC at most 0.731, EER at least 26.9 %.
    found = list(impossible(concealed("mine", 0.6, 0.9, (0.4, 0.05), epsilon=1.0)))
    assert {failure.what for failure in found} == {BUG}
    assert len(found) == 4
    assert "mlp (retrained) guesses sex with AUC 0.9000" in found[1].why
    assert "epsilon 1 allows at most 0.7311" in found[1].why
    assert "both concealed (all) has an EER of 0.0500 (0.0450 to 0.0550)" in found[2].why
    assert "no less than 0.2689" in found[2].why
    assert all(failure.where == "mine" for failure in found)


def test_nothing_is_impossible_without_a_guarantee_or_with_a_large_epsilon():
    for epsilon in (math.inf, 15.0):
        assert not list(impossible(concealed("mine", 0.99, 0.999, (0.001, 0.001), epsilon=epsilon)))


def test_a_figure_within_its_interval_of_the_bound_is_none():
    one = concealed("mine", 0.6, 0.78, (0.4, 0.255), epsilon=1.0)
    assert not list(impossible(one))
    surer = Repeated(Measure(0.78, 0.77, 0.79), (0.78,))
    changed = replace(one, guesses=(replace(one.guesses[0], figure=surer),))
    assert len(list(impossible(changed))) == 1


def test_without_an_interval_nothing_is_said():
    one = concealed("mine", 0.6, 0.7, (0.4, 0.4), epsilon=0.1)
    bare = Repeated(Measure(0.9), (0.9,))
    changed = replace(one, guesses=(replace(one.guesses[0], figure=bare),), verified=())
    assert not list(impossible(changed))


def test_a_point_of_a_sweep_says_where_it_is():
    point = concealed("laplace", 0.9, 0.95, (0.4, 0.4), sweep="epsilon", epsilon=1.0)
    assert {failure.where for failure in impossible(point)} == {"laplace at epsilon 1"}


def test_delta_is_reckoned_with():
    one = concealed("mine", 0.6, 0.9, (0.4, 0.4), epsilon=1.0)
    one = replace(one, guesses=(guessed(0.85),), verified=())
    assert list(impossible(one))
    assert not list(impossible(replace(one, delta=0.4)))


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_accuracy_of_randomised_response_is_the_bound(epsilon, classes):
    """The mechanism that tells the true one of k values with e^epsilon / (e^epsilon + k - 1)."""
    best = math.exp(epsilon) / (math.exp(epsilon) + classes - 1)
    assert accuracy_at_most(epsilon, 0.0, classes) == pytest.approx(best)
    # With delta the truth may be told outright so often.
    told = 0.1 + 0.9 * best
    assert accuracy_at_most(epsilon, 0.1, classes) >= told - 1e-12
    assert accuracy_at_most(np.inf, 0.0, classes) == 1.0


def test_more_than_two_values():
    one = concealed("mine", 0.6, 0.6, (0.4, 0.4), epsilon=1.0)
    likely = replace(one, guesses=(guessed(0.57, classes=3),), verified=())
    assert not list(impossible(likely))
    unlikely = replace(one, guesses=(guessed(0.9, classes=3),), verified=())
    (failure,) = impossible(unlikely)
    assert "balanced accuracy 0.9000" in failure.why
    assert "at most 0.5761" in failure.why
