"""The inverse-STFT generator: filters on sources, whatever the recording's length."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.dsp.excitation import harmonic, noise
from sordino.errors import UsageError
from sordino.training.networks.generators import build_generator
from sordino.training.networks.generators.istft import IstftSettings, context_of
from tests.training.networks.generators.generator_helpers import network, randomised, reach, tensors


def with_filters(generator, hum, hiss, turn=None):
    """The same filters in all frames: natural logarithms of gains, and radians."""
    parts = [hum, hiss, *([] if turn is None else [turn])]
    with torch.no_grad():
        generator.head.weight.zero_()
        generator.head.bias.copy_(torch.cat([part * torch.ones(321) for part in parts]))
    return generator


@pytest.mark.parametrize("phase", [False, True])
@torch.no_grad()
def test_unit_filters_give_the_sum_of_the_sources(phase):
    sizes = {"channels": 16, "hidden": 24, "blocks": 2, "phase": phase}
    generator = build_generator(network("istft", sizes=sizes))
    with_filters(generator, 0.0, 0.0, 0.0 if phase else None)
    inputs = {name: value.float() for name, value in tensors(generator, 30).items()}
    expected = inputs["harmonic"] + inputs["noise"]
    torch.testing.assert_close(generator(**inputs), expected, rtol=0, atol=2e-5)


@torch.no_grad()
def test_gains_and_angles_do_what_they_say():
    generator = build_generator(network("istft"))
    time = torch.arange(160 * 40) / 16000
    inputs = {name: value.float() for name, value in tensors(generator, 40).items()}
    inputs["harmonic"] = torch.cos(2 * torch.pi * 1000 * time)[None]
    with_filters(generator, np.log(0.25), -50.0, np.pi / 2)
    wave = generator(**inputs)[0]
    expected = 0.25 * torch.cos(2 * torch.pi * 1000 * time + torch.pi / 2)
    torch.testing.assert_close(wave[480:-480], expected[480:-480], rtol=0, atol=2e-4)


@torch.no_grad()
def test_a_filter_shapes_noise():
    """An ideal low-pass filter takes half of white noise's power, the upper half."""
    generator = build_generator(network("istft"))
    inputs = {name: value.float() for name, value in tensors(generator, 400).items()}
    hiss = torch.where(torch.arange(321) < 160, 0.0, -12.0)
    with_filters(generator, -12.0, hiss, 0.0)
    wave = generator(**inputs)[0].numpy()
    power = np.abs(np.fft.rfft(wave)) ** 2
    half = power.size // 2
    assert power[: half - 200].sum() / power.sum() > 0.97
    assert np.mean(wave**2) == pytest.approx(0.5, rel=0.05)


@torch.no_grad()
def test_no_weights_give_infinity():
    generator = randomised(build_generator(network("istft")))
    generator.head.weight.mul_(1e4)
    inputs = {name: value.float() for name, value in tensors(generator, 20).items()}
    hum, hiss, _ = generator.filters(inputs["content"], inputs["f0"], inputs["speaker"])
    assert max(hum.max(), hiss.max()) < 21
    assert torch.isfinite(generator(**inputs)).all()


@torch.no_grad()
def test_fresh_weights_give_a_buzz_and_weak_noise():
    for seed in range(3):
        torch.manual_seed(seed)
        generator = build_generator(
            {"architecture": "istft", "content": {"channels": 200, "hop": 320}, "speaker": 192}
        ).eval()
        f0 = np.where(np.arange(100) < 50, 120.0, 0.0)
        wave = generator(
            torch.randn(1, 50, 200),
            torch.from_numpy(f0[None]).float(),
            torch.randn(1, 192),
            torch.from_numpy(harmonic(f0, hop=160, sample_rate=16000)[0][None]).float(),
            torch.from_numpy(noise(0, 16000, seed=1)[None]).float(),
        )[0]
        voiced, unvoiced = wave[:7500].std().item(), wave[8500:].std().item()
        assert 0.02 < voiced < 0.15
        assert 0.002 < unvoiced < 0.02
        assert wave.abs().max() < 1


@torch.no_grad()
def test_only_the_direction_of_the_speaker_vector_counts():
    generator = randomised(build_generator(network("istft"))).double()
    inputs = tensors(generator, 10)
    wave = generator(**inputs)
    torch.testing.assert_close(generator(**{**inputs, "speaker": 0.3 * inputs["speaker"]}), wave)
    assert not torch.allclose(generator(**{**inputs, "speaker": -inputs["speaker"]}), wave)
    silent = generator(**{**inputs, "speaker": torch.zeros_like(inputs["speaker"])})
    assert torch.isfinite(silent).all()


@pytest.mark.parametrize(
    ("sizes", "context"),
    [
        ({"blocks": 2, "kernel": 7, "fft": 640}, 8),
        # Here sources reach farther than what shapes them.
        ({"blocks": 1, "kernel": 3, "fft": 640}, 4),
        ({"blocks": 1, "kernel": 1, "fft": 320}, 2),
        ({"blocks": 3, "kernel": 3, "fft": 480}, 4),
        ({"blocks": 1, "kernel": 5, "fft": 960}, 6),
    ],
)
def test_the_context_is_exact(sizes, context):
    sizes = {"channels": 8, "hidden": 12, **sizes}
    generator = randomised(build_generator(network("istft", sizes=sizes)))
    assert generator.context_frames == context == context_of(generator.settings)
    assert reach(generator, 2 * context + 5) == context


@torch.no_grad()
def test_a_piece_with_its_context_is_that_piece_of_the_whole():
    generator = randomised(build_generator(network("istft", 320))).double()
    inputs = tensors(generator, 60)
    context, first, last = generator.context_frames, 20, 30
    assert context % 2 == 0
    whole = generator(**inputs)
    lengths = {"content": 0.5, "f0": 1, "harmonic": 160, "noise": 160}
    piece = generator(
        **{
            name: value
            if name == "speaker"
            else value[
                :,
                int(lengths[name] * (first - context)) : int(lengths[name] * (last + context)),
            ]
            for name, value in inputs.items()
        }
    )
    torch.testing.assert_close(
        piece[:, 160 * context : -160 * context], whole[:, 160 * first : 160 * last]
    )


def test_size_of_the_default():
    generator = build_generator(
        {"architecture": "istft", "content": {"channels": 200}, "speaker": 192}
    )
    parameters = sum(value.numel() for value in generator.parameters())
    assert 3.5e6 < parameters < 4.5e6
    assert generator.context_frames == 20
    assert generator.inputs == ("content", "f0", "speaker", "harmonic", "noise")


def test_training_fits_a_spectrum():
    """The filters can be learnt: noise to a filtered version of it."""
    torch.manual_seed(0)
    generator = build_generator(network("istft"))
    inputs = {name: value.float() for name, value in tensors(generator, 20).items()}
    target = torch.nn.functional.conv1d(
        inputs["noise"][:, None], torch.tensor([[[0.2, 0.5, 0.2]]]), padding=1
    )[:, 0]
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.02)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = (generator(**inputs) - target).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.1 * losses[0]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"blocks": 0}, "start at 1"),
        ({"kernel": 6}, "a kernel of 6 frames has no middle"),
        ({"fft": 1000}, "frames of 1000 samples"),
    ],
)
def test_sizes_that_are_refused(sizes, message):
    with pytest.raises(UsageError, match=message):
        build_generator(network("istft", sizes=sizes))
    assert IstftSettings().fft == 640
