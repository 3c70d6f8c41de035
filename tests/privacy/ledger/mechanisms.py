"""Mechanisms for tests of the ledger. They protect nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sordino.privacy.keys import SecretKey

KEY = SecretKey.from_secret(b"a key for the tests")
OTHER_KEY = SecretKey.from_secret(b"another key for the tests")


@dataclass
class Noise:
    """Normal noise, never twice the same; knows what it was asked for."""

    epsilon: float = 15.0
    delta: float = 0.0
    name: str = "noise"
    guarantee: bool = True
    asked: list[np.ndarray] = field(default_factory=list)

    def statement(self) -> dict[str, object]:
        return {"mechanism": self.name, "guarantee": self.guarantee}

    def release(self, x: np.ndarray) -> np.ndarray:
        self.asked.append(x)
        return x + np.random.default_rng().normal(size=x.shape)
