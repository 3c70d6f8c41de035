from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.evaluate.report.levels import BANDS, LEVEL_NAMES, level_of
from sordino.evaluate.report.verdict import verdicts
from sordino.evaluate.results import (
    ALL,
    Attack,
    AttributeAttack,
    Identification,
    Measure,
    Quality,
    System,
)
from tests.evaluate.report.evaluations import embeddings, made_up, results, scores

GOOD = (0.05, 0.04, 0.06)


def words(original=0.1, changed=0.12, measure="wer", unit="%"):
    """What is left of the words, or of the sound."""
    return tuple(
        Quality(system, measure, unit, ALL, Measure(value), 100, 40)
        for system, value in (("original", original), ("mcadams", changed))
    )


def judged(*attacks, original=GOOD, attacker="ecapa", qualities=None, **changes):
    """The verdict on a system, from its attacks and the attacker's error on original speech."""
    own = [
        Attack("mcadams", scenario, attacker, ALL, replace(made_up(*error), **changes))
        for scenario, error in attacks
    ]
    if original is not None:
        own.append(Attack("original", "OO", attacker, ALL, made_up(*original)))
    left = words() if qualities is None else qualities
    (verdict,) = verdicts(results(attacks=tuple(own), qualities=left))
    return verdict


@pytest.mark.parametrize(
    ("error", "level"),
    [
        ((0.05, 0.03, 0.08), "none"),
        ((0.12, 0.09, 0.149), "none"),
        ((0.16, 0.12, 0.2), "none"),  # the careful end decides
        ((0.2, 0.16, 0.24), "weak"),
        ((0.29, 0.26, 0.33), "weak"),
        ((0.34, 0.31, 0.37), "partial"),
        ((0.42, 0.39, 0.46), "partial"),
        ((0.46, 0.42, 0.5), "strong"),
        ((0.5, 0.45, 0.55), "strong"),
        ((0.25, 0.1, 0.35), "unknown"),  # from hardly any to partial
        ((0.3, 0.0, 0.5), "unknown"),
        ((0.45,), "unknown"),  # no interval
        ((0.05,), "unknown"),
    ],
)
def test_levels_of_a_semi_informed_attack_by_a_good_attacker(error, level):
    verdict = judged(("AA-semi-informed", error))
    assert verdict.level == level
    assert verdict.headline


def test_the_strongest_informed_attacker_decides():
    verdict = judged(("AA-lazy", (0.45, 0.42, 0.48)), ("AA-semi-informed", (0.2, 0.17, 0.24)))
    assert verdict.level == "weak"
    assert "20.0 % (17.0 to 24.0)" in verdict.evidence[0].replace("\u00a0", " ")
    assert "about 20 wrong" in verdict.evidence[0]
    assert "on the original speech the same attacker has 5.0\u00a0%" in verdict.evidence[0]


def test_speakers_who_are_not_known_are_said_to_be_so():
    verdict = judged(("AA-semi-informed", (0.3,)), speakers=0)
    assert any("not known" in caution for caution in verdict.cautions)
    assert not any("0 speakers" in caution for caution in verdict.cautions)


HIDDEN = ("AA-semi-informed", (0.46, 0.42, 0.5))


def test_noise_is_not_called_protection_without_a_word():
    verdict = judged(HIDDEN, qualities=words(changed=1.3))
    assert "most of what was said is lost" in verdict.headline
    assert "Most words are lost" in verdict.cautions[0]
    # Where a recogniser fails on the original too, nothing is known to have got lost.
    assert "lost" not in judged(HIDDEN, qualities=words(original=0.9, changed=0.95)).headline
    awful = judged(HIDDEN, qualities=(*words(), *words(3.1, 1.1, "dnsmos-ovrl", "MOS")))
    assert "sounds much worse" in awful.cautions[0]


def test_what_was_not_measured_is_said_where_protection_is_claimed():
    assert "was not measured" in judged(HIDDEN, qualities=()).cautions[0]
    exposed = judged(("AA-semi-informed", (0.05, 0.03, 0.08)), qualities=())
    assert not any("measured" in caution for caution in exposed.cautions)


