"""The model card of a vocoder, from what its training knows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from sordino.corpus.utterance import Utterance
from sordino.training.networks.content import ContentNetwork
from sordino.training.networks.content_whisper import WhisperSizes
from sordino.training.units.card import features_named
from sordino.training.vocoder.recipe import VocoderRecipe

_VECTORS = {
    "utterance": "of the utterance itself",
    "another": "of another utterance of the speaker",
    "speaker": "the mean of the speaker's utterances",
    "mixed": "of the utterance itself or the mean of the speaker's",
}
_MEASURED = {
    "mel_distance": "log-mel distance {:.3f}",
    "spectral_distance": "multi-resolution spectral distance {:.3f}",
    "words_distance": "distance in a recogniser's ears {:.3f}",
    "pitch_cents": "pitch off by {:.0f} cents",
    "voicing_error": "voicing wrong in {:.1%} of frames",
}


def model_card(
    recipe: VocoderRecipe,
    heard: Sequence[Utterance],
    *,
    content: str,
    encoder: str,
    licence: str,
    left_out: int,
    figures: Mapping[str, float],
) -> str:
    """A model card in Markdown.

    Args:
        recipe: what was done.
        heard: utterances that training heard.
        content: name of the content model.
        encoder: name of the speaker encoder.
        licence: of the weights.
        left_out: utterances that were too short or silent.
        figures: of the last validation.
    """
    wanted, losses = recipe.optimisation, recipe.losses
    weights = {
        "mel": losses.mel,
        "spectral": losses.spectral,
        "words": losses.words,
        "likeness": losses.likeness,
        "acoustic": losses.acoustic,
        "adversarial": losses.adversarial if recipe.adversarial else 0.0,
        "features": losses.features if recipe.adversarial else 0.0,
    }
    speeds = ", ".join(f"{speed:g}" for speed in recipe.data.speeds)
    lines = [
        f"# {recipe.name}",
        "",
        recipe.summary,
        "",
        f"- **Licence of the weights:** {licence}",
        f"- **Generator:** {recipe.network.get('architecture')}",
        f"- **Told:** content by {content}, pitch by {recipe.tracker}, a vector of {encoder}"
        f" ({_VECTORS[recipe.speaker.of]})",
        f"- **Heard:** {_named(heard)}"
        + (f"; {left_out} too short or silent left out" if left_out else ""),
        f"- **Training:** {wanted.steps} steps of {wanted.batch} crops of"
        f" {recipe.data.segment / 16000:.2f} s"
        + (
            f"; played at speeds {speeds}, as further speakers"
            if len(recipe.data.speeds) > 1
            else ""
        ),
        "- **Losses:** "
        + ", ".join(f"{weight:g} x {name}" for name, weight in weights.items() if weight)
        + (
            f"; discriminators from step {losses.adversarial_from}"
            if recipe.adversarial and losses.adversarial_from > 1
            else ""
        )
        + (f"; words heard by Whisper {losses.listener['source']}" if losses.words else ""),
        "- **Speakers that were not heard, in their own voices:** "
        + (
            ", ".join(
                text.format(figures[name]) for name, text in _MEASURED.items() if name in figures
            )
            or "not measured"
        ),
    ]
    return "\n".join(lines) + "\n"


def along_card(
    recipe: VocoderRecipe,
    content: ContentNetwork,
    heard: Sequence[Utterance],
    *,
    name: str,
    encoder: str,
    licence: str,
) -> str:
    """A model card, in Markdown, of a content encoder that learned along with a generator.

    Args:
        recipe: what was done.
        content: what came of it.
        heard: utterances that training heard.
        name: of the encoder.
        encoder: name of the speaker encoder whose vectors the generator was told.
        licence: of the weights.
    """
    wanted, chosen = recipe.optimisation, recipe.along
    reach = "the whole recording"
    if content.context is not None:
        reach = f"its {content.hop / 16:g} ms and {content.context / 16:g} ms on each side"
    teacher = "none"
    if recipe.taught:
        teacher = f"{features_named(chosen.features)}, weight {chosen.feature_weight:g}"
    lines = [
        f"# {name}",
        "",
        f"Content encoder: a code of {content.channels} values each {content.hop / 16:g} ms."
        + _origin(recipe),
        "",
        f"- **Licence of the weights:** {licence}",
        f"- **A frame depends on:** {reach}",
        f"- **Learned:** along with the generator {recipe.name}, which said speech again from this"
        f" code, pitch by {recipe.tracker} and a vector of {encoder}",
        f"- **Heard:** {_named(heard)}",
        "- **In changed voices:** vocal tract by a factor of up to"
        f" {math.exp(chosen.warp):.2f}, spectrum by {chosen.equaliser_db:g} dB, level by"
        f" {chosen.level_db:g} dB, hiss at {chosen.hiss_db[0]:g} to {chosen.hiss_db[1]:g} dB",
        f"- **Teacher:** {teacher}",
        "- **Against the speaker in the code:** a network that tells the speakers, weight"
        f" {chosen.speaker_weight:g}",
        f"- **Training:** {wanted.steps} steps of {wanted.batch} crops of"
        f" {recipe.data.segment / 16000:.2f} s",
    ]
    return "\n".join(lines) + "\n"


def _origin(recipe: VocoderRecipe) -> str:
    network = recipe.along.network
    if "source" not in network:
        return ""
    sizes = network.get("sizes", {})
    how = "which learned on" if sizes.get("tuned") else "which stayed as they were"
    layers = sizes.get("layers", WhisperSizes.layers)
    return (
        f" It begins with the first {layers} layers of the encoder of Whisper"
        f" {network['source']} (OpenAI, MIT licence), {how}."
    )


def _named(heard: Sequence[Utterance]) -> str:
    corpora = Counter(utterance.corpus or "unnamed" for utterance in heard)
    speakers = {utterance.speaker for utterance in heard}
    listed = ", ".join(f"{name} {count}" for name, count in sorted(corpora.items()))
    return f"{len(heard)} utterances of {len(speakers)} speakers: {listed}"
