"""Which variants of a system are compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import PurePath

from sordino.errors import UsageError


@dataclass(frozen=True)
class Choice:
    """One value of a factor, with further settings that go with it.

    Attributes:
        name: the value; None for the system's default.
        settings: by their names.
    """

    name: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """The value and its settings, for people; a path by its last part."""
        shown = [f"{name} {value}" for name, value in self.settings.items()]
        return " ".join([*([PurePath(self.name).name] if self.name else []), *shown])


@dataclass(frozen=True)
class Variant:
    """One system of an ablation.

    Attributes:
        label: as results call it.
        voice: the networks and the pool.
        strategy: how pseudo-speakers are chosen.
        prosody: what becomes of the pitch.
        settings: all of the system's settings that are given.
    """

    label: str
    voice: str
    strategy: Choice
    prosody: Choice
    settings: Mapping[str, object]


def variants(
    voices: Sequence[str],
    strategies: Sequence[Choice] = (),
    prosodies: Sequence[Choice] = (),
    common: Mapping[str, object] | None = None,
    *,
    full: bool = False,
) -> tuple[Variant, ...]:
    """The systems to compare.

    Args:
        voices: names or folders of trained voices, at least one. Content and speaker vector are
            compared by voices that were trained with different ones.
        strategies: for pseudo-speakers; none for the system's default.
        prosodies: for the pitch; none for the system's default.
        common: settings of all systems.
        full: all combinations; else one factor at a time is changed, the others being the first.

    Raises:
        UsageError: there is no voice, a setting is given twice, or a value is.

    Example:
        >>> found = variants(["a", "b"], [Choice("density"), Choice("average")])
        >>> [variant.label for variant in found]
        ['a, density', 'b, density', 'a, average']
    """
    if not voices:
        raise UsageError("an ablation needs at least one voice")
    factors = (
        [Choice(voice) for voice in voices],
        list(strategies) or [Choice()],
        list(prosodies) or [Choice()],
    )
    for values in factors:
        if twice := [label for label, count in _counts(values).items() if count > 1]:
            raise UsageError(f"{twice[0]!r} is given twice; give each value once")
    chosen = product(*factors) if full else _one_at_a_time(*factors)
    return tuple(
        _variant(voice, strategy, prosody, common or {}) for voice, strategy, prosody in chosen
    )


def _counts(values: Sequence[Choice]) -> Counter[str]:
    return Counter(value.label for value in values)


def _one_at_a_time(
    voices: Sequence[Choice], strategies: Sequence[Choice], prosodies: Sequence[Choice]
) -> Iterator[tuple[Choice, Choice, Choice]]:
    (voice, *voices), (strategy, *strategies), (prosody, *prosodies) = voices, strategies, prosodies
    yield voice, strategy, prosody
    yield from ((other, strategy, prosody) for other in voices)
    yield from ((voice, other, prosody) for other in strategies)
    yield from ((voice, strategy, other) for other in prosodies)


def _variant(
    voice: Choice, strategy: Choice, prosody: Choice, common: Mapping[str, object]
) -> Variant:
    parts = [{"voice": voice.name}, common]
    for factor, choice in (("strategy", strategy), ("prosody", prosody)):
        parts += [{factor: choice.name} if choice.name else {}, choice.settings]
    settings: dict[str, object] = {}
    for part in parts:
        if both := settings.keys() & part.keys():
            raise UsageError(f"the setting {min(both)} is given twice for one system")
        settings |= part
    label = ", ".join(filter(None, (voice.label, strategy.label, prosody.label)))
    return Variant(label, str(voice.name), strategy, prosody, settings)
