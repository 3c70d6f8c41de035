"""The words of the field, in plain ones."""

from __future__ import annotations

from sordino.evaluate.report.markup import Markup, join, tag
from sordino.evaluate.results import Results

Terms = tuple[tuple[str, str], ...]

_ALWAYS: Terms = (
    (
        "Attacker",
        "Software that compares two recordings and says how likely one person speaks in both. An"
        " attacker is only as good as its error on original speech shows.",
    ),
    (
        "Interval",
        "What the figure could be with other speakers: 95 % of such intervals hold the true figure."
        " It is found by drawing the speakers anew many times.",
    ),
    (
        "Cllr, minCllr",
        "What the attacker's scores cost somebody who relies on them, in bits: 0 is perfect"
        " knowledge, 1 none. minCllr is after the best calibration and tells what can be learnt;"
        " Cllr takes the scores at their word.",
    ),
)
_SPEAKERS: Terms = (
    (
        "Disclosure (ZEBRA)",
        "Expected: how many bits an attacker of whom nothing is known learns on average, from 0 to"
        " 0.72. Worst: the strongest single piece of evidence, as a power of ten; the letters go"
        " from 0 (none) and A (weak) to F (a million to one). It grows with the number of trials.",
    ),
    (
        "EER, equal error rate",
        "Of 100 comparisons, so many are wrong when the attacker is set to miss the same speaker as"
        " often as it takes another one for him. 0 % is perfect recognition; 50 % is a guess."
        " Higher means better hidden.",
    ),
    (
        "Enrolment, trial",
        "An enrolment is the known voice, a trial the recording that is compared with it. A target"
        " trial is of the same speaker, a non-target trial of another.",
    ),
    (
        "Ignorant attacker (OA)",
        "Compares anonymized speech with original speech and does not know of the system. The"
        " weakest attacker, and the most flattering figure.",
    ),
    (
        "Lazy-informed attacker (AA-lazy)",
        "Anonymizes the known voice with the same system as well, but was trained on original"
        " speech.",
    ),
    (
        "Linkability (D_sys)",
        "How surely scores link two recordings of one speaker: 0 not at all, 1 always.",
    ),
    (
        "minDCF",
        "The cost of the best decisions where the same speaker is rare (1 in 100): 0 is perfect, 1"
        " is no better than always saying no.",
    ),
    (
        "Original (OO)",
        "Original speech compared with original speech: how strong the attacker is.",
    ),
    (
        "Resynthesised (OR)",
        "The system rebuilds the speech with the speaker's own voice: what the rebuilding alone"
        " costs.",
    ),
    (
        "Semi-informed attacker (AA-semi-informed)",
        "Has the system, anonymizes the speech of many other people with it, and is trained on"
        " that. The strongest usual attacker.",
    ),
    (
        "Singling out",
        "Telling exactly one person apart from a crowd, whoever it is. By chance it succeeds in"
        " about 37 % of the cases.",
    ),
    (
        "Speaker distinctiveness (G_VD), de-identification (DeID)",
        "G_VD in dB: 0 means that protected voices differ from each other as much as the originals;"
        " below 0 they have become alike. DeID: 1 means that a protected voice is no more like its"
        " own original than like anybody else's.",
    ),
)
_SPEECH: Terms = (
    (
        "WER, word error rate",
        "How many words a speech recogniser gets wrong, adds or misses, per word that was said."
        " Lower is better; the original's rate tells how good the recogniser is.",
    ),
    (
        "DNSMOS",
        "What listeners would say of the sound's quality, 1 (bad) to 5 (excellent), as predicted by"
        " a network.",
    ),
)
_UNITS: Terms = (
    (
        "Unit errors, units lost",
        "Units are short sounds, as a network hears them that knows many languages; no text is"
        " needed. Unit errors: how many units have become others, were added or are missing, per"
        " unit of the original. Two yardsticks go with it: the original with faint"
        " noise, which costs no words, and utterances that say something else in the same language."
        " Units lost: 0\u00a0% as with faint noise, 100\u00a0% as where something else is said.",
    ),
)
_CONCEALED: Terms = (
    (
        "EER of verification",
        "Of 100 comparisons, so many are wrong when the verifier is set to refuse the right"
        " speaker as often as it accepts another one. 0\u00a0% is perfect; 50\u00a0% is a guess.",
    ),
    (
        "Epsilon",
        "How much the noise of a release protects: whatever the vector was, no result is more than"
        " e to the power of epsilon times as likely as with any other vector. 1 is strong, 15 by"
        " itself keeps nobody from guessing an attribute. What is released of one person adds up.",
    ),
    (
        "Ignorant, informed attacker",
        "An ignorant attacker was trained on unprotected vectors of other people. An informed one"
        " has the concealer too, and was also trained on vectors of other people that it hid.",
    ),
)
_ATTRIBUTES: Terms = (
    (
        "AUC",
        "Of two vectors, one with the attribute and one without, how often the attacker tells which"
        " is which: 0.5 is a guess, 1 is always.",
    ),
    (
        "Balanced accuracy",
        "The mean over the values of an attribute of how many of each are recognised.",
    ),
    (
        "Clean, retrained",
        "A clean attacker was trained on unprotected vectors; a retrained one on protected vectors,"
        " so that it has learnt what protection does.",
    ),
    (
        "Surely learnt (bit)",
        "A lower bound of what the attacker learns of the attribute (mutual information).",
    ),
)


def glossary(results: Results) -> Markup:
    """The terms that a report on these results uses, sorted."""
    parts = (
        (_ALWAYS, True),
        (_SPEAKERS, bool(results.attacks)),
        (_SPEECH, bool(results.qualities)),
        (_UNITS, any(found.measure == "uer" for found in results.qualities)),
        (_CONCEALED, bool(results.concealed)),
        (_ATTRIBUTES, bool(results.attributes or results.concealed)),
    )
    terms = sorted(term for part, used in parts if used for term in part)
    return tag(
        "dl",
        *(join([tag("dt", term), tag("dd", meaning)]) for term, meaning in terms),
        class_="terms",
    )
