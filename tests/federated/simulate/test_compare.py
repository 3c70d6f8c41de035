import csv
import io
import json
from xml.etree import ElementTree as Xml

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.federated.model import load_model
from sordino.federated.populations.synthetic import SyntheticPopulation
from sordino.federated.simulate.compare import COMPARED, Budget, asked_cohort, compare, regime_of
from sordino.federated.simulate.plot import accuracy_plot
from sordino.federated.simulate.run import Plan, simulate
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.simulate.table import HEAD, as_csv, as_markdown, lines
from sordino.federated.task import ClassifierTask

USERS = 3000
POPULATION = SyntheticPopulation(USERS, inputs=6, classes=3)
TASK = ClassifierTask(6, POPULATION.classes, ())
PLAN = Plan(Sampling("poisson", 100), rounds=3)
BUDGET = Budget(noise_multiplier=0.8)


@pytest.fixture(scope="module")
def comparison(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    done = compare(
        lambda seed: SyntheticPopulation(USERS, inputs=6, classes=3, seed=seed),
        TASK,
        0.3,
        PLAN,
        BUDGET,
        COMPARED,
        (0, 1),
        folder,
    )
    return done, folder


def test_models_are_what_was_trained(comparison):
    done, folder = comparison
    for name in COMPARED:
        model = load_model(folder / "models" / f"{name}-1.npz")
        np.testing.assert_array_equal(model.parameters, done.trained[name][1].parameters)
        assert model.statement["guarantee"] is False
        assert model.statement["regime"]["name"] == name.removesuffix("-laplace")


def test_table_has_what_was_measured(comparison):
    done, _ = comparison
    rows = list(csv.DictReader(io.StringIO(as_csv(done))))
    assert [row["regime"] for row in rows] == list(COMPARED)
    for row in rows:
        runs = done.trained[row["regime"]]
        final = [run.rounds[-1].accuracy for run in runs]
        assert float(row["accuracy"]) == pytest.approx(np.mean(final))
        assert float(row["deviation"]) == pytest.approx(np.std(final, ddof=1))
        base = [run.rounds[-1].accuracy for run in done.trained["none"]]
        if row["regime"] != "none":
            assert float(row["difference"]) == pytest.approx(np.mean(final) - np.mean(base))
    central = done.statements["central"]["central"]["epsilon_total"]
    assert float(rows[1]["epsilon"]) == central
    assert [row["upload_epsilon"] for row in rows] == ["inf", "inf", "25.5", "2.0", "2.0"]
    text = as_markdown(done).splitlines()
    assert len(text) == 2 + len(COMPARED) + 1
    assert all(row.count("|") == len(HEAD) + 1 for row in text)
    assert lines(done)[0].cells()[3] == "-"


def test_json_is_plain(comparison):
    done, _ = comparison
    content = json.loads(done.to_json())
    assert content["facts"]["cohort"] == 100
    rounds = content["regimes"]["local"]["seeds"][0]["rounds"]
    assert len(rounds) == 3
    assert rounds[0]["snr"] == pytest.approx(rounds[0]["signal"] / rounds[0]["noise"])
    assert content["regimes"]["none"]["seeds"][0]["rounds"][0]["snr"] == "inf"


def test_plot_is_a_file_of_its_own_with_a_curve_for_each(comparison):
    done, _ = comparison
    root = Xml.fromstring(accuracy_plot(done))  # noqa: S314
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    curves = list(root.iter("{http://www.w3.org/2000/svg}polygon"))
    assert len(curves) == len(COMPARED)
    text = "".join(root.itertext())
    assert "central-local" in text
    assert "chance" in text


def test_one_seed_has_no_spread(tmp_path):
    done = compare(lambda _: POPULATION, TASK, 0.3, PLAN, BUDGET, ("central",), (0,), tmp_path)
    cells = lines(done)[0].cells()
    assert "±" not in cells[1]
    assert cells[2] == ""
    assert "polygon" not in accuracy_plot(done)


def test_regimes_have_the_noise_of_the_budget():
    central = regime_of("central", TASK, 0.3, PLAN, USERS, Budget(epsilon=2.0, delta=1e-5))
    from sordino.privacy.accounting.sampled_gaussian import epsilon_of

    spent = epsilon_of(central.noise_multiplier, 100 / USERS, 3, 1e-5)
    assert 1.9 < spent <= 2.0
    assert regime_of("local", TASK, 0.3, PLAN, USERS, BUDGET).mechanism == "gaussian"
    assert regime_of("local-laplace", TASK, 0.3, PLAN, USERS, BUDGET).mechanism == "laplace"
    with pytest.raises(UsageError, match="not one of"):
        regime_of("shuffled", TASK, 0.3, PLAN, USERS, BUDGET)
    fixed = Plan(Sampling("fixed", 100), rounds=3)
    with pytest.raises(UsageError, match="sampling"):
        regime_of("central", TASK, 0.3, fixed, USERS, Budget())


def test_the_cohort_that_is_asked_for_has_the_wanted_signal():
    budget = Budget(noise_multiplier=3.0, delta=1e-5)
    for wanted in (0.5, 2.0):
        cohort = asked_cohort(POPULATION, TASK, 0.3, 3, budget, wanted)
        plan = Plan(Sampling("fixed", cohort), rounds=3)
        regime = regime_of("central", TASK, 0.3, plan, USERS, budget)
        rounds = simulate(POPULATION, TASK, regime, plan, 0).rounds
        assert np.mean([one.snr for one in rounds]) == pytest.approx(wanted, rel=0.35)
    with pytest.raises(UsageError, match="no cohort"):
        asked_cohort(POPULATION, TASK, 0.3, 3, budget, 500.0)
