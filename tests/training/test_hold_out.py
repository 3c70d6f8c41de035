from __future__ import annotations

import pytest

from sordino.corpus.corpus import Corpus
from sordino.errors import UsageError
from sordino.training.hold_out import hold_out, thinned
from tests.training.many_speakers import many, named


class TestHoldOut:
    def test_parts_by_speaker_and_loses_nothing(self):
        corpus = Corpus(tuple(many()))
        heard, held = hold_out(corpus, 0.2, 0)
        assert not set(heard.speakers) & set(held.speakers)
        assert {*heard, *held} == set(corpus)
        assert len(heard) + len(held) == len(corpus)

    def test_takes_the_share_of_each_collection_and_sex(self):
        _, held = hold_out(Corpus(tuple(many())), 0.2, 0)
        for corpus in "AB":
            for sex in "FM":
                assert len(held.select(corpus=corpus, sex=sex).speakers) == 4

    def test_order_does_not_matter(self):
        utterances = many()
        forwards = hold_out(Corpus(tuple(utterances)), 0.2, 0)[1]
        backwards = hold_out(Corpus(tuple(reversed(utterances))), 0.2, 0)[1]
        assert forwards.speakers == backwards.speakers

    def test_speakers_of_other_collections_move_none(self):
        before = hold_out(Corpus(tuple(many())), 0.2, 0)[1]
        after = hold_out(Corpus(tuple(many(corpora="ABC"))), 0.2, 0)[1]
        assert set(after.speakers) - set(before.speakers) == {
            speaker for speaker in after.speakers if speaker.startswith("C")
        }

    @pytest.mark.parametrize("added", range(12))
    def test_speaker_that_is_added_moves_at_most_one_other(self, added):
        utterances = many(20, "A")
        before = set(hold_out(Corpus(tuple(utterances)), 0.2, 0)[1].speakers)
        more = (*utterances, *named(f"new{added}", "F", "A"))
        after = set(hold_out(Corpus(more), 0.2, 0)[1].speakers)
        assert len((before ^ after) - {f"new{added}"}) <= 1

    def test_seeds_choose_others(self):
        corpus = Corpus(tuple(many()))
        chosen = {hold_out(corpus, 0.2, seed)[1].speakers for seed in range(5)}
        assert len(chosen) == 5

    @pytest.mark.parametrize("share", [0.01, 0.99])
    def test_sides_that_would_be_empty_are_refused(self, share):
        corpus = Corpus(tuple(many(3, "A")))
        with pytest.raises(UsageError, match="6 speakers cannot be parted"):
            hold_out(corpus, share, 0)


class TestThinned:
    def test_keeps_the_order_and_the_number(self):
        utterances = many()
        some = thinned(utterances, 50, 0)
        assert len(some) == 50
        assert some == [utterance for utterance in utterances if utterance in set(some)]
        assert thinned(utterances, 10**6, 0) == utterances
        assert set(thinned(utterances, 20, 0)) < set(some)
