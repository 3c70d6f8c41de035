from __future__ import annotations

import builtins

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import UsageError
from sordino.evaluate.metrics.text import (
    ErrorCounts,
    character_errors,
    characters,
    normalised,
    total_errors,
    word_errors,
    words,
)

sentences = st.lists(st.sampled_from("abc"), max_size=8).map(" ".join)


def distance(reference, recognised):
    """Least number of edits, by the table."""
    row = list(range(len(recognised) + 1))
    for number, said in enumerate(reference, 1):
        above, row = row, [number]
        for place, heard in enumerate(recognised, 1):
            row.append(min(above[place] + 1, row[-1] + 1, above[place - 1] + (said != heard)))
    return row[-1]


@settings(deadline=None)
@given(sentences, sentences)
def test_errors_are_the_fewest_edits_and_add_up(reference, recognised):
    found = word_errors(reference, recognised)
    said, heard = reference.split(), recognised.split()
    assert found.errors == distance(said, heard)
    assert found.length == len(said)
    assert len(heard) == len(said) - found.deletions + found.insertions
    assert min(found.substitutions, found.deletions, found.insertions) >= 0
    joined = character_errors(reference, recognised)
    assert (joined.errors, joined.length) == (found.errors, found.length)


@pytest.mark.parametrize(
    ("reference", "recognised", "counts"),
    [
        ("a b c", "a b c", (0, 0, 0)),
        ("a b c", "a x c", (1, 0, 0)),
        ("a b c", "a c", (0, 1, 0)),
        ("a b c", "a b b c", (0, 0, 1)),
        ("a b c", "", (0, 3, 0)),
        ("", "a b", (0, 0, 2)),
        ("a b c d e", "x b d e f g", (1, 1, 2)),
    ],
)
def test_kinds_of_errors(reference, recognised, counts):
    found = word_errors(reference, recognised)
    assert (found.substitutions, found.deletions, found.insertions) == counts


def test_rates_are_of_sums_and_not_means_of_rates():
    total = total_errors(["a b c d e f g h", "a"], ["a b c d e f g h", "x"])
    assert total == ErrorCounts(1, 0, 0, 9)
    assert total.rate == 1 / 9
    assert total_errors(["东京", "京"], ["东", "京"], character_errors).rate == 1 / 3
    assert total_errors([], []) == ErrorCounts()
    assert word_errors("a", "b c d").rate == 3.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, WORLD!", "hello world"),
        ("don't don\u2019t don\u02bct dont", "dont dont dont dont"),
        ("l'\u00e9t\u00e9 e\u0301", "l\u00e9t\u00e9 \u00e9"),
        ("\uff21\uff22\uff43\u3000\uff11", "abc 1"),
        ("\ufb01ne", "fine"),
        ("well-known \u2014 e.g. 3.5 %", "well known e g 3 5"),
        ("\u00ab Stra\u00dfe \u00bb\t\n", "stra\u00dfe"),
        ("\uff76\uff9e", "\u30ac"),
        ("\u0939\u093f\u0928\u094d\u0926\u0940\u0964", "\u0939\u093f\u0928\u094d\u0926\u0940"),
        ("\u0130", "i\u0307"),
        ("\u4f60\u597d\uff0c\u4e16\u754c\u3002", "\u4f60\u597d \u4e16\u754c"),
        ("\u2122 5 \u33d2", "tm 5 log"),
        ("a + b = c, $5", "a b c 5"),
        ("T\u0308", "\u1e97"),
        ("...", ""),
    ],
)
def test_normalised_text(text, expected):
    assert normalised(text) == expected
    assert normalised(expected) == expected


@settings(deadline=None)
@given(st.text())
def test_normalising_twice_changes_nothing(text):
    once = normalised(text)
    assert normalised(once) == once
    assert characters(text) == list(once.replace(" ", ""))
    assert "".join(words(text)) == once.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\u6211\u7231Python", ["\u6211", "\u7231", "python"]),
        ("\u30b3\u30fc\u30d2\u30fc\u3092", list("\u30b3\u30fc\u30d2\u30fc\u3092")),
        ("\u4eba\u3005\u3005", ["\u4eba", "\u3005", "\u3005"]),
        ("\U00020000\U00020001", ["\U00020000", "\U00020001"]),
        ("\uc548\ub155 \ud558\uc138\uc694", ["\uc548\ub155", "\ud558\uc138\uc694"]),
        (
            "\u043f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
            ["\u043f\u0440\u0438\u0432\u0435\u0442", "\u043c\u0438\u0440"],
        ),
        ("\u0e01\u0e32", ["\u0e01", "\u0e32"]),
        ("\u3042\u3044 \u3046", ["\u3042", "\u3044", "\u3046"]),
    ],
)
def test_scripts_without_spaces_are_scored_by_characters(text, expected):
    assert words(text) == expected


def test_lists_of_two_lengths_are_refused():
    with pytest.raises(UsageError, match="2 references and 1 recognised"):
        total_errors(["a", "b"], ["a"])


def test_an_empty_reference_has_no_rate():
    with pytest.raises(UsageError, match="holds no words"):
        _ = word_errors("...", "a").rate


def test_without_the_package_it_says_what_to_install(monkeypatch):
    whole = builtins.__import__

    def refuse(name, *rest, **named):
        if name.startswith("rapidfuzz"):
            raise ImportError(name)
        return whole(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(UsageError, match=r"pip install 'sordino\[evaluate\]'"):
        word_errors("a", "b")
