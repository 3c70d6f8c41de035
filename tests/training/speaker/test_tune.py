from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
pytest.importorskip("lightning_fabric", reason="lightning is in the extra train, not installed")
pytest.importorskip("pyroomacoustics", reason="rooms are in the extra train, not installed")
pytest.importorskip("pyworld", reason="WORLD is in the extra train, which is not installed")
pytest.importorskip("tensorboard", reason="curves are in the extra train, not installed")

from sordino.errors import UsageError
from sordino.speaker.encoders import load_encoder
from sordino.training.export import load_network, write_encoder
from sordino.training.networks.encoder import build_encoder
from sordino.training.speaker.run import train_speaker
from sordino.training.speaker.tune import fine_tune
from tests.talkers import TINY, talkers, tiny_recipe


@pytest.fixture
def start(tmp_path):
    """A bundle of the tiny network with fresh weights."""
    torch.manual_seed(1)
    metadata = {"name": "start", "summary": "s", "licence": "CC0-1.0", "sample_rate": 16000}
    return write_encoder(tmp_path / "start", build_encoder(TINY), TINY, metadata, "# Start\n")


def state(encoder):
    return {name: value for name, value in encoder.state_dict().items() if value.ndim > 1}


def test_training_begins_with_the_weights_of_the_start(start, tmp_path) -> None:
    corpus = talkers(tmp_path / "speech")
    almost_nothing = {"steps": 1, "learning_rate": 1e-9}
    before = state(load_network(start))
    recipe = replace(tiny_recipe(optimisation=almost_nothing), start=str(start.folder))
    near = state(train_speaker(recipe, corpus, tmp_path / "run", quiet=True))
    fresh = state(
        train_speaker(
            tiny_recipe(optimisation=almost_nothing), corpus, tmp_path / "fresh", quiet=True
        )
    )
    assert all(torch.allclose(near[name], value, atol=1e-5) for name, value in before.items())
    assert not all(torch.allclose(fresh[name], value, atol=1e-5) for name, value in before.items())


def test_a_start_with_another_network_is_refused(start, tmp_path) -> None:
    recipe = tiny_recipe(network={"filterbank": {"bands": 32}})
    with pytest.raises(UsageError, match="has another network"):
        train_speaker(
            replace(recipe, start=str(start.folder)),
            talkers(tmp_path / "speech"),
            tmp_path / "run",
            quiet=True,
        )
    assert not (tmp_path / "run").exists()


def test_a_tuned_encoder_is_another_one_that_can_be_used(start, tmp_path) -> None:
    corpus = talkers(tmp_path / "speech", speakers=24, utterances=2, seconds=2.2)
    folder = tmp_path / "tuned"
    bundle = fine_tune(str(start.folder), corpus, folder, steps=2, seed=0)
    assert bundle.name == "start-tuned"
    recording = corpus.utterances[0].read()
    before = load_encoder(str(start.folder)).embed(recording)
    after = load_encoder(str(folder)).embed(recording)
    assert np.abs(before - after).max() > 1e-4
    again = fine_tune(str(start.folder), corpus, tmp_path / "again", steps=2, seed=0)
    assert again.digest == bundle.digest


def test_a_start_that_does_not_say_its_network_is_refused(tmp_path) -> None:
    from tests.encoders import write_encoder as write_energies

    write_energies(tmp_path / "energies")
    corpus = talkers(tmp_path / "speech", speakers=24, utterances=2, seconds=2.2)
    with pytest.raises(UsageError, match=r"does not describe its network|another network"):
        fine_tune(str(tmp_path / "energies"), corpus, tmp_path / "out", steps=2, seed=0)
