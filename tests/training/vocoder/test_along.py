"""What a content network that learns along is taught, and by whom."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
pytest.importorskip("lightning_fabric", reason="lightning-fabric is in the extra train")

from lightning_fabric import Fabric
from torch.nn.functional import cross_entropy

from sordino.training.networks.generators import add_weight_norm
from sordino.training.vocoder.along import Adversary, Along, Teacher, build_listener
from sordino.training.vocoder.data import Batch
from sordino.training.vocoder.frames import Standard
from sordino.training.vocoder.network import build_vocoder, described_network
from sordino.training.vocoder.recipe import AlongSettings
from sordino.training.vocoder.task import VocoderTask
from tests.training.vocoder.toys import ALONG, along_recipe

DIMENSION, ROWS = 6, 10


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def standard() -> Standard:
    return Standard(np.full(DIMENSION, 2.0, np.float32), np.full(DIMENSION, 3.0, np.float32))


def along(**settings) -> Along:
    torch.manual_seed(0)
    chosen = AlongSettings(**{"network": dict(ALONG), "head": 8, "adversary": 8, **settings})
    return Along(chosen, build_listener(chosen.network), 3, standard())


def batch(items: int = 4) -> Batch:
    draws = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return 0.3 * torch.randn(items, *shape, generator=draws)

    samples = 320 * ROWS
    f0 = torch.full((items, 2 * ROWS), 150.0)
    features = 2 + 10 * random(ROWS, DIMENSION)
    who = torch.arange(items) % 3
    wave, speaker, tones, hiss = random(samples), random(5), random(samples), random(samples)
    empty, place = torch.zeros(items, 0), torch.zeros(items, dtype=torch.int64)
    return Batch(wave, features, f0, speaker, tones, hiss, who, empty, place, empty, empty, empty)


def task(**sections) -> VocoderTask:
    recipe = along_recipe(**sections)
    torch.manual_seed(0)
    listener = build_listener(recipe.along.network)
    facts = {"channels": listener.channels, "hop": listener.hop}
    generator = add_weight_norm(build_vocoder(described_network(recipe.network, facts, 5)))
    heard = Along(recipe.along, listener, 3, standard())
    return VocoderTask(
        Fabric(accelerator="cpu", devices=1), recipe, generator, None, 8, along=heard
    )


class TestHeard:
    def test_code_is_heard_in_a_changed_voice_and_noisy_in_training_only(self):
        network, given = along(noise=0.5), batch()
        with torch.no_grad():
            clean = network.content(given.wave)

        def code() -> torch.Tensor:
            torch.manual_seed(1)
            with torch.no_grad():
                return network(given).code

        noisy = code()
        network.eval()
        changed = code()
        assert noisy.shape == clean.shape == (4, ROWS, ALONG["projection"])
        assert float((noisy - changed).std()) == pytest.approx(0.5, rel=0.15)
        assert (changed - clean).abs().max() > 0.01

    def test_parts_are_there_where_they_have_a_weight(self):
        given = batch()
        heard = along(feature_weight=0.0, speaker_weight=0.0)(given)
        assert [float(value) for value in heard[1:]] == [0, 0, 0]
        whole = along()
        assert {name.split(".")[0] for name, _ in whole.named_parameters()} == {
            "content",
            "teacher",
            "adversary",
        }

    def test_in_16_bits_losses_are_of_32(self):
        given = batch()
        with torch.autocast("cpu", torch.bfloat16):
            heard = along()(given)
        assert heard.teacher.dtype == heard.adversary.dtype == torch.float32
        assert torch.isfinite(heard.teacher)


class TestTeacher:
    def test_guessing_the_mean_gives_one(self):
        teacher = Teacher(4, 8, standard())
        torch.nn.init.zeros_(teacher.guess[2].weight)
        torch.nn.init.zeros_(teacher.guess[2].bias)
        features = 2 + 3 * torch.randn(8, 500, DIMENSION)
        found = teacher(torch.zeros(8, 500, 4), features).detach()
        assert float(found) == pytest.approx(1, rel=0.05)


class TestAdversary:
    def test_finds_marks_of_speakers_in_the_code_and_nothing_where_there_are_none(self):
        losses = {}
        for marked in (True, False):
            torch.manual_seed(0)
            marks = torch.randn(5, 1, 8)
            adversary = Adversary(8, 16, 5)
            optimizer = torch.optim.Adam(adversary.parameters(), 5e-3)
            found = []
            for _ in range(60):
                who = torch.randint(5, (16,))
                code = torch.randn(16, 25, 8) + (0.7 * marks[who] if marked else 0)
                loss = cross_entropy(adversary(code), who)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                found.append(float(loss.detach()))
            losses[marked] = np.mean(found[-10:])
        assert losses[True] < 0.3 * math.log(5)
        assert losses[False] > 0.9 * math.log(5)

    def test_content_learns_the_opposite_of_what_the_adversary_learns(self):
        """Steps down the gradients that come back: the one's loss falls, the other's rises."""
        given = batch()
        network = along(noise=0.0)

        def loss() -> torch.Tensor:
            torch.manual_seed(3)
            return network(given).adversary

        loss().backward()
        parts = {
            "adversary": (list(network.adversary.parameters()), -1),
            "content": (list(network.content.parameters()), 1),
        }
        for name, (weights, sign) in parts.items():
            slope = math.sqrt(sum(float(weight.grad.square().sum()) for weight in weights))
            kept = [weight.detach().clone() for weight in weights]
            ends = []
            for step in (0.0005, -0.0005):
                with torch.no_grad():
                    for weight, first in zip(weights, kept, strict=True):
                        weight.copy_(first - step / slope * weight.grad)
                    ends.append(float(loss()))
                    for weight, first in zip(weights, kept, strict=True):
                        weight.copy_(first)
            assert slope > 1e-3
            assert ends[0] - ends[1] == pytest.approx(sign * 0.001 * slope, rel=0.05), name


class TestStep:
    def test_total_is_the_weighted_sum_and_the_adversarys_weight_grows(self):
        for number, ramp in ((1, 0.25), (4, 1.0), (9, 1.0)):
            row = task(along={"speaker_ramp": 4, "speaker_weight": 0.5}).step(batch(), number)
            wanted = 45 * row["mel"] + 0.3 * row["teacher"] + ramp * 0.5 * row["adversary"]
            assert float(row["total"]) == pytest.approx(float(wanted), rel=1e-5)
            assert float(row["adversary"]) == pytest.approx(math.log(3), rel=0.2)
            assert 0 <= float(row["recognised"]) <= 1

    def test_everything_learns_together(self):
        one = task()
        before = {name: w.detach().clone() for name, w in one._speaking.named_parameters()}
        one.step(batch(), 1)
        for name, weight in one._speaking.named_parameters():
            assert not torch.equal(weight, before[name]), name

    def test_average_covers_the_content_network(self):
        one = task(optimisation={"average": 0.5})
        kept = one.best_content
        assert kept is one.average_content
        assert kept is not one._along.content
        mean = kept.projection.weight.clone()
        for number in (1, 2, 30):
            one.step(batch(), number)
            keep = min(0.5, number / (number + 9))
            mean = keep * mean + (1 - keep) * one._along.content.projection.weight.detach()
            assert torch.allclose(kept.projection.weight, mean, atol=1e-6)
        assert "average_content" in one.state()
        assert task().best_content.training
