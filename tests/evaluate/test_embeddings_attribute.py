from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sordino.errors import UsageError
from sordino.evaluate.embeddings.attribute import attribute_of
from sordino.evaluate.embeddings.settings import Settings
from sordino.evaluate.embeddings.templates import align
from tests.evaluate.embeddings_of import made, table_of


def test_everybody_is_used_once():
    vectors = made(20, 3)
    found = attribute_of(table_of(vectors), "sex", align(vectors, []), Settings())
    assert found.values == ("F", "M")
    assert found.rows.tolist() == list(range(60)) == found.tested.tolist()
    assert found.labels.tolist() == [(row // 3) % 2 for row in range(60)]
    assert found.counts == "F: 10 speakers, 30 templates; M: 10 speakers, 30 templates"
    assert not found.failures


def test_nothing_is_left_out_in_silence():
    vectors = made(22, 2)
    rows = dict(table_of(vectors).rows)
    del rows["s000"]
    rows["s001"] = {"speaker": "s001", "sex": ""}
    rows["s002"] = {"speaker": "s002", "sex": "X"}
    table = replace(table_of(vectors), rows=rows)
    nameless = replace(
        vectors, speakers=("s000", "s000", "s001", "s001", "", *vectors.speakers[5:])
    )
    found = attribute_of(table, "sex", align(nameless, []), Settings())
    told = [(failure.where, failure.why, failure.effect[:8]) for failure in found.failures]
    assert told == [
        ("s000/0 and 1 more", "table.csv does not list it", "2 of 44 "),
        ("s001/0 and 1 more", "table.csv has no value for it", "2 of 44 "),
        ("s002/0", "the speaker is not known", "1 of 44 "),
        ("s002/1", "too few speakers have the value X (1)", "1 of 44 "),
    ]
    left_out = sum(int(failure.effect.split()[0]) for failure in found.failures)
    assert left_out + len(found.rows) == 44


@pytest.mark.parametrize(
    ("sexes", "message"),
    [
        ("FFFFFFFFFFFF", "all vectors have the value F; there is nothing to guess"),
        ("FFFFFFFFMMMM", r"1 of 2 values have at least 5 speakers \(F: 8, M: 4\); two are needed"),
        ("            ", "the table has no value for any vector"),
    ],
)
def test_too_few_values(sexes, message):
    vectors = made(12, 1)
    rows = {
        name: {"speaker": name, "sex": sex.strip()}
        for name, sex in zip(vectors.speakers, sexes, strict=True)
    }
    table = replace(table_of(vectors), rows=rows)
    with pytest.raises(UsageError, match=f"attribute sex: {message}"):
        attribute_of(table, "sex", align(vectors, []), Settings())


def test_least_number_of_speakers_suffices():
    """With as many as the message asks for, every part of every training has both values."""
    for folds, needed in ((2, 6), (3, 5), (5, 5), (8, 8)):
        for speakers in (2 * needed, 2 * needed - 1):
            vectors = made(speakers, 1)
            settings = Settings(folds=folds, learners=("logistic-regression",))
            templates = align(vectors, [])
            if speakers < 2 * needed:
                with pytest.raises(UsageError, match=f"at least {needed} speakers"):
                    attribute_of(table_of(vectors), "sex", templates, settings)
            else:
                found = attribute_of(table_of(vectors), "sex", templates, settings)
                assert all(np.unique(found.labels[fold.train]).size == 2 for fold in found.folds)


def test_given_split():
    vectors = made(20, 2)
    split = {name: "dev" if int(name[1:]) < 12 else "test" for name in vectors.speakers}
    table = table_of(vectors, split=split)
    settings = Settings(train=("split", "dev"))
    found = attribute_of(table, "sex", align(vectors, []), settings)
    (fold,) = found.folds
    assert set(found.speakers[fold.train]) == {name for name in split if split[name] == "dev"}
    assert found.tested.tolist() == list(range(24, 40))
    with pytest.raises(UsageError, match="0 of 2 values"):
        attribute_of(table, "sex", align(vectors, []), Settings(train=("split", "train")))
