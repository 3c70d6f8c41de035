from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.score_files import FORMATS, Beside, read_scores
from sordino.evaluate.score_speakers import SpeakerTable

PAIRS = (
    ("ann", "ann-1", "target", 0.9),
    ("ann", "bob-1", "nontarget", -0.25),
    ("bob", "ann-1", "nontarget", 0.125),
    ("bob", "bob-1", "target", 2e-1),
)
SCORES = [score for *_, score in PAIRS]
IS_TARGET = [True, False, False, True]
KALDI = "".join(f"{model} {tried} {score}\n" for model, tried, _, score in PAIRS)
TRIALS = "".join(f"{model} {tried} {label}\n" for model, tried, label, _ in PAIRS)


@pytest.fixture
def write(tmp_path):
    def write(text: str, name="scores") -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def lines(pattern: str) -> str:
    numbers = {"target": "1", "nontarget": "0"}
    return "".join(
        pattern.format(m=model, u=tried, l=label, n=numbers[label], s=score) + "\n"
        for model, tried, label, score in PAIRS
    )


@pytest.mark.parametrize(
    ("pattern", "layout"),
    [
        ("{n} {m} {u} {s}", "voxceleb"),
        ("{m} {u} {n} {s}", "speechbrain"),
        ("{m}\t{u}\t{s}\t{l}", "score-last-but-one"),
        ("{s} {l}", "score-label"),
        ("{l} {s}", "label-score"),
        ("{n}   {s}  ", "label-score"),
        ("{s},{n}", "score-label"),
        ("{m},{u},{l},{s}", "speechbrain"),
    ],
)
def test_text_with_labels(write, pattern, layout):
    found = read_scores(write(lines(pattern)))
    assert found.scores.tolist() == SCORES
    assert found.is_target.tolist() == IS_TARGET
    assert found.layout == layout
    again = read_scores(write(lines(pattern)), Beside(layout=layout))
    assert again.scores.tolist() == SCORES
    if "{m}" in pattern:
        assert found.trials.is_target.tolist() == IS_TARGET
        assert found.trials.speakers == ("ann", "bob")
    else:
        assert found.trials is None


@pytest.mark.parametrize(
    ("head", "pattern", "name"),
    [
        ("model,utterance,score,label", "{m},{u},{s},{l}", "scores.csv"),
        ("Score,Label", "{s},{n}", "scores.csv"),
        ("extra;label;score", "x;{l};{s}", "scores.csv"),
        ("modelid\tsegmentid\tside\tLLR\ttarget", "{m}\t{u}\ta\t{s}\t{n}", "scores.tsv"),
        ("label score", "{l} {s}", "scores.txt"),
        ("score,enrolled,tried,model,utterance,label", "{s},{m},{m},{m},{u},{l}", "one.csv"),
    ],
)
def test_tables_with_a_header(write, head, pattern, name):
    if "enrolled" in head:
        rows = [
            f"{score},{model},{tried[:3]},{model},{tried},{label}"
            for model, tried, label, score in PAIRS
        ]
        content = "\n".join([head, *rows])
    else:
        content = f"{head}\n{lines(pattern)}"
    found = read_scores(write(content, name))
    assert found.scores.tolist() == SCORES
    assert found.is_target.tolist() == IS_TARGET
    assert found.layout == "table"
    if "enrolled" in head:
        assert found.speakers == "Speakers are those of the list's own columns."


def test_blank_lines_crlf_and_marks_do_no_harm(write, tmp_path):
    write("\ufeff" + KALDI.replace("\n", "\r\n\r\n"))
    trials = write(TRIALS, "trials")
    found = read_scores(tmp_path / "scores", Beside(trials=trials))
    assert found.scores.tolist() == SCORES


