"""Unit errors in a run: units are found in other people's speech, then all is spelt in them."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, SordinoError, UsageError
from sordino.evaluate.anonymization.finished import Outcome, work_off
from sordino.evaluate.anonymization.hearings import Bench
from sordino.evaluate.anonymization.speech import fingerprint
from sordino.evaluate.anonymization.subset import spread
from sordino.evaluate.results import Quality
from sordino.evaluate.utility.transcriber import Transcriber
from sordino.evaluate.utility.unit_errors import (
    ceiling_rows,
    loss_rows,
    of_others,
    unit_distance,
    unit_rows,
    with_faint_noise,
)
from sordino.evaluate.utility.units import (
    UnitListener,
    found_units,
    frames_key,
    spread_frames,
    steadied,
)

# At most, of other people's speech; frames are of all utterances together.
_UTTERANCES, _FRAMES = 100, 20_000

_Pairs = Sequence[tuple[Utterance, Any]]


@dataclass(frozen=True)
class _Reference:
    """An original, and what other changes than a system's would cost.

    Attributes:
        units: of the original.
        floor: units that faint noise changes.
        ceiling: units that are others where somebody says something else; None where nobody does.
    """

    units: Sequence[int]
    floor: int
    ceiling: int | None


@dataclass
class UnitErrors:
    """Spells speech in units and compares it with its original.

    Attributes:
        listener: hears units.
    """

    listener: UnitListener
    _references: dict[str, _Reference] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Depends on everything that decides an outcome, but for the recordings."""
        return self.listener.key

    @property
    def work(self) -> Callable[[Utterance, Utterance], list[list[int]]]:
        """An utterance and its original to its units; to those with faint noise, too, if it is it.

        Raises:
            AudioError: an original is digital silence.
        """
        return partial(_spelt, self.listener)

    def original_rows(self, system: str, pairs: _Pairs) -> Iterable[Quality]:
        """Figures of the originals, with which all others are compared: what noise would cost, and
        what other words would.

        Args:
            system: what results call the originals.
            pairs: utterances and what `work` gave.
        """
        utterances = [utterance for utterance, _ in pairs]
        units = [plain for _, (plain, _) in pairs]
        others = of_others(utterances, units)
        for utterance, (plain, noisy), other in zip(
            utterances, (found for _, found in pairs), others, strict=True
        ):
            self._references[utterance.id] = _Reference(
                plain,
                unit_distance(plain, noisy),
                None if other is None else unit_distance(plain, other),
            )
        known = [(u, self._references[u.id]) for u in utterances]
        floors = [reference.floor for _, reference in known]
        yield from unit_rows(system, utterances, floors, _lengths(known))
        below = [
            (utterance, reference, reference.ceiling)
            for utterance, reference in known
            if reference.ceiling is not None
        ]
        yield from ceiling_rows(
            system,
            [utterance for utterance, _, _ in below],
            [ceiling for _, _, ceiling in below],
            _lengths((utterance, reference) for utterance, reference, _ in below),
        )

    def rows(self, system: str, pairs: _Pairs) -> Iterable[Quality]:
        """Figures of a system, after those of the originals.

        Args:
            system: whose.
            pairs: original utterances and what `work` gave of the system's.
        """
        heard = [
            (utterance, reference, unit_distance(reference.units, found[0]))
            for utterance, found in pairs
            if (reference := self._references.get(utterance.id)) is not None
        ]
        known = [(utterance, reference) for utterance, reference, _ in heard]
        errors = [distance for *_, distance in heard]
        yield from unit_rows(system, [u for u, _ in known], errors, _lengths(known))
        below = [
            (utterance, distance, reference.floor, reference.ceiling)
            for utterance, reference, distance in heard
            if reference.ceiling is not None
        ]
        yield from loss_rows(
            system,
            [utterance for utterance, *_ in below],
            [distance for _, distance, _, _ in below],
            [floor for *_, floor, _ in below],
            [ceiling for *_, ceiling in below],
        )


def learn_units(
    others: Iterable[Utterance], encoder: Transcriber, bench: Bench, *, seed: int
) -> UnitErrors:
    """Find units in original speech.

    Args:
        others: speech that is not measured: where units are found in what is measured, they are
            those of single recordings, and hardly change with the voice.
        encoder: hears frames.
        bench: where the work is done.
        seed: another one gives another sample of the speech.

    Raises:
        UsageError: there is too little speech, none can be heard, or a package is not installed.
    """
    chosen = spread(others, _UTTERANCES, seed)
    if not chosen:
        raise UsageError("units are found in speech of other people, and there is none")
    jobs = [_Sampling(utterance, encoder, _FRAMES // len(chosen)) for utterance in chosen]
    bench.told.stage("units of speech are found", len(jobs))
    outcomes = work_off(
        jobs,
        _sampled,
        bench.finished("frames"),
        workers=bench.workers,
        scratch=bench.scratch,
        tell=bench.told.step,
    )
    frames = [_unpacked(outcome) for outcome in outcomes if "error" not in outcome]
    if not frames:
        raise UsageError(f"no speech to find units in can be heard: {outcomes[0]['error']}")
    return UnitErrors(UnitListener(encoder, found_units(np.concatenate(frames))))


@dataclass(frozen=True)
class _Sampling:
    """An utterance whose frames are wanted, at most so many."""

    utterance: Utterance
    encoder: Transcriber
    count: int

    @property
    def key(self) -> str:
        return f"{frames_key(self.encoder)} {self.count} {fingerprint(self.utterance)}"


def _sampled(job: _Sampling, advance: Callable[[float], None]) -> Outcome:
    del advance
    try:
        frames = job.encoder.frames(job.utterance.read())
        if not len(frames):
            raise AudioError(f"{job.utterance.path}: is digital silence")
    except SordinoError as error:
        return {"error": str(error)}
    kept = spread_frames(steadied(frames), job.count)
    packed = base64.b64encode(kept.astype("<f2").tobytes()).decode("ascii")
    return {"frames": packed, "dimension": kept.shape[1]}


def _unpacked(outcome: Outcome) -> npt.NDArray[np.float32]:
    halves = np.frombuffer(base64.b64decode(str(outcome["frames"])), dtype="<f2")
    return halves.reshape(-1, int(str(outcome["dimension"]))).astype(np.float32)


def _spelt(listener: UnitListener, utterance: Utterance, original: Utterance) -> list[list[int]]:
    recording = utterance.read()
    plain = listener.heard(recording)
    if not _is_same(utterance, original):
        return [list(plain)]
    if not plain:
        raise AudioError(f"{utterance.path}: is digital silence: it has no units")
    return [list(plain), list(listener.heard(with_faint_noise(recording)))]


def _is_same(utterance: Utterance, original: Utterance) -> bool:
    """Whether both are the same stretch of the same file."""
    stretch = (utterance.path, utterance.start, utterance.end)
    return stretch == (original.path, original.start, original.end)


def _lengths(known: Iterable[tuple[Utterance, _Reference]]) -> list[int]:
    return [len(reference.units) for _, reference in known]
