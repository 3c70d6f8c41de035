"""Verdicts on ways of concealing: what attackers guess, verification keeps, and is promised."""

from __future__ import annotations

import dataclasses
import math

from sordino.conceal.bounds import auc_at_most, eer_at_least
from sordino.evaluate.concealment.impossible import BUG
from sordino.evaluate.report.choose_concealed import (
    as_attacks,
    attributes_of,
    compared,
    error,
    ignorant,
    informed,
)
from sordino.evaluate.report.levels import Verdict
from sordino.evaluate.report.verdict_attributes import attribute_verdict
from sordino.evaluate.report.words import ORIGINAL, figure, with_interval
from sordino.evaluate.results import BOTH, ONE, Concealed, Measure, Results

_FEWEST_TRAININGS = 5


def concealed_verdicts(results: Results) -> tuple[Verdict, ...]:
    """One for each way of concealing and each attribute; the strongest attacker decides.

    Args:
        results: of the kind "concealment".
    """
    attacked = dataclasses.replace(results, attributes=as_attacks(results))
    ways = compared(results)
    original = next((way for way in ways if way.system == ORIGINAL), None)
    found = []
    for way in ways:
        if way.system == ORIGINAL:
            continue
        for attribute in attributes_of(results):
            verdict = attribute_verdict(attacked, way.system, attribute)
            evidence = (
                *verdict.evidence,
                *_ignorant(way, attribute),
                *_verified(way, original),
                _promised(way),
            )
            cautions = (*_broken(results, way), *verdict.cautions, *_few(way, attribute))
            found.append(dataclasses.replace(verdict, evidence=evidence, cautions=cautions))
    return tuple(found)


def _ignorant(way: Concealed, attribute: str) -> list[str]:
    guess = ignorant(way, attribute)
    if guess is None:
        return []
    unit, name = ("", "AUC") if guess.classes == 2 else ("%", "balanced accuracy")
    text = with_interval(guess.figure.mean, unit)
    return [f"The strongest ignorant attacker ({guess.attacker}) reaches {name} {text}."]


def _verified(way: Concealed, original: Concealed | None) -> list[str]:
    both, one = error(way, BOTH), error(way, ONE)
    if both is None or one is None:
        return []
    before = None if original is None else error(original, BOTH)
    than = "" if before is None else f"; with unprotected vectors {_text(before.mean)}"
    return [
        f"Verification errs (EER) in {_text(both.mean)} with both sides concealed, in"
        f" {_text(one.mean)} with trials concealed only{than}."
    ]


def _promised(way: Concealed) -> str:
    if math.isinf(way.epsilon):
        return f"What it promises: {way.guarantee}."
    most, least = auc_at_most(way.epsilon, way.delta), eer_at_least(way.epsilon, way.delta)
    if most > 0.995:
        forbids = "which by itself does not hide an attribute: what is hidden is measured only"
    else:
        forbids = (
            f"which by itself keeps every AUC below {figure(most, '')} and every EER of one trial"
            f" above {figure(least)}"
        )
    return f"What it promises: {way.guarantee}; {forbids}."


def _broken(results: Results, way: Concealed) -> list[str]:
    bugs = [failure for failure in results.failures if failure.what == BUG]
    return [f"This is a bug: {bug.why}." for bug in bugs if bug.where == way.system]


def _few(way: Concealed, attribute: str) -> list[str]:
    guess = informed(way, attribute)
    spread = None if guess is None else guess.figure.spread
    said = []
    if spread is not None:
        unit = "" if guess is not None and guess.classes == 2 else "%"
        said.append(
            f"From training to training this figure varies by {figure(spread, unit)} (standard"
            f" deviation of {way.trainings})."
        )
    if 0 < way.trainings < _FEWEST_TRAININGS:
        said.append(
            f"Of {way.trainings} training{'' if way.trainings == 1 else 's'} only: another one may"
            " come out differently."
        )
    return said


def _text(measure: Measure) -> str:
    return with_interval(measure)
