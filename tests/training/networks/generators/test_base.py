"""What all generators share: conditions, descriptions, weight normalisation."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.networks.generators import (
    Conditions,
    add_weight_norm,
    build_generator,
    without_weight_norm,
)
from sordino.training.networks.generators.base import at_frame_rate, normalised, pitch_channels
from tests.training.networks.generators.generator_helpers import (
    SMALL,
    network,
    randomised,
    tensors,
)

ARCHITECTURES = list(SMALL)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("hop", [160, 320])
@torch.no_grad()
def test_exactly_160_samples_a_frame(architecture, hop):
    generator = randomised(build_generator(network(architecture, hop))).double()
    for frames in (2, 24):
        wave = generator(**tensors(generator, frames))
        assert wave.shape == (1, 160 * frames)
        assert torch.isfinite(wave).all()


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_every_input_counts_and_items_of_a_batch_do_not_meet(architecture):
    generator = randomised(build_generator(network(architecture, 320))).double()
    one, other = (tensors(generator, 12, seed) for seed in (1, 2))
    assert tuple(one) == generator.inputs
    both = generator(**{name: torch.cat([one[name], other[name]]) for name in one})
    torch.testing.assert_close(both[:1], generator(**one))
    torch.testing.assert_close(both[1:], generator(**other))
    for name in one:
        assert not torch.allclose(generator(**{**one, name: other[name]}), both[:1]), name


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_content_at_half_the_rate_is_content_repeated(architecture):
    slow = randomised(build_generator(network(architecture, 320))).double()
    fast = randomised(build_generator(network(architecture, 160))).double()
    inputs = tensors(slow, 14)
    repeated = {**inputs, "content": inputs["content"].repeat_interleave(2, dim=1)}
    torch.testing.assert_close(fast(**repeated), slow(**inputs))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_a_generator_without_pitch_and_speaker(architecture):
    generator = build_generator(network(architecture, pitch="none", speaker=0))
    assert not {"f0", "speaker"} & set(generator.inputs)
    generator = generator.double()
    assert generator(**tensors(generator, 6)).shape == (1, 960)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_weight_norm_changes_nothing_and_comes_off(architecture):
    generator = randomised(build_generator(network(architecture)))
    plain_names = list(generator.state_dict())
    inputs = {name: value.float() for name, value in tensors(generator, 8).items()}
    expected = generator(**inputs)
    assert add_weight_norm(generator) is generator
    normed = bool(list(generator.normed_layers()))
    assert ("parametrizations" in " ".join(generator.state_dict())) == normed
    torch.testing.assert_close(generator(**inputs), expected)
    for _ in range(2):
        plain = without_weight_norm(generator)
        assert list(plain.state_dict()) == plain_names
        torch.testing.assert_close(plain(**inputs), expected)
    # The one in training goes on as it was.
    torch.testing.assert_close(generator(**inputs), expected)
    for name, value in generator.named_parameters():
        if name.endswith("weight.original0"):
            value.mul_(2)
    assert torch.equal(generator(**inputs), expected) != normed
    torch.testing.assert_close(plain(**inputs), expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_reach_every_weight(architecture):
    generator = add_weight_norm(build_generator(network(architecture)))
    inputs = {name: value.float() for name, value in tensors(generator, 8).items()}
    generator(**inputs).square().mean().backward()
    for name, value in generator.named_parameters():
        assert value.grad is not None, name
        assert torch.isfinite(value.grad).all(), name


def test_pitch_for_the_network():
    f0 = torch.tensor([[0.0, 50.0, 800.0]])
    assert pitch_channels(f0, "hertz").tolist() == [[[0.0], [50.0], [800.0]]]
    assert pitch_channels(f0, "log").tolist() == [[[0.0, 0.0], [-2.0, 1.0], [2.0, 1.0]]]


def test_content_is_repeated():
    content = torch.randn(2, 3, 4)
    assert at_frame_rate(content, 160) is content
    assert torch.equal(at_frame_rate(content, 480), content.repeat_interleave(3, dim=1))


def test_normalised_is_layer_norm_of_the_whole_item():
    values = 3 + 2 * torch.randn(2, 7, 4)
    expected = torch.stack([torch.nn.functional.layer_norm(item, item.shape) for item in values])
    torch.testing.assert_close(normalised(values), expected)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@torch.no_grad()
def test_quirks_of_imported_models(architecture):
    """Normalised content and speaker: their scale and offset no longer count."""
    quirks = ["content", "speaker"]
    generator = randomised(build_generator(network(architecture, normalise=quirks))).double()
    assert generator.context_frames is None
    inputs = tensors(generator, 10)
    expected = generator(**inputs)
    for name in quirks:
        moved = {**inputs, name: 500 + 3000 * inputs[name]}
        torch.testing.assert_close(generator(**moved), expected, rtol=0, atol=1e-3)
    plain = build_generator(network(architecture)).double()
    plain.load_state_dict(generator.state_dict())
    by_hand = {
        name: torch.nn.functional.layer_norm(value, value.shape) if name in quirks else value
        for name, value in inputs.items()
    }
    torch.testing.assert_close(plain(**by_hand), expected)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "wavenet"}, "there is no generator 'wavenet'"),
        ({"colour": 1}, "a generator has no 'colour'"),
        ({"content": {"hop": 320}}, '"content" with "channels"'),
        ({"content": {"channels": 6, "hop": 256}}, "hop of 256"),
        ({"content": {"channels": 0}}, "0 content channels"),
        ({"pitch": "mel"}, "the pitch 'mel'"),
        ({"normalise": ["f0"]}, "'f0' cannot be normalised"),
        ({"sizes": {"width": 1}}, "HifiGanSettings has no 'width'"),
    ],
)
def test_descriptions_that_are_refused(changes, message):
    with pytest.raises(UsageError, match=message):
        build_generator({**network("hifigan"), **changes})


def test_the_width_of_what_is_joined():
    assert Conditions(200, speaker=192, pitch="hertz").width == 393
    assert Conditions(200, speaker=192).width == 394
    assert Conditions(80, speaker=0, pitch="none").width == 80
