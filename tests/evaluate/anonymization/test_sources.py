from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sordino.anonymize.sources import mean_source
from sordino.anonymize.systems import SYSTEMS
from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, UsageError
from sordino.evaluate.anonymization.hearings import Bench
from sordino.evaluate.anonymization.protocol import Side
from sordino.evaluate.anonymization.sources import (
    CommandSource,
    FolderSource,
    Making,
    Source,
    SystemSource,
    evaluation_key,
    make,
)
from sordino.evaluate.progress import Silent
from tests.helpers import write_voice
from tests.listening import Listening
from tests.neural_voices import write_models

SIDES: tuple[Side, ...] = ("enrol", "trial", "attack", "own")


def utterance(folder: Path, who: str = "ann", take: int = 1, seed: int = 0) -> Utterance:
    path = folder / who / f"{take}.wav"
    if not path.exists():
        write_voice(path, 1.5, seed=seed)
    return Utterance(f"{who}-{take}", path, who)


def made(source: Source, spoken: Utterance, side: Side) -> np.ndarray:
    target = source.path(spoken, side)
    maker = source.maker()
    assert maker is not None
    outcome = make(Making(spoken, side, target, maker), lambda seconds: None)
    assert "error" not in outcome, outcome
    return Recording.read(target).samples


def system(tmp_path: Path, **parameters: object) -> SystemSource:
    return SystemSource("x", "mcadams", parameters, tmp_path / "made", 0)


def test_enrolment_and_trials_have_different_pseudo_speakers(tmp_path: Path) -> None:
    source, spoken = system(tmp_path), utterance(tmp_path)
    enrolled, tried = made(source, spoken, "enrol"), made(source, spoken, "trial")
    assert np.abs(enrolled - tried).max() > 0.01
    assert source.path(spoken, "enrol") != source.path(spoken, "trial")


def test_a_speaker_keeps_the_pseudo_speaker_on_a_side(tmp_path: Path) -> None:
    source = system(tmp_path)
    first = utterance(tmp_path, take=1)
    same_sound = Utterance("ann-2", first.path, "ann")
    np.testing.assert_array_equal(made(source, first, "trial"), made(source, same_sound, "trial"))


def test_the_attacker_gets_a_pseudo_speaker_for_each_utterance(tmp_path: Path) -> None:
    source = system(tmp_path)
    first = utterance(tmp_path, take=1)
    same_sound = Utterance("ann-2", first.path, "ann")
    one, other = made(source, first, "attack"), made(source, same_sound, "attack")
    assert np.abs(one - other).max() > 0.01


def test_what_the_attacker_trains_on_is_made_once_for_both_levels(tmp_path: Path) -> None:
    spoken = utterance(tmp_path)
    by_speaker, by_utterance = system(tmp_path), system(tmp_path, level="utterance")
    assert by_speaker.path(spoken, "attack") == by_utterance.path(spoken, "attack")
    assert by_speaker.path(spoken, "trial") != by_utterance.path(spoken, "trial")


def test_the_own_voice_is_nearly_the_original(tmp_path: Path) -> None:
    spoken = utterance(tmp_path)
    own, trial = made(system(tmp_path), spoken, "own"), made(system(tmp_path), spoken, "trial")
    original = spoken.read().samples
    inner = slice(800, -800)
    near = np.corrcoef(own[0, inner], original[0, inner])[0, 1]
    far = np.corrcoef(trial[0, inner], original[0, inner])[0, 1]
    assert near > 0.99
    assert far < 0.9


def test_another_seed_or_recording_is_another_file(tmp_path: Path) -> None:
    spoken = utterance(tmp_path)
    first = system(tmp_path)
    second = SystemSource("x", "mcadams", {}, tmp_path / "made", 1)
    assert first.path(spoken, "trial") != second.path(spoken, "trial")
    before = first.path(spoken, "trial")
    write_voice(spoken.path, 1.7, seed=5)
    assert first.path(spoken, "trial") != before
    renamed = Utterance(spoken.id, spoken.path, "bob")
    assert first.path(spoken, "trial") != first.path(renamed, "trial")


def test_the_key_of_an_evaluation_differs_by_side_and_seed() -> None:
    keys = {evaluation_key(seed, side).material for seed in range(3) for side in SIDES}
    assert len(keys) == 12
    assert evaluation_key(1, "own") == evaluation_key(1, "own")