@pytest.mark.parametrize(("targets", "level"), [(4, "unknown"), (12, "strong"), (100, "strong")])
def test_few_trials_of_the_same_speaker_prove_little(targets, level):
    verdict = judged(HIDDEN, targets=targets)
    assert verdict.level == level
    assert any("of the same speaker" in text for text in verdict.cautions) == (targets < 30)


def test_scores_that_are_the_wrong_way_round_are_said_to_be_so():
    attack = Attack("mine", "given", "mine.txt", ALL, made_up(0.85, 0.8, 0.9))
    (verdict,) = verdicts(results(kind="scores", systems=(System("mine", ""),), attacks=(attack,)))
    assert "15.0" in verdict.headline
    assert "wrong way round" in verdict.evidence[0]


def test_an_ignorant_attacker_never_decides_but_is_not_hidden():
    informed = ("AA-semi-informed", (0.46, 0.42, 0.5))
    alone = judged(informed)
    flattering = judged(informed, ("OA", (0.49, 0.47, 0.5)))
    better = judged(informed, ("OA", (0.1, 0.08, 0.12)))
    assert {alone.level, flattering.level, better.level} == {"strong"}
    assert alone.cautions == flattering.cautions == ()
    assert "An ignorant attacker" in better.cautions[0]
    assert "10.0\u00a0%" in better.cautions[0]


def test_without_an_informed_attacker_nothing_is_said_about_protection():
    verdict = judged(("OA", (0.49, 0.47, 0.5)))
    assert verdict.level == "unknown"
    assert verdict.attack is None
    assert "nothing can be said" in verdict.headline
    assert "says little" in verdict.evidence[0]


def test_without_any_attack_there_is_a_verdict_that_says_so():
    (verdict,) = verdicts(results())
    assert verdict.level == "unknown"


def test_without_a_semi_informed_attack_protection_is_never_strong():
    verdict = judged(("AA-lazy", (0.46, 0.42, 0.5)))
    assert verdict.level == "partial"
    assert any("No semi-informed attack was run" in caution for caution in verdict.cautions)
    failed = judged(("AA-lazy", (0.46, 0.42, 0.5)), ("AA-semi-informed", (None,)))
    assert failed.level == "partial"


@pytest.mark.parametrize(
    ("original", "level", "caution"),
    [
        (GOOD, "strong", None),
        ((0.12, 0.1, 0.14), "strong", "The attacker is weak"),
        ((0.2, 0.18, 0.22), "unknown", "The attacker is weak"),
        ((0.45, 0.4, 0.5), "unknown", "The attacker is weak"),
        ((None,), "unknown", "not known how strong"),
        (None, "unknown", "not known how strong"),
    ],
)
def test_a_weak_attacker_proves_nothing(original, level, caution):
    verdict = judged(("AA-semi-informed", (0.46, 0.42, 0.5)), original=original)
    assert verdict.level == level
    assert bool(verdict.cautions) == (caution is not None)
    assert caution is None or caution in verdict.cautions[0]


def test_what_could_be_the_error_on_original_speech_is_no_protection():
    verdict = judged(("AA-semi-informed", (0.2, 0.16, 0.24)), original=(0.13, 0.1, 0.17))
    assert verdict.level == "none"
    assert "No clear difference" in verdict.headline


def test_a_weak_attacker_who_succeeds_all_the_same_is_believed():
    verdict = judged(("AA-semi-informed", (0.05, 0.03, 0.08)), original=None)
    assert verdict.level == "none"


def test_scores_the_wrong_way_round_are_no_protection():
    verdict = judged(("AA-semi-informed", (0.95, 0.92, 0.97)))
    assert verdict.level == "none"
    assert "wrong way round" in verdict.evidence[0]


@pytest.mark.parametrize(
    ("error", "original"),
    [
        ((float("nan"),), GOOD),
        ((0.46, float("nan"), 0.5), GOOD),
        ((0.46, 0.42, float("nan")), GOOD),
        ((0.46, 0.42, None), GOOD),
        ((0.46, 0.42, 0.5), (float("nan"),)),
        ((0.46, 0.42, 0.5), (0.45, 0.4, float("nan"))),
    ],
)
def test_what_is_no_number_is_never_protection(error, original):
    assert judged(("AA-semi-informed", error), original=original).level == "unknown"


