"""Training of one speaker network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is in the extra train, not installed")

from sordino.errors import OutputError, UsageError
from sordino.training.distil.data import SideData, side_data
from sordino.training.distil.learn import Learnt, learn, softened
from sordino.training.distil.settings import DistilSettings
from tests.training.distil.made_up import made_up

SETTINGS = DistilSettings(width=32, embedding=16, steps=150)


@pytest.fixture(scope="module")
def data() -> SideData:
    return side_data(*made_up(), ["sex"], ("split", "test")).standardised()[0]


def _learnt(data: SideData, teacher: np.ndarray | None = None, way: str = "head") -> Learnt:
    rows = data.training(None, 0)
    numbers = np.unique(data.speakers[rows], return_inverse=True)[1].astype(np.int64)
    said = None if teacher is None else teacher[rows]
    return learn(SETTINGS, data.vectors[rows], numbers, 0, teacher=said, way=way)  # type: ignore[arg-type]


def _logits(data: SideData) -> np.ndarray:
    return np.eye(2, dtype=np.float32)[data.labels] * 6 - 3


def test_learns_who_speaks(data: SideData) -> None:
    rows = data.training(None, 0)
    numbers = np.unique(data.speakers[rows], return_inverse=True)[1].astype(np.int64)
    learnt = _learnt(data)
    assert learnt.speaker_accuracy(learnt.embed(data.vectors[rows]), numbers) > 0.95
    assert learnt.side_accuracy(learnt.embed(data.vectors[rows]), numbers) is None


def test_the_same_seed_gives_the_same_network(data: SideData) -> None:
    first, second = (_learnt(data).embed(data.vectors) for _ in range(2))
    assert np.array_equal(first, second)


def test_the_side_head_learns_what_the_teacher_says_also_of_others(data: SideData) -> None:
    learnt = _learnt(data, _logits(data))
    embeddings = learnt.embed(data.vectors[data.tried])
    accuracy = learnt.side_accuracy(embeddings, data.labels[data.tried])
    assert accuracy is not None
    assert accuracy > 0.9


def test_with_no_weight_a_teacher_changes_nothing(data: SideData) -> None:
    rows = data.training(None, 0)
    numbers = np.unique(data.speakers[rows], return_inverse=True)[1].astype(np.int64)
    plain = learn(SETTINGS, data.vectors[rows], numbers, 3)
    idle = learn(
        replace(SETTINGS, gamma=0.0), data.vectors[rows], numbers, 3, teacher=_logits(data)[rows]
    )
    # Networks and heads are drawn one after the other, the side head last.
    assert np.allclose(plain.embed(data.vectors), idle.embed(data.vectors), atol=1e-4)


def test_in_the_middle_the_teacher_is_asked_ever_after(data: SideData) -> None:
    logits = _logits(data)
    learnt = _learnt(data, logits, "middle")
    assert learnt.side is None
    said = softened(logits, SETTINGS.temperature)
    as_told = learnt.embed(data.vectors, said)
    assert not np.allclose(as_told, learnt.embed(data.vectors, said[:, ::-1].copy()))


def test_refuses_what_does_not_fit(data: SideData) -> None:
    vectors = data.vectors[:4]
    with pytest.raises(UsageError, match="two speakers or more"):
        learn(SETTINGS, vectors, np.zeros(4, dtype=np.int64), 0)
    with pytest.raises(UsageError, match="about each vector"):
        learn(SETTINGS, vectors, np.arange(4), 0, teacher=np.zeros((3, 2), dtype=np.float32))


def test_says_so_when_it_goes_astray(data: SideData) -> None:
    vectors = np.full((4, 3), np.inf, dtype=np.float32)
    with pytest.raises(OutputError, match="no number"):
        learn(SETTINGS, vectors, np.arange(4), 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"width": 0},
        {"steps": 1},
        {"batch": 1},
        {"learning_rate": 0.0},
        {"momentum": 1.0},
        {"weight_decay": -1.0},
        {"gamma": -0.1},
        {"input_noise": -1.0},
        {"temperature": 0.0},
        {"confidence": 0.3},
    ],
)
def test_refuses_settings_out_of_range(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=next(iter(wrong))):
        DistilSettings(**wrong)  # type: ignore[arg-type]