def test_a_silent_original_is_a_reason_and_no_file(tmp_path: Path) -> None:
    source = system(tmp_path)
    missing = Utterance("a", tmp_path / "none.wav", "ann")
    with pytest.raises(AudioError, match=r"none\.wav"):
        source.path(missing, "trial")


COPY = "import shutil, sys; shutil.copy(sys.argv[1], sys.argv[2])"


def command(tmp_path: Path, code: str, *arguments: str) -> CommandSource:
    (tmp_path / "program.py").write_text(code)
    words = [sys.executable, str(tmp_path / "program.py"), "{input}", "{output}", *arguments]
    return CommandSource("mine", " ".join(f"'{word}'" for word in words), tmp_path / "made", 7)


def test_a_command_makes_the_files(tmp_path: Path) -> None:
    source = command(
        tmp_path,
        "import sys, soundfile\n"
        "samples, rate = soundfile.read(sys.argv[1])\n"
        "soundfile.write(sys.argv[2], samples[::-1] / 2, rate, format='FLAC')\n"
        "open(sys.argv[3], 'a').write(' '.join(sys.argv[4:]) + chr(10))\n",
        str(tmp_path / "log"),
        "{speaker}",
        "{utterance}",
        "{seed}",
    )
    spoken = utterance(tmp_path)
    changed = made(source, spoken, "trial")
    np.testing.assert_allclose(changed, spoken.read().samples[:, ::-1] / 2, atol=1e-4)
    made(source, spoken, "enrol")
    made(source, spoken, "attack")
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines == ["ann-trial ann-1 7", "ann-enrol ann-1 7", "ann-attack-ann-1 ann-1 7"]
    assert not list(source.path(spoken, "trial").parent.glob(".part*"))


def test_a_command_gets_the_stretch_that_an_utterance_is(tmp_path: Path) -> None:
    source = command(tmp_path, COPY)
    whole = utterance(tmp_path)
    part = Utterance("part", whole.path, "ann", start=0.5, end=1.25)
    changed = made(source, part, "trial")
    np.testing.assert_allclose(changed, whole.read().samples[:, 8000:20000], atol=1e-4)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no such model')", "ended with status 1: no such model"),
        ("pass", "wrote no {output}"),
        ("import sys; open(sys.argv[2], 'w').write('x')", "flac"),
    ],
)
def test_a_command_that_fails_leaves_a_reason(tmp_path: Path, code: str, said: str) -> None:
    source = command(tmp_path, code)
    spoken = utterance(tmp_path)
    target = source.path(spoken, "trial")
    maker = source.maker()
    assert maker is not None
    outcome = make(Making(spoken, "trial", target, maker), lambda seconds: None)
    assert said in str(outcome["error"])


def test_words_of_a_command_are_not_given_to_a_shell(tmp_path: Path) -> None:
    source = command(tmp_path, COPY)
    odd = tmp_path / "a; touch hacked $(touch hacked2)" / "1.wav"
    write_voice(odd, 1.0)
    made(source, Utterance("o", odd, "x"), "trial")
    assert not [path for path in (Path("hacked"), Path("hacked2")) if path.exists()]


@pytest.mark.parametrize("template", ["cp {input}", "cp '{input} {output}", "x {output}"])
def test_a_command_that_cannot_work_is_refused(tmp_path: Path, template: str) -> None:
    with pytest.raises(UsageError, match="the command"):
        CommandSource("x", template, tmp_path, 0)


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no program no-such-program"):
        CommandSource("x", "no-such-program {input} {output}", tmp_path / "made", 0)


def test_files_are_found_by_id_by_place_and_by_name(tmp_path: Path) -> None:
    originals, folder = tmp_path / "originals", tmp_path / "anonymized"
    by_place = utterance(originals, "ann", 1)
    by_id = utterance(originals, "bob", 1)
    by_name = Utterance("x", write_voice(originals / "deep" / "cem-9.wav"), "cem")
    for name in ("ann/1.flac", "bob-1.wav", "other/cem-9.ogg"):
        write_voice(folder / name)
    source = FolderSource("mine", folder)
    assert source.path(by_place, "trial") == folder / "ann" / "1.flac"
    assert source.path(by_id, "enrol") == folder / "bob-1.wav"
    assert source.path(by_name, "attack") == folder / "other" / "cem-9.ogg"
    assert source.left_over([by_place, by_name]) == (folder / "bob-1.wav",)


