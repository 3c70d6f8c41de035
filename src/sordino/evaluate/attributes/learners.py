"""The attackers: classifiers with fixed settings, each seeded and standardised.

Their settings are meant for some hundreds of speakers and some hundred dimensions, and are the
same for original and protected vectors, so that figures can be compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.evaluate.attributes.quadratic import QuadraticDiscriminant

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# A probability that no count stands behind is taken as it is, down to this.
_LEAST = 1e-12
# Training of the network: rows in a step, and at least so many passes and so many steps.
_BATCH, _EPOCHS, _STEPS = 200, 5, 100


@dataclass(frozen=True)
class Learner:
    """A kind of attacker.

    Attributes:
        name: how results call it.
        what: what it is, in one line.
        build: makes an untrained classifier of scikit-learn from the number of rows that it will
            be trained on and a seed.
        votes: how many rows its probabilities are shares of, from the number of rows; None where
            they are no shares.
        most: the most rows that it is trained on, drawn by lot from more; None for all.
    """

    name: str
    what: str
    build: Callable[[int, int], Any]
    votes: Callable[[int], int] | None = None
    most: int | None = None

    def fit(self, vectors: Float64Array, labels: IntArray, values: int, seed: int) -> FittedLearner:
        """Train.

        Args:
            vectors: shape (n, d).
            labels: numbers of values, 0 to `values` - 1, all of which occur, shape (n,).
            values: how many values the attribute has, at least 2.
            seed: of what is random in training.

        Raises:
            UsageError: a value has no vector, or scikit-learn is not installed.

        Example:
            >>> rng = np.random.default_rng(0)
            >>> labels = np.arange(100) % 2
            >>> vectors = rng.normal(0, 1, (100, 3)) + 3 * labels[:, None]
            >>> fitted = LEARNERS["logistic-regression"].fit(vectors, labels, 2, seed=0)
            >>> fitted.scores(np.array([[0.0, 0.0, 0.0], [3.0, 3.0, 3.0]])).argmax(axis=1).tolist()
            [0, 1]
        """
        if np.unique(labels).size < values:
            raise UsageError(
                "a value of the attribute is missing among the speakers that an attacker is"
                " trained on; use fewer folds, or more speakers of each value"
            )
        if self.most is not None and len(labels) > self.most:
            chosen = _drawn(labels, self.most, seed)
            vectors, labels = vectors[chosen], labels[chosen]
        try:
            model = self.build(len(labels), seed)
            from sklearn.exceptions import ConvergenceWarning
        except ImportError as error:
            raise UsageError(
                "attackers on attributes need the package scikit-learn:"
                " pip install 'sordino[evaluate]'"
            ) from error
        with warnings.catch_warnings():
            # Training stops after a fixed number of steps on purpose.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(vectors, labels)
        return FittedLearner(model, None if self.votes is None else self.votes(len(labels)))


@dataclass(frozen=True)
class FittedLearner:
    """A trained classifier.

    Attributes:
        model: of scikit-learn.
        votes: see `Learner`.
    """

    model: Any
    votes: int | None

    def scores(self, vectors: Float64Array) -> Float64Array:
        """Logarithms of the probabilities of the values, in nats, never infinite.

        Shares of votes follow the rule of succession: as if each value had one vote more. A
        classifier that gives margins and no probabilities has the softmax of its margins.

        Args:
            vectors: shape (n, d).

        Returns:
            Shape (n, values).
        """
        if not hasattr(self.model, "predict_proba"):
            margins = np.asarray(self.model.decision_function(vectors), np.float64)
            if margins.ndim == 1:
                margins = np.stack([-margins, margins], axis=1) / 2
            total = np.logaddexp.reduce(margins, axis=1, keepdims=True)
            return np.asarray(margins - total, np.float64)
        shares = np.asarray(self.model.predict_proba(vectors), np.float64)
        if self.votes is not None:
            shares = (shares * self.votes + 1.0) / (self.votes + shares.shape[1])
        return np.asarray(np.log(np.maximum(shares, _LEAST)), np.float64)


def _logistic_regression(rows: int, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    del rows
    return make_pipeline(
        StandardScaler(), LogisticRegression(C=0.03, max_iter=1000, random_state=seed)
    )


def _gradient_boosting(rows: int, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    # Trees do not care for the scale of a dimension, so that nothing is standardised.
    return HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=150,
        max_leaf_nodes=4,
        # With few rows, leaves of 20 would leave nothing to split.
        min_samples_leaf=min(20, max(2, rows // 10)),
        max_bins=16,
        max_features=0.2,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )


def _perceptron(rows: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    batch = min(_BATCH, rows)
    network = MLPClassifier(
        (100,),
        alpha=3.0,
        batch_size=batch,
        learning_rate_init=3e-3,
        max_iter=max(_EPOCHS, _STEPS * batch // rows),
        random_state=seed,
    )
    return make_pipeline(StandardScaler(), network)


def _nearest_neighbours(rows: int, seed: int) -> Any:
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    del seed
    return make_pipeline(
        StandardScaler(), KNeighborsClassifier(_neighbours(rows), weights="distance")
    )


def _quadratic(rows: int, seed: int) -> Any:
    del rows, seed
    return QuadraticDiscriminant()


def _support_vectors(rows: int, seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    del rows
    return make_pipeline(StandardScaler(), SVC(C=10.0, gamma="scale", random_state=seed))


def _drawn(labels: IntArray, count: int, seed: int) -> IntArray:
    """Rows by lot, at least one of each value."""
    order = np.random.default_rng(seed).permutation(labels.size)
    first = np.unique(labels[order], return_index=True)[1]
    others = np.setdiff1d(np.arange(labels.size), first)
    return np.asarray(order[np.concatenate([first, others])[:count]], np.int64)


def _neighbours(rows: int) -> int:
    return max(1, round(float(np.sqrt(rows))))


LEARNERS = {
    learner.name: learner
    for learner in (
        Learner(
            "logistic-regression",
            "logistic regression on standardised vectors, C = 0.03",
            _logistic_regression,
        ),
        Learner(
            "gradient-boosting",
            "150 boosted trees of 4 leaves on histograms, rate 0.15",
            _gradient_boosting,
        ),
        Learner(
            "mlp",
            "network with a hidden layer of 100 on standardised vectors, Adam, weight decay 3,"
            " 5 epochs or 100 steps, whichever is more",
            _perceptron,
        ),
        Learner(
            "nearest-neighbours",
            "as many nearest neighbours as the root of the training vectors' number, weighted by"
            " distance, on standardised vectors",
            _nearest_neighbours,
            _neighbours,
        ),
        Learner(
            "quadratic",
            "normal distributions with a covariance for each value, shrunk by 0.3, on standardised"
            " vectors",
            _quadratic,
        ),
        Learner(
            "rbf-svm",
            "support vectors with a Gaussian kernel on standardised vectors, C = 10, on 10,000"
            " vectors at most",
            _support_vectors,
            most=10_000,
        ),
    )
}
"""All kinds of attackers by name; an own one is a `Learner` that is added to a copy of this."""

QUICK = ("logistic-regression", "nearest-neighbours", "quadratic")
"""Those that take no time."""