@pytest.mark.parametrize("label", ["{l}", "{n}"])
@pytest.mark.parametrize("pattern", ["{m} {u} LABEL", "LABEL {m} {u}", "LABEL"])
@pytest.mark.parametrize("scores", ["{m} {u} {s}", "{s}"])
def test_a_list_beside_the_scores(write, label, pattern, scores):
    trials = write(lines(pattern.replace("LABEL", label)), "trials")
    if pattern == "LABEL" and "{m}" in scores:
        with pytest.raises(UsageError, match="does not name the trials"):
            read_scores(write(lines(scores)), Beside(trials=trials))
        return
    found = read_scores(write(lines(scores)), Beside(trials=trials))
    assert found.scores.tolist() == SCORES
    assert found.is_target.tolist() == IS_TARGET
    assert found.layout == ("kaldi" if "{m}" in scores else "scores")
    assert (found.trials is None) == (pattern == "LABEL")


def test_scores_are_paired_by_name_in_any_order(write):
    shuffled = "".join(KALDI.splitlines(keepends=True)[row] for row in (2, 0, 3, 1))
    found = read_scores(write(shuffled), Beside(trials=write(TRIALS, "trials")))
    assert found.scores.tolist() == SCORES
    assert [found.trials.enrolments[model].model for model in found.trials.model] == [
        "ann",
        "ann",
        "bob",
        "bob",
    ]


def test_missing_and_extra_scores_are_counted_and_named(write, tmp_path):
    trials = write(TRIALS, "trials")
    short = write("".join(KALDI.splitlines(keepends=True)[:2]))
    with pytest.raises(UsageError) as caught:
        read_scores(short, Beside(trials=trials))
    assert str(caught.value) == (
        f"{short}: 2 of 4 trials have no score, first bob ann-1 ({trials}, line 3)"
    )
    extra = write(KALDI + "bob cem-1 0.5\neve cem-1 0.5\n")
    with pytest.raises(UsageError) as caught:
        read_scores(extra, Beside(trials=trials))
    assert str(caught.value) == (
        f"{extra}: 2 of 6 scores are of no trial, first bob cem-1 (line 5)"
    )
    both = write(KALDI.replace("ann-1", "ann-01"))
    with pytest.raises(UsageError, match=r"2 of 4 trials have no score.*; 2 of 4 scores are of no"):
        read_scores(both, Beside(trials=trials))
    plain = write("0.1\n0.2\n0.3\n")
    with pytest.raises(UsageError, match=r"has 3 scores; .*trials has 4 trials"):
        read_scores(plain, Beside(trials=trials))


def test_duplicates_are_named_with_both_lines(write):
    trials = write(TRIALS, "trials")
    with pytest.raises(UsageError, match=r"scores, line 6: the trial ann ann-1 stands in line 1"):
        read_scores(write(KALDI + "\nann ann-1 0.9\n"), Beside(trials=trials))
    twice = write(TRIALS + "bob ann-1 nontarget\n", "twice")
    with pytest.raises(UsageError, match=r"twice, line 5: the trial bob ann-1 stands in line 3"):
        read_scores(write(KALDI), Beside(trials=twice))
    alone = write(lines("{m} {u} {l} {s}") + "ann ann-1 target 0.3\n")
    with pytest.raises(UsageError, match="line 5: the trial ann ann-1 stands in line 1 too"):
        read_scores(alone)


