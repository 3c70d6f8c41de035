"""HiFi-GAN against the implementation in transformers."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.networks.generators import build_generator
from sordino.training.networks.generators.hifigan import HifiGanSettings, context_of
from tests.training.networks.generators.generator_helpers import network, randomised, reach, tensors

PAPER = {
    "architecture": "hifigan",
    "content": {"channels": 200, "hop": 320},
    "speaker": 192,
    "pitch": "hertz",
}


def reference(generator):
    """The same weights in SpeechT5HifiGan."""
    transformers = pytest.importorskip("transformers", reason="needs the extra ssl")
    sizes = generator.settings
    config = transformers.SpeechT5HifiGanConfig(
        model_in_dim=generator.conditions.width,
        upsample_initial_channel=sizes.channels,
        upsample_rates=list(sizes.rates),
        upsample_kernel_sizes=list(sizes.kernels),
        resblock_kernel_sizes=list(sizes.resblock_kernels),
        resblock_dilation_sizes=[list(each) for each in sizes.resblock_dilations],
        normalize_before=False,
    )
    other = transformers.SpeechT5HifiGan(config).eval()
    weights = {
        name.replace("ups.", "upsampler."): value for name, value in generator.state_dict().items()
    }
    missing, surplus = other.load_state_dict(weights, strict=False)
    assert set(missing) == {"mean", "scale"}
    assert not surplus
    return other


@torch.no_grad()
def test_the_paper_s_configuration_against_transformers():
    # Fewer channels, only to be quick.
    generator = randomised(build_generator({**PAPER, "sizes": {"channels": 64}}))
    inputs = {name: value.float() for name, value in tensors(generator, 8).items()}
    inputs["f0"] /= 100
    # In the order of the paper: content, F0, speaker.
    frames = torch.cat(
        [
            inputs["content"].repeat_interleave(2, dim=1),
            inputs["f0"].unsqueeze(2),
            inputs["speaker"].unsqueeze(1).expand(-1, 8, -1),
        ],
        dim=2,
    )
    assert frames.shape == (1, 8, 393)
    wave = generator(**inputs)
    assert 0.05 < wave.std() < 0.95
    torch.testing.assert_close(wave, reference(generator)(frames), rtol=0, atol=1e-5)


@torch.no_grad()
def test_other_sizes_against_transformers():
    sizes = {
        "channels": 24,
        "rates": [10, 8, 2],
        "kernels": [16, 16, 4],
        "resblock_kernels": [3, 5],
        "resblock_dilations": [[1, 2], [2, 6]],
    }
    generator = randomised(
        build_generator(network("hifigan", sizes=sizes, speaker=0, pitch="none"))
    )
    inputs = {name: value.float() for name, value in tensors(generator, 20).items()}
    expected = reference(generator)(inputs["content"])
    torch.testing.assert_close(generator(**inputs), expected, rtol=0, atol=1e-5)


def test_size_and_names_of_the_paper_s_configuration():
    generator = build_generator(PAPER)
    names = {name.rsplit(".", 1)[0] for name in generator.state_dict()}
    assert names == {
        "conv_pre",
        "conv_post",
        *(f"ups.{stage}" for stage in range(5)),
        *(
            f"resblocks.{block}.convs{part}.{layer}"
            for block in range(15)
            for part in (1, 2)
            for layer in range(3)
        ),
    }
    widths = [512 // 2**stage for stage in range(6)]
    expected = 393 * 512 * 7 + 512 + 16 * 7 + 1
    for before, after, kernel in zip(widths, widths[1:], (11, 8, 4, 4, 4), strict=False):
        expected += before * after * kernel + after
        expected += sum(6 * (after * after * width + after) for width in (3, 7, 11))
    assert sum(value.numel() for value in generator.parameters()) == expected


@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"channels": 16, "rates": [10, 16], "kernels": [20, 16]},
        # Odd differences: one sample more is cut off at the start than at the end.
        {"channels": 16, "rates": [8, 5, 4], "kernels": [16, 10, 7]},
        {"rates": [8, 5, 2, 2], "kernels": [16, 10, 4, 4], "resblock_kernels": [5],
         "resblock_dilations": [[2, 3]]},
    ],
)  # fmt: skip
def test_the_context_is_exact(sizes):
    sizes = {"channels": 32, **sizes}
    generator = randomised(build_generator(network("hifigan", sizes=sizes)))
    context = generator.context_frames
    assert context == context_of(generator.settings)
    assert reach(generator, 2 * context + 5) == context


@torch.no_grad()
def test_a_piece_with_its_context_is_that_piece_of_the_whole():
    generator = randomised(build_generator(network("hifigan"))).double()
    context, frames = generator.context_frames, 80
    inputs = tensors(generator, frames)
    whole = generator(**inputs)
    first, last = 30, 40
    cut = slice(first - context, last + context)
    piece = generator(inputs["content"][:, cut], inputs["f0"][:, cut], inputs["speaker"])
    torch.testing.assert_close(
        piece[:, 160 * context : -160 * context], whole[:, 160 * first : 160 * last]
    )
    assert not torch.allclose(piece[:, 160:480], whole[:, 160 * (first - context) :][:, 160:480])


def test_f0_in_hertz_goes_in_as_it_is():
    generator = build_generator(network("hifigan", pitch="hertz"))
    with torch.no_grad():
        for value in generator.conv_pre.parameters():
            value.zero_()
        # Only F0 comes through the first layer, at its own frame.
        generator.conv_pre.weight[0, 6, 3] = 1.0
    seen = []
    generator.conv_pre.register_forward_hook(lambda layer, given, out: seen.append(out))
    inputs = {name: value.float() for name, value in tensors(generator, 8).items()}
    generator(**inputs)
    assert torch.equal(seen[0][:, 0], inputs["f0"])
    assert math.isclose(seen[0][:, 1:].abs().max().item(), 0.0)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"rates": (5, 4, 2, 2)}, "give 80 samples a frame"),
        ({"kernels": (11, 8, 4, 4)}, "one for each"),
        ({"kernels": (4, 8, 4, 4, 4)}, "none smaller"),
        ({"channels": 48}, "cannot be halved 5 times"),
        ({"resblock_kernels": (3, 6, 11)}, "need to be odd"),
        ({"resblock_kernels": (3, 7)}, "dilations for each"),
    ],
)
def test_sizes_that_are_refused(sizes, message):
    with pytest.raises(UsageError, match=message):
        HifiGanSettings(**sizes)
