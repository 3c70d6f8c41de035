"""Options that say what is learnt over a network, and what is guaranteed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.cli.inputs import path, positive
from sordino.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from sordino.federated.flower.deployment import Deployment
    from sordino.federated.regimes import Regime
    from sordino.federated.task import ClassifierTask

_REGIMES = ("none", "local", "central", "central-local")
_MECHANISMS = ("gaussian", "laplace", "privunit")
_DEFAULTS: dict[str, Any] = {
    "hidden": (16,),
    "activation": "sigmoid",
    "local_steps": 1,
    "local_rate": 0.5,
    "regime": "central",
    "clip": 0.3,
    "delta": 1e-6,
    "rounds": 40,
    "server_rate": 1.0,
    "momentum": 0.0,
}
_WITHOUT_DEFAULT = (
    "population",
    "classes",
    "inputs",
    "cohort",
    "epsilon",
    "noise_multiplier",
    "local_epsilon",
    "mechanism",
    "cap",
)


def add_terms(
    parser: argparse.ArgumentParser,
    *,
    shapes: bool,
    regime: str | None = None,
    rounds: int | None = None,
) -> None:
    """Add what `terms_of` reads. Options have no default here, so that it shows which were given.

    Args:
        parser: of the command.
        shapes: also --classes and --inputs, where they do not come from data.
        regime: a default of its own.
        rounds: likewise.
    """
    learnt = parser.add_argument_group("what is learnt")
    add = learnt.add_argument
    add("--initial", type=path, metavar="MODEL", help="begin with a model, and take its shapes")
    if shapes:
        add("--classes", type=names, metavar="A,B,...", help="names of the classes")
        add("--inputs", type=positive, metavar="N", help="components of a vector")
    add("--hidden", type=widths, metavar="N,...", help="layers between; 0: none (default: 16)")
    add("--activation", choices=("sigmoid", "relu"), help="default: sigmoid")
    add("--local-steps", type=positive, metavar="N", help="on a device (default: 1)")
    add("--local-rate", type=float, metavar="X", help="learning rate on a device (default: 0.5)")
    add("--server-rate", type=float, metavar="X", help="learning rate of the server (default: 1)")
    add("--momentum", type=float, metavar="X", help="of the server (default: 0)")
    usual = rounds or _DEFAULTS["rounds"]
    add("--rounds", type=positive, default=rounds, metavar="N", help=f"default: {usual}")
    add("--cohort", type=positive, metavar="N", help="users expected in a round (default: all)")
    add("--seed", type=int, metavar="N", help="of the model to begin with (default: 0)")
    guaranteed = parser.add_argument_group("what is guaranteed")
    add = guaranteed.add_argument
    default = regime or _DEFAULTS["regime"]
    add("--regime", choices=_REGIMES, default=regime, help=f"who adds noise (default: {default})")
    add("--clip", type=float, metavar="C", help="bound on the norm of an update (default: 0.3)")
    add("--epsilon", type=float, metavar="E", help="of the whole training, for central noise")
    add("--delta", type=float, metavar="D", help="default: 1e-6")
    add("--noise-multiplier", type=float, metavar="Z", help="central noise, instead of --epsilon")
    add("--local-epsilon", type=float, metavar="E", help="of one upload, for local noise")
    add("--mechanism", choices=_MECHANISMS, help="of local noise (default: gaussian, privunit)")
    add("--cap", type=positive, metavar="N", help="most rounds of a user (default: all)")


def terms_given(options: argparse.Namespace) -> bool:
    """Whether any option of `add_terms` was given that decides what a run is."""
    return any(getattr(options, name, None) is not None for name in (*_DEFAULTS, *_WITHOUT_DEFAULT))


def terms_of(
    options: argparse.Namespace,
    population: int,
    *,
    classes: tuple[str, ...] | None = None,
    inputs: int | None = None,
) -> tuple[Deployment, npt.NDArray[np.float32]]:
    """The settings of a new run and the parameters it begins with.

    Args:
        options: of `add_terms`.
        population: how many users there are.
        classes: where they come from data.
        inputs: likewise.

    Raises:
        UsageError: options are missing or out of range, or do not go together.
    """
    from sordino.federated.flower.deployment import Deployment, new_identity
    from sordino.federated.optimiser import ServerOptimiser

    task, parameters = _start(options, classes, inputs)
    rounds, delta, rate = _value(options, "rounds"), _value(options, "delta"), 1.0
    if options.cohort is not None:
        rate = options.cohort / population
        if rate > 1:
            # A trial has no such option: its nodes are all there are.
            more = ", or a larger --population" if hasattr(options, "population") else ""
            raise UsageError(
                f"a cohort of {options.cohort} cannot come from {population} users: use a smaller"
                f" --cohort{more}"
            )
    deployment = Deployment(
        task,
        _regime(options, task.dimension, rate),
        ServerOptimiser("sgd", _value(options, "server_rate"), _value(options, "momentum")),
        population,
        rate,
        rounds,
        options.cap or rounds,
        delta,
        new_identity(),
    )
    return deployment, parameters


def names(text: str) -> tuple[str, ...]:
    """Names with commas between; for `type=` of an argument.

    Example:
        >>> names("F,M")
        ('F', 'M')
    """
    parts = tuple(part.strip() for part in text.split(","))
    if not all(parts):
        raise argparse.ArgumentTypeError(f"{text!r} are no names with commas between")
    return parts


def widths(text: str) -> tuple[int, ...]:
    """Whole numbers with commas between, or 0 for none; for `type=` of an argument.

    Example:
        >>> widths("32,16"), widths("0")
        ((32, 16), ())
    """
    if text == "0":
        return ()
    return tuple(positive(part) for part in text.split(","))


def _value(options: argparse.Namespace, name: str) -> Any:
    given = getattr(options, name)
    return _DEFAULTS[name] if given is None else given


def _start(
    options: argparse.Namespace, classes: tuple[str, ...] | None, inputs: int | None
) -> tuple[ClassifierTask, npt.NDArray[np.float32]]:
    from dataclasses import replace

    from sordino.federated.model import load_model
    from sordino.federated.task import ClassifierTask, LocalTraining

    training = LocalTraining(_value(options, "local_steps"), _value(options, "local_rate"))
    if options.initial is not None:
        model = load_model(Path(options.initial))
        return replace(model.task, training=training), model.parameters
    known = getattr(options, "classes", None) or classes
    size = getattr(options, "inputs", None) or inputs
    if known is None or size is None:
        raise UsageError("say what is learnt: --classes A,B and --inputs N, or --initial MODEL")
    task = ClassifierTask(
        size,
        known,
        _value(options, "hidden"),
        _value(options, "activation"),
        training=training,
    )
    return task, task.initial(options.seed or 0)


def _regime(options: argparse.Namespace, dimension: int, rate: float) -> Regime:
    from sordino.federated.regimes import Regime

    name, clip = _value(options, "regime"), _value(options, "clip")
    central, local = name.startswith("central"), name.endswith("local")
    _check(options, name, central=central, local=local)
    if name == "none":
        return Regime.unprotected(dimension, clip)
    if name == "central":
        return Regime.central(dimension, clip, _noise(options, rate))
    epsilon, mechanism = options.local_epsilon, options.mechanism
    if name == "local":
        return Regime.local(dimension, clip, epsilon, mechanism=mechanism or "gaussian")
    noise = _noise(options, rate)
    return Regime.central_local(dimension, clip, noise, epsilon, mechanism=mechanism or "privunit")


def _check(options: argparse.Namespace, name: str, *, central: bool, local: bool) -> None:
    if central and (options.epsilon is None) == (options.noise_multiplier is None):
        raise UsageError(f"regime {name!r} needs either --epsilon or --noise-multiplier")
    if not central and (options.epsilon is not None or options.noise_multiplier is not None):
        raise UsageError(f"regime {name!r} has no central noise for --epsilon to decide")
    if local and options.local_epsilon is None:
        raise UsageError(f"regime {name!r} needs --local-epsilon, of one upload")
    if not local and (options.local_epsilon is not None or options.mechanism is not None):
        raise UsageError(f"regime {name!r} has no local noise for --local-epsilon to decide")


def _noise(options: argparse.Namespace, rate: float) -> float:
    if options.noise_multiplier is not None:
        return float(options.noise_multiplier)
    from sordino.privacy.accounting.sampled_gaussian import noise_multiplier_for

    rounds, delta = _value(options, "rounds"), _value(options, "delta")
    return noise_multiplier_for(options.epsilon, rate, rounds, delta)
