from __future__ import annotations

import csv
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_curve

from sordino.conceal.description import Description
from sordino.conceal.erasure import fit_erasure
from sordino.conceal.write import write_concealer
from sordino.errors import UsageError
from sordino.evaluate.attributes.table import AttributeTable
from sordino.evaluate.concealment.impossible import BUG
from sordino.evaluate.concealment.run import evaluate_concealment
from sordino.evaluate.concealment.settings import Settings
from sordino.evaluate.concealment.table import as_csv, as_markdown
from sordino.evaluate.concealment.ways import Way, way
from sordino.evaluate.report.choose_concealed import error, ignorant, informed
from sordino.evaluate.results import BOTH, ONE, Concealed, Results
from sordino.speaker import DEFAULT_ENCODER
from sordino.speaker.encoders import load_encoder
from sordino.speaker.vectors import Vectors
from tests.evaluate.concealment_of import Noise, OneBit
from tests.evaluate.embeddings_of import made, table_of

LINEAR = ("logistic-regression",)
FAST = Settings(LINEAR, LINEAR, folds=2, copies=2, draws=100)


def row(results: Results, name: str, epsilon: float | None = None) -> Concealed:
    (found,) = (
        one
        for one in results.concealed
        if one.system == name and epsilon in {None, one.epsilon, one.epsilon_train}
    )
    return found


def area(results: Results, name: str, knowledge: str) -> float:
    (found,) = (one for one in row(results, name).guesses if one.knowledge == knowledge)
    return found.figure.mean.value


def plain(speakers: int, distance: float, dimension: int = 4, seed: int = 0) -> Vectors:
    """A vector for each speaker, normal around two centres."""
    vectors = made(speakers, 1, distance=distance, dimension=dimension, seed=seed)
    rng = np.random.default_rng(seed + 1)
    noise = rng.normal(0, 1, vectors.vectors.shape)
    noise[:, 0] += distance * (np.arange(speakers) % 2)
    return replace(vectors, vectors=noise.astype(np.float32))


def test_gaussian_classes_with_gaussian_noise():
    """Areas by theory: of noise of deviation s on classes d apart, Phi(d / sqrt(2 (1 + s^2)))."""
    vectors = plain(900, 2.0)
    ways = [Way("noisy", (Noise(1.5, seed=1), Noise(1.5, seed=2)), mechanism="gaussian")]
    results = evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, FAST)
    assert area(results, "original", "clean") == pytest.approx(norm.cdf(2 / math.sqrt(2)), abs=0.03)
    known = norm.cdf(2 / math.sqrt(2 * (1 + 1.5**2)))
    assert area(results, "noisy", "retrained") == pytest.approx(known, abs=0.03)
    figure = informed(row(results, "noisy"), "sex").figure
    assert len(figure.each) == 2
    assert figure.mean.low < known + 0.01
    assert figure.mean.high > known - 0.01
    assert results.protocol["speakers"].startswith("2 folds")
    assert Results.from_json(results.to_json()) == results


def test_the_ignorant_are_fooled_by_a_turn_and_the_informed_are_not():
    vectors = plain(600, 3.0)

    class Turn(Noise):
        def release(self, x, randomness=None):
            return np.roll(super().release(x, randomness), 1, axis=1)

    results = evaluate_concealment(
        vectors, table_of(vectors), ["sex"], [Way("turned", (Turn(0.0),))], FAST
    )
    assert area(results, "turned", "clean") < 0.6
    assert area(results, "turned", "retrained") == pytest.approx(
        area(results, "original", "clean"), abs=0.01
    )
    turned = row(results, "turned")
    assert informed(turned, "sex").knowledge == "retrained"
    assert ignorant(turned, "sex").knowledge == "clean"


def test_error_rates_are_those_of_scikit_learn():
    vectors = made(20, 4, dimension=8)
    ways = [Way("signs", (Noise(0.0, seed=3),))]
    settings = replace(FAST, enrolments=1)
    results = evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, settings)
    before = error(row(results, "original"), BOTH).mean.value
    assert error(row(results, "original"), ONE).mean.value == before
    # All components change their signs alike on both sides: the same cosines.
    assert error(row(results, "signs"), BOTH).mean.value == pytest.approx(before, abs=1e-9)
    assert error(row(results, "signs"), ONE).mean.value > 0.3
    rows = vectors.vectors / np.linalg.norm(vectors.vectors, axis=1, keepdims=True)
    cosines = rows @ rows.T
    people = np.array(vectors.speakers)
    pairs = np.triu_indices(len(rows), 1)
    alarms, hits, _ = roc_curve((people[:, None] == people)[pairs], cosines[pairs])
    wanted = alarms[np.argmin(np.abs(alarms - (1 - hits)))]
    assert before == pytest.approx(wanted, abs=0.03)  # of all pairs, not of one enrolment each
    same = error(row(results, "original"), BOTH, "same-sex").mean.value
    assert same > before


