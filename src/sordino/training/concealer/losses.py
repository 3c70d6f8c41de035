"""What training of a concealer makes small."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import nll_loss, normalize

UNKNOWN = -1
"""The label of a vector whose class nobody knows: it counts for no loss of that attribute."""

# The labels' kernel is 1 within a class, 0 between.
_SMALLEST = 1e-12


def guessing_loss(logarithms: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Cross-entropy of guesses: the discriminator's loss.

    Args:
        logarithms: of probabilities, shape (batch, classes).
        labels: numbers of classes, or -1, shape (batch,).
        weights: of the classes, shape (classes,).

    Returns:
        The weighted mean over the known labels; 0 where there are none.

    Example:
        >>> guesses = torch.tensor([[0.25, 0.75]]).log()
        >>> round(guessing_loss(guesses, torch.tensor([1]), torch.ones(2)).exp().item(), 4)
        1.3333

    Source: O. Chouchane et al., "Differentially private adversarial auto-encoder to protect
    gender in voice biometrics", 2023, equation 1; the same for more classes.
    """
    if not (labels != UNKNOWN).any():
        return logarithms.sum() * 0
    return nll_loss(logarithms, labels, weights, ignore_index=UNKNOWN)


def inverted_loss(logarithms: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Minus the logarithm of the probability of all wrong classes: small where guesses are wrong.

    Arguments and result as of `guessing_loss`.

    Example:
        >>> guesses = torch.tensor([[0.25, 0.75]]).log()
        >>> round(inverted_loss(guesses, torch.tensor([1]), torch.ones(2)).exp().item(), 4)
        4.0

    Source: O. Chouchane et al., 2023, equation 2; the same for more classes.
    """
    own = torch.nn.functional.one_hot(labels.clamp(min=0), logarithms.shape[1]).bool()
    wrong = logarithms.masked_fill(own, -torch.inf).logsumexp(dim=1)
    return _weighted(-wrong, labels, weights)


def confusion_loss(logarithms: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Cross-entropy of guesses to an even guess: smallest where all classes seem as likely.

    Arguments and result as of `guessing_loss`. Other than the inverted loss it does not reward
    a concealer whose vectors look as if they were of the other class, which an attacker who is
    trained on them sees through.

    Example:
        >>> guesses = torch.tensor([[0.5, 0.5]]).log()
        >>> round(confusion_loss(guesses, torch.tensor([1]), torch.ones(2)).exp().item(), 4)
        2.0
    """
    return _weighted(-logarithms.mean(dim=1), labels, weights)


def scores_loss(protected: Tensor, original: Tensor) -> Tensor:
    """Mean squared change of the cosines between all pairs of different vectors of a batch.

    Original vectors are taken less their mean: what all have in common tells nobody apart, and
    need not be kept.

    Args:
        protected: shape (batch, dimension), at least 2 vectors.
        original: the same, shape (batch, any dimension).

    Example:
        >>> turned = torch.tensor([[0.0, 2.0], [0.0, -2.0]])
        >>> round(scores_loss(turned, torch.eye(2)).item(), 6)
        0.0
    """
    difference = _cosines(protected) - _cosines(original - original.mean(dim=0))
    count = len(protected)
    return difference.square().fill_diagonal_(0).sum() / (count * (count - 1))


def dependence(vectors: Tensor, labels: Tensor) -> Tensor:
    """How much vectors tell of labels, by distance correlation: 0 where independent, at most 1.

    The square of the bias-corrected one, which for independent vectors is 0 on average, in a small
    batch too, and may so be a little below 0. It sees any kind of dependence, not linear
    alone, and needs no adversary.

    Args:
        vectors: shape (batch, dimension).
        labels: numbers of classes, or -1 for vectors that do not count, shape (batch,).

    Returns:
        Without dimensions; 0 where there are fewer than four known labels or only one class.

    Example:
        >>> labels = torch.arange(400) % 2
        >>> round(dependence(labels[:, None] + torch.zeros(400, 3), labels).item(), 3)
        1.0

    Source: G. J. Székely and M. L. Rizzo, "The distance correlation t-test of independence in
    high dimension", 2013; "Partial distance correlation with methods for dissimilarities", 2014,
    definition 2.
    """
    known = labels != UNKNOWN
    some, whose = vectors[known], labels[known]
    if len(some) < 4 or (whose == whose[0]).all():
        return vectors.sum() * 0
    of_vectors = _centred(_distances(some))
    of_labels = _centred((whose[:, None] != whose[None]).to(some.dtype))
    lengths = of_vectors.square().sum() * of_labels.square().sum()
    return (of_vectors * of_labels).sum() / lengths.clamp(min=_SMALLEST).sqrt()


def _weighted(losses: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    known = labels != UNKNOWN
    shares = weights[labels.clamp(min=0)] * known
    # Where a loss is infinite it is of a class that does not occur.
    return torch.where(known, losses * shares, 0.0).sum() / shares.sum().clamp(min=_SMALLEST)


def _cosines(vectors: Tensor) -> Tensor:
    directions = normalize(vectors)
    return directions @ directions.T


def _distances(vectors: Tensor) -> Tensor:
    squares = (vectors[:, None] - vectors[None]).square().sum(dim=2)
    # The root has no slope at 0, where the diagonal is.
    return (squares + _SMALLEST).sqrt()


def _centred(distances: Tensor) -> Tensor:
    count = len(distances)
    rows = distances.sum(dim=1) / (count - 2)
    total = distances.sum() / ((count - 1) * (count - 2))
    return (distances - rows[:, None] - rows[None] + total).fill_diagonal_(0)
