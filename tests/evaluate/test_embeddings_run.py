from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from sordino.errors import UsageError
from sordino.evaluate.attributes.learners import LEARNERS, QUICK
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.embeddings.guessing import release_counts
from sordino.evaluate.embeddings.run import evaluate_embeddings
from sordino.evaluate.embeddings.settings import Settings
from sordino.evaluate.embeddings.templates import Protected
from sordino.evaluate.results import AttributeAttack, Results
from sordino.speaker import DEFAULT_ENCODER
from sordino.speaker.encoders import load_encoder
from sordino.speaker.vectors import Vectors
from tests.evaluate.embeddings_of import made, noisy, table_of

FAST = Settings(learners=("logistic-regression",), folds=3, draws=100)


def attacks(results: Results, **wanted: object) -> list[AttributeAttack]:
    return [
        attack
        for attack in results.attributes
        if all(getattr(attack, name) == value for name, value in wanted.items())
    ]


def one(results: Results, **wanted: object) -> AttributeAttack:
    (found,) = attacks(results, **wanted)
    return found


def eer(results: Results, system: str, scenario: str, group: str = "all") -> float:
    (found,) = (
        attack.privacy.eer.value
        for attack in results.attacks
        if (attack.system, attack.scenario, attack.group) == (system, scenario, group)
    )
    return found


def test_every_attacker_finds_what_was_planted():
    vectors = made(40, 2, distance=5.0)
    masked = Protected("masked", (noisy(vectors, 0.5, 1),), "a little noise")
    results = evaluate_embeddings(
        vectors, table_of(vectors), ["sex"], [masked], Settings(folds=3, draws=100), command="typed"
    )
    assert [(row.system, row.knowledge, row.attacker) for row in results.attributes] == [
        (system, knowledge, learner)
        for system, knowledge in (
            ("original", "clean"),
            ("masked", "clean"),
            ("masked", "retrained"),
        )
        for learner in LEARNERS
    ]
    for attack in results.attributes:
        assert attack.auc.value > 0.9
        assert attack.cllr.value < 0.7
        assert attack.information.value > 0.3
        assert (attack.templates, attack.speakers, attack.releases) == (80, 40, 1)
    assert [system.name for system in results.systems] == ["original", "masked"]
    assert {attack.attacker for attack in results.attributes} | {"cosine"} == {
        attacker.name for attacker in results.attackers
    }
    assert results.notes[1].startswith("sex from masked: decided by ")
    assert Results.from_json(results.to_json()) == results


@pytest.mark.parametrize("name", LEARNERS)
def test_vectors_that_tell_nothing_are_a_guess(name):
    vectors = made(60, 1, distance=0.0, seed=3)
    settings = Settings(learners=(name,), folds=3, draws=200)
    results = evaluate_embeddings(vectors, table_of(vectors), ["sex"], settings=settings)
    attack = one(results)
    assert attack.auc.low == 0.5
    assert attack.auc.value < 0.68
    assert attack.balanced_accuracy.low < 0.5 < attack.balanced_accuracy.high
    assert attack.information.low == 0.0
    assert 0.9 < attack.cllr.value < 1.3
    assert any("Not even from original vectors" in note for note in results.notes)


def test_nearly_all_intervals_hold_a_guess():
    holds = []
    for seed in range(10):
        vectors = made(60, 1, distance=0.0, seed=seed)
        results = evaluate_embeddings(vectors, table_of(vectors), ["sex"], settings=FAST)
        holds.append(one(results).auc.low == 0.5)
    assert sum(holds) >= 8


def test_attackers_never_meet_those_whom_they_guess():
    """Sexes drawn by lot, and speakers who are easily recognised.

    Whoever has met the speakers in training guesses nearly all; an honest attacker none.
    """
    vectors = made(60, 6, distance=0.0, seed=5)
    labels = np.array([int(name[1:]) % 2 for name in vectors.speakers])
    cheat = cross_val_predict(
        KNeighborsClassifier(3),
        vectors.vectors,
        labels,
        cv=KFold(5, shuffle=True, random_state=0),
        method="predict_proba",
    )
    assert roc_auc_score(labels, cheat[:, 1]) > 0.95
    settings = Settings(learners=("nearest-neighbours",), draws=200)
    results = evaluate_embeddings(vectors, table_of(vectors), ["sex"], settings=settings)
    assert one(results).auc.value < 0.7


