"""What attacks on speakers say of a system, in plain words, and no more than they say."""

from __future__ import annotations

from sordino.evaluate.report.choose import (
    attackers_error,
    attacks_on,
    deciding,
    is_semi_informed,
    on_original,
    quality,
    strongest,
    text_measure,
)
from sordino.evaluate.report.levels import (
    FEW_SPEAKERS,
    SPEAKER,
    Level,
    Verdict,
    level_of,
    too_wide,
)
from sordino.evaluate.report.words import (
    ORIGINAL,
    counted,
    figure,
    is_known,
    scenario_name,
    with_interval,
)
from sordino.evaluate.results import Attack, Measure, Results

# An attacker who errs so often on original speech tells little, or nothing, by erring elsewhere.
_SO_SO, _USELESS = 0.10, 0.20
# With fewer trials of the same speaker an interval is far too narrow, or has no width at all.
_FEW_TARGETS, _MORE_TARGETS = 10, 30
# From where on words, or the sound, are called lost.
_LOST, _MORE_LOST = 0.5, 0.2
_WORSE_SOUND = 0.8
_TOO_LITTLE = "There is too little data for an interval, so the figures prove nothing."


def speaker_verdict(results: Results, system: str) -> Verdict:
    """The verdict on how well a system hides who speaks.

    The strongest attacker who knows the system decides, at the careful end of the interval; one who
    does not know it never does.

    Args:
        results: of an evaluation.
        system: a name in them.
    """
    attack = deciding(results, system)
    if attack is None:
        return Verdict(
            system,
            SPEAKER,
            "unknown",
            "No attacker who knows the system was tried, so nothing can be said about protection.",
            (*_ignorant(results, system, None), *_words_left(results, system)),
        )
    error = attackers_error(attack.privacy.eer)
    base = on_original(results, attack)
    original = None if base is None else base.privacy.eer
    level, headline = _judged(error, original, _has_semi_informed(results, system))
    if level not in {"none", "unknown"} and attack.privacy.targets < _FEW_TARGETS:
        level, headline = "unknown", _TOO_LITTLE
    lost = _losses(results, system, level)
    if level in {"partial", "strong"} and _words_are_lost(results, system):
        headline += " But most of what was said is lost."
    evidence = (
        _comparisons(attack, error, original),
        *_identified(attack),
        *_words_left(results, system),
    )
    cautions = (
        *lost,
        *_about_attacker(attack, original),
        *_about_scenarios(results, system, attack),
        *_about_data(attack),
    )
    return Verdict(system, SPEAKER, level, headline, evidence, cautions, attack)


def description(results: Results, system: str) -> Verdict:
    """The figures in words, without a verdict: of the original, and of scores made elsewhere.

    Args:
        results: of an evaluation.
        system: a name in them.
    """
    attack = strongest(attacks_on(results, system))
    if attack is None:
        return Verdict(
            system, SPEAKER, "unknown", "No error rate could be computed from these scores."
        )
    eer = attackers_error(attack.privacy.eer)
    assert eer.value is not None
    turned = (
        f" The scores are the wrong way round ({figure(attack.privacy.eer.value)}); who turns them"
        " round gets this."
        if eer != attack.privacy.eer
        else ""
    )
    original = system == ORIGINAL
    what = "On original speech the strongest attacker tells" if original else "These scores tell"
    headline = f"{what} speakers apart with {figure(eer.value)} errors."
    evidence = (
        f"Of 100 comparisons {_of_hundred(eer.value)} are wrong ({attack.attacker}):"
        f" {with_interval(eer)}, where a guess makes 50\u00a0%.{turned}",
        *_identified(attack),
    )
    caution = (
        "Who made these scores, and what that attacker knew, is not said here; so they say nothing"
        " about protection.",
    )
    return Verdict(
        system,
        SPEAKER,
        "plain",
        headline,
        evidence,
        (*(() if original else caution), *_about_data(attack)),
        attack,
    )


def _judged(error: Measure, original: Measure | None, semi_informed: bool) -> tuple[Level, str]:
    """The level and the headline.

    It must be easy to fall and hard to rise: what could be chance, or an attacker who is no good,
    is never called protection.
    """
    ends = level_of(error)
    if ends is not None and ends[1] == "none":
        return "none", "The strongest attacker still tells speakers apart."
    doubt = _doubt(ends, original)
    if doubt is not None or ends is None or original is None or error.low is None:
        return "unknown", doubt or _TOO_LITTLE
    worst = original.value if original.high is None else original.high
    if worst is None or error.low <= worst:
        return (
            "none",
            "No clear difference from original speech: by chance alone the attacker's errors on"
            " both could be the same.",
        )
    level = ends[0]
    if level == "strong" and not semi_informed:
        level = "partial"
    return level, _headline(level, error)


def _doubt(ends: tuple[Level, Level] | None, original: Measure | None) -> str | None:
    """Why nothing can be said, if so."""
    if ends is None:
        return _TOO_LITTLE
    if original is None or original.value is None or not is_known(original.value):
        return "How good the attacker is on original speech is not known."
    if original.value >= _USELESS:
        return (
            "The attacker is bad at recognising even original voices, so its errors do not show"
            " protection."
        )
    return too_wide(ends)


def _headline(level: Level, error: Measure) -> str:
    if level == "none":
        return "The strongest attacker still tells most speakers apart."
    if level == "weak":
        return "Speakers are harder to recognise, but far from hidden from the strongest attacker."
    if level == "partial":
        surely = error.high is not None and error.high < 0.5
        rest = "still does better than a guess" if surely else "may still do better than a guess"
        return f"The strongest attacker makes many errors, but {rest}."
    return "No attacker that was tried did much better than a guess."


