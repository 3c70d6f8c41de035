"""What of a concealer is computed: an erasure, and networks that bring classes together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from sordino.conceal.erasure import Erasure, fit_erasure
from sordino.errors import UsageError
from sordino.speaker.scoring.lda import fit_wccn
from sordino.training.concealer.data import Labelled
from sordino.training.concealer.losses import UNKNOWN
from sordino.training.concealer.recipe import ConcealerRecipe
from sordino.training.networks.concealer import AutoEncoder, Gated, build_concealer

FloatArray = npt.NDArray[np.float64]

_RIDGE = 1.0
_SINGULAR = 1e-12
_MOST_ROUNDS, _CLOSE = 200, 1e-12


def prepared_vectors(
    data: Labelled, *, unit_length: bool, erasure: Erasure | None = None
) -> FloatArray:
    """Vectors as the encoder gets them, at release too, shape (n, dimension).

    Args:
        data: the vectors.
        unit_length: whether they are brought to length 1 first.
        erasure: then applied.
    """
    rows = data.vectors
    if unit_length:
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return rows if erasure is None else erasure.apply(rows)


def erasure_of(data: Labelled, *, unit_length: bool) -> Erasure:
    """The closed-form erasure of all attributes; speakers count the same.

    Raises:
        UsageError: nothing of the vectors would be left.
    """
    labels = {
        attribute.name: np.array([*attribute.values, ""])[data.labels[:, number]]
        for number, attribute in enumerate(data.attributes)
    }
    rows = prepared_vectors(data, unit_length=unit_length)
    return fit_erasure(rows, labels, weights=data.by_speaker)


def starting_networks(
    recipe: ConcealerRecipe, inputs: FloatArray, data: Labelled
) -> AutoEncoder | Gated:
    """Encoder and decoder before the first step.

    Args:
        recipe: says whether they are fresh or computed.
        inputs: vectors as the encoder gets them, shape (n, dimension).
        data: whose they are.

    Raises:
        UsageError: there are too few vectors to compute them.
    """
    groups = classes_of(data)
    maps = len(np.unique(groups[groups != UNKNOWN]))
    networks = build_concealer(recipe.network, inputs.shape[1], maps)
    if recipe.start.networks == "barycentre":
        assert isinstance(networks, Gated)
        _start(networks, barycentre(recipe, inputs, data))
    return networks


def classes_of(data: Labelled) -> npt.NDArray[np.int64]:
    """Numbers of the values of all attributes together; -1 where one of them is not known."""
    known = (data.labels != UNKNOWN).all(axis=1)
    classes = np.full(len(data), UNKNOWN, dtype=np.int64)
    if known.any():
        classes[known] = np.unique(data.labels[known], axis=0, return_inverse=True)[1].ravel()
    return classes


@dataclass(frozen=True, eq=False)
class Barycentre:
    """What `barycentre` computes.

    Attributes:
        gate: logits of the classes are `vectors @ gate.T + gate_bias`, shape (classes, dimension).
        gate_bias: shape (classes,).
        maps: latents of a class are `vectors @ map.T + bias`, shape (classes, latent, dimension).
        biases: shape (classes, latent).
        back: protected vectors are `latents @ back.T`; columns are orthonormal, shape (dimension,
            latent).
    """

    gate: FloatArray
    gate_bias: FloatArray
    maps: FloatArray
    biases: FloatArray
    back: FloatArray


def barycentre(recipe: ConcealerRecipe, inputs: FloatArray, data: Labelled) -> Barycentre:
    """Affine maps after which classes have the same mean and covariance.

    Vectors are projected to the directions along which speakers differ most, and of these to
    those along which classes differ least; see `alike`. There each class is taken to be Gaussian,
    and gets the map of least mean squared change that brings it to the barycentre of all: the
    Gaussian distribution whose mean squared distance from them is least. A logistic regression
    guesses the class of a vector. All speakers count the same.

    Args:
        recipe: says how many latents there are and how covariances are estimated.
        inputs: vectors as the encoder gets them, shape (n, dimension).
        data: whose they are, and of which values. Vectors with an unknown value count only for
            the first projection.

    Raises:
        UsageError: there are not enough vectors, speakers or dimensions.

    Source: M. Agueh and G. Carlier, "Barycenters in the Wasserstein space", 2011; the fixed point:
    P. Álvarez-Esteban et al., "A fixed-point approach to barycenters in Wasserstein space", 2016.
    """
    settings, latent = recipe.start, recipe.network.get("latent", 64)
    wider, offset = _widest(inputs, data, latent + settings.left_out, settings.within)
    classes, weights = classes_of(data), data.by_speaker
    known = classes != UNKNOWN

    def moments(rows: FloatArray) -> list[Moments]:
        return [_moments(rows[own], weights[own]) for own in _members(classes)]

    kept = alike(moments(inputs @ wider + offset), settings.left_out, settings.shared)
    projection, offset = wider @ kept, offset @ kept
    latents = inputs @ projection + offset
    turns = gaussian_maps(moments(latents), settings.shared)
    joined = np.zeros_like(latents)
    for own, (turn, shift) in zip(_members(classes), turns, strict=True):
        joined[own] = latents[own] @ turn.T + shift
    joined /= np.maximum(np.linalg.norm(joined, axis=1, keepdims=True), 1e-12)
    # Of all ways back that keep angles, the one whose vectors are most like the given ones.
    left, _, right = np.linalg.svd((inputs - inputs.mean(axis=0)).T @ joined, full_matrices=False)
    gate, gate_bias = logistic(inputs[known], classes[known], weights[known])
    return Barycentre(
        gate=gate,
        gate_bias=gate_bias,
        maps=np.stack([turn @ projection.T for turn, _ in turns]),
        biases=np.stack([turn @ offset + shift for turn, shift in turns]),
        back=left @ right,
    )


Moments = tuple[FloatArray, FloatArray]


def gaussian_maps(moments: Sequence[Moments], shared: float) -> list[Moments]:
    """For each Gaussian distribution the affine map that brings it to the barycentre of all.

    Args:
        moments: mean (d,) and covariance (d, d) of each.
        shared: how far covariances are drawn towards their mean first, 0 to 1.

    Returns:
        For each a matrix (d, d) and a shift (d,).

    Raises:
        UsageError: a covariance is singular.

    Example:
        >>> one, two = (np.zeros(1), np.eye(1)), (np.ones(1), 9 * np.eye(1))
        >>> [turn.round(3).tolist() for turn, _ in gaussian_maps([one, two], 0.0)]
        [[[2.0]], [[0.667]]]
    """
    centre = np.mean([mean for mean, _ in moments], axis=0)
    pooled = np.mean([covariance for _, covariance in moments], axis=0)
    covariances = [(1 - shared) * own + shared * pooled for _, own in moments]
    if min(np.linalg.eigvalsh(own)[0] for own in covariances) <= _SINGULAR * np.trace(pooled):
        raise UsageError(
            "a class has too few speakers for so many latents; set network.latent lower or"
            " start.shared higher"
        )
    target = pooled
    for _ in range(_MOST_ROUNDS):
        root, inverse = _root(target), _root(target, inverse=True)
        mean_root = np.mean([_root(root @ own @ root) for own in covariances], axis=0)
        following = inverse @ mean_root @ mean_root @ inverse
        change = np.abs(following - target).max()
        target = following
        if change <= _CLOSE * np.trace(target):
            break
    turns = []
    for (mean, _), own in zip(moments, covariances, strict=True):
        root, inverse = _root(own), _root(own, inverse=True)
        turn = inverse @ _root(root @ target @ root) @ inverse
        turns.append((turn, centre - turn @ mean))
    return turns


def alike(moments: Sequence[Moments], left_out: int, shared: float) -> FloatArray:
    """The directions along which Gaussian classes differ least.

    In the space where the mean covariance is the identity, differences are measured by the squares
    of means and covariances less those of all: to second order, the divergence of the classes from
    their mean.

    Args:
        moments: mean (d,) and covariance (d, d) of each class.
        left_out: how many directions are left out: the worst.
        shared: how far the mean covariance is drawn towards a multiple of the identity, 0 to 1.

    Returns:
        Shape (d, d - left_out). Vectors times this have no component along what is left out, in
        the space where the mean covariance is the identity.

    Example:
        >>> one, two = (np.zeros(2), np.eye(2)), (np.array([3.0, 0.0]), np.eye(2))
        >>> abs(alike([one, two], 1, 0.0)).round(6).tolist()
        [[0.0], [1.0]]
    """
    size = moments[0][0].size
    pooled = np.mean([covariance for _, covariance in moments], axis=0)
    pooled = (1 - shared) * pooled + shared * np.trace(pooled) / size * np.eye(size)
    whiten, colour = _root(pooled, inverse=True), _root(pooled)
    centre = np.mean([mean for mean, _ in moments], axis=0)
    spread = np.mean([covariance for _, covariance in moments], axis=0)
    difference = np.zeros((size, size))
    for mean, covariance in moments:
        apart = whiten @ (mean - centre)
        change = whiten @ (covariance - spread) @ whiten
        difference += 2 * np.outer(apart, apart) + change @ change
    _, axes = np.linalg.eigh(difference)
    worst = axes[:, size - left_out :]
    projected = whiten @ (np.eye(size) - worst @ worst.T) @ colour
    basis, _, _ = np.linalg.svd(projected.T @ pooled @ projected)
    return np.asarray(projected @ basis[:, : size - left_out])


def logistic(
    vectors: FloatArray, classes: npt.NDArray[np.int64], weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Multinomial logistic regression with a ridge, all classes weighing the same.

    Args:
        vectors: shape (n, d).
        classes: numbers from 0, all of which occur, shape (n,).
        weights: what each vector counts, shape (n,).

    Returns:
        Weights (classes, d) and biases (classes,).

    Example:
        >>> near = np.array([[-1.0], [-0.9], [0.9], [1.0]])
        >>> slope, bias = logistic(near, np.array([0, 0, 1, 1]), np.ones(4))
        >>> (near @ slope.T + bias).argmax(axis=1).tolist()
        [0, 0, 1, 1]
    """
    from scipy.optimize import minimize

    count = int(classes.max()) + 1
    scale = np.sqrt(np.square(vectors - vectors.mean(axis=0)).mean())
    standard = (vectors - vectors.mean(axis=0)) / scale
    own = np.bincount(classes, weights, minlength=count)
    shares = weights * weights.sum() / (count * own[classes])
    truth = np.eye(count)[classes]

    def objective(point: FloatArray) -> tuple[float, FloatArray]:
        slopes, biases = point[count:].reshape(count, -1), point[:count]
        logits = standard @ slopes.T + biases
        logits -= np.logaddexp.reduce(logits, axis=1, keepdims=True)
        wrong = shares[:, None] * (np.exp(logits) - truth)
        value = -shares @ (logits * truth).sum(axis=1) + _RIDGE / 2 * np.square(slopes).sum()
        slope = wrong.T @ standard + _RIDGE * slopes
        return float(value), np.concatenate([wrong.sum(axis=0), slope.ravel()])

    start = np.zeros(count * (1 + vectors.shape[1]))
    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    slopes = found[count:].reshape(count, -1) / scale
    return slopes, found[:count] - slopes @ vectors.mean(axis=0)


