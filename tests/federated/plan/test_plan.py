from __future__ import annotations

import json
import math

import pytest

from sordino.errors import UsageError
from sordino.federated.plan import Plan, Question, RegimePlan, planned
from sordino.privacy.accounting.sampled_gaussian import epsilon_of, noise_multiplier_for
from sordino.privacy.accounting.shuffling import shuffled
from sordino.privacy.mechanisms.calibration import gaussian_noise_multiplier

pytest.importorskip("dp_accounting", reason="accounting needs the extra federated")

ASKED = {"population": 100_000, "rounds": 300, "delta": 1e-5, "cohort": 100, "dimension": 100}


@pytest.fixture(scope="module")
def plan() -> Plan:
    return planned(Question(**ASKED, noise_multiplier=0.5))


def by_name(plan: Plan) -> dict[str, RegimePlan]:
    return {regime.regime: regime for regime in plan.regimes}


def test_both_epsilons_are_those_of_the_reference_table(plan: Plan) -> None:
    for name in ("central", "central-local"):
        regime = by_name(plan)[name]
        assert regime.epsilon == pytest.approx(2.628, rel=0.01)
        assert regime.epsilon_rdp == pytest.approx(3.903, rel=0.01)
        assert regime.noise_multiplier == 0.5


def test_regimes_are_in_the_order_of_the_paper(plan: Plan) -> None:
    snr = {name: regime.snr for name, regime in by_name(plan).items()}
    assert math.inf == snr["none"] > snr["central"] > snr["central-local"] > snr["local"] > 0


def test_only_what_a_regime_has_is_stated(plan: Plan) -> None:
    regimes = by_name(plan)
    assert regimes["none"].epsilon is regimes["none"].local_epsilon is None
    assert regimes["local"].epsilon is None
    assert regimes["local"].local_epsilon == regimes["central"].epsilon
    assert regimes["local"].local_delta == 1e-5
    assert regimes["central"].local_epsilon is None
    assert regimes["central"].bound == 1
    assert regimes["central-local"].bound > 1
    assert regimes["central-local"].local_delta == 0


def test_noise_follows_from_an_epsilon() -> None:
    (central,) = planned(Question(**ASKED, epsilon=2.0, regimes=("central",))).regimes
    assert central.noise_multiplier == noise_multiplier_for(2.0, 1e-3, 300, 1e-5)
    assert central.epsilon <= 2.0


def test_uploads_add_up(plan: Plan) -> None:
    weak, local = by_name(plan)["central-local"], by_name(plan)["local"]
    assert weak.mean_uploads == pytest.approx(0.3)
    assert weak.most_uploads == 5  # of 300 rounds with chance 1/1000, more has chance 3e-6
    assert weak.local_total == 5 * 25.5
    # Five releases with Gaussian noise are one with less of it.
    assert gaussian_noise_multiplier(local.local_total, 1e-5) == pytest.approx(
        gaussian_noise_multiplier(local.local_epsilon, 1e-5) / math.sqrt(5), rel=1e-4
    )


def test_shuffling_is_told_as_it_is(plan: Plan) -> None:
    weak = by_name(plan)["central-local"]
    assert weak.shuffling == shuffled(25.5, 100, 1e-5)
    assert any(note.startswith("central-local: no amplification") for note in plan.notes())


def test_without_a_cohort_each_regime_has_its_smallest() -> None:
    asked = {**ASKED, "cohort": None}
    plan = planned(Question(**asked, epsilon=2.0, snr=1.0, regimes=("none", "central", "local")))
    for regime in plan.regimes:
        assert regime.cohort == regime.smallest_cohort
        assert regime.snr >= 1
        assert regime.ways is None
    cohorts = [regime.cohort for regime in plan.regimes]
    assert cohorts == sorted(cohorts)
    noise = plan.regimes[1].noise_multiplier
    assert epsilon_of(noise, cohorts[1] / 100_000, 300, 1e-5) <= 2


def test_an_impossible_plan_says_what_would_make_it_possible() -> None:
    asked = {**ASKED, "population": 2000, "delta": 1e-4, "dimension": 2000}
    with pytest.raises(UsageError) as caught:
        planned(Question(**asked, epsilon=1.0, snr=1.0, regimes=("central",)))
    message = str(caught.value)
    assert message.startswith("SNR 1 in regime central: a cohort of 100 has 0.")
    for way in ("epsilon ", "rounds", "a population of "):
        assert way in message


