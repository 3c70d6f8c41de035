"""Linear prediction of many short frames at once.

Every array holds one frame per *column*, so that each step of a recursion over time or over
model order is one operation on contiguous memory for all frames.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

# Samples of frames worked on together: such arrays stay in a processor's second-level cache.
_CACHED = 2**15

# Below this share of the frame's energy the prediction error is rounding noise: stop there.
_EXHAUSTED = 1e-14

# Largest amplification of rounding errors at which the recursion on correlations is trusted;
# coefficients then agree with the recursion on samples to about nine digits.
_TRUSTED = 1e6


def burg(frames: FloatArray, order: int) -> FloatArray:
    """Fit an all-pole model to each frame by Burg's method.

    Args:
        frames: shape (samples, frames), any finite values.
        order: number of poles, at least 1 and less than the number of samples.

    Returns:
        Shape (order + 1, frames): coefficients of A(z) = 1 + a1 z^-1 + ..., first row all ones.
        A is minimum phase: every reflection coefficient is within [-1, 1]. A silent frame gives
        A(z) = 1.

    Raises:
        ValueError: the order does not fit the frames.

    Example:
        >>> t = np.arange(400)[:, None]
        >>> burg(0.9**t, 1).round(3).ravel().tolist()
        [1.0, -0.994]

    Source: J. P. Burg, "Maximum entropy spectral analysis", 1975.
    """
    samples, count = frames.shape
    if not 1 <= order < samples:
        raise ValueError(f"order {order} does not fit frames of {samples} samples")
    coefficients = np.empty((order + 1, count))
    step = max(1, _CACHED // samples)
    for start in range(0, count, step):
        part = np.ascontiguousarray(frames[:, start : start + step])
        result, trusted = _burg_on_correlations(part, order)
        if not trusted.all():
            result[:, ~trusted] = _burg_on_samples(part[:, ~trusted], order)
        coefficients[:, start : start + step] = result
    return coefficients


def _burg_on_samples(frames: FloatArray, order: int) -> FloatArray:
    forward = frames[1:].copy()
    backward = frames[:-1].copy()
    scratch = np.empty_like(forward)
    coefficients = np.zeros((order + 1, frames.shape[1]))
    coefficients[0] = 1.0
    energy = np.einsum("nf,nf->f", frames, frames)
    floor = _EXHAUSTED * energy + np.finfo(np.float64).tiny
    for stage in range(1, order + 1):
        # Summed anew: updating it from stage to stage loses the digits that keep |reflection| <= 1.
        error = np.einsum("nf,nf->f", forward, forward) + np.einsum("nf,nf->f", backward, backward)
        usable = error > floor
        cross = np.einsum("nf,nf->f", forward, backward)
        reflection = np.where(usable, -2.0 * cross / np.where(usable, error, 1.0), 0.0)
        active = coefficients[: stage + 1]
        active += reflection * active[::-1]
        change = np.multiply(reflection, backward, out=scratch[: forward.shape[0]])
        backward += reflection * forward
        forward += change
        forward, backward = forward[1:], backward[:-1]
    return coefficients


def _burg_on_correlations(
    frames: FloatArray, order: int
) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    # Both error sums that a stage needs are quadratic forms of the coefficients in a matrix R of
    # sample products. Only g = R a and the last row of R are kept, and updated by the products
    # at the frame's ends, so that a stage costs a few operations per coefficient and not per
    # sample (K. Vos, "A fast implementation of Burg's method", 2013).
    samples, count = frames.shape
    products = np.stack(
        [np.einsum("nf,nf->f", frames[lag:], frames[: samples - lag]) for lag in range(order + 1)]
    )
    coefficients = np.zeros((order + 1, count))
    coefficients[0] = 1.0
    worst = np.zeros(count)
    row = 2.0 * products[1:2]
    image = np.concatenate([2.0 * products[:1] - frames[:1] ** 2 - frames[-1:] ** 2, row])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for stage in range(order):
            active = coefficients[: stage + 1]
            error = np.einsum("kf,kf->f", active, image[:-1])
            cross = np.einsum("kf,kf->f", active, image[:0:-1])
            size = np.abs(active).sum(axis=0)
            worst = np.maximum(worst, size * size * products[0] / error)
            reflection = -cross / error
            active = coefficients[: stage + 2]
            active += reflection * active[::-1]
            if stage + 1 == order:
                break
            head, tail = frames[stage + 1 :: -1], frames[samples - 2 - stage :]
            row = np.concatenate(
                [
                    2.0 * products[stage + 2 : stage + 3],
                    row - tail[0] * tail[:0:-1] - head[0] * head[:0:-1],
                ]
            )
            image = image + reflection * image[::-1]
            image -= head * np.einsum("kf,kf->f", head, active)
            image -= tail * np.einsum("kf,kf->f", tail, active)
            image = np.concatenate([image, np.einsum("kf,kf->f", row, active)[None]])
    return coefficients, (worst > 0.0) & (worst < _TRUSTED)


def inverse_filter(coefficients: FloatArray, frames: FloatArray) -> FloatArray:
    """Prediction residual of each frame: filter with A(z), starting from rest.

    Args:
        coefficients: shape (order + 1, frames), first row ones.
        frames: shape (samples, frames).

    Returns:
        Residual, shape (samples, frames).

    Example:
        >>> a = np.array([[1.0], [-0.5]])
        >>> inverse_filter(a, np.array([[1.0], [0.5], [0.25]])).ravel().tolist()
        [1.0, 0.0, 0.0]
    """
    order = coefficients.shape[0] - 1
    samples, count = frames.shape
    history = np.zeros((order + samples, count))
    history[order:] = frames
    weights = coefficients[::-1].copy()
    residual = np.empty_like(frames)
    for index in range(samples):
        np.einsum("kf,kf->f", weights, history[index : index + order + 1], out=residual[index])
    return residual


def synthesis_filter(coefficients: FloatArray, residual: FloatArray) -> FloatArray:
    """Rebuild each frame from a residual: filter with 1 / A(z), starting from rest.

    The exact inverse of `inverse_filter` for the same coefficients.

    Args:
        coefficients: shape (order + 1, frames), first row ones, poles inside the unit circle.
        residual: shape (samples, frames).

    Returns:
        Shape (samples, frames).

    Example:
        >>> a = np.array([[1.0], [-0.5]])
        >>> synthesis_filter(a, np.array([[1.0], [0.0], [0.0]])).ravel().tolist()
        [1.0, 0.5, 0.25]
    """
    order = coefficients.shape[0] - 1
    samples, count = residual.shape
    history = np.zeros((order + samples, count))
    past = coefficients[:0:-1].copy()
    for index in range(samples):
        row = history[order + index]
        np.einsum("kf,kf->f", past, history[index : index + order], out=row)
        np.subtract(residual[index], row, out=row)
    return history[order:]
