"""Speaker networks come back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")
import torch

from sordino.errors import UsageError
from sordino.training.distil.network_file import read_network, write_network
from sordino.training.networks.supervector import SpeakerNetwork


def test_a_stored_network_embeds_vectors_as_they_came(tmp_path: Path) -> None:
    network = SpeakerNetwork(4, width=6, embedding=3, middle=2)
    network(torch.randn(16, 4), torch.rand(16, 2))
    network.eval()
    mean, deviation = np.full(4, 5, np.float32), np.full(4, 2, np.float32)
    write_network(tmp_path / "n.npz", network, mean, deviation, {"row": "middle"})
    stored = read_network(tmp_path / "n.npz")
    vectors = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    known = np.full((3, 2), 0.5, np.float32)
    with torch.inference_mode():
        expected = network(torch.from_numpy((vectors - 5) / 2), torch.from_numpy(known)).numpy()
    assert np.allclose(stored.embed(vectors, known), expected, atol=1e-6)
    assert stored.facts == {"row": "middle"}


def test_refuses_other_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "n.npz", settings=np.array('{"kind": "other"}'))
    for name in ("n.npz", "none.npz"):
        with pytest.raises(UsageError, match="is no speaker network"):
            read_network(tmp_path / name)
