"""Who guesses attributes from concealed vectors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sordino.evaluate.attributes.learners import LEARNERS, Learner

PAPER = "paper-classifier"
"""The external classifier of the paper on concealing gender."""

_HIDDEN, _BATCH, _EPOCHS, _STEPS = 100, 128, 20, 1000


def _paper_classifier(rows: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    batch = min(_BATCH, rows)
    network = MLPClassifier(
        (_HIDDEN,),
        alpha=0.0,
        batch_size=batch,
        learning_rate_init=1e-3,
        max_iter=max(_EPOCHS, -(-_STEPS * batch // rows)),
        random_state=seed,
    )
    return make_pipeline(StandardScaler(), network)


ATTACKERS: Mapping[str, Learner] = {
    PAPER: Learner(
        PAPER,
        f"network of two layers, of as many inputs as vectors have numbers and of {_HIDDEN}, on"
        f" standardised vectors, Adam, rate 0.001, batches of {_BATCH}, {_EPOCHS} epochs or"
        f" {_STEPS:,} steps, whichever is more: the external classifier of the paper",
        _paper_classifier,
    ),
    **LEARNERS,
}
"""All attackers by name."""

SWEEP = ("logistic-regression", "nearest-neighbours", "quadratic")
"""Those that are quick enough for every point of a sweep."""
