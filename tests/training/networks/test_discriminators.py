"""Discriminators: their sizes, and what they compute, step by step."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
from torch.nn.functional import conv1d, conv2d, leaky_relu

from sordino.errors import UsageError
from sordino.training.networks.discriminators import (
    Discriminators,
    DiscriminatorSettings,
    PeriodDiscriminator,
    ScaleDiscriminator,
    SpectrumDiscriminator,
    scaled,
)


def count(module):
    return sum(value.numel() for value in module.parameters())


def test_sizes_are_those_of_hifigan():
    """The public code reports 41.1 M and 29.6 M."""
    with torch.device("meta"):
        judges = Discriminators(DiscriminatorSettings())
    convolutions = [(1, 32), (32, 128), (128, 512), (512, 1024), (1024, 1024)]
    weights = sum(5 * before * after for before, after in convolutions) + 3 * 1024
    outputs = 32 + 128 + 512 + 1024 + 1024 + 1
    # Weight normalisation adds a length for each output, beside its bias.
    assert count(judges.periods) == 5 * (weights + 2 * outputs) == 41_105_770
    layers = [
        (1, 128, 15), (32, 128, 41), (8, 256, 41), (16, 512, 41),
        (32, 1024, 41), (64, 1024, 41), (1024, 1024, 5), (1024, 1, 3),
    ]  # fmt: skip
    weights = sum(before * after * kernel for before, after, kernel in layers)
    outputs = sum(after for _, after, _ in layers)
    assert count(judges.scales) == 3 * (weights + outputs) + 2 * outputs == 29_618_821


def test_what_a_batch_gives():
    settings = DiscriminatorSettings(resolutions=((512, 128, 512), (256, 64, 200)), width=0.1)
    torch.manual_seed(0)
    judges = Discriminators(settings).eval()
    waves = torch.randn(3, 3000)
    together = judges(waves)
    assert len(together.scores) == len(together.features) == 5 + 3 + 2
    for score, features in zip(together.scores, together.features, strict=True):
        assert score.shape[0] == 3
        assert torch.equal(score, features[-1].flatten(1))
    assert [len(features) for features in together.features] == [6] * 5 + [8] * 3 + [6] * 2
    alone = judges(waves[1:2])
    for one, all_ in zip(alone.scores, together.scores, strict=True):
        torch.testing.assert_close(one, all_[1:2], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_periods_against_each_column_alone():
    torch.manual_seed(1)
    judge = PeriodDiscriminator(3, 0.05)
    wave = torch.randn(2, 500)
    features = judge(wave)
    padded = torch.cat([wave, wave[:, -2:-1]], dim=1)
    assert padded.shape[1] % 3 == 0
    for place in range(3):
        signal = padded[:, None, place::3]
        for number, layer in enumerate([*judge.convs, judge.conv_post]):
            signal = conv1d(
                signal,
                layer.weight.squeeze(3),
                layer.bias,
                stride=layer.stride[0],
                padding=layer.padding[0],
            )
            signal = leaky_relu(signal, 0.1) if number < 5 else signal
            torch.testing.assert_close(features[number][..., place], signal)


@torch.no_grad()
def test_scales_against_numpy():
    torch.manual_seed(2)
    judge = ScaleDiscriminator(0.05, spectral=False).double()
    wave = torch.randn(1, 300, dtype=torch.float64)
    signal = wave.numpy()
    found = judge(wave)
    kernels, strides, groups = (15, *[41] * 5, 5, 3), (1, 2, 2, 4, 4, 1, 1, 1), (1, 4, *[16] * 4)
    for number, layer in enumerate([*judge.convs, judge.conv_post]):
        weight, parts = layer.weight.numpy(), (*groups, 1, 1)[number]
        assert weight.shape[2] == kernels[number]
        reach, stride = kernels[number] // 2, strides[number]
        padded = np.pad(signal, ((0, 0), (reach, reach)))
        width, size = signal.shape[0] // parts, weight.shape[0] // parts
        rows = []
        for output, row in enumerate(weight):
            first = output // size * width
            own = padded[first : first + width]
            steps = range(0, own.shape[1] - kernels[number] + 1, stride)
            rows.append([(own[:, at : at + kernels[number]] * row).sum() for at in steps])
        signal = np.array(rows) + layer.bias.numpy()[:, None]
        if number < 7:
            signal = np.where(signal > 0, signal, 0.1 * signal)
        np.testing.assert_allclose(found[number][0], signal, atol=1e-10)


@torch.no_grad()
def test_each_scale_hears_half_the_rate_of_the_one_before():
    torch.manual_seed(3)
    judges = Discriminators(DiscriminatorSettings(periods=(), scales=3, width=0.05)).eval()
    wave = torch.randn(1, 800)
    heard = wave
    for number, judge in enumerate(judges.scales):
        if number:
            padded = torch.nn.functional.pad(heard, (2, 2))
            heard = padded.unfold(1, 4, 2).mean(dim=2)
        torch.testing.assert_close(judges(wave).features[number], judge(heard))


@torch.no_grad()
def test_spectral_norm_holds_the_first_scale():
    torch.manual_seed(4)
    judges = Discriminators(DiscriminatorSettings(periods=(), scales=2, width=0.05))
    for _ in range(30):
        judges.scales[0](torch.randn(1, 200))
    layer = judges.scales[0].convs[1]
    assert torch.linalg.matrix_norm(layer.weight.flatten(1), 2).item() == pytest.approx(1, abs=0.05)
    assert hasattr(judges.scales[1].convs[1].parametrizations.weight, "original1")


@torch.no_grad()
def test_spectrograms_by_hand():
    torch.manual_seed(5)
    judge = SpectrumDiscriminator(256, 64, 200, 0.2)
    wave = torch.randn(1, 640)
    found = judge(wave)
    window = np.pad(np.hanning(201)[:-1], 28)
    padded = np.pad(wave[0].double().numpy(), 96, mode="reflect")
    frames = [
        np.abs(np.fft.rfft(padded[at : at + 256] * window))
        for at in range(0, padded.size - 255, 64)
    ]
    assert len(frames) == 10
    first = judge.convs[0]
    expected = leaky_relu(
        conv2d(
            torch.from_numpy(np.array(frames).T[None, None]).float(),
            first.weight,
            first.bias,
            padding=(4, 1),
        ),
        0.1,
    )
    torch.testing.assert_close(found[0], expected, rtol=1e-3, atol=1e-3)
    # Three layers halve the frequencies; all frames stay.
    assert found[-1].shape == (1, 1, 17, 10)


def test_width():
    with torch.device("meta"):
        sizes = [count(Discriminators(DiscriminatorSettings(width=width))) for width in (1, 0.25)]
    assert 0.05 < sizes[1] / sizes[0] < 0.08
    assert scaled(1024, 0.25, 16) == 256
    assert scaled(32, 0.01, 4) == 4


def test_gradients_reach_every_weight():
    settings = DiscriminatorSettings(resolutions=((256, 64, 256),), width=0.05)
    judges = Discriminators(settings)
    sum(score.square().mean() for score in judges(torch.randn(2, 900)).scores).backward()
    for name, value in judges.named_parameters():
        assert value.grad is not None, name
        assert torch.isfinite(value.grad).all(), name


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 0}, "a width above 0"),
        ({"periods": (2, 0)}, "periods from 1"),
        ({"scales": -1}, "scales from 0"),
        ({"periods": (), "scales": 0}, "no discriminator"),
    ],
)
def test_settings_that_are_refused(settings, message):
    with pytest.raises(UsageError, match=message):
        DiscriminatorSettings(**settings)
