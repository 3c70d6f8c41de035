from __future__ import annotations

import numpy as np
import pytest

from sordino.conceal.concealer import Concealer
from sordino.conceal.erasure import Erasure, fit_erasure
from sordino.errors import OutputError, UsageError
from tests.concealers import ABOUT, DIMENSION, description, graph, weights, write_concealer


def test_an_erasure_comes_back_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(0)
    erasure = fit_erasure(rng.normal(size=(90, DIMENSION)), np.arange(90) % 2)
    write_concealer(tmp_path / "a", erasure=erasure)
    found = Concealer.load(str(tmp_path / "a")).erasure
    assert found is not None
    np.testing.assert_array_equal(found.matrix, erasure.matrix)
    np.testing.assert_array_equal(found.bias, erasure.bias)


def test_graphs_may_be_files(tmp_path):
    matrix = weights()
    files = tmp_path / "e", tmp_path / "d"
    files[0].write_bytes(graph(matrix, "vector", "latent"))
    files[1].write_bytes(graph(matrix.T, "latent", "vector"))
    concealer = write_concealer(tmp_path / "a", networks=files)
    assert concealer.digest == write_concealer(tmp_path / "b").digest


def test_figures_and_card_are_kept(tmp_path):
    concealer = write_concealer(tmp_path / "a", figures={"auc": 0.6})
    assert concealer.bundle.metadata["figures"] == {"auc": 0.6}
    assert concealer.bundle.card == "# Tiny\n"
    assert concealer.bundle.given.items() >= ABOUT.items()


def test_parts_that_do_not_fit(tmp_path):
    erasure = Erasure(np.eye(3), np.zeros(3))
    with pytest.raises(UsageError, match="for vectors of 3 numbers, not of 12"):
        write_concealer(tmp_path / "a", erasure=erasure)
    with pytest.raises(UsageError, match="needs networks, an erasure, or both"):
        write_concealer(tmp_path / "a", alone=True)
    erasure = Erasure(np.eye(DIMENSION), np.zeros(DIMENSION))
    with pytest.raises(UsageError, match="the latent has as many numbers as a vector"):
        write_concealer(tmp_path / "a", description(), erasure=erasure, alone=True)
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_kept(tmp_path):
    write_concealer(tmp_path / "a")
    with pytest.raises(OutputError, match="exists already"):
        write_concealer(tmp_path / "a")
