"""A collection of utterances."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from sordino.corpus.utterance import Utterance
from sordino.errors import UsageError

_SHOWN = 8


@dataclass(frozen=True)
class Corpus:
    """Utterances, in the order in which they were listed or found.

    Attributes:
        utterances: at least one; their ids are unique.

    Raises:
        UsageError: there is none, two have the same id, or a speaker is both F and M.

    Example:
        >>> ann = Utterance("a1", Path("a1.wav"), "ann", sex="F")
        >>> bob = Utterance("b1", Path("b1.wav"), "bob", sex="M")
        >>> corpus = Corpus((ann, bob))
        >>> corpus.speakers
        ('ann', 'bob')
        >>> len(corpus.select(sex="F"))
        1
    """

    utterances: tuple[Utterance, ...]

    def __post_init__(self) -> None:
        if not self.utterances:
            raise UsageError("there are no utterances")
        known: set[str] = set()
        sexes: dict[str, str] = {}
        for utterance in self.utterances:
            if utterance.id in known:
                raise UsageError(f"two utterances have the id {utterance.id!r}")
            known.add(utterance.id)
            sex, speaker = utterance.sex, utterance.speaker
            if sex is not None and sexes.setdefault(speaker, sex) != sex:
                raise UsageError(
                    f"speaker {speaker} is both F and M (see utterance {utterance.id})"
                )

    def __len__(self) -> int:
        return len(self.utterances)

    def __iter__(self) -> Iterator[Utterance]:
        return iter(self.utterances)

    @property
    def speakers(self) -> tuple[str, ...]:
        """The ids of all speakers, sorted."""
        return tuple(sorted({utterance.speaker for utterance in self.utterances}))

    def by_id(self) -> Mapping[str, Utterance]:
        """Each utterance by its id."""
        return {utterance.id: utterance for utterance in self.utterances}

    def by_speaker(self) -> Mapping[str, tuple[Utterance, ...]]:
        """The utterances of each speaker, speakers sorted."""
        groups: dict[str, list[Utterance]] = {speaker: [] for speaker in self.speakers}
        for utterance in self.utterances:
            groups[utterance.speaker].append(utterance)
        return {speaker: tuple(group) for speaker, group in groups.items()}

    def select(
        self,
        *,
        split: str | Collection[str] | None = None,
        corpus: str | Collection[str] | None = None,
        sex: str | Collection[str] | None = None,
        language: str | Collection[str] | None = None,
        speaker: str | Collection[str] | None = None,
    ) -> Corpus:
        """The utterances that have all of the given properties.

        Args:
            split: one value or several of which any will do; None for all.
            corpus: likewise.
            sex: likewise.
            language: likewise.
            speaker: likewise.

        Raises:
            UsageError: no utterance has one of the values, or none has all properties together.
        """
        filters = {
            "split": split,
            "corpus": corpus,
            "sex": sex,
            "language": language,
            "speaker": speaker,
        }
        wanted = {name: _values(value) for name, value in filters.items() if value is not None}
        for name, values in wanted.items():
            self._require(name, values)
        chosen = tuple(
            utterance
            for utterance in self.utterances
            if all(getattr(utterance, name) in values for name, values in wanted.items())
        )
        if not chosen:
            asked = " and ".join(f"{name} {_listed(values)}" for name, values in wanted.items())
            raise UsageError(f"no utterance has {asked}")
        return Corpus(chosen)

    def _require(self, name: str, values: frozenset[str]) -> None:
        there = set(map(attrgetter(name), self.utterances)) - {None}
        if not values:
            raise UsageError(f"no {name} is asked for; name at least one")
        if missing := values - there:
            known = f"there are {_listed(there)}" if there else f"there is no {name} at all"
            raise UsageError(f"no utterance has the {name} {min(missing)!r}; {known}")


def _values(value: str | Collection[str]) -> frozenset[str]:
    return frozenset({value} if isinstance(value, str) else value)


def _listed(values: Collection[str]) -> str:
    shown = sorted(values)[:_SHOWN]
    return ", ".join(shown) + (f" and {len(values) - _SHOWN} more" * (len(values) > _SHOWN))