def test_a_missing_file_is_an_error_that_names_the_utterance(tmp_path: Path) -> None:
    write_voice(tmp_path / "anonymized" / "ann" / "1.wav")
    source = FolderSource("mine", tmp_path / "anonymized")
    with pytest.raises(AudioError, match="holds no file for the utterance ann-2"):
        source.path(utterance(tmp_path / "originals", "ann", 2), "trial")


def test_two_files_of_one_name_are_an_error(tmp_path: Path) -> None:
    for name in ("ann/1.wav", "ann/1.flac"):
        write_voice(tmp_path / "anonymized" / name)
    source = FolderSource("mine", tmp_path / "anonymized")
    with pytest.raises(AudioError, match="both called"):
        source.path(utterance(tmp_path / "originals", "ann", 1), "trial")


def test_a_stretch_of_a_recording_is_found_by_its_id_only(tmp_path: Path) -> None:
    folder = tmp_path / "anonymized"
    write_voice(folder / "ann" / "1.wav")
    whole = utterance(tmp_path / "originals", "ann", 1)
    part = Utterance("part", whole.path, "ann", start=0.1, end=0.6)
    with pytest.raises(AudioError, match="no file for the utterance part"):
        FolderSource("mine", folder).path(part, "trial")
    write_voice(folder / "part.wav")
    assert FolderSource("mine", folder).path(part, "trial") == folder / "part.wav"


def test_resynthesised_files_are_another_folder(tmp_path: Path) -> None:
    spoken = utterance(tmp_path / "originals", "ann", 1)
    write_voice(tmp_path / "anonymized" / "ann" / "1.wav")
    write_voice(tmp_path / "own" / "ann" / "1.wav")
    without = FolderSource("mine", tmp_path / "anonymized")
    assert "own" not in without.sides()
    source = FolderSource("mine", tmp_path / "anonymized", {"own": tmp_path / "own"})
    assert source.path(spoken, "own") == tmp_path / "own" / "ann" / "1.wav"
    assert source.path(spoken, "trial") == tmp_path / "anonymized" / "ann" / "1.wav"


def test_sides_may_have_folders_of_their_own(tmp_path: Path) -> None:
    spoken = utterance(tmp_path / "originals", "ann", 1)
    for folder in ("trial", "enrol", "attack"):
        write_voice(tmp_path / folder / "ann" / "1.wav")
    others = {"enrol": tmp_path / "enrol", "attack": tmp_path / "attack"}
    source = FolderSource("mine", tmp_path / "trial", others)
    for side in ("trial", "enrol", "attack"):
        assert source.path(spoken, side) == tmp_path / side / "ann" / "1.wav"
    assert "one pseudo-speaker on all sides" not in source.system().what
    alone = FolderSource("mine", tmp_path / "trial")
    assert "one pseudo-speaker on all sides" in alone.system().what


def test_places_in_a_path_are_not_places_of_the_command(tmp_path: Path) -> None:
    source = command(tmp_path, COPY)
    odd = write_voice(tmp_path / "{output} {seed}" / "1.wav")
    changed = made(source, Utterance("o", odd, "{input}"), "trial")
    assert changed.shape == (1, 16000)


def test_what_a_program_prints_need_not_be_text(tmp_path: Path) -> None:
    source = command(
        tmp_path, COPY + "; sys.stderr.buffer.write(bytes([255, 254])); sys.exit(len(sys.argv) - 3)"
    )
    made(source, utterance(tmp_path), "trial")


def test_a_changed_program_makes_other_files(tmp_path: Path) -> None:
    spoken = utterance(tmp_path)
    before = command(tmp_path, COPY).path(spoken, "trial")
    assert command(tmp_path, COPY + "  # changed").path(spoken, "trial") != before


