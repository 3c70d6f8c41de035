"""`sordino federate serve`, `join`, `key` and `trial`, as far as no network is needed."""

from __future__ import annotations

import argparse
import json
import math

import numpy as np
import pytest

from sordino.cli.federate_join import agreed
from sordino.cli.federate_serve import _line
from sordino.cli.federate_terms import add_terms, terms_given, terms_of
from sordino.cli.main import main
from sordino.errors import UsageError


def options(*given: str, **settings: object) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_terms(parser, shapes=True, **settings)
    return parser.parse_args(["--classes", "F,M", "--inputs", "3", "--hidden", "0", *given])


@pytest.fixture
def nodes(tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("anna", "ben"):
        assert main(["federate", "key", str(folder / name)]) == 0
    return folder


def test_a_key_is_made_once(tmp_path, capsys):
    assert main(["federate", "key", str(tmp_path / "anna")]) == 0
    assert "which stays here" in capsys.readouterr().out
    assert main(["federate", "key", str(tmp_path / "anna")]) == 1
    assert "exists already" in capsys.readouterr().err


class TestTerms:
    @pytest.fixture(autouse=True)
    def needs(self):
        pytest.importorskip("torch", reason="needs PyTorch")

    def test_the_regime_follows_from_options(self):
        noise = ("--noise-multiplier", "1.5")
        local = ("--local-epsilon", "4")
        cases = {
            "none": (),
            "central": noise,
            "local": local,
            "central-local": (*noise, *local),
        }
        for name, given in cases.items():
            deployment, initial = terms_of(options("--regime", name, *given), 10)
            regime = deployment.regime
            assert regime.name == name
            assert regime.noise_multiplier == (1.5 if "central" in name else None)
            assert regime.local_epsilon == (4.0 if "local" in name else None)
            assert initial.shape == (regime.dimension,) == (8,)
            assert (deployment.sampling_rate, deployment.cap) == (1.0, 40)

    def test_an_epsilon_becomes_noise_that_keeps_it(self):
        pytest.importorskip("dp_accounting", reason="needs the extra federated")
        given = ("--epsilon", "2", "--cohort", "10", "--rounds", "5", "--cap", "3")
        deployment, _ = terms_of(options(*given), 100)

        assert deployment.sampling_rate == 0.1
        assert deployment.cohort == pytest.approx(10)
        spent = deployment.statement()["central"]["epsilon_total"]
        assert spent <= 2
        assert spent > 1.98

    @pytest.mark.parametrize(
        ("given", "reason"),
        [
            (("--regime", "central"), "either --epsilon or --noise-multiplier"),
            (("--epsilon", "1", "--noise-multiplier", "1"), "either --epsilon or"),
            (("--regime", "none", "--epsilon", "1"), "no central noise"),
            (("--regime", "local"), "needs --local-epsilon"),
            (("--regime", "none", "--local-epsilon", "1"), "no local noise"),
            (
                ("--regime", "none", "--cohort", "11"),
                "from 10 users: use a smaller --cohort",
            ),
            (("--regime", "none", "--local-rate", "0"), "learning rate"),
        ],
    )
    def test_options_that_do_not_go_together_are_refused(self, given, reason):
        with pytest.raises(UsageError, match=reason):
            terms_of(options(*given), 10)

    def test_shapes_have_to_come_from_somewhere(self):
        parser = argparse.ArgumentParser()
        add_terms(parser, shapes=False, regime="none", rounds=7)
        known = parser.parse_args([])
        with pytest.raises(UsageError, match="say what is learnt"):
            terms_of(known, 10)
        deployment, _ = terms_of(known, 10, classes=("F", "M"), inputs=4)
        assert (deployment.task.inputs, deployment.rounds) == (4, 7)

    def test_a_run_begins_with_a_model(self, tmp_path):
        from sordino.federated.model import save_model
        from sordino.federated.task import ClassifierTask

        task = ClassifierTask(5, ("A", "B", "C"), (4,))
        save_model(tmp_path / "m.npz", task, task.initial(3), {})
        deployment, initial = terms_of(
            options("--regime", "none", "--initial", str(tmp_path / "m.npz")), 10
        )
        assert deployment.task.classes == ("A", "B", "C")
        assert np.array_equal(initial, task.initial(3))

    def test_what_is_agreed_to_is_said_in_numbers(self):
        deployment, _ = terms_of(options("--regime", "local", "--local-epsilon", "2"), 10)
        said = agreed(deployment)
        assert "trusted: nobody but the own device" in said[0]
        assert "against the server: epsilon 80," in said[1]
        nothing, _ = terms_of(options("--regime", "none"), 10)
        assert "no guarantee" in agreed(nothing)[-1]


def test_it_shows_which_options_were_given():
    parser = argparse.ArgumentParser()
    add_terms(parser, shapes=True)
    assert not terms_given(parser.parse_args([]))
    assert not terms_given(parser.parse_args(["--seed", "3"]))
    assert terms_given(parser.parse_args(["--rounds", "40"]))


class TestServe:
    @pytest.fixture(autouse=True)
    def needs(self):
        pytest.importorskip("flwr", reason="needs the extra federated")
        pytest.importorskip("torch", reason="needs PyTorch")

    def test_what_is_missing_is_asked_for(self, tmp_path, nodes, capsys):
        serve = ["federate", "serve", str(tmp_path / "run"), "--nodes", str(nodes)]
        learnt = ["--classes", "F,M", "--inputs", "3", "--regime", "none"]
        for given, reason in (
            (serve, "say what is learnt"),
            ([*serve, *learnt], "--address HOST:PORT"),
            ([*serve, *learnt, "--address", "nowhere"], "'nowhere' is not HOST:PORT"),
            ([*serve, *learnt, "--authority", "x"], "--authority goes with --certificate"),
            ([*serve, *learnt, "--certificate", "x"], "go together"),
        ):
            assert main(given) == 2
            assert reason in capsys.readouterr().err
        assert not (tmp_path / "run" / "run.json").exists()

    def test_a_cohort_beyond_the_keys_asks_for_a_population(self, tmp_path, nodes, capsys):
        command = ["federate", "serve", str(tmp_path / "run"), "--nodes", str(nodes)]
        command += ["--address", "127.0.0.1:9092", "--classes", "F,M", "--inputs", "4"]
        assert main([*command, "--regime", "none", "--cohort", "500"]) == 2
        assert "a smaller --cohort, or a larger --population" in capsys.readouterr().err
        assert not (tmp_path / "run" / "run.json").exists()

    def test_a_run_is_prepared_once_and_keeps_its_settings(self, tmp_path, nodes):
        from sordino.federated.flower.node_keys import create_node_key
        from sordino.federated.flower.serve import Serving, population_of, prepare
        from sordino.federated.server import Server

        serving = Serving(nodes, "127.0.0.1:9092")
        deployment, initial = terms_of(options("--regime", "none"), 2)
        first = prepare(tmp_path / "run", serving, deployment, initial)
        again = prepare(tmp_path / "run", Serving(nodes))

        assert again == first
        assert first.authority is not None
        assert np.array_equal(Server.load(tmp_path / "run" / "state.npz").parameters, initial)
        statement = json.loads((tmp_path / "run" / "statement.json").read_text())
        assert statement["guarantee"] is False
        # A node more does not change what the run began with.
        create_node_key(nodes / "cleo")
        assert population_of(tmp_path / "run", nodes) == 2
        assert population_of(tmp_path / "another", nodes) == 3
        other, _ = terms_of(options("--regime", "none", "--rounds", "3"), 2)
        with pytest.raises(UsageError, match="rounds 40 -> 3"):
            prepare(tmp_path / "run", serving, other, initial)
        with pytest.raises(UsageError, match="nodes would not trust it"):
            prepare(tmp_path / "run", Serving(nodes, "learn.example.org:9092"))


def test_join_tells_what_is_wrong_before_it_connects(tmp_path, capsys):
    pytest.importorskip("flwr", reason="needs the extra federated")
    (tmp_path / "invitation.json").write_text("{}")
    command = ["federate", "join", str(tmp_path / "invitation.json"), "mine.npz", "--key", "anna"]
    assert main(command) == 2
    assert "is no sordino invitation" in capsys.readouterr().err


def test_a_round_is_told_in_a_line():
    pytest.importorskip("flwr", reason="needs the extra federated")
    from sordino.federated.flower.rounds import FinishedRound
    from sordino.federated.server import RoundReport

    report = RoundReport(3, 2, {}, 0.3, 0.5, 1.25, np.zeros(2))
    finished = FinishedRound(report, ("anna", "ben"), {"dora": "malformed"}, ("cleo",), 1.0)
    assert _line(finished) == (
        "round 3: 2 of 4 uploads counted; SNR about 1.2; 1 missing; dora: malformed"
    )
    silent = FinishedRound(RoundReport(0, 0, {}, 1.0, 0.0, math.inf, np.zeros(2)), (), {}, (), 1.0)
    assert _line(silent) == "round 0: 0 of 0 uploads counted"
    json.dumps(silent.line(), allow_nan=False)
