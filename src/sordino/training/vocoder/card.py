"""The model card of a vocoder, from what its training knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sordino.corpus.utterance import Utterance
from sordino.training.vocoder.recipe import VocoderRecipe

_VECTORS = {
    "utterance": "of the utterance itself",
    "another": "of another utterance of the speaker",
    "speaker": "the mean of the speaker's utterances",
}
_MEASURED = {
    "mel_distance": "log-mel distance {:.3f}",
    "spectral_distance": "multi-resolution spectral distance {:.3f}",
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
    corpora = Counter(utterance.corpus or "unnamed" for utterance in heard)
    speakers = {utterance.speaker for utterance in heard}
    weights = {
        "mel": losses.mel,
        "spectral": losses.spectral,
        "acoustic": losses.acoustic,
        "adversarial": losses.adversarial if recipe.adversarial else 0.0,
        "features": losses.features if recipe.adversarial else 0.0,
    }
    lines = [
        f"# {recipe.name}",
        "",
        recipe.summary,
        "",
        f"- **Licence of the weights:** {licence}",
        f"- **Generator:** {recipe.network.get('architecture')}",
        f"- **Told:** content by {content}, pitch by {recipe.tracker}, a vector of {encoder}"
        f" ({_VECTORS[recipe.speaker.of]})",
        f"- **Heard:** {len(heard)} utterances of {len(speakers)} speakers: "
        + ", ".join(f"{name} {count}" for name, count in sorted(corpora.items()))
        + (f"; {left_out} too short or silent left out" if left_out else ""),
        f"- **Training:** {wanted.steps} steps of {wanted.batch} crops of"
        f" {recipe.data.segment / 16000:.2f} s",
        "- **Losses:** "
        + ", ".join(f"{weight:g} x {name}" for name, weight in weights.items() if weight)
        + (
            f"; discriminators from step {losses.adversarial_from}"
            if recipe.adversarial and losses.adversarial_from > 1
            else ""
        ),
        "- **Speakers that were not heard, in their own voices:** "
        + (
            ", ".join(
                text.format(figures[name]) for name, text in _MEASURED.items() if name in figures
            )
            or "not measured"
        ),
    ]
    return "\n".join(lines) + "\n"