def test_few_speakers_are_told():
    many = judged(("AA-semi-informed", (0.46, 0.42, 0.5)), speakers=20)
    few = judged(("AA-semi-informed", (0.46, 0.42, 0.5)), speakers=19)
    assert many.cautions == ()
    assert few.cautions[0].startswith("Only 19 speakers")


def test_a_missing_interval_is_told():
    verdict = judged(("AA-semi-informed", (0.46,)), speakers=3)
    assert any("No interval" in caution for caution in verdict.cautions)
    assert any("Only 3 speakers" in caution for caution in verdict.cautions)


def test_identification_and_words_are_in_the_evidence():
    attack = Attack(
        "mcadams",
        "AA-lazy",
        "ecapa",
        ALL,
        made_up(0.2, 0.18, 0.22),
        Identification((1, 2, 50), (1.0, 0.8, 0.31), (None, 0.6, 0.4), (1.0, 0.5, 0.37)),
    )
    qualities = (
        Quality("original", "wer", "%", ALL, Measure(0.05, 0.04, 0.06), 10, 2),
        Quality("mcadams", "wer", "%", ALL, Measure(0.1, 0.08, 0.12), 10, 2),
    )
    (verdict,) = verdicts(results(attacks=(attack,), qualities=qualities))
    text = " ".join(verdict.evidence).replace("\u00a0", " ")
    assert "Asked which of 50 known voices" in text
    assert "31.0 % of the cases; a guess does in 2.0 %" in text
    assert "10.0 % (8.0 to 12.0) of the words wrong, on the original speech 5.0 %" in text


def turned(error):
    """The error of who turns scores round that are surely the wrong way."""
    return 1 - error[0] if len(error) == 3 and error[1] > 0.5 else error[0]


errors = st.floats(0.0, 1.0, allow_nan=False)


@st.composite
def measures(draw):
    value = draw(st.none() | errors)
    if value is None or draw(st.booleans()):
        return (value,)
    return (value, max(0.0, value - draw(errors)), min(1.0, value + draw(errors)))


@given(
    st.lists(st.tuples(st.sampled_from(["OA", "AA-lazy", "AA-semi-informed"]), measures())),
    st.none() | measures(),
)
def test_protection_is_only_claimed_where_everything_speaks_for_it(attacks, original):
    verdict = judged(*attacks, original=original)
    informed = [error for scenario, error in attacks if scenario != "OA" and error[0] is not None]
    if verdict.level in {"weak", "partial", "strong"}:
        lowest = dict(
            zip([level for _, level in BANDS], [start for start, _ in BANDS], strict=True)
        )
        assert original is not None
        assert original[0] is not None
        assert original[0] < 0.2
        assert informed
        # The careful end of the strongest attack is at least where the level begins, so that no
        # other attack can lie below it.
        strongest = min(informed, key=turned)
        assert len(strongest) == 3
        careful = 1 - strongest[2] if strongest[1] > 0.5 else strongest[1]
        assert careful >= lowest[verdict.level]
    if verdict.level == "strong":
        assert any(s == "AA-semi-informed" and e[0] is not None for s, e in attacks)
    same = judged(*[pair for pair in attacks if pair[0] != "OA"], original=original)
    assert (same.level, same.headline) == (verdict.level, verdict.headline)


def test_scores_of_others_are_described_and_not_judged():
    (verdict,) = verdicts(scores())
    assert verdict.level == "plain"
    assert "nothing about protection" in " ".join(verdict.cautions).replace("say ", "")


def test_scores_without_a_figure():
    attack = Attack("scores.txt", "given", "given", ALL, made_up(None))
    found = results(kind="scores", systems=(System("scores.txt", ""),), attacks=(attack,))
    (verdict,) = verdicts(found)
    assert verdict.level == "unknown"


