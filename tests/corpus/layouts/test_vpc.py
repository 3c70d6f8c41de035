from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.layouts import manifest
from sordino.corpus.layouts.detect import read_corpus
from sordino.corpus.layouts.vpc import VpcSet, has_trials, read, read_vpc, recognises
from sordino.corpus.trials import Enrolment, Trials
from sordino.errors import UsageError

SEXES = {"f1": "f", "f2": "f", "m1": "m", "m2": "m"}


def data(
    root: Path, name: str, utterances: Sequence[str], lists: Mapping[str, str], suffix: str = ""
) -> None:
    """Make `data/NAME` with recordings in `corpora`, as the recipes of the challenges do."""
    folder = root / "data" / f"{name}{suffix}"
    folder.mkdir(parents=True)
    scp = []
    for utterance in utterances:
        path = Path("corpora", utterance.partition("-")[0], f"{utterance}{suffix}.flac")
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
        scp.append(f"{utterance} flac -c -d -s {path} |\n")
    speakers = {utterance: utterance.partition("-")[0] for utterance in utterances}
    tables = {
        "wav.scp": "".join(scp),
        "utt2spk": "".join(f"{one} {speaker}\n" for one, speaker in speakers.items()),
        "spk2gender": "".join(f"{one} {SEXES[one]}\n" for one in sorted({*speakers.values()})),
        "text": "".join(f"{one} WORDS OF {one}\n" for one in utterances),
    }
    for table, content in {**tables, **lists}.items():
        (folder / table).write_text(content)


ENROLLED = ("f1-1", "f1-2", "f2-1", "m1-1")
ENROLLS = "".join(f"{one}\n" for one in ENROLLED)
TRIED = {"f": ("f1-3", "f2-2"), "m": ("m1-2", "m2-1")}
TRIALS = {
    "f": "f1 f1-3 target\nf1 f2-2 nontarget\nf2 f2-2 target\n",
    "m": "m1 m1-2 target\nm1 m2-1 nontarget\n",
}


def parted(root: Path, suffix: str = "", group: str = "libri_test") -> None:
    """Directories for each list, as in the challenge of 2024."""
    data(root, f"{group}_enrolls", ENROLLED, {"enrolls": ENROLLS}, suffix)
    for sex, tried in TRIED.items():
        data(root, f"{group}_trials_{sex}", tried, {"trials": TRIALS[sex]}, suffix)


def whole(root: Path, name: str, mic: str = "") -> None:
    """One directory with all lists, as it was published in 2020."""
    utterances = (*ENROLLED, *TRIED["f"], *TRIED["m"])
    lists = {f"trials_{sex}{mic}": content for sex, content in TRIALS.items()}
    data(root, name, utterances, {f"enrolls{mic}": ENROLLS, **lists})


def rows(trials: Trials) -> list[tuple[str, str, bool]]:
    return [
        (trials.enrolments[model].model, trials.utterances[utterance], bool(target))
        for model, utterance, target in zip(
            trials.model, trials.utterance, trials.is_target, strict=True
        )
    ]


def ids(one: VpcSet) -> set[str]:
    return {utterance.id for utterance in one.corpus}


def test_a_directory_for_each_list(tmp_path: Path) -> None:
    parted(tmp_path)
    (tmp_path / "data" / "train-clean-360").mkdir()
    women, men = read_vpc(tmp_path / "data")
    assert [women.name, men.name] == ["libri_test_trials_f", "libri_test_trials_m"]
    assert women.trials.enrolments == (
        Enrolment("f1", "f1", ("f1-1", "f1-2")),
        Enrolment("f2", "f2", ("f2-1",)),
        Enrolment("m1", "m1", ("m1-1",)),
    )
    assert rows(women.trials) == [
        ("f1", "f1-3", True),
        ("f1", "f2-2", False),
        ("f2", "f2-2", True),
    ]
    assert rows(men.trials) == [("m1", "m1-2", True), ("m1", "m2-1", False)]
    assert ids(women) == {*ENROLLED, *TRIED["f"]}
    assert ids(men) == {*ENROLLED, *TRIED["m"]}
    one = men.corpus.by_id()["m2-1"]
    assert one.path == tmp_path / "corpora/m2/m2-1.flac"
    assert (one.sex, one.text, one.language) == ("M", "WORDS OF m2-1", "en")
    assert (one.corpus, one.split) == ("libri", "test")


def test_all_lists_of_the_recipes_of_2020_and_2026(tmp_path: Path) -> None:
    parted(tmp_path, group="vctk_dev")
    both = (*TRIED["f"], *TRIED["m"])
    for part in ("all", "mixed"):
        name = f"vctk_dev_trials_{part}"
        data(tmp_path, name, both, {"trials": TRIALS["f"] + TRIALS["m"]})
    for part in ("f_common", "f_all"):
        data(tmp_path, f"vctk_dev_trials_{part}", TRIED["f"], {"trials": TRIALS["f"]})
    sets = {one.name.removeprefix("vctk_dev_trials_"): one for one in read_vpc(tmp_path / "data")}
    assert list(sets) == ["all", "f", "f_all", "f_common", "m", "mixed"]
    assert rows(sets["mixed"].trials) == rows(sets["f"].trials) + rows(sets["m"].trials)
    assert {one.corpus for one in sets["f_common"].corpus} == {"vctk"}
    assert read(tmp_path / "data").speakers == ("f1", "f2", "m1", "m2")


