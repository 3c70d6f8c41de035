"""Whole runs of a tiny network on voices that are nobody's, and on real ones if there are any."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is in the extra train, not installed")
for needed in ("lightning_fabric", "tensorboard", "pyroomacoustics", "pyworld"):
    pytest.importorskip(needed, reason=f"{needed} is in the extra train, which is not installed")

from sordino.corpus.corpus import Corpus
from sordino.corpus.layouts.detect import read_corpus
from sordino.errors import AudioError, OutputError, UsageError
from sordino.training.launch import Hardware
from sordino.training.record import CHECKPOINT, LOG, Log
from sordino.training.speaker import run, task
from sordino.training.speaker.run import LOG_FIELDS, train_speaker, trained_encoder
from tests.helpers import write_voice
from tests.talkers import talkers, tiny_recipe
from tests.voices import CepstralEncoder

ROOT = Path(__file__).parents[3]
CPU = Hardware("cpu", workers=0)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return talkers(tmp_path_factory.mktemp("talkers"))


@pytest.fixture(scope="module")
def real(speech_root):
    corpus = read_corpus(speech_root / "manifest.csv").select(corpus="emodb", split="dev")
    return Corpus(tuple(u for group in corpus.by_speaker().values() for u in group[:5]))


def train(corpus, folder, recipe=None, **options):
    chosen = {"hardware": CPU, "keep_every": 3, "quiet": True, **options}
    return train_speaker(recipe or tiny_recipe(), corpus, folder, **chosen)


def log(folder: Path) -> list[dict[str, str]]:
    with (folder / LOG).open(newline="") as file:
        return list(csv.DictReader(file))


def losses(folder: Path) -> np.ndarray:
    return np.array([float(row["total"]) for row in log(folder)])


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / CHECKPOINT, weights_only=True)["task"]


@pytest.fixture(scope="module")
def whole(made, tmp_path_factory):
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    encoder = train(made, folder)
    return folder, encoder


# Steps small enough, and batches large enough, that runs which differ a little stay together.
STEADY = tiny_recipe(optimisation={"batch": 32, "learning_rate": 5e-4})


@pytest.fixture(scope="module")
def steady(made, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "steady"
    train(made, folder, STEADY)
    return losses(folder)


def cut_off(monkeypatch, corpus, folder, step: int, **options):
    """A run that ends after a step as if by Ctrl-C."""

    def write(self, row):
        original(self, row)
        if row["step"] == step:
            raise KeyboardInterrupt

    original = Log.write
    with monkeypatch.context() as patch:
        patch.setattr(Log, "write", write)
        with pytest.raises(KeyboardInterrupt):
            train(corpus, folder, **options)


class TestRun:
    def test_writes_a_line_for_each_step(self, whole):
        rows = log(whole[0])
        assert tuple(rows[0]) == ("step", *LOG_FIELDS)
        assert [int(row["step"]) for row in rows] == list(range(1, 9))
        assert [bool(row["eer"]) for row in rows] == [False, False, False, True] * 2
        assert all(0 <= float(row["eer"]) <= 0.5 for row in rows if row["eer"])
        assert {float(row["distillation"]) for row in rows} == {0.0}
        rates = [float(row["learning_rate"]) for row in rows]
        assert max(rates) == rates[1] == rates[2] == 2e-3
        assert rates[-1] < 2e-4

    def test_returns_the_checkpoints_encoder_ready_to_use(self, whole):
        folder, encoder = whole
        assert not encoder.training
        stored = weights(folder)
        for name, value in encoder.state_dict().items():
            assert torch.equal(value, stored[f"encoder.{name}"])
        again = trained_encoder(tiny_recipe(), folder)
        wave = torch.ones(1, 8000)
        assert torch.equal(encoder(wave), again(wave))
        assert encoder(wave).shape == (1, 24)

    def test_has_a_class_for_each_speaker_that_is_not_held_out(self, whole):
        assert weights(whole[0])["head.weight"].shape == (6, 24)

    def test_same_run_again_is_the_same(self, whole, made, tmp_path):
        train(made, tmp_path, hardware=replace(CPU, workers=2))
        assert log(tmp_path) == log(whole[0])

    def test_curves_are_those_of_the_log(self, whole):
        from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

        (file,) = (whole[0] / "curves").rglob("events*")
        events = [event for event in EventFileLoader(str(file)).Load() if event.HasField("summary")]
        curve = {
            event.step: value.tensor.float_val[0]
            for event in events
            for value in event.summary.value
            if value.tag == "total"
        }
        assert sorted(curve) == list(range(1, 9))
        assert np.allclose([curve[step] for step in range(1, 9)], losses(whole[0]))

    def test_loss_falls(self, made, tmp_path):
        recipe = tiny_recipe(
            optimisation={"steps": 40, "batch": 16, "learning_rate": 5e-3},
            augmentation={"reverberation": 0, "noise": 0, "babble": 0, "telephone": 0, "lossy": 0},
            validate_every=40,
        )
        train(made, tmp_path, recipe)
        found = losses(tmp_path)
        assert found[-10:].mean() < 0.7 * found[:10].mean()

    def test_folder_holds_only_what_it_should(self, whole):
        names = {path.name for path in whole[0].iterdir()}
        assert names == {"checkpoint.ckpt", "log.csv", "recipe.json", "data.json", "curves"}


KILLED = """
import os, signal, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from sordino.training.launch import Hardware
from sordino.training.speaker.run import train_speaker
from tests.talkers import talkers, tiny_recipe

