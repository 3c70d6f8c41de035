"""From a trained concealer to a bundle."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from sordino.conceal.concealer import Concealer
from sordino.conceal.description import Description
from sordino.conceal.erasure import Erasure
from sordino.conceal.write import write_concealer
from sordino.errors import OutputError
from sordino.models.bundle import Bundle
from sordino.training.concealer.card import concealer_card
from sordino.training.concealer.clip import private_median
from sordino.training.concealer.data import Labelled
from sordino.training.concealer.recipe import ConcealerRecipe
from sordino.training.concealer.start import FloatArray, prepared_vectors
from sordino.training.concealer.task import ConcealerNetwork
from sordino.training.export import near, traced
from sordino.training.networks.latent_noise import WINDOW, ClippedNoise
from sordino.training.speaker.calibration import verification_facts

# Wide enough for the norm of any latent that a network in 32 bits works with.
_LOWEST_NORM, _HIGHEST_NORM = 1e-3, 1e6
# Of trials for thresholds; heard speakers serve as impostors only.
_MOST_HEARD = 4000


@dataclass(frozen=True, eq=False)
class Trained:
    """What comes of a run.

    Attributes:
        recipe: what was done.
        network: in evaluation mode.
        erasure: applied before the encoder, or None.
        training: what was learned from.
        validation: vectors of other speakers.
    """

    recipe: ConcealerRecipe
    network: ConcealerNetwork
    erasure: Erasure | None
    training: Labelled
    validation: Labelled


def write_trained(
    trained: Trained,
    place: Path,
    *,
    encoder: tuple[str, str],
    figures: Mapping[str, float],
    licence: str,
) -> Bundle:
    """Write a concealer as a bundle, with thresholds and card.

    Args:
        trained: what comes of the run.
        place: the bundle's folder; a concealer that is there is replaced.
        encoder: name and digest of the speaker encoder whose vectors it takes.
        figures: of the last validation.
        licence: of the weights.

    Raises:
        OutputError: the bundle cannot be written, or the exported graphs do not give what the
            networks give.
    """
    recipe, data = trained.recipe, trained.training
    clip, origin = _clip(trained)
    noise = recipe.noise
    noisy = noise.in_training and noise.mechanism != "none" and recipe.optimisation.steps > 0
    description = Description(
        encoder=encoder[0],
        encoder_digest=encoder[1],
        dimension=data.vectors.shape[1],
        latent=recipe.network.get("latent", 64),
        attributes=tuple(attribute.name for attribute in data.attributes),
        mechanism=noise.mechanism,
        clip=clip,
        clip_origin=origin,
        epsilon_train=noise.epsilon if noisy else math.inf,
        delta=noise.delta if noise.mechanism == "gaussian" else None,
        length=noise.length if noise.mechanism == "privunit" else None,
        unit_length=recipe.data.unit_length,
    )
    summary = recipe.summary or f"Conceals {', '.join(description.attributes)}."
    metadata: dict[str, Any] = {
        "name": recipe.name,
        "summary": summary,
        "licence": licence,
        "figures": dict(figures),
        "network": dict(recipe.network),
    }
    networks = graphs(trained.network, description.dimension)

    def written(described: Mapping[str, Any]) -> Concealer:
        card = concealer_card(trained, description, described)
        return write_concealer(
            place,
            description,
            described,
            card,
            networks=networks,
            erasure=trained.erasure,
            replace=True,
        )

    concealer = written(metadata)
    facts = verification(concealer, trained)
    return written({**metadata, "verification": facts}).bundle if facts else concealer.bundle


def graphs(network: ConcealerNetwork, dimension: int) -> tuple[bytes, bytes]:
    """Encoder and decoder as ONNX graphs, from `vector` to `latent` and back.

    Raises:
        OutputError: they do not give what the networks give, within a thousandth.
    """
    encoder = _graph(network.encoder, dimension, "vector", "latent")
    latent = network.encoder.eval()(torch.zeros(1, dimension)).shape[1]
    return encoder, _graph(network.decoder, latent, "latent", "vector")


def verification(concealer: Concealer, trained: Trained) -> dict[str, Any]:
    """Thresholds on protected vectors of the validation speakers, without noise and with it.

    Returns:
        By which sides are protected, then by epsilon; see `write_concealer`.
    """
    rng = np.random.default_rng(trained.recipe.data.seed)
    heard = trained.training
    some = np.sort(rng.permutation(len(heard))[:_MOST_HEARD])
    sides = (trained.validation, heard.rows(some))
    utterances = [utterance for side in sides for utterance in side.utterances]
    originals = np.concatenate([side.vectors for side in sides])
    unheard = frozenset(trained.validation.speakers.tolist())
    epsilons = [math.inf]
    if concealer.description.mechanism != "none":
        epsilons.append(trained.recipe.noise.epsilon)
    found: dict[str, dict[str, Any]] = {"both": {}, "one": {}}
    for epsilon in epsilons:
        protected = concealer.conceal(originals, epsilon)
        for name, enrolled in (("both", None), ("one", originals.astype(np.float32))):
            facts = verification_facts(protected, utterances, unheard, enrolled=enrolled)
            facts["measured_on"] = (
                f"{len(unheard)} speakers that training did not see, {facts['target_trials']}"
                f" target and {facts['nontarget_trials']} impostor trials"
            )
            if facts["thresholds"]:
                found[name][f"{epsilon:g}"] = facts
    return {name: table for name, table in found.items() if table}


def _clip(trained: Trained) -> tuple[float | None, str]:
    """The bound of latents, and where it comes from."""
    noise, settings = trained.network.noise, trained.recipe.noise
    if not isinstance(noise, ClippedNoise):
        return None, ""
    kind = "L1" if settings.mechanism == "laplace" else "Euclidean"
    if settings.clip == "private":
        clip = private_median(
            _speaker_norms(trained, noise),
            settings.clip_epsilon,
            low=_LOWEST_NORM,
            high=_HIGHEST_NORM,
        )
        return clip, (
            f"median {kind} norm of the training speakers' latents, private for each of them at"
            f" epsilon {settings.clip_epsilon:g} given the weights, which are not"
        )
    which = "all training latents"
    if steps := trained.recipe.optimisation.steps:
        last = max(1, round(settings.frozen_at * steps))
        which = f"the {WINDOW} latents up to step {last} of {steps} in training"
    return float(noise.clip), (
        f"median {kind} norm of {which}; not private for the training speakers"
    )


def _speaker_norms(trained: Trained, noise: ClippedNoise) -> FloatArray:
    """For each training speaker the mean norm of the latents, shape (speakers,)."""
    data = trained.training
    rows = prepared_vectors(
        data, unit_length=trained.recipe.data.unit_length, erasure=trained.erasure
    )
    with torch.inference_mode():
        norms = noise.norm(trained.network.encoder(torch.from_numpy(rows).float())).double()
    numbers = data.speaker_numbers
    return np.bincount(numbers, norms.numpy()) / np.bincount(numbers)


def _graph(network: nn.Module, size: int, takes: str, gives: str) -> bytes:
    import onnxruntime

    network = copy.deepcopy(network).cpu().eval()
    axes = {takes: {0: "batch"}, gives: {0: "batch"}}
    graph = traced(network, {takes: torch.zeros(2, size)}, gives, axes)
    rows = np.random.default_rng(0).standard_normal((5, size)).astype(np.float32)
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    with torch.inference_mode():
        expected = network(torch.from_numpy(rows)).numpy()
    if not near(session.run([gives], {takes: rows})[0], expected):
        raise OutputError("the exported graph does not give what the network gives")
    return graph
