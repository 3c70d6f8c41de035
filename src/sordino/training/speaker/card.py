"""The model card of a speaker encoder, from what its training knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sordino.corpus.utterance import Utterance
from sordino.training.speaker.recipe import SpeakerRecipe


def model_card(
    recipe: SpeakerRecipe,
    training: Sequence[Utterance],
    validation: Sequence[Utterance],
    facts: Mapping[str, Any],
    *,
    licence: str,
    validation_error: float | None,
) -> str:
    """A model card in Markdown.

    Args:
        recipe: what was done.
        training: utterances that were heard, without further voices.
        validation: utterances of the other speakers.
        facts: what `verification_facts` found.
        licence: of the weights.
        validation_error: equal error rate on the validation speakers, 0 to 0.5; None if unknown.
    """
    wanted = recipe.optimisation
    corpora = Counter(utterance.corpus or "unnamed" for utterance in training)
    speakers = {utterance.speaker for utterance in training}
    lines = [
        f"# {recipe.name}",
        "",
        recipe.summary,
        "",
        f"- **Licence of the weights:** {licence}",
        f"- **Heard:** {len(training)} utterances of {len(speakers)} speakers: "
        + ", ".join(f"{name} {count}" for name, count in sorted(corpora.items())),
        f"- **Further voices:** {recipe.voices.copies} copies of every speaker with pitch, vocal"
        " tract and tempo changed"
        if recipe.voices.copies
        else "- **Further voices:** none",
        f"- **Teacher:** {_teacher(recipe)}",
        f"- **Training:** {wanted.steps} steps of {wanted.batch} crops of {_length(recipe)} s"
        + (
            f"; AAM-softmax with margin {wanted.margin:g} and scale {wanted.scale:g}"
            if wanted.classification_weight
            else ""
        ),
        f"- **Validation:** {len({u.speaker for u in validation})} speakers that were not heard,"
        f" {len(validation)} utterances"
        + ("" if validation_error is None else f": equal error rate {100 * validation_error:.1f} %")
        + " (all pairs inside each collection)",
        "- **Thresholds** (cosine against the mean of up to three utterances) from"
        f" {facts['nontarget_trials']} impostor trials of these speakers: "
        + (
            ", ".join(
                f"{value:.3f} for {100 * float(rate):g} % false accepts"
                for rate, value in facts["thresholds"].items()
            )
            or "none, too few trials"
        ),
    ]
    return "\n".join(lines) + "\n"


def _teacher(recipe: SpeakerRecipe) -> str:
    if not recipe.teacher.encoder:
        return "none"
    when = "each crop" if recipe.teacher.each_crop else "each utterance"
    return f"{recipe.teacher.encoder}, asked about {when}"


def _length(recipe: SpeakerRecipe) -> str:
    shortest, longest = recipe.data.crop_seconds
    return f"{longest:g}" if shortest == longest else f"{shortest:g} to {longest:g}"