def test_labels_of_both_have_to_agree(write):
    trials = write(TRIALS, "trials")
    labelled = lines("{m} {u} {l} {s}")
    assert read_scores(write(labelled), Beside(trials=trials)).scores.tolist() == SCORES
    other = labelled.replace("nontarget", "target")
    with pytest.raises(UsageError, match=r"line 2: has another label than .*trials; 1 more do"):
        read_scores(write(other), Beside(trials=trials))
    with pytest.raises(UsageError, match="has labels but no names"):
        read_scores(write(lines("{s} {l}")), Beside(trials=trials))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("a b 1 2 3\n", "has 5 columns; expected one of: model utterance score; "),
        ("a b 0.5\na b\n", "line 2: has 2 columns; the lines before it have 3"),
        ("0.5 target\n0.6 targt\n", "line 2: the label 'targt' is not target or nontarget"),
        ("target 0.5\nnontarget 0,5\n", "line 2: the score '0,5' is not a number"),
        ("0.5 target\n\nnan target\nnan nontarget\n", "line 3: the score is NaN, as are 1 more"),
        ("1 1\n0 1\n", "can be read as score-label or as label-score; say which by its format"),
        (KALDI, "does not say which trials are targets; give the list of trials"),
        (TRIALS, "line 1: the score 'target' is not a number; is this a list of trials?"),
        ("a,b\n", "score 'b' is not a number|label"),
        ("score,label\n", "has a header and no rows"),
        ("score,llr,label\n1,2,1\n", "line 1: the columns score and llr say the same"),
        ("model,utterance,label\na,b,1\n", "has no column score"),
        ("score,label\n0.5,1,1\n", "line 2: has 3 columns"),
        ('score,label\n"0.5\n",1\n', "is not CSV"),
        ("0.5\0 1", "is not a text file"),
    ],
)
def test_what_is_wrong_is_named(write, text, message):
    with pytest.raises(UsageError, match=message) as caught:
        read_scores(write(text))
    assert str(caught.value).startswith(str(write("x")))


def test_formats_choose_and_refuse(write):
    ambiguous = write("1 1\n0 1\n1 0\n")
    assert read_scores(ambiguous, Beside(layout="score-label")).is_target.tolist() == [
        True,
        True,
        False,
    ]
    assert read_scores(ambiguous, Beside(layout="label-score")).scores.tolist() == [1, 1, 0]
    with pytest.raises(UsageError, match=r"has 2 columns; expected one of: model utterance score$"):
        read_scores(ambiguous, Beside(layout="kaldi"))
    with pytest.raises(UsageError, match="has no header that names its columns"):
        read_scores(ambiguous, Beside(layout="table"))
    with pytest.raises(UsageError, match="cannot be read as arrays"):
        read_scores(ambiguous, Beside(layout="arrays"))
    assert len(set(FORMATS)) == len(FORMATS)


def test_a_file_that_is_not_there(tmp_path):
    for name in ("none", "none.npy"):
        with pytest.raises(UsageError, match=f"{name}: No such file"):
            read_scores(tmp_path / name)


def test_infinite_scores_are_read(write):
    found = read_scores(write("inf target\n-inf nontarget\n"))
    assert found.scores.tolist() == [np.inf, -np.inf]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32"])
def test_arrays(tmp_path, dtype):
    own, others = np.array([3, 2], dtype), np.array([1, 0, 2], dtype)
    labels = np.array([1, 1, 0, 0, 0])
    joined = np.concatenate([own, others])
    np.savez(tmp_path / "a.npz", targets=own, nontargets=others)
    np.savez_compressed(tmp_path / "b.npz", scores=joined, labels=labels.astype(bool))
    np.save(tmp_path / "c.npy", np.stack([joined, labels.astype(dtype)], axis=1))
    np.save(tmp_path / "d.npy", joined)
    np.save(tmp_path / "labels.npy", labels)
    np.save(tmp_path / "own.npy", own)
    np.save(tmp_path / "others.npy", others)
    (tmp_path / "labels.txt").write_text("1\n1\n0\n0\n0\n")
    for name, beside in (
        ("a.npz", Beside()),
        ("b.npz", Beside()),
        ("c.npy", Beside(layout="arrays")),
        ("d.npy", Beside(trials=tmp_path / "labels.npy")),
        ("d.npy", Beside(trials=tmp_path / "labels.txt")),
        ("own.npy", Beside(nontargets=tmp_path / "others.npy")),
    ):
        found = read_scores(tmp_path / name, beside)
        assert found.scores.tolist() == joined.tolist(), name
        assert found.is_target.tolist() == labels.astype(bool).tolist(), name
        assert (found.layout, found.trials) == ("arrays", None)
        assert found.scores.dtype == (np.float64 if dtype == "int32" else dtype)