replace, done = Path.replace, []

def killed(part, target):
    if part.name == "checkpoint.part":
        done.append(target)
        if len(done) == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return replace(part, target)

if __name__ == "__main__":
    Path.replace = killed
    folder = Path(sys.argv[1])
    hardware = Hardware("cpu", workers=1)
    corpus = talkers(folder / "talkers")
    train_speaker(
        tiny_recipe(), corpus, folder / "run", hardware=hardware, keep_every=3, quiet=True
    )
"""


def in_a_process(code: str, *arguments: object, launcher: tuple[str, ...] = ()):
    """Run a script with the tests' modules in reach."""
    command = [sys.executable, *launcher, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    script = Path(str(arguments[0]))
    script.write_text(code, encoding="utf-8")
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=600
    )


class TestResuming:
    def test_after_a_kill_gives_exactly_the_same(self, whole, made, tmp_path):
        done = in_a_process(KILLED, tmp_path / "killed.py", tmp_path)
        assert done.returncode == -signal.SIGKILL, done.stderr
        folder = tmp_path / "run"
        # It died while its second checkpoint, of step 6, was moved into place.
        assert torch.load(folder / CHECKPOINT, weights_only=True)["step"] == 3
        assert len(log(folder)) == 6
        train(made, folder, resume=True)
        assert log(folder) == log(whole[0])
        for name, value in weights(whole[0]).items():
            assert torch.equal(value, weights(folder)[name]), name

    @pytest.mark.parametrize("step", [2, 4])
    def test_from_any_step_gives_exactly_the_same(self, whole, made, tmp_path, monkeypatch, step):
        cut_off(monkeypatch, made, tmp_path / "run", step)
        train(made, tmp_path / "run", resume=True)
        assert (tmp_path / "run" / LOG).read_bytes() == (whole[0] / LOG).read_bytes()

    def test_line_that_was_cut_off_is_dropped(self, whole, made, tmp_path, monkeypatch):
        cut_off(monkeypatch, made, tmp_path / "run", 4)
        with (tmp_path / "run" / LOG).open("a") as file:
            file.write("1")
        train(made, tmp_path / "run", resume=True)
        assert log(tmp_path / "run") == log(whole[0])

    def test_draws_of_the_network_come_again_as_well(self, made, tmp_path, monkeypatch):
        class Dropping(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = torch.nn.Sequential(torch.nn.Dropout(0.5), torch.nn.Linear(100, 24))

            def forward(self, wave):
                return self.layers(wave[:, :8000].reshape(len(wave), -1, 100).square().mean(dim=1))

        use_network(monkeypatch.setattr, Dropping)
        train(made, tmp_path / "whole")
        cut_off(monkeypatch, made, tmp_path / "run", 4)
        train(made, tmp_path / "run", resume=True)
        assert log(tmp_path / "run") == log(tmp_path / "whole")

    def test_finished_run_stays_as_it_is(self, whole, made):
        before = log(whole[0]), weights(whole[0])["encoder.body.fc.weight"]
        train(made, whole[0], resume=True)
        assert log(whole[0]) == before[0]
        assert torch.equal(weights(whole[0])["encoder.body.fc.weight"], before[1])

    def test_moved_recordings_are_the_same_data(self, made, tmp_path, monkeypatch):
        cut_off(monkeypatch, made, tmp_path / "run", 4)
        moved = talkers(tmp_path / "moved")
        train(moved, tmp_path / "run", resume=True)
        assert len(log(tmp_path / "run")) == 8


class TestRefusals:
    def test_folder_that_holds_a_run(self, whole, made):
        before = (whole[0] / CHECKPOINT).read_bytes()
        with pytest.raises(UsageError, match="holds a run; go on with --resume"):
            train(made, whole[0])
        assert (whole[0] / CHECKPOINT).read_bytes() == before

    def test_resuming_another_recipe(self, whole, made):
        with pytest.raises(UsageError, match="holds a run of another recipe"):
            train(made, whole[0], tiny_recipe(optimisation={"steps": 9}), resume=True)

    @pytest.mark.parametrize("change", ["fewer", "order", "noise"])
    def test_resuming_on_other_data(self, whole, made, tmp_path, change):
        utterances, noises = list(made), ()
        if change == "fewer":
            utterances.pop()
        elif change == "order":
            utterances.reverse()
        else:
            noises = (tmp_path / "noise.wav",)
        with pytest.raises(UsageError, match="holds a run of other data"):
            train(Corpus(tuple(utterances)), whole[0], resume=True, noises=noises)

    def test_resuming_nothing(self, made, tmp_path):
        with pytest.raises(UsageError, match="holds no run"):
            train(made, tmp_path / "none", resume=True)
        assert not (tmp_path / "none").exists()

    @pytest.mark.parametrize(
        ("sections", "hardware", "told"),
        [
            ({"network": {"architecture": "ecappa"}}, CPU, "no architecture 'ecappa'"),
            ({"optimisation": {"batch": 9}}, replace(CPU, devices=2), "a batch of 9 cannot be"),
            ({"optimisation": {"batch": 4}}, replace(CPU, devices=4), "a batch of 4 cannot be"),
            ({"data": {"validation": 0.01}}, CPU, "cannot be parted"),
        ],
    )
    def test_what_cannot_work_leaves_no_folder(self, made, tmp_path, sections, hardware, told):
        with pytest.raises(UsageError, match=told):
            train(made, tmp_path / "run", tiny_recipe(**sections), hardware=hardware)
        assert not (tmp_path / "run").exists()


class TestFailures:
    @pytest.mark.parametrize("where", ["loss", "gradient"])
    def test_loss_that_is_no_number_is_told_and_the_checkpoint_stays(
        self, made, tmp_path, monkeypatch, where
    ):
        def broken(self, waves, speakers, targets):
            calls.append(1)
            found = original(self, waves, speakers, targets)
            if len(calls) < 5:
                return found
            if where == "loss":
                return found._replace(total=found.total * float("nan"))
            # Its value is a number, its derivative is not.
            bad = (found.total * 0).clamp(min=0).sqrt()
            return found._replace(total=found.total + bad)

        calls: list[int] = []
        original = run.SpeakerTask.forward
        monkeypatch.setattr(run.SpeakerTask, "forward", broken)
        with pytest.raises(OutputError, match="the loss is no number any more"):
            train(made, tmp_path)
        state = torch.load(tmp_path / CHECKPOINT, weights_only=True)
        assert state["step"] == 3
        assert all(torch.isfinite(value).all() for value in state["task"].values())
        assert len(log(tmp_path)) == 4

    @pytest.mark.parametrize("workers", [0, 1])
    def test_recording_that_cannot_be_read_is_named_in_a_line(self, tmp_path, workers):
        corpus = talkers(tmp_path / "talkers", speakers=3, utterances=1)
        for utterance in corpus:
            utterance.path.write_bytes(b"RIFF" + bytes(64))
        recipe = tiny_recipe(data={"validation": 0.4})
        with pytest.raises(AudioError, match=r"v\d/0\.flac: ") as caught:
            train(corpus, tmp_path / "run", recipe, hardware=replace(CPU, workers=workers))
        assert "\n" not in str(caught.value)


class TestMixedPrecision:
    def test_run_follows_that_in_32_bits(self, steady, made, tmp_path):
        encoder = train(made, tmp_path, STEADY, hardware=replace(CPU, precision="bf16-mixed"))
        assert {value.dtype for value in encoder.parameters()} == {torch.float32}
        differences = np.abs(losses(tmp_path) / steady - 1)
        assert 0 < differences[0] < 0.02
        assert differences.mean() < 0.06


class WithoutBatchStatistics(torch.nn.Module):
    """A network in which no crop has a part in what becomes of another."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv1d(1, 16, 64, 32),
            torch.nn.ReLU(),
            torch.nn.GroupNorm(2, 16),
            torch.nn.Conv1d(16, 24, 5, 2),
        )

    def forward(self, wave):
        return self.layers(wave.unsqueeze(1)).mean(dim=2)


def use_network(patch, kind: type[torch.nn.Module]) -> None:
    for module in (run, task):
        patch(module, "build_encoder", lambda network: kind())


TOGETHER = """
import sys
from pathlib import Path
import torch
from tests.talkers import talkers, tiny_recipe
from tests.training.speaker import test_speaker_run as here

torch.set_num_threads(1)
here.use_network(setattr, here.WithoutBatchStatistics)
folder = Path(sys.argv[1])
hardware = here.Hardware("cpu", devices=2, workers=0)
corpus = talkers(folder / f"talkers-{here.os.environ['RANK']}")
here.train(corpus, folder / "run", hardware=hardware)
"""


class TestSeveralProcesses:
    def test_follow_one_process_with_the_same_batch(self, steady, made, tmp_path):
        train(made, tmp_path, STEADY, hardware=replace(CPU, devices=2))
        # Each process normalises by the statistics of its own 16 crops, not of all 32: the losses
        # are near (5 % in the mean, 12 % at most), not equal. They rise and fall with the crops.
        differences = np.abs(losses(tmp_path) / steady - 1)
        assert differences.mean() < 0.1
        assert differences.max() < 0.25
        assert np.corrcoef(losses(tmp_path), steady)[0, 1] > 0.8
        assert [int(row["step"]) for row in log(tmp_path)] == list(range(1, 9))

    def test_started_by_torchrun_equal_one_process(self, made, tmp_path, monkeypatch):
        use_network(monkeypatch.setattr, WithoutBatchStatistics)
        train(made, tmp_path / "alone")
        launcher = (
            *("-m", "torch.distributed.run", "--nproc-per-node", "2"),
            *("--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0"),
        )
        done = in_a_process(TOGETHER, tmp_path / "script.py", tmp_path, launcher=launcher)
        assert done.returncode == 0, done.stderr
        # Without batch statistics only the order of sums differs.
        alone, together = tmp_path / "alone", tmp_path / "run"
        assert np.allclose(losses(alone), losses(together), rtol=1e-4)
        for name, value in weights(alone).items():
            assert torch.allclose(value, weights(together)[name], atol=1e-4), name


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    from tests.encoders import write_encoder

    return write_encoder(tmp_path_factory.mktemp("models") / "teacher")


def taught(name: str, **optimisation: float):
    return tiny_recipe(
        teacher={"encoder": name, "weight": 10.0},
        optimisation={"classification_weight": 0.1, **optimisation},
    )


class TestTeacher:
    def test_is_followed(self, made, tmp_path, monkeypatch):
        monkeypatch.setattr("sordino.speaker.encoders.load_encoder", lambda _: CepstralEncoder())
        recipe = taught("cepstral", steps=40, batch=16, learning_rate=5e-3)
        train(made, tmp_path, replace(recipe, validate_every=40))
        distances = np.array([float(row["distillation"]) for row in log(tmp_path)])
        assert distances[-8:].mean() < 0.7 * distances[:8].mean()
        for row in log(tmp_path)[:3]:
            total = 0.1 * float(row["classification"]) + 10 * float(row["distillation"])
            assert float(row["total"]) == pytest.approx(total, rel=1e-5)

    def test_is_asked_once(self, bundle, made, tmp_path, monkeypatch):
        from sordino.speaker.encoders import OnnxEncoder

        asked = []
        embed = OnnxEncoder.embed
        monkeypatch.setattr(OnnxEncoder, "embed", lambda self, r: asked.append(1) or embed(self, r))
        cut_off(monkeypatch, made, tmp_path, 4, recipe=taught(str(bundle.folder)))
        assert len(asked) == 18
        with np.load(tmp_path / "teacher.npz") as stored:
            assert stored["vectors"].shape == (18, 3)
        train(made, tmp_path, taught(str(bundle.folder)), resume=True)
        assert len(asked) == 18
        # The teacher has fewer dimensions than the network: a layer comes between.
        assert weights(tmp_path)["to_teacher.weight"].shape == (3, 24)


@pytest.mark.parametrize("workers", [0, 1])
def test_teacher_is_asked_about_crops_that_nobody_has_heard(bundle, made, tmp_path, workers):
    recipe = tiny_recipe(
        teacher={"encoder": str(bundle.folder), "weight": 10.0, "each_crop": True},
        perturbation={"speed_octaves": 0.3, "tilt_db": 4.0, "overlap": 0.5},
        optimisation={"classification_weight": 0.0, "steps": 3},
    )
    train(made, tmp_path, recipe, hardware=replace(CPU, workers=workers))
    for row in log(tmp_path):
        assert float(row["classification"]) == 0
        assert 0 < float(row["distillation"]) < 2
        assert float(row["total"]) == pytest.approx(10 * float(row["distillation"]), rel=1e-5)
    assert "head.weight" not in weights(tmp_path)


def test_recorded_noise_and_further_voices_are_heard(made, tmp_path):
    noise = write_voice(tmp_path / "noise.wav", 0.2, 44100)
    recipe = tiny_recipe(
        voices={"copies": 1},
        data={"speeds": [0.9]},
        augmentation={"noise": 1.0},
        optimisation={"steps": 2},
    )
    train(made, tmp_path / "run", recipe, noises=(noise,))
    assert weights(tmp_path / "run")["head.weight"].shape == (24, 24)
    assert len(list((tmp_path / "run" / "voices").rglob("*.flac"))) == 18
    assert json.loads((tmp_path / "run" / "data.json").read_text())["noises"] == 1


def test_real_speech_is_learned(real, tmp_path):
    recipe = tiny_recipe(
        optimisation={"steps": 40, "learning_rate": 5e-3},
        data={"validation": 0.5},
        validate_every=20,
    )
    train(real, tmp_path, recipe, keep_every=20)
    found = losses(tmp_path)
    assert found[-10:].mean() < 0.8 * found[:10].mean()
    assert [bool(row["eer"]) for row in log(tmp_path)].count(True) == 2
