from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sordino.audio.recording import Recording
from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError
from sordino.evaluate.utility.emotion import (
    Expression,
    emodb_emotions,
    emotion_rows,
    expression_of,
    read_emotions,
    recognised_emotions,
)
from sordino.evaluate.utility.extra import installed_folder
from sordino.evaluate.utility.pitch import PitchTracker

needs_sklearn = pytest.mark.skipif(
    installed_folder("sklearn") is None, reason="emotions need the extra evaluate"
)


def expressions(rng, speakers, *, of_emotion=3.0, of_speaker=0.0, labels="WFT"):
    """Rows that tell the emotion, the speaker, or both, in numbers of their own."""
    found = []
    for number, speaker in enumerate(speakers):
        for repeat in range(6):
            for place, label in enumerate(labels):
                row = rng.standard_normal(12)
                row[place] += of_emotion
                row[6 + number] += of_speaker
                utterance = Utterance(f"{speaker}{label}{repeat}", Path("x"), speaker)
                found.append(Expression(utterance, label, row))
    return found


@needs_sklearn
def test_emotions_are_recognised_and_no_more_once_they_are_gone():
    rng = np.random.default_rng(0)
    clear = expressions(rng, "abcd")
    gone = expressions(rng, "abcd", of_emotion=0.0)
    truth = np.array([expression.emotion for expression in clear])
    assert (np.array(recognised_emotions(clear, clear)) == truth).mean() > 0.85
    assert (np.array(recognised_emotions(clear, gone)) == truth).mean() < 0.6


@needs_sklearn
def test_nobody_is_recognised_by_what_is_known_of_them():
    rng = np.random.default_rng(1)
    # Each speaker has one emotion only, and the rows tell nothing but the speaker: a recogniser
    # that had heard the speaker would always be right, another is always wrong.
    heard = [
        Expression(known.utterance, "WFT"["abc".index(known.utterance.speaker)], known.functionals)
        for known in expressions(rng, "abc", of_emotion=0.0, of_speaker=20.0)
    ]
    found = recognised_emotions(heard, heard)
    assert all(label != expression.emotion for label, expression in zip(found, heard, strict=True))


@needs_sklearn
def test_each_utterance_keeps_its_place():
    rng = np.random.default_rng(2)
    known = expressions(rng, "abcd")
    mixed = [known[place] for place in rng.permutation(len(known))]
    by_id = dict(
        zip([one.utterance.id for one in known], recognised_emotions(known, known), strict=True)
    )
    found = recognised_emotions(known, mixed)
    assert list(found) == [by_id[one.utterance.id] for one in mixed]


@needs_sklearn
def test_rows_are_the_recall_of_scikit_learn():
    from sklearn.metrics import recall_score

    rng = np.random.default_rng(3)
    heard = expressions(rng, "abcd")
    truth = [expression.emotion for expression in heard]
    named = rng.choice(list("WFT"), len(heard))
    rows = {row.group: row for row in emotion_rows("x", heard, named)}
    assert rows["all"].value.value == pytest.approx(recall_score(truth, named, average="macro"))
    recalls = recall_score(truth, named, average=None, labels=["F", "T", "W"])
    assert [rows[f"emotion: {label}"].value.value for label in "FTW"] == pytest.approx(recalls)
    assert rows["all"].value.low < rows["all"].value.value < rows["all"].value.high
    assert (rows["all"].measure, rows["all"].unit, rows["all"].speakers) == ("emotion-uar", "%", 4)


@needs_sklearn
def test_without_other_speakers_there_is_nothing_to_learn_from():
    alone = expressions(np.random.default_rng(0), "a")
    with pytest.raises(UsageError, match=r"without speaker a .* less than two emotions"):
        recognised_emotions(alone, alone)


@needs_sklearn
def test_real_emotions_are_heard_by_others(speech_root):
    pytest.importorskip("swift_f0", reason="pitch tracks need the extra evaluate")
    tracker = PitchTracker()
    known = []
    for folder in sorted((speech_root / "emodb").iterdir()):
        paths = [path for path in sorted(folder.glob("*.flac")) if path.stem[5] in "WTN"]
        utterances = [Utterance(path.stem, path, folder.name, corpus="emodb") for path in paths]
        labels = emodb_emotions(utterances)
        known += [
            Expression(one, labels[one.id], expression_of(Recording.read(one.path), tracker))
            for one in utterances[::2]
        ]
    assert len({one.utterance.speaker for one in known}) == 8
    rows = emotion_rows("original", known, recognised_emotions(known, known))
    assert rows[0].value.value > 0.7  # of three; a guess is 1/3


def test_labels_of_emodb_are_in_the_names():
    utterances = [
        Utterance("1", Path("03a01Wa.flac"), "03", corpus="emodb"),
        Utterance("2", Path("16b10Tb.wav"), "16", corpus="EmoDB"),
        Utterance("3", Path("03a01Fa.flac"), "03", corpus="other"),
        Utterance("4", Path("hello.flac"), "03", corpus="emodb"),
        Utterance("5", Path("03a01Fa.flac"), "03"),
    ]
    assert emodb_emotions(utterances) == {"1": "W", "2": "T"}


def test_labels_from_a_table(tmp_path):
    table = tmp_path / "labels.csv"
    table.write_text("path,emotion\na/1.wav,joy\na/2.wav,\n./a/3.wav, fear \n", encoding="utf-8")
    utterances = [
        Utterance(str(number), tmp_path / "a" / f"{number}.wav", "ann") for number in range(1, 5)
    ]
    assert read_emotions(table, utterances) == {"1": "joy", "3": "fear"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("path,feeling\n", "has no column 'emotion'"),
        ("path,emotion\na.wav,joy\n./a.wav,fear\n", "line 3: ./a.wav is listed with two emotions"),
        ('path,emotion\n"a.wav,joy\n', "is not a CSV table"),
        (None, "No such file"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(tmp_path, content, message):
    table = tmp_path / "labels.csv"
    if content is not None:
        table.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        read_emotions(table, [])
