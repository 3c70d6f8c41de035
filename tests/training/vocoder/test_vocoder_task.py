"""What a step does: who learns from what."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
pytest.importorskip("lightning_fabric", reason="lightning-fabric is in the extra train")

from lightning_fabric import Fabric

from sordino.training.networks.discriminators import Discriminators, DiscriminatorSettings
from sordino.training.networks.encoder import settings_from
from sordino.training.networks.generators import add_weight_norm
from sordino.training.networks.spectra import LogMel, MelSettings
from sordino.training.vocoder.data import Batch
from sordino.training.vocoder.network import build_vocoder, described_network
from sordino.training.vocoder.task import VocoderTask, learning_rate
from sordino.training.vocoder.validation import picture, pitch_figures
from sordino.training.vocoder_losses import MelLoss
from tests.training.vocoder.toys import CHANNELS, toy_recipe

FRAMES = 16


def batch(items: int = 2) -> Batch:
    draws = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return 0.3 * torch.randn(items, *shape, generator=draws)

    f0 = torch.full((items, FRAMES), 150.0)
    wave, tones, hiss = (random(160 * FRAMES) for _ in range(3))
    who = torch.arange(items)
    content, empty = random(FRAMES // 2, CHANNELS), torch.zeros(items, 0)
    spoken = wave, content, f0, random(5), tones, hiss, who
    return Batch(
        *spoken,
        heard=empty,
        place=0 * who,
        other_f0=f0,
        other_speaker=-spoken[3],
        other_harmonic=hiss,
    )


def task(architecture: str = "istft", further=(), **sections) -> VocoderTask:
    recipe = toy_recipe("none", architecture, **sections)
    torch.manual_seed(0)
    content = {"channels": CHANNELS, "hop": 320}
    generator = add_weight_norm(build_vocoder(described_network(recipe.network, content, 5)))
    judges = Discriminators(settings_from(DiscriminatorSettings, recipe.discriminators))
    fabric = Fabric(accelerator="cpu", devices=1)
    return VocoderTask(
        fabric, recipe, generator, judges if recipe.adversarial else None, 8, further
    )


def weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def changed(before, module) -> set[str]:
    return {
        name for name, value in module.state_dict().items() if not torch.equal(value, before[name])
    }


class TestStep:
    def test_total_is_the_weighted_sum(self):
        row = task(losses={"spectral": 2.0}).step(batch(), 1)
        parts = {name: float(row[name]) for name in row}
        wanted = 45 * parts["mel"] + 2 * parts["spectral"] + parts["adversarial"]
        assert parts["total"] == pytest.approx(wanted + 2 * parts["features"], rel=1e-5)
        assert min(parts[name] for name in ("mel", "spectral", "adversarial", "features")) > 0

    def test_both_learn_and_discriminators_from_their_own_loss_only(self):
        one, other = task(), task(losses={"adversarial": 50.0})
        before = weights(one._judges)
        one.step(batch(), 1)
        other.step(batch(), 1)
        assert changed(before, one._judges)
        for name, value in one._judges.named_parameters():
            # What the generator makes of them leaves no gradient and no step behind.
            assert torch.equal(value, dict(other._judges.named_parameters())[name])
            assert value.requires_grad

    def test_generator_learns_from_what_discriminators_say(self):
        one, other = task(), task(losses={"adversarial": 50.0})
        for each in (one, other):
            each.step(batch(), 1)
        assert changed(weights(one.plain), other.plain)

    def test_before_their_step_discriminators_do_not_matter(self):
        waiting, without = (
            task(losses={"adversarial_from": 3}),
            task(losses={"adversarial_from": 9}),
        )
        assert without._judges is None
        for number in (1, 2):
            rows = [each.step(batch(), number) for each in (waiting, without)]
            assert float(rows[0]["total"]) == float(rows[1]["total"])
            assert rows[0]["discriminator"] == rows[0]["adversarial"] == 0
        assert float(waiting.step(batch(), 3)["discriminator"]) > 0

    def test_mel_loss_is_that_of_the_generators_speech(self):
        one = task(losses={"adversarial_from": 9})
        given = batch()
        with torch.no_grad():
            said = one.plain(*given[1:6])
        found = one.step(given, 1)["mel"]
        assert float(found) == pytest.approx(float(MelLoss()(said, given.wave)), rel=1e-5)

    def test_average_follows_the_weights(self):
        one = task(optimisation={"average": 0.5})
        name = "head.weight"
        mean = weights(one.average)[name]
        for number in (1, 2, 30):
            one.step(batch(), number)
            keep = min(0.5, number / (number + 9))
            mean = keep * mean + (1 - keep) * weights(one.plain)[name]
            assert torch.allclose(weights(one.average)[name], mean, atol=1e-6)
        assert one.best is one.average
        assert task().best.training

    def test_further_losses_are_added(self):
        def louder(given: Batch, made: torch.Tensor) -> dict[str, torch.Tensor]:
            assert made.shape == given.wave.shape
            return {"loudness": 3 * made.square().mean()}

        plain, more = task().step(batch(), 1), task(further=[louder]).step(batch(), 1)
        added = float(more["loudness"])
        assert added > 0
        assert float(more["total"]) == pytest.approx(float(plain["total"]) + added, rel=1e-5)


class TestTwoStages:
    def test_second_stage_is_told_natural_frames(self):
        one = task("two-stage", losses={"acoustic": 1.0, "adversarial_from": 9})
        given = batch()
        stages = one.plain.inner
        natural = LogMel(MelSettings(bands=20, hop=160))(given.wave).transpose(1, 2)
        with torch.no_grad():
            said = stages.vocode(natural, given.f0, given.speaker)
            code = one.plain.narrow(given.content)
            frames = stages.acoustic(code, given.f0, given.speaker)
        row = one.step(given, 1)
        assert float(row["mel"]) == pytest.approx(float(MelLoss()(said, given.wave)), rel=1e-5)
        wanted = float((frames - natural).abs().mean())
        assert float(row["acoustic"]) == pytest.approx(wanted, rel=1e-5)

    @pytest.mark.parametrize("joint", [False, True])
    def test_first_stage_learns_from_sound_only_where_they_are_joint(self, joint):
        one = task(
            "two-stage",
            losses={"acoustic": 0.0, "joint": joint, "adversarial_from": 9},
            optimisation={"weight_decay": 0.0},
        )
        before = weights(one.plain)
        one.step(batch(), 1)
        names = {name.split(".")[1] for name in changed(before, one.plain) if "inner" in name}
        assert names == ({"acoustic_model", "vocoder"} if joint else {"vocoder"})


def test_rate_of_a_cosine_run():
    wanted = toy_recipe(
        "none", optimisation={"schedule": "cosine", "warmup": 2, "learning_rate": 1.0}
    ).optimisation
    rates = [learning_rate(wanted, number, 10) for number in range(1, 7)]
    assert np.allclose(rates, [0.5, 1, 1, 0.8535534, 0.5, 0.1464466])


def test_pitch_figures_where_nothing_is_voiced():
    nothing = np.zeros(4), np.zeros(4)
    assert pitch_figures([nothing]) == {"voicing_error": 0.0}


def test_picture_has_low_pitches_at_the_bottom():
    tone = torch.sin(2 * torch.pi * 200 * torch.arange(8000) / 16000)
    bands = picture(tone)[0].mean(dim=1)
    assert int(bands.argmax()) > 60
    assert 0 <= float(bands.min()) < float(bands.max()) <= 1