def test_array_of_scores_in_the_order_of_a_list(tmp_path, write):
    np.save(tmp_path / "scores.npy", SCORES)
    found = read_scores(tmp_path / "scores.npy", Beside(trials=write(TRIALS, "trials")))
    assert found.trials.speakers == ("ann", "bob")
    assert found.scores.tolist() == SCORES


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": [1.0]}, "holds x; expected targets and nontargets, or scores and labels"),
        ({"scores": [1.0]}, "does not say which trials are targets"),
        ({"scores": [1.0], "labels": [1, 0]}, "has 1 scores and 2 labels"),
        ({"scores": [1.0, 2.0], "labels": [1, 2]}, "labels of shape .* expected 1 or 0"),
        ({"scores": [[1.0], [2.0]], "labels": [1, 0]}, r"scores of shape \(2, 1\)"),
        ({"targets": [1.0, np.nan], "nontargets": [0.0]}, "1 of 2 scores are NaN.*number 2"),
        ({"targets": ["a"], "nontargets": [0.0]}, "expected numbers"),
        ({"targets": np.array([None]), "nontargets": [0.0]}, "is not a file of plain arrays"),
        ({"scores": [[1.0, 0.0], [0.0, 1.0]]}, "a column of scores and one of labels"),
    ],
)
def test_arrays_that_are_wrong(tmp_path, arrays, message):
    np.savez(tmp_path / "scores.npz", **arrays)
    with pytest.raises(UsageError, match=message) as caught:
        read_scores(tmp_path / "scores.npz")
    assert str(caught.value).startswith(str(tmp_path / "scores.npz"))