def _members(classes: npt.NDArray[np.int64]) -> list[npt.NDArray[np.bool_]]:
    return [classes == label for label in range(int(classes.max()) + 1)]


def _widest(
    inputs: FloatArray, data: Labelled, count: int, within: float
) -> tuple[FloatArray, FloatArray]:
    """A projection (dimension, count) and an offset; projected vectors are about 1 long."""
    speakers = data.speakers.tolist()
    if count > min(inputs.shape[1], len(set(speakers)) - 1):
        raise UsageError(
            f"{count} directions cannot be found in vectors of {inputs.shape[1]} numbers and"
            f" {len(set(speakers))} speakers; set network.latent or start.left_out"
        )
    shares = data.by_speaker / len(data)
    mean = shares @ inputs
    scale = np.eye(mean.size)
    if within < 1:
        scale = fit_wccn(inputs - mean, speakers, shrinkage=within).matrix
    scaled = (inputs - mean) @ scale * np.sqrt(shares)[:, None]
    _, lengths, axes = np.linalg.svd(scaled, full_matrices=False)
    projection = scale @ axes[:count].T / np.linalg.norm(lengths[:count])
    return projection, -mean @ projection


def _moments(latents: FloatArray, weights: FloatArray) -> Moments:
    shares = weights / weights.sum()
    mean = shares @ latents
    centred = (latents - mean) * np.sqrt(shares)[:, None]
    return mean, centred.T @ centred


def _root(covariance: FloatArray, *, inverse: bool = False) -> FloatArray:
    values, axes = np.linalg.eigh(covariance)
    root: FloatArray = (axes * np.maximum(values, 1e-300) ** (-0.5 if inverse else 0.5)) @ axes.T
    return root


@torch.no_grad()
def _start(networks: Gated, computed: Barycentre) -> None:
    encoder, decoder = networks.encoder, networks.decoder
    for parameter, array in (
        (encoder.gate.weight, computed.gate),
        (encoder.gate.bias, computed.gate_bias),
        (encoder.weight, computed.maps),
        (encoder.bias, computed.biases),
        (decoder.weight, computed.back),
    ):
        parameter.copy_(torch.from_numpy(array))
