"""Losses against the paper's formulas, against scikit-learn, and by what they have to do."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra train")

from sordino.training.concealer.losses import (
    confusion_loss,
    dependence,
    guessing_loss,
    inverted_loss,
    scores_loss,
)

EVEN = torch.ones(2)


def guesses(probabilities):
    """Of the second class, as a classifier gives them."""
    second = torch.tensor(probabilities, requires_grad=True)
    return torch.stack([1 - second, second], dim=1).log(), second


class TestGuesses:
    # y and a(z) of the paper's equations 1 and 2.
    truth, said = (1, 0, 1), (0.9, 0.2, 0.4)

    def test_equation_1(self):
        logarithms, _ = guesses(self.said)
        expected = [
            -y * math.log(a) - (1 - y) * math.log(1 - a)
            for y, a in zip(self.truth, self.said, strict=True)
        ]
        found = guessing_loss(logarithms, torch.tensor(self.truth), EVEN)
        assert found.item() == pytest.approx(np.mean(expected), rel=1e-5)

    def test_equation_2(self):
        logarithms, _ = guesses(self.said)
        expected = [
            -y * math.log(1 - a) - (1 - y) * math.log(a)
            for y, a in zip(self.truth, self.said, strict=True)
        ]
        found = inverted_loss(logarithms, torch.tensor(self.truth), EVEN)
        assert found.item() == pytest.approx(np.mean(expected), rel=1e-5)

    def test_confusion_is_least_for_even_guesses(self):
        losses = [
            confusion_loss(guesses([a, a])[0], torch.tensor([0, 1]), EVEN).item()
            for a in (0.1, 0.4, 0.5, 0.6, 0.9)
        ]
        assert min(losses) == losses[2] == pytest.approx(math.log(2))
        assert losses[0] == pytest.approx(losses[4])

    @pytest.mark.parametrize("loss", [guessing_loss, inverted_loss, confusion_loss])
    def test_unknown_labels_count_for_nothing(self, loss):
        logarithms, second = guesses([0.9, 0.2, 0.4])
        some = loss(logarithms, torch.tensor([1, -1, 0]), EVEN)
        torch.testing.assert_close(some, loss(logarithms[[0, 2]], torch.tensor([1, 0]), EVEN))
        some.backward()
        assert second.grad[1] == 0
        assert (second.grad[[0, 2]] != 0).all()
        nothing = loss(logarithms.detach(), torch.tensor([-1, -1, -1]), EVEN)
        assert nothing.item() == 0

    @pytest.mark.parametrize("loss", [guessing_loss, inverted_loss, confusion_loss])
    def test_weights_of_classes(self, loss):
        logarithms, _ = guesses([0.9, 0.2, 0.4])
        labels = torch.tensor([1, 0, 1])
        each = [loss(logarithms[[row]], labels[[row]], EVEN).item() for row in range(3)]
        found = loss(logarithms, labels, torch.tensor([2.0, 1.0])).item()
        assert found == pytest.approx(np.average(each, weights=[1, 2, 1]), rel=1e-5)

    def test_three_classes(self):
        logarithms = torch.tensor([[0.5, 0.3, 0.2]]).log()
        label, weights = torch.tensor([1]), torch.ones(3)
        assert guessing_loss(logarithms, label, weights).item() == pytest.approx(-math.log(0.3))
        assert inverted_loss(logarithms, label, weights).item() == pytest.approx(-math.log(0.7))
        mean = np.mean([math.log(share) for share in (0.5, 0.3, 0.2)])
        assert confusion_loss(logarithms, label, weights).item() == pytest.approx(-mean)

    def test_a_sure_guess_has_a_slope(self):
        score = torch.tensor([[40.0]], requires_grad=True)
        sure = torch.nn.functional.logsigmoid(torch.cat([-score, score], dim=1))
        inverted_loss(sure, torch.tensor([1]), EVEN).backward()
        assert score.grad.item() == pytest.approx(1.0)


class TestScores:
    def test_against_sklearn(self):
        metrics = pytest.importorskip("sklearn.metrics.pairwise")
        rng = np.random.default_rng(0)
        one, two = rng.normal(size=(7, 5)), rng.normal(size=(7, 3))
        change = metrics.cosine_similarity(one) - metrics.cosine_similarity(two - two.mean(axis=0))
        expected = (change[~np.eye(7, dtype=bool)] ** 2).mean()
        found = scores_loss(torch.from_numpy(one), torch.from_numpy(two))
        assert found.item() == pytest.approx(expected)

    def test_lengths_and_turns_change_nothing(self):
        vectors = torch.randn(6, 4, dtype=torch.float64)
        vectors -= vectors.mean(dim=0)
        turned = vectors @ torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64))[0]
        assert scores_loss(3 * turned, vectors).item() == pytest.approx(0, abs=1e-12)


class TestDependence:
    def test_against_the_definition(self):
        rng = np.random.default_rng(0)
        vectors, labels = rng.normal(size=(9, 3)), rng.integers(0, 3, 9)

        def centred(distances):
            count = len(distances)
            out = np.zeros_like(distances)
            for i in range(count):
                for j in range(count):
                    if i != j:
                        out[i, j] = (
                            distances[i, j]
                            - distances[i].sum() / (count - 2)
                            - distances[:, j].sum() / (count - 2)
                            + distances.sum() / ((count - 1) * (count - 2))
                        )
            return out

        one = centred(np.linalg.norm(vectors[:, None] - vectors[None], axis=2))
        two = centred((labels[:, None] != labels[None]).astype(float))
        expected = (one * two).sum() / np.sqrt((one**2).sum() * (two**2).sum())
        found = dependence(torch.from_numpy(vectors), torch.from_numpy(labels))
        assert found.item() == pytest.approx(expected, abs=1e-6)

    def test_independent_vectors_give_0_on_average_in_small_batches(self):
        torch.manual_seed(0)
        labels = torch.arange(10) % 2
        found = [dependence(torch.randn(10, 5), labels).item() for _ in range(400)]
        assert abs(np.mean(found)) < 3 * np.std(found) / 20

    def test_sees_what_no_mean_tells(self):
        torch.manual_seed(0)
        labels = torch.arange(400) % 2
        wide = torch.randn(400, 2) * (1 + 2 * labels)[:, None]
        assert dependence(wide, labels).item() > 0.05
        assert abs(dependence(torch.randn(400, 2), labels).item()) < 0.02

    def test_can_be_learned_from(self):
        labels = torch.arange(8) % 2
        vectors = (torch.randn(8, 3) + labels[:, None]).requires_grad_()
        dependence(vectors, labels).backward()
        assert torch.isfinite(vectors.grad).all()
        assert (vectors.grad != 0).any()

    def test_where_there_is_nothing_to_tell(self):
        vectors = torch.randn(6, 3)
        assert dependence(vectors, torch.zeros(6, dtype=torch.int64)).item() == 0
        assert dependence(vectors, torch.tensor([0, 1, 0, -1, -1, -1])).item() == 0