def test_the_original_alone_is_described():
    attack = Attack("original", "OO", "ecapa", ALL, made_up(*GOOD))
    (verdict,) = verdicts(results(systems=(System("original", ""),), attacks=(attack,)))
    assert verdict.level == "plain"
    assert "On original speech" in verdict.headline


def guess(knowledge, auc, system="noisy", **changes):
    value = None if auc is None else Measure(*auc)
    attack = AttributeAttack(
        system,
        "sex",
        f"lr-{knowledge}",
        knowledge,
        1,
        100,
        40,
        value,
        Measure(0.6, 0.55, 0.65),
        None,
        Measure(0.1),
    )
    return replace(attack, **changes)


def attributed(*attacks):
    systems = (System("original", ""), System("noisy", ""))
    (verdict,) = verdicts(results(kind="embeddings", systems=systems, attributes=attacks))
    return verdict


BEFORE = guess("clean", (0.98, 0.96, 1.0), "original")


@pytest.mark.parametrize(
    ("auc", "level"),
    [
        ((0.95, 0.92, 0.97), "none"),
        ((0.85, 0.8, 0.89), "weak"),
        ((0.7, 0.65, 0.74), "partial"),
        ((0.54, 0.51, 0.59), "strong"),
        ((0.7, 0.55, 0.95), "unknown"),
        ((0.54,), "unknown"),
    ],
)
def test_levels_of_an_attribute(auc, level):
    assert attributed(BEFORE, guess("retrained", auc)).level == level


def test_the_strongest_of_clean_and_retrained_attackers_counts():
    verdict = attributed(
        BEFORE, guess("clean", (0.54, 0.5, 0.58)), guess("retrained", (0.95, 0.92, 0.97))
    )
    assert verdict.level == "none"
    assert "lr-retrained" in verdict.evidence[0]


def test_clean_attackers_alone_prove_no_protection():
    verdict = attributed(BEFORE, guess("clean", (0.54, 0.51, 0.59)))
    assert verdict.level == "unknown"
    assert "No attacker was trained on protected vectors" in verdict.cautions[0]


def test_an_attribute_that_was_never_there_is_not_hidden():
    before = guess("clean", (0.55, 0.5, 0.6), "original")
    assert attributed(before, guess("retrained", (0.54, 0.51, 0.59))).level == "unknown"
    assert attributed(guess("retrained", (0.54, 0.51, 0.59))).level == "unknown"


def test_an_attribute_guessed_as_before_is_not_protected():
    before = guess("clean", (0.8, 0.75, 0.85), "original")
    assert attributed(before, guess("retrained", (0.72, 0.68, 0.76))).level == "none"


def test_more_than_two_values_are_judged_by_balanced_accuracy_with_care():
    before = guess("clean", None, "original", balanced_accuracy=Measure(0.9, 0.85, 0.95))
    # Between a guess and always right, 60 % is nearer to a guess of two values than of ten.
    assert attributed(before, guess("retrained", None)).level == "partial"
    verdict = attributed(before, guess("retrained", None, classes=10))
    assert verdict.level == "weak"
    assert any("1 of 10 cases" in caution for caution in verdict.cautions)
    assert "60.0\u00a0%" in verdict.evidence[0]
    same = guess("retrained", None, balanced_accuracy=Measure(0.88, 0.83, 0.93))
    assert attributed(before, same).level == "none"


def test_embeddings_get_a_verdict_for_each_protected_kind_of_vectors():
    found = verdicts(embeddings())
    assert [verdict.system for verdict in found] == ["laplace-eps-15", "erased"]
    assert {verdict.about for verdict in found} == {"sex"}
    assert "averaging 5 releases" in found[0].evidence[0]


def test_every_level_has_a_name():
    assert {level for _, level in BANDS} <= set(LEVEL_NAMES)


@given(st.floats(-0.01, 1.01), st.floats(-0.01, 1.01))
def test_every_interval_has_levels(first, second):
    low, high = sorted((first, second))
    ends = level_of(Measure(low, low, high))
    names = [level for _, level in BANDS]
    assert names.index(ends[0]) <= names.index(ends[1])