def test_a_release_at_its_bound_passes_and_a_broken_one_is_a_bug():
    vectors = plain(900, 6.0)
    vectors = replace(vectors, vectors=vectors.vectors - np.float32([3.0, 0, 0, 0]))
    ways = [
        Way("honest", (OneBit(1.0),), mechanism="one bit"),
        Way("broken", (OneBit(1.0, truth=0.82),), mechanism="one bit"),
    ]
    results = evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, FAST)
    best = 1 / (1 + math.exp(-1))
    assert area(results, "honest", "retrained") == pytest.approx(best, abs=0.04)
    bugs = [failure for failure in results.failures if failure.what == BUG]
    assert {bug.where for bug in bugs} == {"broken"}
    assert any(note.startswith("This is a bug") for note in results.notes)
    assert results.protocol["bounds"].startswith("4 figures of 2 ways")
    assert "**This is a bug:** broken: logistic-regression" in as_markdown(results)


def test_verification_better_than_epsilon_allows_is_a_bug():
    vectors = made(30, 3, dimension=8)
    ways = [Way("claims", (Noise(0.0, epsilon=1.0),), mechanism="hope")]
    results = evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, FAST)
    assert any("verification with both concealed (all)" in bug.why for bug in results.failures)


def test_more_noisy_copies_make_a_better_informed_attacker():
    vectors = plain(400, 2.0, dimension=30)
    ways = [Way("noisy", (Noise(1.0, epsilon=50.0),), mechanism="gaussian")]
    found = {
        copies: area(
            evaluate_concealment(
                vectors, table_of(vectors), ["sex"], ways, replace(FAST, copies=copies)
            ),
            "noisy",
            "retrained",
        )
        for copies in (1, 8)
    }
    assert found[8] > found[1] + 0.01


def test_same_seed_same_figures():
    vectors = made(24, 3)
    ways = [Way("noisy", (Noise(0.5, epsilon=50.0),), mechanism="gaussian")]
    first, again, other = (
        evaluate_concealment(
            vectors, table_of(vectors), ["sex"], ways, replace(FAST, seed=seed)
        ).concealed
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_points_of_sweeps_have_attackers_and_draws_of_their_own():
    vectors = made(24, 3)
    ways = [
        Way("row", (Noise(0.1),)),
        *(
            Way("sweep", (Noise(1 / epsilon, epsilon),), "", "gaussian", sweep="epsilon")
            for epsilon in (10.0, 40.0)
        ),
    ]
    settings = replace(FAST, attackers=("quadratic",))
    results = evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, settings)
    assert [one.system for one in results.concealed] == ["original", "row", "sweep", "sweep"]
    assert {guess.attacker for guess in row(results, "row").guesses} == {"quadratic"}
    assert {guess.attacker for guess in row(results, "sweep", 10.0).guesses} == set(LINEAR)
    assert [system.name for system in results.systems] == ["original", "row"]
    assert [attacker.name for attacker in results.attackers] == [*LINEAR, "quadratic", "cosine"]
    assert any("Fewer than 5 trainings: row." in note for note in results.notes)


def test_attributes_are_guessed_together_and_trials_are_of_the_guessed():
    vectors = made(40, 4, distance=4.0)
    split = {name: "dev" if int(name[1:]) % 4 < 2 else "test" for name in vectors.speakers}
    age = {name: ("20s", "30s", "40s", "50s")[int(name[1:]) % 4] for name in vectors.speakers}
    table = table_of(vectors, split=split, age=age)
    settings = replace(FAST, train=("split", "dev"))
    results = evaluate_concealment(vectors, table, ["sex"], [Way("a", (Noise(0.1),))], settings)
    (found,) = {one.targets for one in row(results, "a").verified if one.group == "all"}
    assert found == 20
    assert row(results, "a").guesses[0].speakers == 20
    several = evaluate_concealment(vectors, table, ["sex", "age"], [Way("a", (Noise(0.1),))], FAST)
    assert {guess.attribute: guess.classes for guess in row(several, "a").guesses} == {
        "sex": 2,
        "age": 4,
    }
    assert "age balanced accuracy, informed" in as_csv(several)


def test_one_vector_of_each_speaker_is_not_verified():
    vectors = made(40, 1)
    results = evaluate_concealment(
        vectors, table_of(vectors), ["sex"], [Way("a", (Noise(0.1),))], FAST
    )
    assert row(results, "a").verified == ()
    assert any("Speaker verification was not measured" in note for note in results.notes)
    assert "n/a" in as_markdown(results)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a", "a"), "two ways of concealing are named a"),
        (("original",), "two ways of concealing are named original"),
    ],
)
def test_names_are_given_once(names, message):
    vectors = made(12, 1)
    ways = [Way(name, (Noise(0.1),)) for name in names]
    with pytest.raises(UsageError, match=message):
        evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, FAST)


