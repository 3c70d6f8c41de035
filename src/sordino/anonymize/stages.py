"""The steps from speech to another voice, each from a stream of pieces to a stream of pieces."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.input_level import OPEN
from sordino.anonymize.prosody import Contour, interpolate
from sordino.anonymize.windows import (
    FRAME,
    FRAMES,
    RATE,
    UNIT,
    WAVE,
    Array,
    Function,
    Piece,
    Tracks,
    Window,
    each_channel,
    gridded,
    windowed,
)
from sordino.dsp.excitation import harmonic, noise

if TYPE_CHECKING:
    from sordino.anonymize.voice import Voice

FloatArray = npt.NDArray[np.float64]

CONTENT, F0, HARMONIC, NOISE, SPEAKER = "content", "f0", "harmonic", "noise", "speaker"
EXCITATIONS = frozenset({HARMONIC, NOISE})

# Networks without bounds hear 16 s at a time, of which 12 s are kept.
_KEPT, _AROUND = 150, 25
_CONTENT_FADE, _WAVE_FADE = 3, 1


def spoken(pieces: Iterable[Piece], voice: Voice, most: int) -> Iterator[Piece]:
    """Add the track "content", shape (channels, frames, numbers).

    Args:
        pieces: a signal with "wave".
        voice: has the content network.
        most: the longest stretch in a window, in units.
    """

    def listen(window: Window) -> Tracks:
        found = each_channel(lambda own: voice.content(own[WAVE]), {WAVE: window.tracks[WAVE]})
        return {CONTENT: window.kept(found)}

    return _overlapping(pieces, listen, voice.content_context, most, _CONTENT_FADE)


def tracked(pieces: Iterable[Piece], voice: Voice, most: int) -> Iterator[Piece]:
    """Add the track "f0", shape (channels, frames of 10 ms), in hertz, 0 where unvoiced.

    Args:
        pieces: a signal with "wave".
        voice: has the tracker.
        most: the longest stretch in a window, in units.
    """
    tracker = voice.tracker
    context = None if tracker.context is None else -(-tracker.context // UNIT)

    def track(window: Window) -> Tracks:
        found = each_channel(lambda own: tracker.track(own[WAVE]), {WAVE: window.tracks[WAVE]})
        return {F0: window.kept(found)}

    # A pitch between those of two windows would be that of nobody.
    return _overlapping(pieces, track, context, most, fade=0)


def converted(pieces: Iterable[Piece], contour: Callable[[], Contour]) -> Iterator[Piece]:
    """Change the track "f0".

    Args:
        pieces: a signal with "f0".
        contour: makes what converts the track of a channel.
    """
    contours: list[Contour] = []
    held: Piece | None = None
    ready: FloatArray | None = None
    for piece in pieces:
        track = piece.tracks[F0]
        contours = contours or [contour() for _ in track]
        fresh = np.stack(
            [own.process(row, piece.last) for own, row in zip(contours, track, strict=True)]
        )
        held = piece if held is None else held.joined(piece)
        ready = fresh if ready is None else np.concatenate([ready, fresh], axis=1)
        units = ready.shape[1] // FRAMES
        if units:
            yield held.part(0, units).changed({F0: ready[:, : units * FRAMES]})
            held, ready = held.part(units, held.units), ready[:, units * FRAMES :]


def warped(
    pieces: Iterable[Piece], times: Callable[[int, int, float], FloatArray], most_shift: float
) -> Iterator[Piece]:
    """Shift content, pitch and gate in time, by a shift that changes smoothly.

    Args:
        pieces: a signal with "content", "open" and perhaps "f0".
        times: takes the number of a frame, how many, and seconds in a frame; gives the places in
            the signal, in frames, that they are taken from.
        most_shift: the most that a place is off, in seconds.
    """
    # A frame more on either side to interpolate with.
    context = math.ceil((most_shift * RATE + 2 * UNIT / FRAMES) / UNIT)

    def warp(window: Window) -> Tracks:
        def places(track: Array) -> FloatArray:
            rate = track.shape[1] // window.piece.units
            first = (window.start + window.lead) * rate
            frames = times(first, window.keep * rate, UNIT / RATE / rate)
            return np.asarray(frames - window.start * rate)

        changed: dict[str, Array] = {}
        for name in {CONTENT, F0} & window.tracks.keys():
            track = window.tracks[name]
            wanted = places(track)
            changed[name] = np.stack([interpolate(own, wanted) for own in track])
        opened = window.tracks[OPEN]
        nearest = np.rint(places(opened)).astype(np.int64)
        changed[OPEN] = opened[:, np.clip(nearest, 0, opened.shape[1] - 1)]
        return changed

    return windowed(pieces, warp, before=context, after=context, most=2**31)


def excited(pieces: Iterable[Piece], wants: frozenset[str], seed: int) -> Iterator[Piece]:
    """Add the tracks "harmonic" and "noise", as far as they are wanted.

    Args:
        pieces: a signal with "f0", where "harmonic" is wanted.
        wants: names of tracks.
        seed: of the noise.
    """
    phases: dict[int, float] = {}

    def excite(window: Window) -> Tracks:
        new: dict[str, Array] = {}
        channels = len(window.tracks[OPEN])
        if HARMONIC in wants:
            rows = []
            for channel, track in enumerate(window.tracks[F0]):
                start = window.lead * FRAMES
                stop = start + window.keep * FRAMES
                row, phases[channel] = harmonic(
                    track[start:stop],
                    hop=FRAME,
                    sample_rate=RATE,
                    before=float(track[start - 1]) if start else 0.0,
                    after=float(track[stop]) if stop < track.size else 0.0,
                    phase=phases.get(channel, 0.0),
                )
                rows.append(row.astype(np.float32))
            new[HARMONIC] = np.stack(rows)
        if NOISE in wants:
            start = (window.start + window.lead) * UNIT
            row = noise(start, window.keep * UNIT, seed).astype(np.float32)
            new[NOISE] = np.broadcast_to(row, (channels, row.size))
        return new

    return windowed(pieces, excite, before=1, after=1, most=2**31)


def voiced(
    pieces: Iterable[Piece], voice: Voice, speaker: FloatArray, most: int
) -> Iterator[Piece]:
    """Replace "wave" by the generator's, and drop what it is made from.

    Args:
        pieces: a signal with the tracks that the generator wants.
        voice: has the generator.
        speaker: vector of the pseudo-speaker, shape (dimension,).
        most: the longest stretch in a window, in units.
    """
    tracks = tuple(sorted(voice.wants - {SPEAKER}))

    def speak(window: Window) -> Tracks:
        inputs = {name: window.tracks[name] for name in tracks}
        found = each_channel(lambda own: voice.speech({**own, SPEAKER: speaker}), inputs)
        return {WAVE: window.kept(found)}

    context = voice.generator_context
    unneeded = (CONTENT, F0, HARMONIC, NOISE)
    return _overlapping(pieces, speak, context, most, _WAVE_FADE, unneeded)


def _overlapping(
    pieces: Iterable[Piece],
    function: Function,
    context: int | None,
    most: int,
    fade: int,
    drop: tuple[str, ...] = (),
) -> Iterator[Piece]:
    if context is None:
        return gridded(pieces, function, kept=_KEPT, around=_AROUND, fade=fade, drop=drop)
    return windowed(pieces, function, before=context, after=context, most=most, drop=drop)