def test_the_suffix_chooses_the_system(tmp_path: Path) -> None:
    parted(tmp_path)
    parted(tmp_path, "_anon")
    parted(tmp_path, "_mcadams")
    folder = tmp_path / "data"
    assert [one.name for one in read_vpc(folder)] == ["libri_test_trials_f", "libri_test_trials_m"]
    women, men = read_vpc(folder, "_mcadams")
    assert [women.name, men.name] == ["libri_test_trials_f_mcadams", "libri_test_trials_m_mcadams"]
    assert {one.path.stem for one in men.corpus} == {f"{one}_mcadams" for one in ids(men)}
    assert {(one.corpus, one.split) for one in men.corpus} == {("libri", "test")}
    with pytest.raises(UsageError, match=r"the suffix '_x', but with '', '_anon', '_mcadams'$"):
        read_vpc(folder, "_x")


@pytest.mark.parametrize("mic", ["", "_mic2"])
def test_all_lists_in_one_directory(tmp_path: Path, mic: str) -> None:
    whole(tmp_path, "vctk_dev", mic)
    (tmp_path / "data" / "vctk_dev" / "trials_f.bak").write_text("left over")
    sets = read_vpc(tmp_path / "data" / "vctk_dev")
    assert [one.name for one in sets] == [f"vctk_dev_trials_{sex}{mic}" for sex in "fm"]
    assert rows(sets[1].trials) == [("m1", "m1-2", True), ("m1", "m2-1", False)]
    assert ids(sets[0]) == ids(sets[1]) == {*ENROLLED, *TRIED["f"], *TRIED["m"]}
    assert {(one.corpus, one.split) for one in sets[0].corpus} == {("vctk", "dev")}
    assert [one.name for one in read_vpc(tmp_path / "data")] == [one.name for one in sets]


def test_the_simplest_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    utterances = (*ENROLLED, *TRIED["m"])
    data(tmp_path, "mine", utterances, {"enrolls": ENROLLS, "trials": TRIALS["m"]})
    monkeypatch.chdir(tmp_path / "data" / "mine")
    (only,) = read_vpc(Path())
    assert only.name == "mine_trials"
    assert {(one.corpus, one.split, one.language) for one in only.corpus} == {("mine", None, None)}
    assert rows(only.trials) == [("m1", "m1-2", True), ("m1", "m2-1", False)]


def test_what_was_parted_is_not_read_twice(tmp_path: Path) -> None:
    parted(tmp_path)
    whole(tmp_path, "libri_test")
    whole(tmp_path, "libri_dev")
    names = [one.name for one in read_vpc(tmp_path / "data")]
    sets = ("libri_dev", "libri_test")
    assert names == [f"{name}_trials_{sex}" for name in sets for sex in "fm"]


def test_as_a_corpus_it_has_every_original_once(tmp_path: Path) -> None:
    parted(tmp_path)
    parted(tmp_path, "_anon")
    corpus = read_corpus(tmp_path / "data")
    assert sorted(one.id for one in corpus) == sorted((*ENROLLED, *TRIED["f"], *TRIED["m"]))
    assert not any("anon" in one.path.name for one in corpus)
    assert read_corpus(tmp_path / "data", "vpc") == corpus


def test_what_has_trials(tmp_path: Path) -> None:
    parted(tmp_path)
    whole(tmp_path, "libri_dev")
    folder = tmp_path / "data"
    assert recognises(folder)
    assert has_trials(folder)
    assert has_trials(folder / "libri_dev")
    assert not recognises(folder / "libri_dev")
    assert not has_trials(folder / "libri_test_enrolls")
    (tmp_path / "ann" / "trials").mkdir(parents=True)
    for name in ("", "ann", "corpora", "nowhere", "corpora/f1/f1-1.flac"):
        assert not has_trials(tmp_path / name)