def is_gone(number: int) -> bool:
    time.sleep(0.05)
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_program_that_waits_ends_with_its_worker(tmp_path: Path) -> None:
    (tmp_path / "wait.py").write_text(
        "import os, sys, time\nopen(sys.argv[3], 'w').write(str(os.getpid()))\ntime.sleep(60)\n"
    )
    code = (
        "from pathlib import Path\n"
        "from sordino.evaluate.anonymization.sources import CommandMaker\n"
        "from sordino.corpus.utterance import Utterance\n"
        f"words = ({sys.executable!r}, {str(tmp_path / 'wait.py')!r}, '{{input}}', '{{output}}',"
        f" {str(tmp_path / 'pid')!r})\n"
        f"CommandMaker(words, 0).make(Utterance('a', Path('x.wav'), 'a'), 'trial',"
        f" Path({str(tmp_path / 'out.flac')!r}))\n"
    )
    worker = subprocess.Popen([sys.executable, "-c", code])
    for _ in range(600):
        if (tmp_path / "pid").exists() and (tmp_path / "pid").read_text():
            break
        time.sleep(0.05)
    number = int((tmp_path / "pid").read_text())
    worker.terminate()
    worker.wait(30)
    assert any(is_gone(number) for _ in range(200))


@pytest.mark.parametrize("name", ["none", "empty"])
def test_a_folder_without_recordings_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=name):
        FolderSource("mine", tmp_path / name)


def test_a_system_that_is_not_there_or_set_wrong_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no system 'x'"):
        SystemSource("x", "x", {}, tmp_path, 0)
    with pytest.raises(UsageError, match="no setting 'beta'"):
        SystemSource("x", "mcadams", {"beta": 1}, tmp_path, 0)


def test_a_system_that_can_give_nobody_a_voice_is_refused(tmp_path: Path) -> None:
    voice = str(write_models(tmp_path / "models"))
    with pytest.raises(UsageError, match=r"pool has 30 voices of .*, 200 are needed"):
        SystemSource("paper", "neural", {"voice": voice, "strategy": "average"}, tmp_path, 0)


def test_profiles_are_a_sides_own_and_decide_the_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(SYSTEMS, "listening", Listening)
    source = SystemSource("x", "listening", {}, tmp_path / "made", 0)
    first, second = utterance(tmp_path, take=1), utterance(tmp_path, take=2, seed=5)
    encoder = source.listener("trial")
    assert encoder is not None
    vectors = {spoken.id: encoder.embed(spoken.read()) for spoken in (first, second)}
    unheard = source.path(first, "trial")
    source.learn("trial", [first, second], vectors)
    both = source.path(first, "trial")
    source.learn("enrol", [first], vectors)
    source.learn("attack", [first, second], vectors)
    assert len({unheard, both}) == 2
    for side, heard in (("trial", (first, second)), ("enrol", (first,)), ("attack", (first,))):
        target = source.path(first, side)
        outcome = make(Making(first, side, target, source.maker_for(first, side)), lambda _: None)
        assert "error" not in outcome
        anonymizer = Listening(level="utterance" if side == "attack" else "speaker")
        recording = first.read()
        expected = anonymizer.anonymize(
            recording.samples,
            recording.sample_rate,
            speaker="ann",
            key=evaluation_key(0, side),
            utterance=first.id,
            source=mean_source([vectors[each.id] for each in heard]),
        )
        np.testing.assert_allclose(Recording.read(target).samples, expected, atol=1e-4)
    # Another set of utterances, another speaker as the system sees it, another file.
    source.learn("trial", [first], vectors)
    assert source.path(first, "trial") not in {unheard, both}


def test_systems_that_do_not_listen_hear_nothing(tmp_path: Path) -> None:
    source = system(tmp_path)
    assert all(source.listener(side) is None for side in SIDES)


def test_a_bench_has_sources_listen_first(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(SYSTEMS, "listening", Listening)
    takes = [utterance(tmp_path, take=take, seed=take) for take in (1, 2)]

    def made_by(folder: Path) -> list[Path]:
        bench = Bench(folder, 1, Silent())
        source = SystemSource("x", "listening", {}, bench.speech, 0)
        return [heard.path for heard in bench.make(source, "trial", takes).heard.values()]

    first = made_by(tmp_path / "work")
    before = [path.stat().st_mtime_ns for path in first]
    assert made_by(tmp_path / "work") == first
    assert [path.stat().st_mtime_ns for path in first] == before