@pytest.mark.parametrize("name", ["scores.npy", "scores.npz"])
def test_arrays_that_are_damaged(tmp_path, name):
    np.savez(tmp_path / "whole.npz", targets=np.arange(99.0), nontargets=np.arange(99.0))
    whole = (tmp_path / "whole.npz").read_bytes()
    for content in (b"", b"no array", whole[: len(whole) // 2]):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match="is not a file of plain arrays"):
            read_scores(tmp_path / name)


def test_scores_of_nontargets_in_a_file_of_their_own(write):
    own, others = write("0.9\n0.2\n", "own"), write("0.1\n", "others")
    found = read_scores(own, Beside(nontargets=others))
    assert found.scores.tolist() == [0.9, 0.2, 0.1]
    assert found.is_target.tolist() == [True, True, False]
    with pytest.raises(UsageError, match="has labels or names; expected scores only"):
        read_scores(own, Beside(nontargets=write(KALDI)))
    with pytest.raises(UsageError, match="exclude each other"):
        read_scores(own, Beside(trials=others, nontargets=others))


def test_speakers_are_those_that_labels_join(write):
    text = lines("{m} {u} {l} {s}") + "ann-too ann-1 target 0.3\nann-too bob-1 nontarget 0.1\n"
    found = read_scores(write(text))
    assert [enrolment.speaker for enrolment in found.trials.enrolments] == ["ann", "bob", "ann"]
    assert found.speakers == (
        "Speakers are the models of the list, 1 of which share utterances with others."
    )


def test_an_impostor_whom_nobody_names(write):
    found = read_scores(write(lines("{m} {u} {l} {s}") + "ann eve-1 nontarget 0.3\n"))
    assert found.trials is None
    assert "1 of 3 utterances are in no target trial" in found.speakers


def test_labels_that_contradict_each_other(write):
    text = "a x target 1\nb x target 1\na y target 1\nb y nontarget 0\n"
    found = read_scores(write(text))
    assert found.trials is None
    assert "labels contradict each other, such as that of" in found.speakers
    assert "line 4" in found.speakers


def test_first_folders_are_speakers_where_all_labels_agree(write):
    text = (
        "1 id1/v/1.wav id1/w/1.wav 0.9\n0 id1/v/1.wav id2/v/1.wav 0.1\n"
        "0 id2/v/2.wav id1/w/1.wav 0.2\n"
    )
    found = read_scores(write(text))
    assert found.speakers == "Speakers are the first folders of the names; every label agrees."
    assert found.trials.speakers == ("id1", "id2")
    assert found.trials.is_target.tolist() == [True, False, False]
    wrong = read_scores(write(text.replace("0 id2/v/2.wav id1", "1 id2/v/2.wav id1")))
    assert wrong.trials is None


def test_a_table_of_speakers(write):
    table = write("ann-1 A\nbob-1 B\nann A\nbob B\n", "utt2spk")
    scores = write(lines("{m} {u} {l} {s}") + "ann eve-1 nontarget 0.3\n")
    with pytest.raises(UsageError, match="utt2spk: lacks 1 of 3 utterances; the first is eve-1"):
        read_scores(scores, Beside(table=SpeakerTable.read(table)))
    write("utterance,speaker,sex\nann-1,A,F\nbob-1,B,M\nann,A,F\nbob,B,M\neve-1,E,F\n", "t.csv")
    found = read_scores(scores, Beside(table=SpeakerTable.read(table.parent / "t.csv")))
    assert found.trials.speakers == ("A", "B", "E")
    assert found.speakers == "Speakers are those of t.csv."
    wrong = SpeakerTable.read(write("ann-1 A\nbob-1 A\nann A\nbob B\neve-1 E\n", "utt2spk"))
    with pytest.raises(UsageError, match=r"line 2: is called nontarget, but ann is A and bob-1 is"):
        read_scores(scores, Beside(table=wrong))


def test_models_are_speakers_or_have_enrolments(write):
    scores = write(lines("{m} {u} {l} {s}"))
    table = write("ann-0 ann\nann-1 ann\nbob-0 bob\nbob-1 bob\n", "utt2spk")
    plain = read_scores(scores, Beside(table=SpeakerTable.read(table)))
    assert plain.trials.speakers == ("ann", "bob")
    other = write(lines("m-{m} {u} {l} {s}"), "other")
    with pytest.raises(UsageError, match="does not tell who the model m-ann is"):
        read_scores(other, Beside(table=SpeakerTable.read(table)))
    enrolls = write("m-ann ann-0\nm-bob bob-0\n", "enrolls")
    found = read_scores(other, Beside(table=SpeakerTable.read(table, enrolls)))
    assert [enrolment.speaker for enrolment in found.trials.enrolments] == ["ann", "bob"]
    assert found.trials.enrolments[1].utterances == ("bob-0",)
    vpc = write("ann-0\nbob-0\n", "enrolls")
    again = read_scores(scores, Beside(table=SpeakerTable.read(table, vpc)))
    assert again.trials.enrolments[0].utterances == ("ann-0",)


@pytest.mark.parametrize(
    ("table", "enrolls", "message"),
    [
        ("a-1 A\na-1 B\n", None, "line 2: a-1 has two speakers"),
        ("a-1 A B\n", None, "has 3 columns"),
        ("utterance,speaker\na-1,\n", None, "line 2: utterance or speaker is empty"),
        ("speaker,sex\nA,F\n", None, "has no column utterance"),
        ("a-1 A\n", "m b-1\n", "enrolls, line 1: b-1 is not in"),
        ("a-1 A\nb-1 B\n", "m a-1\nm b-1\n", "enrolls, line 2: m has utterances of two speakers"),
    ],
)
def test_tables_that_are_wrong(write, table, enrolls, message):
    path = write(table, "table.csv" if "," in table else "table")
    with pytest.raises(UsageError, match=message):
        SpeakerTable.read(path, write(enrolls, "enrolls") if enrolls else None)


def test_an_utterance_is_not_tried_against_itself(write):
    with pytest.raises(UsageError, match="is part of the enrolment it is tried against"):
        read_scores(write("1 a/1.wav a/1.wav 1.0\n0 a/1.wav b/1.wav 0.1\n"))
