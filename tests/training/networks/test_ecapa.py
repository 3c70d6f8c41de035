"""ECAPA-TDNN against SpeechBrain's with the same weights."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from sordino.training.networks.ecapa import AttentiveStatistics, Ecapa, EcapaSettings, TdnnLayer
from tests.training.speechbrain_models import randomize, speechbrain

SMALL = {"channels": 64, "aggregated": 96, "dimension": 24, "attention": 20, "squeeze": 12}


def their_state(ours):
    """Our weights under SpeechBrain's names, written out layer by layer."""
    state = ours.state_dict(keep_vars=True)
    theirs = {}

    def layer(source, target):
        for leaf in ("weight", "bias"):
            theirs[f"{target}.conv.conv.{leaf}"] = state[f"{source}.conv.{leaf}"]
        for leaf in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
            theirs[f"{target}.norm.norm.{leaf}"] = state[f"{source}.norm.{leaf}"]

    layer("first", "blocks.0")
    for number, block in enumerate(ours.blocks):
        source, target = f"blocks.{number}", f"blocks.{number + 1}"
        layer(f"{source}.tdnn1", f"{target}.tdnn1")
        for part in range(len(block.res2net_block.blocks)):
            layer(f"{source}.res2net_block.blocks.{part}", f"{target}.res2net_block.blocks.{part}")
        layer(f"{source}.tdnn2", f"{target}.tdnn2")
        for gate in ("conv1", "conv2"):
            for leaf in ("weight", "bias"):
                theirs[f"{target}.se_block.{gate}.conv.{leaf}"] = state[
                    f"{source}.se_block.{gate}.{leaf}"
                ]
    layer("mfa", "mfa")
    layer("asp.tdnn", "asp.tdnn")
    for leaf in ("weight", "bias"):
        theirs[f"asp.conv.conv.{leaf}"] = state[f"asp.conv.{leaf}"]
        theirs[f"fc.conv.{leaf}"] = state[f"fc.{leaf}"]
    for leaf in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
        theirs[f"asp_bn.norm.{leaf}"] = state[f"asp_bn.{leaf}"]
    return theirs


def pair(**changes):
    torch.manual_seed(0)
    ours = randomize(Ecapa(EcapaSettings(**{**SMALL, **changes})))
    size = ours.settings
    theirs = speechbrain().Ecapa(
        size.inputs,
        lin_neurons=size.dimension,
        channels=[size.channels] * (len(size.kernels) - 1) + [size.aggregated],
        kernel_sizes=list(size.kernels),
        dilations=list(size.dilations),
        attention_channels=size.attention,
        res2net_scale=size.res2_scale,
        se_channels=size.squeeze,
        groups=[1] * len(size.kernels),
    )
    theirs.load_state_dict(their_state(ours))
    return ours, theirs.eval()


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"inputs": 30, "res2_scale": 4},
        {"kernels": (3, 5, 3, 3), "dilations": (2, 1, 3, 2)},
        {"kernels": (5, 3, 3, 3, 3, 3), "dilations": (1, 2, 3, 4, 5, 2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("frames", [30, 213])
def test_against_speechbrain(changes, frames):
    ours, theirs = pair(**changes)
    values = 10 * torch.randn(3, ours.settings.inputs, frames)
    with torch.inference_mode():
        expected = theirs(values.transpose(1, 2)).squeeze(1)
        found = ours(values)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert not torch.allclose(found[0], found[1], atol=1e-2)


def test_gradients_against_speechbrain():
    ours, theirs = pair()
    values = torch.randn(4, 80, 50)
    ours.train()(values).square().mean().backward()
    theirs.train()(values.transpose(1, 2)).square().mean().backward()
    expected = dict(theirs.named_parameters())
    checked = 0
    for name, value in their_state(ours).items():
        if value.requires_grad:
            torch.testing.assert_close(
                value.grad, expected[name].grad, rtol=1e-2, atol=1e-5, msg=name
            )
            checked += 1
    assert checked == len(expected) == len(list(ours.parameters()))


def test_full_size():
    network = Ecapa(EcapaSettings())
    assert sum(value.numel() for value in network.parameters()) == sum(
        value.numel() for value in speechbrain().Ecapa(80).parameters()
    )
    assert network.eval()(torch.zeros(2, 80, 40)).shape == (2, 192)


@pytest.mark.parametrize("padding", ["reflect", "zeros"])
@pytest.mark.parametrize(("stride", "frames"), [(1, 40), (2, 40), (2, 41), (3, 40)])
def test_stride_and_padding(padding, stride, frames):
    layer = TdnnLayer(8, 6, 5, stride=stride, padding=padding).eval()
    values = torch.randn(2, 8, frames)
    found = layer(values)
    assert found.shape == (2, 6, -(-frames // stride))
    mode = "reflect" if padding == "reflect" else "constant"
    padded = torch.nn.functional.pad(values, (2, 2), mode=mode)
    for step in range(found.shape[2]):
        window = padded[:, :, step * stride : step * stride + 5]
        raw = torch.einsum("bct,oct->bo", window, layer.conv.weight) + layer.conv.bias
        torch.testing.assert_close(found[:, :, step], layer.norm(torch.relu(raw)))
    network = Ecapa(EcapaSettings(**SMALL, stride=stride, padding=padding)).eval()
    assert network(torch.randn(2, 80, frames)).shape == (2, 24)


def test_pooling_of_frames_that_do_not_change():
    pooling = AttentiveStatistics(6, 4).eval()
    value = torch.randn(2, 6, 1)
    mean, deviation = pooling(value.expand(-1, -1, 20)).chunk(2, dim=1)
    torch.testing.assert_close(mean, value)
    # The square root is kept away from zero, where it has no gradient.
    torch.testing.assert_close(deviation, torch.full_like(value, 1e-6), rtol=0, atol=1e-6)


def test_pooling_has_gradients_for_silence():
    pooling = AttentiveStatistics(6, 4).eval()
    frames = torch.zeros(2, 6, 20, requires_grad=True)
    pooling(frames).sum().backward()
    assert torch.isfinite(frames.grad).all()
