"""Length and direction against torch's own weight normalisation."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")
from torch import nn
from torch.nn.utils import parametrizations

from sordino.errors import UsageError
from sordino.training.importers.weight_norm import plain_weights


@pytest.mark.parametrize("recent", [True, False])
@pytest.mark.parametrize(
    ("layer", "axis"),
    [
        (lambda: nn.Conv1d(6, 4, 3), 0),
        (lambda: nn.Conv1d(6, 1, 7), 0),
        (lambda: nn.ConvTranspose1d(4, 2, 8), 0),
        (lambda: nn.Conv1d(8, 8, 16, groups=4), 2),
        (lambda: nn.Linear(5, 3), 0),
    ],
    ids=["convolution", "one filter", "transposed", "positions", "linear"],
)
def test_as_torch_joins_them(layer, axis, recent):
    torch.manual_seed(3)
    normed = parametrizations.weight_norm(layer(), dim=axis)
    with torch.no_grad():
        for value in normed.parameters():
            value.copy_(torch.randn_like(value))
    weights = {f"some.{name}": value.detach() for name, value in normed.state_dict().items()}
    if not recent:
        weights = {
            name.replace("parametrizations.weight.original0", "weight_g").replace(
                "parametrizations.weight.original1", "weight_v"
            ): value
            for name, value in weights.items()
        }
        assert "some.weight_g" in weights
    plain = plain_weights(weights, "x")
    assert plain.keys() == {"some.weight", "some.bias"}
    torch.testing.assert_close(plain["some.weight"], normed.weight.detach())
    torch.testing.assert_close(plain["some.bias"], normed.bias.detach())


def test_others_stay():
    weights = {"a.weight": torch.ones(2, 2), "b": torch.zeros(1), "my_weight_g": torch.ones(1)}
    assert plain_weights(weights, "x") == weights


@pytest.mark.parametrize("half", ["weight_g", "weight_v"])
def test_half_a_pair(half):
    other = {"weight_g": "weight_v", "weight_v": "weight_g"}[half]
    with pytest.raises(UsageError, match=rf"x: has no weights for a\.{other}"):
        plain_weights({f"a.{half}": torch.ones(2, 2)}, "x")


@pytest.mark.parametrize("shape", [(2, 1), (3, 1, 1), (2, 5), (), (4,)], ids=str)
def test_halves_that_do_not_fit(shape):
    pair = {"a.weight_g": torch.ones(shape), "a.weight_v": torch.ones(4, 5)}
    with pytest.raises(
        UsageError, match=r"a\.weight_g has shape .*, and a\.weight_v \(4, 5\); they"
    ):
        plain_weights(pair, "x")


def test_length_for_each_number():
    pair = {"a.weight_g": torch.ones(4, 5), "a.weight_v": torch.ones(4, 5)}
    with pytest.raises(UsageError, match="they do not fit each other"):
        plain_weights(pair, "x")


def test_plain_and_in_two():
    weights = {
        "a.weight": torch.ones(2, 2),
        "a.weight_g": torch.ones(2, 1),
        "a.weight_v": torch.ones(2, 2),
    }
    with pytest.raises(UsageError, match=r"has a\.weight twice"):
        plain_weights(weights, "x")
