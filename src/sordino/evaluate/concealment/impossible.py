"""Figures that differential privacy forbids: where one is found, something is broken."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sordino.conceal.bounds import auc_at_most, eer_at_least
from sordino.evaluate.results import Concealed, Failure, Measure

BUG = "this is a bug"

# From the ends of intervals of 95 % to those of 99.9 %, of a normal distribution: many figures
# are looked at, and one in forty would lie outside its interval by chance.
_WIDER = 3.2905 / 1.9600


def accuracy_at_most(epsilon: float, delta: float, classes: int) -> float:
    """The best balanced accuracy that an attacker can reach from one released template.

    Any decision for a value is at most exp(epsilon) times as likely, plus delta, where that value
    is right as where another one is; summing over all pairs of values gives the bound.

    Args:
        epsilon: above 0; infinity for none.
        delta: from 0 to below 1.
        classes: how many values the attribute has, at least 2.

    Example:
        >>> round(accuracy_at_most(1.0, 0.0, 2), 3), round(accuracy_at_most(0.001, 0.0, 4), 3)
        (0.731, 0.25)
    """
    others = (classes - 1) * math.exp(-epsilon)
    return min(1.0, (1 + others * delta) / (1 + others))


def impossible(concealed: Concealed) -> Iterator[Failure]:
    """Every figure that cannot be, if what is guaranteed were true.

    A figure counts where the whole of its interval, widened to 99.9 %, is beyond the bound.
    Attributes are guessed from one template, and in every trial one template is compared with an
    enrolment that does not depend on it, so that bounds for one release hold.

    Args:
        concealed: any; where there is no guarantee, nothing is impossible.
    """
    epsilon, delta = concealed.epsilon, concealed.delta
    if math.isinf(epsilon):
        return
    for guess in concealed.guesses:
        two = guess.classes == 2
        bound = (
            auc_at_most(epsilon, delta) if two else accuracy_at_most(epsilon, delta, guess.classes)
        )
        mean = guess.figure.mean
        low = _low(mean)
        if low is not None and low > bound:
            yield _failure(
                concealed,
                f"{guess.attacker} ({guess.knowledge}) guesses {guess.attribute} with"
                f" {'AUC' if two else 'balanced accuracy'} {_text(mean)}, and {_promise(concealed)}"
                f" allows at most {bound:.4f}",
            )
    for found in concealed.verified:
        bound, mean = eer_at_least(epsilon, delta), found.eer.mean
        high = _high(mean)
        if high is not None and high < bound:
            yield _failure(
                concealed,
                f"verification with {found.sides} concealed ({found.group}) has an EER of"
                f" {_text(mean)}, and {_promise(concealed)} allows no less than {bound:.4f}",
            )


def _failure(concealed: Concealed, why: str) -> Failure:
    where = concealed.system
    if concealed.sweep:
        where += f" at {_promise(concealed)}"
    return Failure(
        BUG,
        where,
        why,
        "the guarantee is void or this evaluation is wrong; rely on neither, and report it",
    )


def _promise(concealed: Concealed) -> str:
    delta = f" (delta {concealed.delta:g})" if concealed.delta else ""
    return f"epsilon {concealed.epsilon:.6g}{delta}"


def _low(measure: Measure) -> float | None:
    if measure.value is None or measure.low is None:
        return None
    return measure.value - _WIDER * (measure.value - measure.low)


def _high(measure: Measure) -> float | None:
    if measure.value is None or measure.high is None:
        return None
    return measure.value + _WIDER * (measure.high - measure.value)


def _text(measure: Measure) -> str:
    return f"{measure.value:.4f} ({measure.low:.4f} to {measure.high:.4f})"
