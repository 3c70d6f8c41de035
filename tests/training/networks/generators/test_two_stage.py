"""The two-stage generator: what lies between its stages is a spectrogram."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.errors import UsageError
from sordino.training.networks.generators import build_generator
from tests.training.networks.generators.generator_helpers import (
    SMALL,
    network,
    randomised,
    reach,
    tensors,
)

CONVOLUTIONAL = {**SMALL["two-stage"], "recurrent": False}


@pytest.mark.parametrize("recurrent", [True, False])
@torch.no_grad()
def test_both_stages_are_the_whole(recurrent):
    sizes = {**SMALL["two-stage"], "recurrent": recurrent}
    generator = randomised(build_generator(network("two-stage", 320, sizes=sizes))).double()
    inputs = tensors(generator, 12)
    mel = generator.acoustic(**inputs)
    assert mel.shape == (1, 12, 80)
    wave = generator.vocode(mel, inputs["f0"], inputs["speaker"])
    torch.testing.assert_close(wave, generator(**inputs))


@torch.no_grad()
def test_the_second_stage_is_a_hifigan_on_mel():
    generator = randomised(build_generator(network("two-stage", 320)))
    alone = build_generator(
        {
            "architecture": "hifigan",
            "content": {"channels": 80, "hop": 160},
            "speaker": 5,
            "sizes": {"channels": 32},
        }
    )
    alone.load_state_dict(generator.vocoder.state_dict())
    inputs = {name: value.float() for name, value in tensors(generator, 6).items()}
    mel = torch.randn(1, 6, 80)
    torch.testing.assert_close(
        generator.vocode(mel, inputs["f0"], inputs["speaker"]),
        alone(mel, inputs["f0"], inputs["speaker"]),
    )


@torch.no_grad()
def test_the_recurrent_one_sees_everything():
    generator = randomised(build_generator(network("two-stage"))).double()
    assert generator.context_frames is None
    inputs = tensors(generator, 40)
    before = generator.acoustic(**inputs)
    for frame in (0, 39):
        content = inputs["content"].clone()
        content[:, frame] += 1
        changed = generator.acoustic(content, inputs["f0"], inputs["speaker"])
        assert (changed != before).any(dim=2).all()


@pytest.mark.parametrize("postnet", [0, 1, 3])
def test_the_context_of_the_convolutional_one_is_exact(postnet):
    sizes = {**CONVOLUTIONAL, "postnet": postnet, "vocoder": {"channels": 32}}
    generator = randomised(build_generator(network("two-stage", sizes=sizes)))
    context = generator.context_frames
    assert context == 2 * (2 + postnet) + generator.vocoder.context_frames
    assert reach(generator, 2 * context + 5) == context


@torch.no_grad()
def test_the_postnet_corrects():
    generator = randomised(build_generator(network("two-stage")))
    inputs = {name: value.float() for name, value in tensors(generator, 9).items()}
    corrected = generator.acoustic(**inputs)
    for value in generator.acoustic_model.postnet.parameters():
        value.zero_()
    plain = generator.acoustic(**inputs)
    assert not torch.allclose(plain, corrected)
    sizes = {**SMALL["two-stage"], "postnet": 0}
    without = build_generator(network("two-stage", sizes=sizes))
    state = {name: value for name, value in generator.state_dict().items() if "postnet" not in name}
    without.load_state_dict(state)
    torch.testing.assert_close(without.acoustic(**inputs), plain)


@pytest.mark.parametrize("recurrent", [True, False])
def test_the_acoustic_model_learns_without_the_vocoder(recurrent):
    torch.manual_seed(0)
    sizes = {**SMALL["two-stage"], "recurrent": recurrent}
    generator = build_generator(network("two-stage", sizes=sizes))
    inputs = {name: value.float() for name, value in tensors(generator, 20).items()}
    target = torch.cumsum(inputs["content"], dim=1) @ torch.randn(6, 80) / 10
    optimizer = torch.optim.Adam(generator.acoustic_model.parameters(), lr=0.01)
    losses = []
    for _ in range(80):
        optimizer.zero_grad()
        loss = (generator.acoustic(**inputs) - target).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"layers": 0}, "start at 1"),
        ({"kernel": 4}, "kernel of 4 frames"),
        ({"postnet": -1}, "postnet of -1"),
        ({"vocoder": {"rates": [2, 2]}}, "give 4 samples a frame"),
        ({"vocoder": {"hop": 1}}, "HifiGanSettings has no 'hop'"),
    ],
)
def test_sizes_that_are_refused(sizes, message):
    with pytest.raises(UsageError, match=message):
        build_generator(network("two-stage", sizes=sizes))