def _comparisons(attack: Attack, error: Measure, original: Measure | None) -> str:
    assert error.value is not None
    turned = error != attack.privacy.eer
    who = f"the strongest attacker, who knows the system ({attack.attacker},"
    who += f" {scenario_name(attack.scenario)}),"
    text = (
        f"Of 100 comparisons {who} gets {_of_hundred(error.value)} wrong: an error rate of"
        f" {with_interval(error)}, where a guess has 50\u00a0%"
    )
    if turned:
        text += (
            f" (its scores were the wrong way round, {figure(attack.privacy.eer.value)}; who"
            " turns them round gets this)"
        )
    if original is not None and is_known(original.value):
        text += f"; on the original speech the same attacker has {with_interval(original)}"
    return text + "."


def _of_hundred(value: float) -> str:
    share = 100 * value
    return f"about {share:.0f}" if share >= 1 else ("fewer than 1" if share > 0 else "none")


def _identified(attack: Attack) -> tuple[str, ...]:
    found = attack.identification
    if found is None or not found.among or found.among[-1] < 2:
        return ()
    among, linked = found.among[-1], found.linked[-1]
    return (
        f"Asked which of {among} known voices a recording is, it names the right one in"
        f" {figure(linked)} of the cases; a guess does in {figure(1 / among)}.",
    )


def _words_left(results: Results, system: str) -> tuple[str, ...]:
    measure = text_measure(results)
    if measure is None:
        return ()
    now, before = (quality(results, name, measure) for name in (system, ORIGINAL))
    if now is None or now.value.value is None:
        return ()
    kind = "words" if measure == "wer" else "characters"
    text = f"A speech recogniser gets {with_interval(now.value)} of the {kind} wrong"
    if before is not None and before.value.value is not None:
        text += f", on the original speech {with_interval(before.value)}"
    return (text + ".",)


def _words_are_lost(results: Results, system: str) -> bool:
    measure = text_measure(results)
    now, before = (
        None if measure is None else quality(results, name, measure) for name in (system, ORIGINAL)
    )
    if now is None or now.value.value is None or now.value.value < _LOST:
        return False
    known = before is not None and before.value.value is not None
    more = now.value.value - (before.value.value or 0.0) if before is not None and known else 1.0
    return more >= _MORE_LOST


def _losses(results: Results, system: str, level: Level) -> tuple[str, ...]:
    """What the protection costs, where that is much or not known."""
    found = []
    if _words_are_lost(results, system):
        found.append("Most words are lost: hiding a voice by destroying the speech is easy.")
    now, before = (quality(results, name, "dnsmos-ovrl") for name in (system, ORIGINAL))
    if now is not None and before is not None:
        ends = now.value.value, before.value.value
        if ends[0] is not None and ends[1] is not None and ends[1] - ends[0] >= _WORSE_SOUND:
            found.append(
                f"It sounds much worse than the original: a predicted opinion of {ends[0]:.1f} in"
                f" place of {ends[1]:.1f}."
            )
    if text_measure(results) is None and level not in {"none", "unknown"}:
        found.append("Whether the words can still be understood was not measured.")
    return tuple(found)


def _about_attacker(attack: Attack, original: Measure | None) -> tuple[str, ...]:
    if original is None or original.value is None:
        return (
            f"There is no figure of {attack.attacker} on original speech, so it is not known how"
            " strong this attacker is.",
        )
    if original.value >= _SO_SO:
        return (
            f"The attacker is weak: even on original speech it makes {figure(original.value)}"
            " errors. A better one may well recognise these voices.",
        )
    return ()


def _has_semi_informed(results: Results, system: str) -> bool:
    return any(
        is_semi_informed(attack.scenario) and attack.privacy.eer.value is not None
        for attack in attacks_on(results, system)
    )


def _about_scenarios(results: Results, system: str, attack: Attack) -> tuple[str, ...]:
    cautions = []
    if not _has_semi_informed(results, system):
        cautions.append(
            "No semi-informed attack was run: an attacker who trains on speech that the same"
            " system anonymized usually makes fewer errors, often far fewer."
        )
    return (*cautions, *_ignorant(results, system, attack))


def _ignorant(results: Results, system: str, attack: Attack | None) -> tuple[str, ...]:
    """What the attacker who knows nothing does: it never decides, but it must not be hidden."""
    others = strongest(attacks_on(results, system, "OA"))
    if others is None:
        return ()
    error = attackers_error(others.privacy.eer)
    if attack is None:
        return (
            f"The ignorant attacker, who expects original speech, makes {with_interval(error)}"
            " errors; that says little, since a real one can know the system.",
        )
    own = attackers_error(attack.privacy.eer)
    assert error.value is not None
    assert own.value is not None
    if error.value >= own.value:
        return ()
    return (
        f"An ignorant attacker, who compares with original speech ({others.attacker}), did even"
        f" better: {with_interval(error)} errors. Whoever knows the system can do that too.",
    )


def _about_data(attack: Attack) -> tuple[str, ...]:
    privacy = attack.privacy
    if not privacy.speakers:
        return ("Who the speakers are is not known, so that the figures have no interval.",)
    cautions = []
    if privacy.targets < _MORE_TARGETS:
        cautions.append(
            f"Only {counted(privacy.targets, 'trial')} of the same speaker: the interval is"
            " narrower than it should be."
        )
    if privacy.eer.value is not None and privacy.eer.low is None:
        cautions.append(
            f"No interval could be computed from {counted(privacy.speakers, 'speaker')}: the"
            " figures could be far off."
        )
    if privacy.speakers < FEW_SPEAKERS:
        cautions.append(
            f"Only {counted(privacy.speakers, 'speaker')}: other speakers may well fare"
            " differently, by more than the interval tells."
        )
    return tuple(cautions)
