"""The whole run on real speech: eight people are attacked by somebody who knows six others."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
from sklearn.metrics import roc_curve

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.trials import Trials, make_trials
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.evaluate.anonymization.protocol import Protocol
from sordino.evaluate.anonymization.run import Data, evaluate_anonymization
from sordino.evaluate.anonymization.sources import FolderSource, Source, SystemSource
from sordino.evaluate.results import Attack, Results
from sordino.models.find import load_model
from sordino.speaker.encoders import load_encoder

ATTACKERS = [f"ecapa-small + {name}" for name in ("cosine", "LDA", "PLDA")]
PROTOCOL = Protocol(measures=("change",), utterances=6, draws=100)


@dataclass(frozen=True)
class Example:
    data: Data
    folder: Path
    results: Results


def some(corpus: Corpus, speakers: int, takes: int) -> Corpus:
    groups = list(corpus.by_speaker().values())[:speakers]
    return Corpus(tuple(utterance for group in groups for utterance in group[:takes]))


@pytest.fixture(scope="module")
def data(speech_root) -> Data:
    whole = read_corpus(speech_root / "manifest.csv").select(corpus="speechocean762")
    tested, other = some(whole.select(split="test"), 8, 4), some(whole.select(split="dev"), 6, 4)
    return Data(tested, make_trials(tested, enrolments_per_speaker=2), other)


@pytest.fixture(scope="module")
def example(data, tmp_path_factory) -> Example:
    folder = tmp_path_factory.mktemp("work")
    return Example(data, folder, evaluate(data, [fixed(folder)], folder))


def fixed(folder: Path) -> SystemSource:
    return SystemSource("fixed", "mcadams", {"alpha": 0.8}, folder / "speech", 0)


def evaluate(data: Data, sources: list[Source], folder: Path, **settings: object) -> Results:
    return evaluate_anonymization(data, sources, replace(PROTOCOL, **settings), folder=folder)


def errors(results: Results) -> dict[tuple[str, str, str], float]:
    return {
        (row.system, row.scenario, row.attacker): row.privacy.eer.value
        for row in results.attacks
        if row.group == "all"
    }


def facts(results: Results) -> list[Attack]:
    return list(results.attacks)


def test_every_attacker_runs_in_every_scenario_that_it_can(example) -> None:
    rows = Counter(
        (row.system, row.scenario) for row in example.results.attacks if row.group == "all"
    )
    assert rows == {
        ("original", "OO"): 3,
        ("fixed", "OA"): 3,
        ("fixed", "AA-lazy"): 3,
        ("fixed", "AA-semi-informed"): 2,  # nothing in the cosine is trained
        ("fixed", "OR"): 3,
    }
    assert [attacker.name for attacker in example.results.attackers] == ATTACKERS
    assert [system.name for system in example.results.systems] == ["original", "fixed"]
    assert "No formal guarantee" in example.results.systems[1].guarantee


def test_no_trial_is_lost(example) -> None:
    trials = example.data.trials
    for row in example.results.attacks:
        if row.group == "all":
            assert row.privacy.targets + row.privacy.nontargets == len(trials)
    assert example.results.failures == ()


def independent_error(trials: Trials, vectors: dict[str, np.ndarray]) -> float:
    scores = []
    for model, place in zip(trials.model, trials.utterance, strict=True):
        mean = np.mean([vectors[name] for name in trials.enrolments[model].utterances], axis=0)
        tried = vectors[trials.utterances[place]]
        scores.append(mean @ tried / np.linalg.norm(mean))
    alarms, hits, _ = roc_curve(trials.is_target, scores, drop_intermediate=False)
    nearest = np.argmin(np.abs(alarms - (1 - hits)))
    return (alarms[nearest] + 1 - hits[nearest]) / 2


def test_the_error_on_original_speech_is_what_the_encoder_alone_gives(example) -> None:
    encoder = load_encoder("ecapa-small")
    vectors = {}
    for utterance in example.data.corpus:
        vector = encoder.embed(utterance.read())
        vectors[utterance.id] = vector / np.linalg.norm(vector)
    expected = independent_error(example.data.trials, vectors)
    found = errors(example.results)["original", "OO", ATTACKERS[0]]
    step = 1 / example.data.trials.is_target.sum()
    assert found == pytest.approx(expected, abs=step)


def test_changed_voices_are_recognised_less(example) -> None:
    found = errors(example.results)
    cosine = ATTACKERS[0]
    assert found["fixed", "OA", cosine] > found["original", "OO", cosine] + 0.05
    # Taken apart and put together with the own voice, speech stays near what it was.
    assert found["fixed", "OR", cosine] < found["fixed", "OA", cosine]
    (similar,) = example.results.similarities
    assert similar.deidentification.value is not None
    assert 0.1 < similar.deidentification.value < 1.1


def test_what_is_left_of_the_speech(example) -> None:
    rows = {(row.system, row.measure, row.group): row for row in example.results.qualities}
    assert rows["fixed", "duration-change", "all"].value.value == pytest.approx(0)
    assert abs(rows["fixed", "loudness-change", "all"].value.value) < 0.5
    assert rows["fixed", "loudness-change", "all"].utterances == 6
    assert rows["fixed", "speed", "all"].value.value > 1


def test_the_same_folder_goes_on_without_doing_work_again(example) -> None:
    files = {path: path.stat().st_mtime_ns for path in example.folder.rglob("*.flac")}
    notes = {path: path.read_bytes() for path in example.folder.glob("*.jsonl")}
    again = evaluate(example.data, [fixed(example.folder)], example.folder)
    assert {p: p.stat().st_mtime_ns for p in example.folder.rglob("*.flac")} == files
    assert {p: p.read_bytes() for p in example.folder.glob("*.jsonl")} == notes
    assert facts(again) == facts(example.results)


class Stopped(Exception):  # noqa: N818
    pass


class Impatient:
    """Stops a run after so many steps."""

    def __init__(self, steps: int) -> None:
        self.left = steps

    def stage(self, what: str, total: int) -> None: ...

    def step(self) -> None:
        self.left -= 1
        if not self.left:
            raise Stopped

    def note(self, text: str) -> None: ...


def test_a_run_that_was_cut_short_ends_with_the_same_figures(example, tmp_path) -> None:
    for steps in (5, 60, 150):
        with pytest.raises(Stopped):
            evaluate_anonymization(
                example.data,
                [fixed(tmp_path)],
                PROTOCOL,
                folder=tmp_path,
                told=Impatient(steps),
            )
    done = evaluate(example.data, [fixed(tmp_path)], tmp_path)
    assert facts(done) == facts(example.results)


@pytest.fixture
def copies(data, tmp_path) -> Path:
    """The original files as if they were anonymized."""
    for utterance in (*data.corpus, *data.attack):
        target = tmp_path / "copies" / utterance.id
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(utterance.path, target)
    return tmp_path / "copies"


def test_files_that_are_the_originals_protect_nobody(example, copies, tmp_path) -> None:
    results = evaluate(
        example.data, [FolderSource("copies", copies)], tmp_path / "work", scenarios=("OA",)
    )
    found = errors(results)
    for attacker in ATTACKERS:
        assert found["copies", "OA", attacker] == found["original", "OO", attacker]
    (similar,) = results.similarities
    assert similar.deidentification.value == pytest.approx(0, abs=1e-6)


def test_an_onnx_file_is_an_attacker(example, copies, tmp_path) -> None:
    file = tmp_path / "mine.onnx"
    shutil.copy(load_model("ecapa-small").path("encoder.onnx"), file)
    results = evaluate(
        example.data,
        [FolderSource("copies", copies)],
        tmp_path / "work",
        scenarios=("OA",),
        encoders=(str(file),),
        backends=("cosine",),
    )
    found = errors(results)["original", "OO", "mine + cosine"]
    assert found == errors(example.results)["original", "OO", ATTACKERS[0]]


def test_a_missing_file_is_an_error_and_never_a_lost_trial(data, copies, tmp_path) -> None:
    name = data.trials.utterances[0]
    (copies / name).unlink()
    with pytest.raises(AudioError, match="1 utterances cannot be used"):
        evaluate(data, [FolderSource("copies", copies)], tmp_path / "work", scenarios=("OA",))


def test_what_may_be_left_out_is_counted(data, copies, tmp_path) -> None:
    name, other = data.trials.utterances[:2]
    (copies / name).unlink()
    soundfile.write(copies / other, np.zeros(16000), 16000)
    results = evaluate(
        data,
        [FolderSource("copies", copies)],
        tmp_path / "work",
        scenarios=("OA",),
        leave_out=True,
        backends=("cosine",),
    )
    lost = int(np.isin(data.trials.utterance, [0, 1]).sum())
    row = next(row for row in results.attacks if (row.scenario, row.group) == ("OA", "all"))
    assert row.privacy.targets + row.privacy.nontargets == len(data.trials) - lost
    # The measures of what is left say for themselves what they could not hear.
    unheard = [failure for failure in results.failures if "trials" in failure.effect]
    reasons = {Path(failure.where).name: failure for failure in unheard}
    assert len(unheard) == 2
    assert "holds no file" in reasons[Path(name).name].why
    assert "silence" in reasons[Path(other).name].why
    assert "silence" in " ".join(
        failure.why for failure in results.failures if "length" in failure.what
    )


def test_a_file_too_many_is_said(data, copies, tmp_path) -> None:
    shutil.copy(copies / data.trials.utterances[0], copies / "stranger.flac")
    results = evaluate(
        data,
        [FolderSource("copies", copies)],
        tmp_path / "work",
        scenarios=("OA",),
        backends=("cosine",),
    )
    assert any("belong to no utterance" in note for note in results.notes)


def test_without_the_attackers_files_there_is_no_informed_attack(data, copies, tmp_path) -> None:
    for utterance in data.attack:
        (copies / utterance.id).unlink()
    results = evaluate(
        data,
        [FolderSource("copies", copies)],
        tmp_path / "work",
        backends=("cosine", "plda"),
        scenarios=("OA", "AA-semi-informed", "OR"),
    )
    assert {row.scenario for row in results.attacks} == {"OO", "OA"}
    assert any("AA-semi-informed was not run" in note for note in results.notes)
    assert any("OR was not run" in note for note in results.notes)


def test_somebody_on_both_sides_is_refused(data) -> None:
    with pytest.raises(UsageError, match=r"tested and train the attacker \(8, such as"):
        Data(data.corpus, data.trials, data.corpus)


def test_a_folder_that_is_there_keeps_its_mode(data, tmp_path) -> None:
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    for folder, mode in ((there, 0o755), (tmp_path / "new" / "work", 0o700)):
        with pytest.raises(UsageError, match="none-such"):
            evaluate(data, [], folder, encoders=("none-such",))
        assert folder.stat().st_mode & 0o777 == mode


def test_names_of_systems_have_to_differ(data, tmp_path) -> None:
    with pytest.raises(UsageError, match="same name"):
        evaluate(data, [fixed(tmp_path), fixed(tmp_path)], tmp_path)


def test_a_short_utterance_is_a_reason(data, tmp_path) -> None:
    short = tmp_path / "short.wav"
    soundfile.write(short, np.random.default_rng(0).normal(0, 0.1, 200), 16000)
    first = data.trials.utterances[0]
    changed = Corpus(
        tuple(
            Utterance(u.id, short, u.speaker, corpus=u.corpus) if u.id == first else u
            for u in data.corpus
        )
    )
    with pytest.raises(AudioError, match="1 utterances cannot be used"):
        evaluate(Data(changed, data.trials, data.attack), [], tmp_path / "work")
