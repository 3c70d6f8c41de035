"""What a recipe for a voice says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sordino.errors import UsageError
from sordino.training.recipes import check, fill, read_recipe
from sordino.training.voice.pool import PoolSettings

Step = Literal["units", "content", "vocoder"]


@dataclass(frozen=True)
class VoiceRecipe:
    """Everything that decides what comes out of all steps.

    A step is a section with `recipe`, the name of one of the step's recipes or of a .toml file;
    everything else in the section changes that recipe. With `model` instead, the name or folder of
    one that is there already, nothing is trained in this step. What a step needs of the one before
    is filled in.

    Attributes:
        name: of the voice.
        encoder: name or folder of a speaker encoder.
        tracker: of pitch.
        summary: one line about it.
        units: what the content network learns; empty where its content needs none.
        content: what tells the generator what is said; empty where the vocoder's recipe trains it
            along.
        vocoder: the generator.
        pool: see `PoolSettings`.
        half: whether the weights are kept in 16 bits; see `sordino.training.halve`.

    Raises:
        UsageError: a section that is no step, or a name that a model cannot have.

    Example:
        >>> content = {"model": "soft"}
        >>> recipe = VoiceRecipe("x", content=content, vocoder={"recipe": "hifigan"})
        >>> recipe.encoder, recipe.pool.utterances
        ('ecapa-small', 20)
    """

    name: str
    encoder: str = "ecapa-small"
    tracker: str = "yaapt"
    summary: str = ""
    units: dict[str, Any] = field(default_factory=dict)
    content: dict[str, Any] = field(default_factory=dict)
    vocoder: dict[str, Any] = field(default_factory=dict)
    pool: PoolSettings = field(default_factory=PoolSettings)
    half: bool = False

    def __post_init__(self) -> None:
        check(self.name)
        for step in ("units", "content", "vocoder"):
            section: Mapping[str, Any] = getattr(self, step)
            if not section and (step == "units" or (step == "content" and self.trains_along)):
                continue
            if not any(isinstance(section.get(key), str) for key in ("model", "recipe")):
                raise UsageError(
                    f"recipe {self.name}: {step} names neither a recipe nor a model; set"
                    f" {step}.recipe or {step}.model"
                )

    def model(self, step: Step) -> str:
        """Name or folder of a step's model that is there already; empty if it is to be trained."""
        return str(getattr(self, step).get("model", ""))

    @property
    def trains_along(self) -> bool:
        """Whether the content network learns in the step of the vocoder.

        Raises:
            UsageError: there is no such recipe for a vocoder.
        """
        if self.model("vocoder") or not isinstance(self.vocoder.get("recipe"), str):
            return False
        along = self.values("vocoder").get("along")
        return isinstance(along, Mapping) and bool(along.get("network"))

    def values(self, step: Step) -> dict[str, Any]:
        """The recipe of a step that is to be trained, with what the section changes.

        Raises:
            UsageError: there is no such recipe.
        """
        section = dict(getattr(self, step))
        values = read_recipe(section.pop("recipe"), kind=step)
        return merged(values, section)

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> VoiceRecipe:
        """A recipe from the dictionaries that `read_recipe` gives.

        Raises:
            UsageError: a setting is missing, unknown or out of range.
        """
        return fill(cls, values)


def merged(values: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Nested dictionaries with some of their values changed.

    Example:
        >>> merged({"a": {"b": 1, "c": 2}}, {"a": {"b": 3}})
        {'a': {'b': 3, 'c': 2}}
    """
    result = dict(values)
    for key, value in changes.items():
        old = result.get(key)
        both = isinstance(old, Mapping) and isinstance(value, Mapping)
        result[key] = merged(old, value) if both else value  # type: ignore[arg-type]
    return result
