"""What is learnt: a small classifier, its parameters in one row, and what a user changes in it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from sordino.training.networks.vocal import VocalClassifier

Floats = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]

# Numbers that are trained at a time: what is computed on the way stays small.
_BLOCK = 2**20
_LEAST_DEVIATION = 1e-12


@dataclass(frozen=True)
class Examples:
    """Vectors and labels of one user or more, padded to the same number.

    Attributes:
        vectors: shape (users, most, inputs).
        labels: shape (users, most), whole numbers from 0.
        counts: shape (users,), how many examples of each are real; they come first.

    Example:
        >>> both = Examples.stacked([(np.ones((2, 3)), [0, 1]), (np.ones((1, 3)), [1])])
        >>> both.vectors.shape, both.counts.tolist()
        ((2, 2, 3), [2, 1])
    """

    vectors: Floats
    labels: Ints
    counts: Ints

    @classmethod
    def of(cls, vectors: npt.ArrayLike, labels: npt.ArrayLike) -> Examples:
        """Those of one user.

        Args:
            vectors: shape (n, inputs), n from 1.
            labels: shape (n,).

        Raises:
            UsageError: the shapes do not fit.
        """
        return cls.stacked([(vectors, labels)])

    @classmethod
    def stacked(cls, users: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]]) -> Examples:
        """Those of several users: see `of`."""
        if not users:
            raise UsageError("there are no users to take examples from")
        given = [(np.asarray(v, np.float32), np.asarray(lab, np.int64)) for v, lab in users]
        for vectors, labels in given:
            if vectors.ndim != 2 or labels.shape != vectors.shape[:1] or not len(labels):
                raise UsageError(
                    f"examples of a user have shapes {vectors.shape} and {labels.shape}; expected"
                    " (n, inputs) and (n,), with n from 1"
                )
        counts = np.array([len(labels) for _, labels in given], dtype=np.int64)
        widths = {vectors.shape[1] for vectors, _ in given}
        if len(widths) > 1:
            raise UsageError(f"vectors of users differ in their components: {sorted(widths)}")
        shape = (len(given), int(counts.max()))
        padded = np.zeros((*shape, widths.pop()), dtype=np.float32)
        padded_labels = np.zeros(shape, dtype=np.int64)
        for user, (vectors, labels) in enumerate(given):
            padded[user, : len(labels)] = vectors
            padded_labels[user, : len(labels)] = labels
        return cls(padded, padded_labels, counts)

    def __len__(self) -> int:
        """How many users."""
        return len(self.counts)

    def part(self, users: slice) -> Examples:
        """Those of some of the users."""
        return Examples(self.vectors[users], self.labels[users], self.counts[users])


@dataclass(frozen=True)
class LocalTraining:
    """What happens on a device: steps of gradient descent on all examples of the user.

    Attributes:
        steps: from 1.
        learning_rate: above 0.

    Raises:
        UsageError: a number is out of range.
    """

    steps: int = 5
    learning_rate: float = 0.5

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UsageError(f"local training needs at least 1 step, not {self.steps}")
        if not 0 < self.learning_rate < math.inf:
            raise UsageError(f"the local learning rate {self.learning_rate} is not above 0")


@dataclass(frozen=True)
class ClassifierTask:
    """A classifier of vectors whose parameters are one row of numbers.

    Attributes:
        inputs: components of a vector.
        classes: names of the classes; labels are their numbers.
        hidden: widths of the layers between.
        activation: "sigmoid" or "relu".
        layer_norm: normalise what comes out of each layer between.
        standardise: take each vector minus its own mean and over its own deviation, which depends
            on nobody else.
        training: on the device.

    Raises:
        UsageError: a setting is out of range.

    Example:
        >>> task = ClassifierTask(inputs=4, classes=("F", "M"), hidden=())
        >>> parameters = task.initial(seed=0)
        >>> users = Examples.stacked([(np.eye(4), [0, 1, 0, 1]), (np.ones((2, 4)), [0, 0])])
        >>> task.updates(parameters, users).shape
        (2, 10)
    """

    inputs: int
    classes: tuple[str, ...]
    hidden: tuple[int, ...] = (16,)
    activation: str = "sigmoid"
    layer_norm: bool = False
    standardise: bool = True
    training: LocalTraining = field(default_factory=LocalTraining)

    def __post_init__(self) -> None:
        if len(set(self.classes)) != len(self.classes) or len(self.classes) < 2:
            raise UsageError(f"classes {list(self.classes)}: expected at least 2 different names")
        if self.activation not in ("sigmoid", "relu"):
            raise UsageError(f"activation {self.activation!r} is not one of: sigmoid, relu")
        if min((self.inputs, *self.hidden)) < 1:
            raise UsageError("layers need a width of at least 1")

    @property
    def dimension(self) -> int:
        """Number of parameters, d."""
        sizes = (self.inputs, *self.hidden, len(self.classes))
        linear = sum(before * after + after for before, after in pairwise(sizes))
        return linear + (2 * sum(self.hidden) if self.layer_norm else 0)

    def initial(self, seed: int) -> Floats:
        """Parameters to start with, shape (d,); the same for a seed."""
        import torch

        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return _flat(self._module())

    def updates(self, parameters: npt.ArrayLike, examples: Examples) -> Floats:
        """What the parameters change by when each user trains alone.

        Args:
            parameters: shape (d,); not changed.
            examples: of the users.

        Returns:
            Shape (users, d). Where training went astray there are NaN or infinite numbers, which
            regimes refuse.

        Raises:
            UsageError: shapes do not fit, or a label is none of the classes.
        """
        import torch

        start = self._checked(parameters)
        self._check_examples(examples)
        result = np.empty((len(examples), self.dimension), dtype=np.float32)
        origin = torch.from_numpy(start)
        size = max(1, _BLOCK // max(self.dimension, examples.vectors[0].size))
        for begin in range(0, len(examples), size):
            block = examples.part(slice(begin, begin + size))
            data = (
                torch.from_numpy(self.prepared(block.vectors)),
                torch.from_numpy(_targets(block, len(self.classes))),
            )
            trained = self._by_autograd if self.layer_norm else self._by_hand
            with torch.no_grad():
                result[begin : begin + size] = trained(origin, *data).numpy()
        return result

    def _by_hand(self, origin: Tensor, vectors: Tensor, targets: Tensor) -> Tensor:
        from sordino.federated.descent import changes

        return changes(
            origin,
            (self.inputs, *self.hidden, len(self.classes)),
            vectors,
            targets,
            activation=self.activation,
            steps=self.training.steps,
            rate=self.training.learning_rate,
        )

    def _by_autograd(self, origin: Tensor, vectors: Tensor, targets: Tensor) -> Tensor:
        import torch
        from torch.func import functional_call, grad, vmap

        module = self._module()
        shapes = {name: value.shape for name, value in module.named_parameters()}
        rate = self.training.learning_rate

        def loss(row: Tensor, vectors: Tensor, targets: Tensor) -> Tensor:
            logits = functional_call(module, _unflat(row, shapes), (vectors,))
            return -(torch.log_softmax(logits, dim=1) * targets).sum()

        first, later = vmap(grad(loss), in_dims=(None, 0, 0)), vmap(grad(loss))
        changed: Tensor = first(origin, vectors, targets).mul_(-rate)
        for _ in range(self.training.steps - 1):
            changed -= rate * later(origin + changed, vectors, targets)
        return changed

    def logits(self, parameters: npt.ArrayLike, vectors: npt.ArrayLike) -> Floats:
        """What the classifier makes of vectors, before the softmax.

        Args:
            parameters: shape (d,).
            vectors: shape (n, inputs).

        Returns:
            Shape (n, classes).

        Raises:
            UsageError: shapes do not fit.
        """
        import torch

        given = np.asarray(vectors, dtype=np.float32)
        if given.ndim != 2 or given.shape[1] != self.inputs:
            raise UsageError(f"vectors have shape {given.shape}; expected (n, {self.inputs})")
        with torch.no_grad():
            logits: Floats = self.network(parameters)(
                torch.from_numpy(self.prepared(given))
            ).numpy()
        return logits

    def accuracy(
        self, parameters: npt.ArrayLike, vectors: npt.ArrayLike, labels: npt.ArrayLike
    ) -> float:
        """Part of the vectors of which the classifier tells the class, from 0 to 1."""
        return float(np.mean(self.logits(parameters, vectors).argmax(axis=1) == labels))

    def network(self, parameters: npt.ArrayLike) -> VocalClassifier:
        """The network with these parameters, for vectors that went through `prepared`."""
        import torch

        module = self._module()
        start = torch.from_numpy(self._checked(parameters))
        shapes = {name: value.shape for name, value in module.named_parameters()}
        module.load_state_dict(_unflat(start, shapes))
        return module.eval().requires_grad_(False)

    def prepared(self, vectors: Floats) -> Floats:
        """Vectors as the network gets them.

        Args:
            vectors: shape (..., inputs); not changed.
        """
        if not self.standardise:
            return np.ascontiguousarray(vectors, dtype=np.float32)
        centred = vectors - vectors.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True))
        result: Floats = (centred / np.maximum(deviation, _LEAST_DEVIATION)).astype(np.float32)
        return result

    def terms(self) -> dict[str, Any]:
        """All settings, ready for JSON."""
        return {**asdict(self), "classes": list(self.classes), "hidden": list(self.hidden)}

    @classmethod
    def from_terms(cls, terms: Mapping[str, Any]) -> ClassifierTask:
        """What `terms` gave.

        Raises:
            UsageError: these are none.
        """
        try:
            known = dict(terms)
            known["classes"] = tuple(map(str, known["classes"]))
            known["hidden"] = tuple(map(int, known["hidden"]))
            known["training"] = LocalTraining(**known["training"])
            return cls(**known)
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"these are no settings of a classifier: {error}") from error

    def _module(self) -> VocalClassifier:
        from sordino.training.networks.vocal import VocalClassifier

        return VocalClassifier(
            self.inputs,
            self.hidden,
            len(self.classes),
            activation=self.activation,
            layer_norm=self.layer_norm,
        )

    def _checked(self, parameters: npt.ArrayLike) -> Floats:
        row = np.array(parameters, dtype=np.float32)
        if row.shape != (self.dimension,):
            raise UsageError(f"parameters have shape {row.shape}; expected ({self.dimension},)")
        return row

    def _check_examples(self, examples: Examples) -> None:
        if examples.vectors.shape[2] != self.inputs:
            raise UsageError(
                f"vectors have {examples.vectors.shape[2]} components; expected {self.inputs}"
            )
        if examples.labels.min() < 0 or examples.labels.max() >= len(self.classes):
            raise UsageError(f"a label is not from 0 to {len(self.classes) - 1}")


def _targets(examples: Examples, classes: int) -> Floats:
    """Shape (users, most, classes): one over a user's count at the label of a real example."""
    real = np.arange(examples.labels.shape[1]) < examples.counts[:, None]
    weights = (real / examples.counts[:, None]).astype(np.float32)
    targets: Floats = np.eye(classes, dtype=np.float32)[examples.labels] * weights[:, :, None]
    return targets


def _flat(module: VocalClassifier) -> Floats:
    row: Floats = np.concatenate([value.detach().numpy().ravel() for value in module.parameters()])
    return row


def _unflat(row: Tensor, shapes: Mapping[str, Any]) -> dict[str, Tensor]:
    import torch

    parts = torch.split(row, [math.prod(shape) for shape in shapes.values()])
    return {
        name: part.view(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)
    }
