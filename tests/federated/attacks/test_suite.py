import pytest

pytest.importorskip("torch", reason="extra train")
pytest.importorskip("dp_accounting", reason="extra federated")

from sordino.errors import UsageError
from sordino.federated.attacks import suite
from sordino.federated.attacks.suite import ATTACKS, Effort, audit_training
from sordino.federated.populations.synthetic import SyntheticPopulation
from sordino.federated.simulate.compare import COMPARED, Budget
from sordino.federated.simulate.run import Plan
from sordino.federated.simulate.sampling import Sampling
from sordino.federated.task import ClassifierTask

POPULATION = SyntheticPopulation(150, inputs=16, classes=3)
TASK = ClassifierTask(16, POPULATION.classes, (8,))
PLAN = Plan(Sampling("poisson", 40), rounds=4)
BUDGET = Budget(noise_multiplier=1.2, delta=1e-4)


def tried(**effort):
    given = {"users": 60, "canaries": 300, "trials": 4000, **effort}
    return audit_training(POPULATION, TASK, 0.3, PLAN, BUDGET, COMPARED, range(2), Effort(**given))


def test_all_attacks_on_all_regimes():
    report = tried()
    assert report.sound
    verdicts = {(one.attack, one.regime, one.on, one.figure): one.verdict for one in report.lines}
    leaks = {key[1:3]: verdicts[key] for key in verdicts if key[0] == "leak" and key[3] == "cosine"}
    assert leaks.pop(("none", "one upload")) == "recovered"
    assert leaks.pop(("central", "one upload")) == "recovered: the server is trusted"
    assert not {verdict for verdict in leaks.values() if "recovered" in verdict}
    assert len(leaks) == 5
    for attack, names in (
        ("uploads", ["central-local", "local", "local-laplace"]),
        ("canaries", ["central", "central-local"]),
    ):
        shown = [
            one for one in report.lines if (one.attack, one.figure) == (attack, "epsilon shown")
        ]
        assert [one.regime for one in shown[::2]] == names
        assert [one.verdict for one in shown] == ["holds", "caught"] * len(names)
    assert [one.regime for one in report.lines if one.attack == "membership"] == list(COMPARED)
    assert report.facts["attacked_users"] == 60


def test_a_regime_that_spends_more_than_it_claims_is_refuted(monkeypatch):
    honest = suite.leak

    def careless(task, regime, examples, seeds, *, view):
        return honest(
            task, regime.unprotected(regime.dimension, 0.3), examples, seeds, view="upload"
        )

    monkeypatch.setattr(suite, "leak", careless)
    report = tried(attacks=["leak"])
    refuted = {one.regime for one in report.lines if one.verdict == "REFUTED"}
    assert refuted == {"local", "local-laplace"}
    assert not report.sound


def test_mutants_can_be_left_out():
    report = tried(attacks=["canaries"], mutants=False)
    assert {one.on for one in report.lines} == {"the released model"}


def test_there_is_no_such_attack():
    assert Effort().attacks == ATTACKS
    with pytest.raises(UsageError, match="no attack magic"):
        Effort(attacks=["magic"])