def test_a_release_that_is_not_finite():
    vectors = made(12, 1)

    class Wrong(Noise):
        def release(self, x, randomness=None):
            return np.full_like(x, np.nan)

    with pytest.raises(UsageError, match="wrong: gives vectors of shape"):
        evaluate_concealment(
            vectors, table_of(vectors), ["sex"], [Way("wrong", (Wrong(0.0),))], FAST
        )


@pytest.fixture(scope="module")
def readers(speech_root) -> tuple[Vectors, Vectors, AttributeTable]:
    """Vectors of people to fit an erasure to, and of others to test."""
    encoder = load_encoder(DEFAULT_ENCODER)
    with (speech_root / "manifest.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["corpus"] == "speechocean762"]
    table = AttributeTable.read(speech_root / "speakers.csv")

    def some(split: str, speakers: int, takes: int) -> Vectors:
        found: dict[tuple[str, str], list[str]] = {}
        for one in rows:
            if one["split"] == split and float(one["duration_s"]) < 5:
                found.setdefault((one["sex"], one["speaker"]), []).append(one["path"])
        chosen = [
            (speaker, path)
            for wanted in "FM"
            for (_, speaker), paths in sorted(
                (who, paths) for who, paths in found.items() if who[0] == wanted
            )[:speakers]
            for path in paths[:takes]
        ]
        paths = tuple(path for _, path in chosen)
        vectors = np.stack([encoder.embed_file(speech_root / path) for path in paths])
        people = tuple(speaker for speaker, _ in chosen)
        return Vectors(paths, paths, people, vectors, encoder.name, encoder.digest)

    return some("dev", 12, 1), some("test", 10, 3), table


def test_erasure_of_real_vectors(readers, tmp_path):
    training, tested, table = readers
    sexes = table.values("sex", training.keys, training.speakers)
    about = Description(
        tested.encoder, tested.digest, 192, 192, ("sex",), "privunit", unit_length=True
    )
    unit = training.vectors / np.linalg.norm(training.vectors, axis=1, keepdims=True)
    metadata = {"name": "leace", "summary": "Erases.", "licence": "CC0-1.0"}
    leace = write_concealer(
        tmp_path / "leace", about, metadata, "# leace", erasure=fit_erasure(unit, sexes)
    )
    settings = replace(FAST, enrolments=2)
    results = evaluate_concealment(
        tested, table, ["sex"], [way("LEACE", [leace]), way("noisy", [leace], 2.0)], settings
    )
    assert row(results, "LEACE").trainings == 0
    clean = ignorant(row(results, "original"), "sex").figure.mean.value
    assert clean > 0.85
    assert ignorant(row(results, "LEACE"), "sex").figure.mean.value < clean - 0.1
    eer = {
        name: error(row(results, name), BOTH).mean.value for name in ("original", "LEACE", "noisy")
    }
    assert eer["original"] < 0.15
    assert eer["LEACE"] < eer["original"] + 0.1
    assert eer["noisy"] > 0.3
    assert not results.failures


def test_attackers_also_learn_as_much_from_each_speaker():
    # One speaker has nearly all templates, and they are of the other sex's kind: only those who
    # hear speakers alike learn what holds for the others.
    vectors = plain(60, 4.0)
    odd = np.zeros((400, 4), dtype=np.float32) + vectors.vectors[::2].mean(axis=0)
    odd += np.random.default_rng(5).normal(size=odd.shape).astype(np.float32)
    keys = tuple(f"{vectors.speakers[1]}/more {number}" for number in range(400))
    loud = replace(
        vectors,
        keys=vectors.keys + keys,
        paths=vectors.paths + keys,
        speakers=vectors.speakers + (vectors.speakers[1],) * 400,
        vectors=np.concatenate([vectors.vectors, odd]),
    )
    ways = [Way("as they are", (Noise(0.0),))]
    settings = replace(FAST, attackers=("nearest-neighbours",))
    results = evaluate_concealment(loud, table_of(loud), ["sex"], ways, settings)
    (attack,) = (
        one
        for one in row(results, "as they are").guesses
        if one.knowledge == "retrained by speaker"
    )
    assert attack.attacker == "nearest-neighbours"
    assert any("strongest of 3" in note for note in results.notes)
    everyone = evaluate_concealment(vectors, table_of(vectors), ["sex"], ways, settings)
    known = {one.knowledge for one in row(everyone, "as they are").guesses}
    assert known == {"clean", "retrained"}
