"""Devices train with PyTorch, and guarantees are computed by dp-accounting."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _extras() -> None:
    pytest.importorskip("torch", reason="devices train: the extra train")
    pytest.importorskip("dp_accounting", reason="needs the extra federated")