def test_pipes_are_understood_and_not_run(tmp_path: Path) -> None:
    parted(tmp_path)
    made = tmp_path / "made"
    scp = tmp_path / "data" / "libri_test_trials_f" / "wav.scp"
    scp.write_text(
        f"f1-3 touch {made} |\nf2-2 sox corpora/f2/f2-2.flac -t wav -r 16000 -b 16 - |\n"
    )
    with pytest.raises(UsageError, match=r"trials_f/wav\.scp, line 1: the command 'touch' is not"):
        read_vpc(tmp_path / "data")
    assert not made.exists()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            ("libri_test_trials_f/trials", "f1 f1-3\n"),
            "trials, line 1: expected: speaker utterance",
        ),
        (("libri_test_trials_f/trials", "f1 f1-9 target\n"), "trials, line 1: the utterance f1-9"),
        (("libri_test_trials_f/trials", "m2 f1-3 nontarget\n"), "line 1: m2 is not enrolled in"),
        (("libri_test_trials_f/trials", "f1 f1-3 nontarget\n"), "is called nontarget, but f1-3"),
        (("libri_test_enrolls/enrolls", "f1-1\nm2-9\n"), "enrolls, line 2: m2-9 is not in the"),
        (("libri_test_enrolls/enrolls", None), "libri_test_enrolls/enrolls: No such file"),
        (("libri_test_trials_m/trials", None), "libri_test_trials_m/trials: No such file"),
        (("libri_test_trials_m/wav.scp", None), "libri_test_trials_m/wav.scp: No such file"),
        (("libri_test_enrolls", None), "trials_f: there is no libri_test_enrolls beside it"),
        (("libri_test_trials_x/trials", ""), "trials_x: there is no libri_test_enrolls_x beside"),
        (("libri_dev_enrolls/enrolls", ""), "libri_dev_enrolls: there are no trials beside it"),
        (
            ("libri_test_trials_f/wav.scp", "f1-3 corpora/f1/f1-3.flac\nf2-2 corpora/none.flac\n"),
            "libri_test_trials_f/wav.scp: 1 of 2 recordings missing",
        ),
        (
            ("libri_test_trials_f/spk2gender", "f1 m\n"),
            "libri_test_trials_f: speaker f1 is both F and M",
        ),
        (
            ("libri_test_enrolls/wav.scp", "f1-1 corpora/f2/f2-1.flac\n"),
            "libri_test_enrolls/utt2spk, line 2: there is no recording of f1-2",
        ),
    ],
)
def test_what_is_not_right_is_told(
    tmp_path: Path, wrong: tuple[str, str | None], message: str
) -> None:
    parted(tmp_path)
    path = tmp_path / "data" / wrong[0]
    if wrong[1] is not None:
        path.parent.mkdir(exist_ok=True)
        path.write_text(wrong[1])
    elif path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()
    with pytest.raises(UsageError) as caught:
        read_vpc(tmp_path / "data")
    assert message in str(caught.value)


def test_one_name_for_two_recordings_is_told(tmp_path: Path) -> None:
    parted(tmp_path)
    folder = tmp_path / "data" / "libri_test_trials_f"
    (folder / "wav.scp").write_text("f1-1 corpora/f1/f1-3.flac\n")
    (folder / "utt2spk").write_text("f1-1 f1\n")
    message = (
        r"trials_f: the utterance f1-1 is .*f1-1\.flac by f1 in one directory and .*f1-3\.flac"
    )
    with pytest.raises(UsageError, match=message):
        read_vpc(tmp_path / "data")


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"trials": TRIALS["m"]}, "mine/trials: there is no enrolls beside it"),
        ({"trials_m_mic2": "", "enrolls": ""}, "trials_m_mic2: there is no enrolls_mic2 beside it"),
        ({"enrolls": ENROLLS}, "mine/enrolls: there are no trials beside it"),
        ({}, "mine: has no lists of trials; expected directories such as"),
    ],
)
def test_lists_that_lack_each_other(tmp_path: Path, lists: dict[str, str], message: str) -> None:
    data(tmp_path, "mine", ENROLLED, lists)
    with pytest.raises(UsageError) as caught:
        read_vpc(tmp_path / "data" / "mine")
    assert message in str(caught.value)


def test_folders_without_lists(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"^{tmp_path}: has no lists of trials; expected"):
        read_vpc(tmp_path)
    with pytest.raises(UsageError, match=r"nowhere: there is no such folder$"):
        read_vpc(tmp_path / "nowhere")


def test_real_speech_is_read(tmp_path: Path, speech_root: Path) -> None:
    speech = manifest.read(speech_root).select(corpus="librispeech", split="test")
    speakers = list(speech.by_speaker().values())[:2]
    sources = {}
    for name, group in zip(("f1", "f2"), speakers, strict=True):
        for take, one in enumerate(group[: 3 if name == "f1" else 2], 1):
            sources[f"{name}-{take}"] = one.path
    data(
        tmp_path, "libri_test_enrolls", ("f1-1", "f1-2", "f2-1"), {"enrolls": "f1-1\nf1-2\nf2-1\n"}
    )
    data(tmp_path, "libri_test_trials_f", TRIED["f"], {"trials": TRIALS["f"]})
    for name, path in sources.items():
        shutil.copy(path, tmp_path / "corpora" / name.partition("-")[0] / f"{name}.flac")
    (only,) = read_vpc(tmp_path / "data")
    assert len(only.trials) == 3
    for one in only.corpus:
        expected = Recording.read(sources[one.id]).samples
        np.testing.assert_array_equal(one.read().samples, expected)