def test_averaging_undoes_noise():
    vectors = made(60, 2, distance=5.0)
    releases = tuple(noisy(vectors, 8.0, seed) for seed in range(16))
    results = evaluate_embeddings(
        vectors, table_of(vectors), ["sex"], [Protected("noise", releases)], FAST
    )
    assert release_counts(16) == (1, 2, 4, 8, 16)
    for knowledge in ("clean", "retrained"):
        found = {
            attack.releases: attack.auc.value
            for attack in attacks(results, system="noise", knowledge=knowledge)
        }
        assert list(found) == [1, 2, 4, 8, 16]
        assert found[1] < 0.72
        assert found[16] > 0.85
    assert "16 releases averaged" in results.notes[1]
    # The same noise each time cannot be averaged away.
    frozen = evaluate_embeddings(
        vectors, table_of(vectors), ["sex"], [Protected("frozen", releases[:1] * 4)], FAST
    )
    clean = attacks(frozen, system="frozen", knowledge="clean")
    assert len({attack.auc.value for attack in clean}) == 1


def test_an_attacker_turns_his_scores_round():
    vectors = made(60, 2, distance=5.0)
    centre = vectors.vectors[:, 0].mean()
    swapped = vectors.vectors.copy()
    swapped[:, 0] = 2 * centre - swapped[:, 0]
    protected = [Protected("swapped", (replace(vectors, vectors=swapped),))]
    results = evaluate_embeddings(vectors, table_of(vectors), ["sex"], protected, FAST)
    fooled = one(results, system="swapped", knowledge="clean")
    assert fooled.balanced_accuracy.value < 0.15
    assert fooled.auc.value > 0.9
    assert fooled.cllr.value > 1.5
    assert fooled.information.value == 0.0
    assert one(results, system="swapped", knowledge="retrained").balanced_accuracy.value > 0.85


def test_unchanged_and_scaled_vectors_are_as_exposed_as_the_originals():
    vectors = made(40, 2)
    larger = replace(vectors, vectors=16 * vectors.vectors)
    protected = [Protected("same", (vectors,)), Protected("larger", (larger,))]
    results = evaluate_embeddings(vectors, table_of(vectors), ["sex"], protected, FAST)
    wanted = one(results, system="original")
    for knowledge in ("clean", "retrained"):
        found = one(results, system="same", knowledge=knowledge)
        assert replace(found, system="original", knowledge="clean") == wanted
        scaled = one(results, system="larger", knowledge=knowledge)
        assert scaled.cllr.value == pytest.approx(wanted.cllr.value, rel=1e-3)


def test_more_than_two_values():
    vectors = made(60, 2, distance=0.0)
    places = np.array([int(name[1:]) % 3 for name in vectors.speakers])
    moved = vectors.vectors + 4 * np.eye(8, dtype=np.float32)[places]
    age = {name: ("20s", "30s", "40s")[int(name[1:]) % 3] for name in vectors.speakers}
    results = evaluate_embeddings(
        replace(vectors, vectors=moved), table_of(vectors, age=age), ["sex", "age"], settings=FAST
    )
    assert one(results, attribute="sex").auc.value < 0.7
    found = one(results, attribute="age")
    assert found.auc is None
    assert found.balanced_accuracy.value > 0.85
    assert found.cllr.value < 0.5
    assert 0.7 < found.information.value < np.log2(3)
    assert "age from original: decided by logistic-regression, clean: balanced" in results.notes[1]


def test_recognition_of_rotated_vectors():
    """A rotation that only its owner knows: useless with originals, perfect with each other."""
    vectors = made(40, 5)
    turn = ortho_group.rvs(8, random_state=1)
    turned = Protected(
        "turned", (replace(vectors, vectors=(vectors.vectors @ turn).astype(np.float32)),)
    )
    results = evaluate_embeddings(vectors, table_of(vectors), ["sex"], [turned], FAST)
    assert eer(results, "original", "OO") < 0.1
    assert eer(results, "turned", "OA") > 0.3
    assert eer(results, "turned", "AA-lazy") == pytest.approx(
        eer(results, "original", "OO"), abs=1e-3
    )
    # Speakers of one sex are harder to tell apart.
    assert eer(results, "original", "OO", "same-sex") > eer(results, "original", "OO")
    (whole,) = (row for row in results.attacks if (row.scenario, row.group) == ("OO", "all"))
    assert (whole.privacy.targets, whole.privacy.nontargets) == (40 * 2, 40 * 39 * 2)


