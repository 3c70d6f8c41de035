"""Small mechanisms of known privacy, and faulty ones, for audits to judge."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

Release = Callable[[np.ndarray], np.ndarray]
GRID = 2.0**-20


def clip_l1(x, bound):
    return x * np.minimum(1, bound / np.maximum(np.abs(x).sum(axis=1, keepdims=True), 1e-300))


def clip_l2(x, bound):
    return x * np.minimum(1, bound / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300))


def keep(x, bound):
    """No clipping."""
    return x


def on_grid(x):
    return np.round(x / GRID) * GRID


def laplace(scale, seed, *, bound=1.0, clip=clip_l1, shared=False, grid=True) -> Release:
    """Laplace noise; `shared` gives all components the same."""
    rng = np.random.default_rng(seed)

    def release(x):
        shape = (len(x), 1) if shared else x.shape
        noise = rng.laplace(scale=scale, size=shape)
        clipped = clip(x, bound)
        return on_grid(clipped) + on_grid(noise) if grid else clipped + noise

    return release


def gaussian(deviation, seed, *, bound=1.0, clip=clip_l2) -> Release:
    rng = np.random.default_rng(seed)
    return lambda x: on_grid(clip(x, bound)) + on_grid(rng.normal(scale=deviation, size=x.shape))


def probability(epsilon, cap):
    """With which a draw from a cap spends epsilon."""
    odds = math.exp(epsilon) * cap / (1 - cap)
    return odds / (1 + odds)


class PrivUnit:
    """In three dimensions, where a component of a uniform vector on the sphere is uniform."""

    dimension = 3

    def __init__(self, epsilon, height):
        self.epsilon, self.height = epsilon, height
        self.cap = (1 - height) / 2
        self.p = probability(epsilon, self.cap)
        face = (1 - height**2) / 4
        self.scale = 1 / (face * (self.p / self.cap - (1 - self.p) / (1 - self.cap)))

    @property
    def claim(self):
        return {
            "dimension": self.dimension,
            "epsilon": self.epsilon,
            "height": self.height,
            "probability": self.p,
            "scale": self.scale,
        }

    def release(self, seed, *, p=None, height=None, normalise=True) -> Release:
        rng = np.random.default_rng(seed)
        p = self.p if p is None else p
        cap = self.cap if height is None else (1 - height) / 2

        def release(x):
            norms = np.linalg.norm(x, axis=1, keepdims=True)
            u = x / norms
            share = rng.random(len(x))
            inside = rng.random(len(x)) < p
            share = np.where(inside, share * cap, cap + share * (1 - cap))
            t = 1 - 2 * share[:, None]
            w = rng.normal(size=x.shape)
            w -= (w * u).sum(axis=1, keepdims=True) * u
            w /= np.linalg.norm(w, axis=1, keepdims=True)
            z = (t * u + np.sqrt(1 - t**2) * w) * self.scale
            return z if normalise else z * norms

        return release


class PrivUnitGaussian:
    def __init__(self, dimension, epsilon, height):
        self.dimension, self.epsilon, self.height = dimension, epsilon, height
        self.cap = float(ndtr(-height))
        self.p = probability(epsilon, self.cap)
        density = math.exp(-(height**2) / 2) / math.sqrt(2 * math.pi)
        self.scale = 1 / (density * (self.p / self.cap - (1 - self.p) / (1 - self.cap)))

    claim = PrivUnit.claim

    def release(self, seed, *, p=None) -> Release:
        rng = np.random.default_rng(seed)
        p = self.p if p is None else p

        def release(x):
            u = x / np.linalg.norm(x, axis=1, keepdims=True)
            share = rng.random(len(x))
            inside = rng.random(len(x)) < p
            share = np.where(inside, share * self.cap, self.cap + share * (1 - self.cap))
            t = -ndtri(share)[:, None]
            g = rng.normal(size=x.shape)
            return (g - (g * u).sum(axis=1, keepdims=True) * u + t * u) * self.scale

        return release


class Pipeline:
    """An encoder with a layer of rectifiers and a batch normalisation, L1 clip, noise, decoder."""

    clip = 18.35

    def __init__(self, epsilon, *, dimension=64, code=64, outputs=64, seed=1):
        rng = np.random.default_rng(seed)
        self.epsilon, self.dimension = epsilon, dimension
        self.weights = rng.normal(size=(dimension, code)) / np.sqrt(dimension)
        self.bias = 0.1 * rng.normal(size=code)
        self.factors = 1 + 0.2 * rng.random(code)
        self.decoder = 0.3 * rng.normal(size=(code, outputs)) / np.sqrt(code)

    def encode(self, x):
        return (np.maximum(x @ self.weights + self.bias, 0) - 0.5) * self.factors

    def clipped(self, x):
        return clip_l1(self.encode(x), self.clip)

    def distance(self, first, second):
        """Of two codes, as a part of the largest."""
        codes = self.clipped(np.stack([first, second]))
        return float(np.abs(codes[0] - codes[1]).sum() / (2 * self.clip))

    def release(self, seed, *, noise=1.0) -> Release:
        add = laplace(noise * 2 * self.clip / self.epsilon, seed, bound=self.clip)
        return lambda x: np.tanh(add(self.encode(x)) @ self.decoder).astype(np.float32)