def test_of_several_regimes_notes_say_it() -> None:
    asked = {**ASKED, "population": 2000, "delta": 1e-4, "dimension": 2000}
    regimes = ("local", "central-local")
    plan = planned(Question(**asked, epsilon=1.0, snr=1.0, regimes=regimes, local_epsilon=4.0))
    notes = list(plan.notes())
    assert any(note.startswith("local: SNR 1 takes epsilon ") for note in notes)
    assert any("train fewer parameters, or raise the local epsilon" in note for note in notes)


def test_no_cohort_at_all_is_told() -> None:
    asked = {**ASKED, "cohort": None, "population": 50, "dimension": 10_000}
    with pytest.raises(UsageError, match=r"SNR 5 in regime local: no cohort has; possible with"):
        planned(Question(**asked, epsilon=1.0, snr=5.0, regimes=("local",)))


def test_a_large_delta_and_the_best_case_are_noted() -> None:
    asked = {**ASKED, "delta": 1e-4}
    notes = list(planned(Question(**asked, epsilon=1.0, regimes=("none",))).notes())
    assert any("delta 0.0001 is above one over the population" in note for note in notes)
    assert any("best case" in note for note in notes)
    less = Question(**ASKED, epsilon=1.0, regimes=("none",), norm=0.5)
    assert not any("best case" in note for note in planned(less).notes())


def test_a_fixed_size_is_counted_as_such() -> None:
    asked = Question(
        **ASKED, noise_multiplier=2.0, regimes=("central",), sampling="fixed", relation="replace"
    )
    plan = planned(asked)
    assert plan.regimes[0].epsilon > epsilon_of(2.0, 1e-3, 300, 1e-5)
    assert any("always as many" in note for note in plan.notes())


def test_it_is_ready_for_json(plan: Plan) -> None:
    said = json.loads(json.dumps(plan.json(), allow_nan=False))
    assert said["question"]["cohort"] == 100
    assert [regime["regime"] for regime in said["regimes"]] == list(plan.question.regimes)
    assert said["regimes"][0]["snr"] == "inf"
    assert said["regimes"][3]["shuffling"] == {"epsilon": 25.5, "amplified": False}
    assert said["notes"] == list(plan.notes())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cohort": 200_000}, "cohort of at most 100,000, or a larger population"),
        ({"cohort": None}, "give a cohort, or an SNR"),
        ({"population": 0}, "population 0"),
        ({"rounds": 0}, "rounds 0"),
        ({"delta": 1.0}, "delta 1"),
        ({"epsilon": None}, "either an epsilon or a noise multiplier"),
        ({"noise_multiplier": 1.0}, "either an epsilon or a noise multiplier"),
        ({"epsilon": math.nan}, "epsilon nan"),
        ({"regimes": ("centre",)}, "regime 'centre'"),
        ({"epsilon": None, "noise_multiplier": 1.0, "regimes": ("local",)}, "of an upload"),
        ({"epsilon": None, "noise_multiplier": 1.0, "cohort": None, "snr": 1.0}, "of an upload"),
        ({"dimension": 1}, "dimension 1"),
        ({"local_epsilon": 0.0}, "epsilon 0"),
        ({"sampling": "fixed"}, "fixed with replace"),
        ({"norm": 0.0}, "norm 0"),
        ({"alignment": 1.5}, "alignment 1.5"),
        ({"snr": math.nan}, "SNR of nan"),
    ],
)
def test_impossible_questions_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Question(**{**ASKED, "epsilon": 2.0, **changes})


@pytest.mark.parametrize("cohort", [1, 2, 3])
def test_the_user_drawn_most_uploads_at_least_as_often_as_is_expected(cohort: int) -> None:
    asked = {"rounds": 10, "delta": 1e-5, "dimension": 100, "local_epsilon": 3.0}
    question = Question(
        **asked, population=3, cohort=cohort, noise_multiplier=4.0, regimes=("central-local",)
    )
    (found,) = planned(question).regimes
    assert found.most_uploads is not None
    assert math.ceil(cohort / 3 * 10) <= found.most_uploads <= 10


def test_a_user_alone_uploads_in_every_round() -> None:
    asked = {"rounds": 10, "delta": 1e-5, "dimension": 100}
    question = Question(
        **asked, population=1, cohort=1, noise_multiplier=4.0, regimes=("central-local",)
    )
    (found,) = planned(question).regimes
    assert found.most_uploads == 10
