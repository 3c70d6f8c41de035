"""All steps of a voice: what is done is left alone, what was cut short is gone on with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from sordino.corpus.corpus import Corpus
from sordino.errors import UsageError
from sordino.models.bundle import METADATA_NAME, Bundle
from sordino.models.find import load_model
from sordino.speaker.encoders import KIND as ENCODER_KIND
from sordino.training.content.export import KIND as CONTENT_KIND
from sordino.training.content.recipe import ContentRecipe
from sordino.training.content.run import train_content
from sordino.training.generator_export import KIND as VOCODER_KIND
from sordino.training.launch import Hardware, started_by_launcher
from sordino.training.record import RECIPE, described, settle
from sordino.training.units.bundle import KIND as UNITS_KIND
from sordino.training.units.recipe import UnitsRecipe
from sordino.training.units.run import train_units
from sordino.training.vocoder.finish import content_name
from sordino.training.vocoder.recipe import VocoderRecipe
from sordino.training.vocoder.run import train_vocoder
from sordino.training.voice.card import voice_card
from sordino.training.voice.pool import Ear, PoolSettings, chosen, make_pool
from sordino.training.voice.recipe import Step, VoiceRecipe
from sordino.training.voice_bundle import write_voice

POOL = "pool"

_KINDS: Mapping[Step, str] = {
    "units": UNITS_KIND,
    "content": CONTENT_KIND,
    "vocoder": VOCODER_KIND,
}


@dataclass(frozen=True)
class Steps:
    """The recipes of the steps that are to be trained; None where a model is there already.

    Attributes:
        units: see `UnitsRecipe`; None also where nothing needs any.
        content: see `ContentRecipe`; None also where it learns along with the vocoder.
        vocoder: see `VocoderRecipe`; its content is filled in when that is there.
    """

    units: UnitsRecipe | None
    content: ContentRecipe | None
    vocoder: VocoderRecipe | None

    @classmethod
    def of(cls, recipe: VoiceRecipe) -> Steps:
        """Those of a voice's recipe.

        Raises:
            UsageError: a setting is missing, unknown or out of range.
        """
        units = content = vocoder = None
        if recipe.trains_along and (recipe.units or recipe.content):
            raise UsageError(
                f"recipe {recipe.name}: its vocoder trains a content network along; units and"
                " content have to be empty"
            )
        if recipe.units and not recipe.model("units") and not recipe.model("content"):
            units = UnitsRecipe.from_values(recipe.values("units"))
        if recipe.content and not recipe.model("content"):
            content = ContentRecipe.from_values(recipe.values("content"))
        if not recipe.model("vocoder"):
            models = {"encoder": recipe.encoder, "tracker": recipe.tracker}
            vocoder = VocoderRecipe.from_values({**recipe.values("vocoder"), **models})
        return cls(units, content, vocoder)


def train_voice(
    recipe: VoiceRecipe,
    corpus: Corpus,
    folder: Path,
    *,
    pool: Corpus | None = None,
    hardware: Hardware | None = None,
    resume: bool = False,
    keep_every: int = 1000,
    jobs: int = 1,
    licence: str = "not stated",
    quiet: bool = False,
) -> Bundle:
    """Make a voice; see `sordino train voice`.

    Args:
        recipe: what to do.
        corpus: the speech that everything learns from.
        folder: of the run; each step has a folder in it that is a run of its own.
        pool: speech of the people whose vectors pseudo-speakers are made from; None for `corpus`.
        hardware: devices and precision; None for one device.
        resume: go on with a run of the same recipe and data.
        keep_every: steps between two checkpoints.
        jobs: processes that prepare.
        licence: of the voice; it depends on the speech and on what was there already.
        quiet: show no progress.

    Returns:
        The bundle, which is in the run's folder under the recipe's name.

    Raises:
        UsageError: a recipe or the hardware will not do, models do not fit together, or the folder
            holds a run and `resume` is not set, or one of another recipe or other data.
        AudioError: a recording cannot be read.
        OutputError: a loss is no number any more, or a bundle cannot be written.

    Example:
        >>> train_voice(recipe, corpus, Path("runs/mine"))  # doctest: +SKIP
    """
    hardware = hardware or Hardware()
    if started_by_launcher() or hardware.nodes > 1:
        raise UsageError(
            "a voice is trained on one machine; on several, run the steps one by one:"
            " train units, train content, train vocoder, and then train voice with these models"
        )
    steps = Steps.of(recipe)
    load_model(recipe.encoder, ENCODER_KIND)
    for section, kind in _KINDS.items():
        if named := recipe.model(section):
            load_model(named, kind)
    heard = described(corpus, pool=None if pool is None else described(pool))
    settle({**asdict(recipe), "steps": asdict(steps)}, heard, folder, resume=resume)
    common: dict[str, Any] = {"licence": licence, "quiet": quiet}
    learning = {**common, "hardware": hardware, "keep_every": keep_every, "jobs": jobs}

    units = None
    if recipe.units and not recipe.model("content"):
        units = _step(
            recipe.model("units"),
            UNITS_KIND,
            steps.units,
            folder / "units",
            lambda wanted, place, again: train_units(
                wanted, corpus, place, resume=again, device=hardware.device, **common
            ),
        )
    content = None
    if not recipe.trains_along:
        content = _step(
            recipe.model("content"),
            CONTENT_KIND,
            steps.content,
            folder / "content",
            lambda wanted, place, again: train_content(
                wanted,
                corpus,
                place,
                units=None if units is None else units.folder,
                resume=again,
                **learning,
            ),
        )
    vocoder = _step(
        recipe.model("vocoder"),
        VOCODER_KIND,
        steps.vocoder,
        folder / "vocoder",
        lambda wanted, place, again: train_vocoder(
            _with_content(wanted, content), corpus, place, resume=again, **learning
        ),
    )
    if content is None:
        assert steps.vocoder is not None
        content = load_model(str(folder / "vocoder" / content_name(steps.vocoder)), CONTENT_KIND)
    _check_fit(vocoder, content)
    ear = _ear(vocoder, recipe.encoder, recipe.pool)
    people = chosen(corpus if pool is None else pool, recipe.pool)
    arrays = make_pool(people, folder / POOL, ear, jobs, quiet=quiet)
    card = voice_card(recipe, content, vocoder, arrays, licence=licence, own=pool is not None)
    about = {
        "name": recipe.name,
        "summary": recipe.summary or f"Voice of {content.name} and {vocoder.name}.",
        "licence": licence,
    }
    place = folder / recipe.name
    return write_voice(place, content, vocoder, arrays, about, card, half=recipe.half, replace=True)


def _step(
    model: str,
    kind: str,
    wanted: Any,
    place: Path,
    train: Callable[[Any, Path, bool], Bundle | None],
) -> Bundle:
    """A model that is there, from before or from this run; else the step is run."""
    if model:
        return load_model(model, kind)
    done = place / wanted.name
    if (done / METADATA_NAME).exists():
        return Bundle.load(done)
    bundle = train(wanted, place, (place / RECIPE).exists())
    assert bundle is not None
    return bundle


def _with_content(wanted: VocoderRecipe, content: Bundle | None) -> VocoderRecipe:
    return wanted if content is None else replace(wanted, content=str(content.folder))


def _check_fit(vocoder: Bundle, content: Bundle) -> None:
    learned = vocoder.metadata.get("content_model")
    digest = learned.get("digest") if isinstance(learned, dict) else None
    if digest is not None and digest != content.digest:
        raise UsageError(
            f"the vocoder {vocoder.name} was trained for another content model than {content.name}"
        )


def _ear(vocoder: Bundle, encoder: str, settings: PoolSettings) -> Ear:
    speaker, pitch = (vocoder.metadata.get(key) for key in ("speaker", "pitch"))
    digest = speaker.get("digest") if isinstance(speaker, dict) else None
    bundle = load_model(encoder, ENCODER_KIND)
    if bundle.digest != digest:
        raise UsageError(
            f"the vocoder {vocoder.name} was trained with another speaker encoder than"
            f" {bundle.name}; set encoder"
        )
    return settings.ear(encoder, str(pitch.get("tracker")) if isinstance(pitch, dict) else "")
