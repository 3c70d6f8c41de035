"""A whole run of a tiny encoder with a side head."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
for needed in ("lightning_fabric", "tensorboard", "pyroomacoustics", "pyworld"):
    pytest.importorskip(needed, reason=f"{needed} is in the extra train, which is not installed")

from sordino.corpus.corpus import Corpus
from sordino.errors import UsageError
from sordino.training.distil.side_file import SideFile
from sordino.training.launch import Hardware
from sordino.training.speaker.run import train_speaker
from tests.talkers import talkers, tiny_recipe

CPU = Hardware("cpu", workers=0)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return talkers(tmp_path_factory.mktemp("talkers"))


def test_learns_beside_and_gives_the_same_kind_of_encoder(corpus: Corpus, tmp_path: Path) -> None:
    # Some speakers are not known to the classifier.
    said = SideFile.of(corpus.speakers[:6], ("F", "M"), np.tile([[4.0, -4.0]], (6, 1)), {})
    said.write(tmp_path / "side.npz")
    side = {"file": str(tmp_path / "side.npz"), "weight": 1.0}
    encoder = train_speaker(
        tiny_recipe(side=side, data={"speeds": [0.9]}),
        corpus,
        tmp_path / "run",
        hardware=CPU,
        quiet=True,
    )
    plain = train_speaker(tiny_recipe(), corpus, tmp_path / "plain", hardware=CPU, quiet=True)
    assert encoder.state_dict().keys() == plain.state_dict().keys()
    with (tmp_path / "run" / "log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    losses = [float(row["side"]) for row in rows]
    assert max(losses) > 0
    for row in rows:
        total = float(row["classification"]) + float(row["side"])
        assert float(row["total"]) == pytest.approx(total, rel=1e-5)


def test_refuses_a_file_of_other_speakers_or_none(corpus: Corpus, tmp_path: Path) -> None:
    side = {"file": str(tmp_path / "side.npz"), "weight": 1.0}
    with pytest.raises(UsageError, match="no file of side information"):
        train_speaker(tiny_recipe(side=side), corpus, tmp_path / "a", hardware=CPU, quiet=True)
    SideFile.of(["nobody"], ("F", "M"), np.ones((1, 2)), {}).write(tmp_path / "side.npz")
    with pytest.raises(UsageError, match="nothing of any of the training speakers"):
        train_speaker(tiny_recipe(side=side), corpus, tmp_path / "b", hardware=CPU, quiet=True)


def test_a_file_has_a_weight() -> None:
    with pytest.raises(UsageError, match="a side file has a weight"):
        tiny_recipe(side={"file": "x"})