def test_trials_stay_inside_a_collection_and_among_those_who_are_guessed():
    vectors = made(40, 4)
    corpus = {name: "one" if int(name[1:]) < 16 else "two" for name in vectors.speakers}
    split = {name: "dev" if int(name[1:]) % 4 < 2 else "test" for name in vectors.speakers}
    table = table_of(vectors, corpus=corpus, split=split)
    settings = replace(FAST, train=("split", "dev"))
    results = evaluate_embeddings(vectors, table, ["sex"], settings=settings)
    (whole,) = (row for row in results.attacks if row.group == "all")
    assert whole.privacy.nontargets == 8 * 7 + 12 * 11
    assert whole.privacy.speakers == 20
    assert (one(results).speakers, one(results).templates) == (20, 80)
    assert results.protocol["speakers"].startswith("trained on split=dev")


def test_one_vector_of_each_speaker():
    vectors = made(40, 1)
    results = evaluate_embeddings(vectors, table_of(vectors), ["sex"], settings=FAST)
    assert results.attacks == ()
    assert one(results).auc.value > 0.8
    assert any("Speaker verification was not measured: no trials" in one for one in results.notes)


def test_what_is_left_out_is_a_failure():
    vectors = made(24, 2)
    rows = {**table_of(vectors).rows, "s003": {"speaker": "s003", "sex": ""}}
    table = replace(table_of(vectors), rows=rows)
    results = evaluate_embeddings(vectors, table, ["sex"], settings=FAST)
    (failure,) = results.failures
    assert failure.effect == "2 of 48 templates are left out of sex"
    assert one(results).templates == 46


def test_same_seed_same_results():
    vectors = made(30, 2)
    first, again, other = (
        evaluate_embeddings(
            vectors,
            table_of(vectors),
            ["sex"],
            settings=Settings(QUICK, folds=2, draws=100, seed=seed),
        ).attributes
        for seed in (0, 0, 1)
    )
    assert first == again != other


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learners": ("oracle",)}, "no attacker 'oracle'; there are: logistic-regression"),
        ({"learners": ()}, "there is no attacker; there are"),
        ({"folds": 1}, "1 folds are too few"),
        ({"draws": 99}, "100 draws"),
    ],
)
def test_settings_out_of_range(settings, message):
    with pytest.raises(UsageError, match=message):
        Settings(**settings)


def test_attributes_are_named_once():
    vectors = made(12, 1)
    for names in ([], ["sex", "sex"]):
        with pytest.raises(UsageError, match="at least one attribute, each once"):
            evaluate_embeddings(vectors, table_of(vectors), names, settings=FAST)


@pytest.fixture(scope="module")
def readers(speech_root) -> Vectors:
    """Twenty women and twenty men of the test part, a clip each."""
    encoder = load_encoder(DEFAULT_ENCODER)
    with (speech_root / "manifest.csv").open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["corpus"] == "librispeech_1utt" and row["split"] == "test"
        ]
    first = {row["speaker"]: row for row in reversed(rows)}
    chosen = [
        row
        for sex in "FM"
        for row in sorted(
            (row for row in first.values() if row["sex"] == sex), key=lambda row: row["speaker"]
        )[:20]
    ]
    vectors = np.stack([encoder.embed_file(speech_root / row["path"]) for row in chosen])
    paths = tuple(row["path"] for row in chosen)
    return Vectors(paths, paths, tuple(row["speaker"] for row in chosen), vectors, encoder.name)


def test_sex_of_real_speakers(readers, speech_root):
    table = AttributeTable.read(speech_root / "speakers.csv")
    hidden = Protected("hidden", (noisy(readers, 400.0, 0),))
    settings = Settings(QUICK, draws=200)
    results = evaluate_embeddings(readers, table, ["sex"], [hidden], settings)
    assert max(attack.auc.value for attack in attacks(results, system="original")) > 0.95
    assert (
        max(attack.balanced_accuracy.value for attack in attacks(results, system="original")) > 0.9
    )
    assert max(attack.auc.value for attack in attacks(results, system="hidden")) < 0.75
