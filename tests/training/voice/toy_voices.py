"""Recipes of whole voices that are trained on a few utterances in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.training.voice.recipe import VoiceRecipe
from tests.training.vocoder.toys import ALONG, NETWORKS

SHORT: Mapping[str, Any] = {
    "rooms": 0,
    "reverberation": 0,
    "noise": 0,
    "babble": 0,
    "telephone": 0,
    "lossy": 0,
}


def units(hubert: Path) -> dict[str, Any]:
    """Eight units of a layer of a tiny HuBERT."""
    return {
        "recipe": "hubert-200",
        "units": 8,
        "features": {"ssl": {"source": str(hubert)}, "layer": 1},
        "sample": {"frames": 600},
        "clustering": {"starts": 1, "rounds": 5},
    }


def content(recipe: str, **network: Any) -> dict[str, Any]:
    """Three steps of a content recipe."""
    return {
        "recipe": recipe,
        "network": network,
        "data": {"validation": 0.5, "crop_seconds": 0.5},
        "voices": {"copies": 0},
        "augmentation": dict(SHORT),
        "optimisation": {"steps": 3, "batch": 4, "warmup": 1},
        "validate_every": 3,
    }


def vocoder(recipe: str, architecture: str) -> dict[str, Any]:
    """Four steps of a vocoder recipe."""
    return {
        "recipe": recipe,
        "network": {"sizes": NETWORKS[architecture]["sizes"]},
        "data": {"validation": 0.5, "segment": 6400},
        "losses": {"adversarial_from": 2},
        "discriminators": {"periods": [2], "scales": 1, "resolutions": [], "width": 0.05},
        "optimisation": {"steps": 4, "batch": 4},
        "validate_every": 4,
    }


def soft_recipe(hubert: Path) -> VoiceRecipe:
    """As the paper's: soft units, HiFi-GAN."""
    return VoiceRecipe.from_values(
        {
            "name": "toy",
            "summary": "A toy.",
            "tracker": "swift",
            "units": units(hubert),
            "content": content("soft-hubert", projection=6),
            "vocoder": vocoder("hifigan", "hifigan"),
            "pool": {"utterances": 1},
        }
    )


def small_recipe(hubert: Path) -> VoiceRecipe:
    """A small network's code, inverse STFT."""
    sizes = {"channels": 16, "blocks": 1, "early": 0}
    return VoiceRecipe.from_values(
        {
            "name": "toy-small",
            "tracker": "swift",
            "units": units(hubert),
            "content": content("conv-bottleneck", projection=5, sizes=sizes),
            "vocoder": vocoder("istft-small", "istft"),
            "pool": {"utterances": 1},
        }
    )


def along_recipe(hubert: Path) -> VoiceRecipe:
    """The content network learns along with the generator, as in sordino-small."""
    step = vocoder("istft-small", "istft")
    features = {"source": "ssl", "ssl": {"source": str(hubert)}, "layer": 1}
    step["along"] = {"network": dict(ALONG), "features": features, "head": 8, "adversary": 8}
    step["losses"] = {"adversarial_from": 1000}
    return VoiceRecipe.from_values(
        {"name": "toy-along", "tracker": "swift", "vocoder": step, "pool": {"utterances": 1}}
    )


def speech(root: Path) -> Corpus:
    """Three utterances each of four people."""
    corpus = read_corpus(root / "manifest.csv").select(corpus="emodb", split="dev")
    return Corpus(tuple(u for group in corpus.by_speaker().values() for u in group[:3]))


def pool_speech(root: Path) -> Corpus:
    """One utterance each of five women and five men."""
    corpus = read_corpus(root / "manifest.csv").select(corpus="speechocean762", split="dev")
    groups = corpus.by_speaker().values()
    of_sex = {sex: [g[0] for g in groups if g[0].sex == sex][:5] for sex in "FM"}
    return Corpus((*of_sex["F"], *of_sex["M"]))
