from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.privacy import measure_lists
from sordino.evaluate.results import Results
from sordino.evaluate.scores import ScoreSettings, evaluate_scores
from sordino.version import __version__


@pytest.fixture
def kaldi(tmp_path) -> tuple[Path, Path]:
    """Scores and trials of 15 speakers, all crossed."""
    rng = np.random.default_rng(0)
    scores, trials = [], []
    for model in range(15):
        for tried in range(15):
            for take in range(3):
                pair = f"s{model:02} s{tried:02}-{take}"
                scores.append(f"{pair} {rng.standard_normal() + 2 * (model == tried):.4f}\n")
                trials.append(f"{pair} {'target' if model == tried else 'nontarget'}\n")
    (tmp_path / "scores").write_text("".join(scores))
    (tmp_path / "trials").write_text("".join(trials))
    return tmp_path / "scores", tmp_path / "trials"


def test_all_that_a_list_with_speakers_allows(kaldi):
    scores, trials = kaldi
    settings = ScoreSettings(trials=trials, ratios=True, draws=100)
    found = evaluate_scores([scores], settings, command="typed", machine={"processors": "1"})
    assert (found.kind, found.version, found.command) == ("scores", __version__, "typed")
    (attack,) = found.attacks
    assert (attack.system, attack.scenario, attack.attacker, attack.group) == (
        "given",
        "given",
        "scores",
        "all",
    )
    values = np.array([float(line.split()[2]) for line in scores.read_text().splitlines()])
    own = np.array([" target" in line for line in trials.read_text().splitlines()])
    plain = measure_lists(values[own], values[~own], ratios=True)
    assert attack.privacy.eer.value == plain.eer.value
    assert attack.privacy.cllr.value == plain.cllr.value
    assert attack.privacy.det == plain.det
    assert attack.privacy.eer.low < plain.eer.value < attack.privacy.eer.high
    assert attack.privacy.speakers == 15
    assert attack.identification.among == (2, 5, 10, 15)
    assert len(found.worst_cases) == 15
    assert found.notes == ("Speakers are the models of the list.",)
    assert found.data == {"scores": "45 target and 630 non-target trials (format kaldi)"}
    assert found.protocol["scores"] == "log-likelihood ratios"
    assert Results.from_json(found.to_json()) == found


def test_each_file_is_an_attacker(kaldi, tmp_path):
    scores, trials = kaldi
    (tmp_path / "other").mkdir()
    other = tmp_path / "other/second"
    other.write_text("".join(reversed(scores.read_text().splitlines(keepends=True))))
    found = evaluate_scores([scores, other], ScoreSettings(trials=trials, draws=100))
    assert [attacker.name for attacker in found.attackers] == ["scores", "second"]
    first, second = found.attacks
    assert first.privacy == second.privacy
    same = other.rename(tmp_path / "other/scores")
    named = evaluate_scores([scores, same], ScoreSettings(trials=trials, draws=100))
    assert [attacker.name for attacker in named.attackers] == [str(scores), str(same)]
    with pytest.raises(UsageError, match="is given twice"):
        evaluate_scores([scores, scores], ScoreSettings(trials=trials))


def test_a_list_that_is_not_crossed_says_so(kaldi):
    scores, trials = kaldi
    for path in kaldi:
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:3] + lines[4:]))
    found = evaluate_scores([scores], ScoreSettings(trials=trials, draws=100))
    assert found.attacks[0].identification is None
    assert any("Identification among N is not told" in note for note in found.notes)


def test_many_trials_say_which_intervals_are_missing(kaldi, monkeypatch):
    scores, trials = kaldi
    monkeypatch.setattr("sordino.evaluate.privacy._DETAIL_WORK", 1)
    found = evaluate_scores([scores], ScoreSettings(trials=trials, draws=100))
    assert found.attacks[0].privacy.eer.low is not None
    assert any("Only equal error rates have intervals" in note for note in found.notes)


def test_too_few_speakers_say_so(tmp_path):
    (tmp_path / "s").write_text("a x target 1\na y nontarget 0\nb y target 1\nb x nontarget 0\n")
    found = evaluate_scores([tmp_path / "s"])
    assert found.attacks[0].privacy.eer.low is None
    assert any("2 speakers are too few" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0.5 target\n0.1 target\n", "no non-target trials"),
        ("0.5 nontarget\n0.1 nontarget\n", "no target trials"),
    ],
)
def test_one_kind_of_trials_is_not_enough(tmp_path, text, message):
    (tmp_path / "s").write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        evaluate_scores([tmp_path / "s"])
    assert str(caught.value).startswith(str(tmp_path / "s"))


def test_options_that_do_not_fit(tmp_path):
    one, two = tmp_path / "1", tmp_path / "2"
    with pytest.raises(UsageError, match="no file"):
        evaluate_scores([])
    with pytest.raises(UsageError, match="goes with one file"):
        evaluate_scores([one, two], ScoreSettings(nontargets=one))
    with pytest.raises(UsageError, match="only with a table"):
        evaluate_scores([one], ScoreSettings(enrolls=two))


def test_identical_scores_and_few_mated_ones(tmp_path):
    np.savez(tmp_path / "same.npz", targets=np.zeros(4), nontargets=np.zeros(9))
    np.savez(tmp_path / "few.npz", targets=[0.9, 0.4, 0.6], nontargets=[0.5, 0.1, 0.3, 0.2])
    found = evaluate_scores([tmp_path / "same.npz", tmp_path / "few.npz"])
    assert [attack.privacy.eer.value for attack in found.attacks] == [0.5, pytest.approx(0.25)]
    assert found.attacks[1].privacy.targets == 3


def test_infinite_ratios_survive_results(tmp_path):
    np.savez(tmp_path / "s.npz", targets=[np.inf, -np.inf, 1], nontargets=[0.0, -np.inf])
    found = evaluate_scores([tmp_path / "s.npz"], ScoreSettings(ratios=True))
    assert found.attacks[0].privacy.cllr.value == np.inf
    again = Results.from_json(found.to_json())
    assert again == found


def test_progress_is_told(kaldi):
    told: list[str] = []
    scores, trials = kaldi
    evaluate_scores([scores], ScoreSettings(trials=trials, draws=100), told=told.append)
    assert told == [f"reading {scores}", f"measuring {scores}"]
