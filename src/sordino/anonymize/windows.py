"""Work on an endless signal as if it were whole: overlapping windows with exact joins.

A signal is a sequence of `Piece`s: several tracks (samples, pitch, features) over the same time.
Time is counted in units of 80 ms, which hold a whole number of samples and of frames of every
network. What is put into a window is decided by where it lies in the signal and never by how the
signal arrived.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Tracks = Mapping[str, Array]

RATE = 16_000
UNIT = 1280
FRAME = 160
FRAMES = UNIT // FRAME

WAVE = "wave"
# Shorter signals are filled up with silence: networks refuse what is shorter than their filters.
_LEAST = 8


@dataclass(frozen=True)
class Piece:
    """A stretch of a signal.

    Attributes:
        units: its length.
        tracks: by name, shape (channels, units * n, ...), n depending on the track.
        last: whether the signal ends with it.
    """

    units: int
    tracks: Tracks
    last: bool = False

    def part(self, start: int, stop: int) -> Piece:
        """The units from `start` to before `stop`; the last one only where it reaches the end."""
        tracks = {name: self.cut(track, start, stop) for name, track in self.tracks.items()}
        return Piece(stop - start, tracks, last=self.last and stop == self.units)

    def cut(self, track: Array, start: int, stop: int) -> Array:
        """Units of an array that covers the piece, shape (channels, units * n, ...)."""
        rate, rest = divmod(track.shape[1], self.units)
        if rest:
            raise ValueError(f"{track.shape[1]} values do not cover {self.units} units")
        return track[:, start * rate : stop * rate]

    def joined(self, following: Piece) -> Piece:
        """This piece and the one after it as one."""
        tracks = {
            name: np.concatenate([track, following.tracks[name]], axis=1)
            for name, track in self.tracks.items()
        }
        return Piece(self.units + following.units, tracks, last=following.last)

    def changed(self, new: Tracks, without: tuple[str, ...] = ()) -> Piece:
        """With other or more tracks, and without some."""
        kept = {name: track for name, track in self.tracks.items() if name not in without}
        return Piece(self.units, {**kept, **new}, self.last)


@dataclass(frozen=True)
class Window:
    """What a function sees: a stretch to be done, and what lies around it.

    Attributes:
        piece: all of it.
        start: number of its first unit in the signal.
        lead: units before the stretch.
        keep: units of the stretch.
    """

    piece: Piece
    start: int
    lead: int
    keep: int

    @property
    def tracks(self) -> Tracks:
        """The tracks over the whole window."""
        return self.piece.tracks

    def kept(self, track: Array) -> Array:
        """The stretch, from an array over the whole window, shape (channels, units * n, ...)."""
        return self.piece.cut(track, self.lead, self.lead + self.keep)

    def stretch(self) -> Piece:
        """What is to be done, without what lies around it."""
        return self.piece.part(self.lead, self.lead + self.keep)


Function = Callable[[Window], Tracks]


def cells(blocks: Iterable[npt.NDArray[np.floating]], units: int) -> Iterator[Piece]:
    """Cut a signal at fixed times, however it arrives.

    Args:
        blocks: arrays (channels, samples) at 16 kHz, of any lengths.
        units: length of a piece.

    Yields:
        Pieces with the track "wave" in float32. The last is filled up with silence to a whole
        unit, and a signal of less than 0.64 s to that length.

    Example:
        >>> [(piece.units, piece.last) for piece in cells([np.zeros((1, 30000))] * 2, 20)]
        [(20, False), (20, False), (7, True)]
    """
    size = units * UNIT
    held: list[Array] = []
    count, first = 0, True
    for block in blocks:
        held.append(np.array(block, dtype=np.float32))
        count += block.shape[1]
        # The last piece must be known as such, so none goes before there is more.
        if count > (max(size, _LEAST * UNIT) if first else size):
            joined = np.concatenate(held, axis=1)
            whole = (count - 1) // size * size
            for start in range(0, whole, size):
                yield Piece(units, {WAVE: joined[:, start : start + size]})
            held, count, first = [joined[:, whole:]], count - whole, False
    if count:
        joined = np.concatenate(held, axis=1)
        length = max(-(-count // UNIT), _LEAST if first else 1)
        filled = np.pad(joined, ((0, 0), (0, length * UNIT - count)))
        yield Piece(length, {WAVE: filled}, last=True)


def windowed(
    pieces: Iterable[Piece],
    function: Function,
    *,
    before: int,
    after: int,
    most: int,
    drop: tuple[str, ...] = (),
) -> Iterator[Piece]:
    """Apply a function to windows that overlap as far as it sees.

    A function whose results depend on nothing outside `before` and `after` gives what it would
    give for the whole signal, where the signal's ends are the windows' too.

    Args:
        pieces: a signal.
        function: takes a `Window`, gives tracks over its stretch; called in the order of time.
        before: units that it sees before the stretch; fewer at the start of the signal.
        after: units that it sees after the stretch; fewer at the end.
        most: the longest stretch, in units.
        drop: tracks that are not needed any more.

    Yields:
        The signal with the function's tracks.

    Example:
        >>> signal = np.arange(40 * UNIT, dtype=np.float32)[None]
        >>> def mean(window):
        ...     smooth = np.convolve(window.tracks["wave"][0], np.ones(101) / 101, "same")
        ...     return {"wave": window.kept(smooth[None])}
        >>> whole, cut = (
        ...     np.concatenate([piece.tracks["wave"] for piece in windowed(
        ...         cells([signal], units), mean, before=1, after=1, most=units)], axis=1)
        ...     for units in (40, 7)
        ... )
        >>> bool(np.allclose(whole, cut))
        True
    """
    held: Piece | None = None
    start = done = 0
    for piece in pieces:
        held = piece if held is None else held.joined(piece)
        end = start + held.units
        limit = end if held.last else end - after
        while done < limit:
            keep = min(most, limit - done)
            first = max(0, done - before)
            around = held.part(first - start, min(end, done + keep + after) - start)
            window = Window(around, first, done - first, keep)
            yield window.stretch().changed(function(window), drop)
            done += keep
        past = max(start, done - before)
        held = held.part(past - start, held.units)
        start = past


def gridded(
    pieces: Iterable[Piece],
    function: Function,
    *,
    kept: int,
    around: int,
    fade: int,
    drop: tuple[str, ...] = (),
) -> Iterator[Piece]:
    """Apply a function that sees everything to windows at fixed times, and fade over at joins.

    For functions whose every result depends on the whole signal: what they give for windows is
    not what they would give for the whole, but is always the same.

    Args:
        pieces: a signal.
        function: takes a `Window`, gives tracks over its stretch.
        kept: units from one join to the next.
        around: units that the function sees on each side of that.
        fade: units on each side of a join over which results fade into the next ones; less than
            `around`. 0 for a hard join.
        drop: tracks that are not needed any more.

    Yields:
        The signal with the function's tracks.

    Example:
        >>> def unchanged(window):
        ...     return {"wave": window.kept(window.tracks["wave"])}
        >>> ramp = np.arange(50 * UNIT, dtype=np.float32)[None]
        >>> parts = gridded(cells([ramp], 9), unchanged, kept=20, around=4, fade=2)
        >>> joined = np.concatenate([piece.tracks["wave"] for piece in parts], axis=1)
        >>> bool(np.allclose(joined, ramp))
        True
    """
    held: Piece | None = None
    start = join = 0
    tail: Tracks = {}
    for piece in pieces:
        held = piece if held is None else held.joined(piece)
        while held.last or start + held.units > join + kept + around:
            end, total = join + kept, start + held.units
            # What is left at the end goes with the window that hears it anyway.
            final = held.last and total <= end + around
            first, begin = max(0, join - around), max(0, join - fade)
            stop, last = (total, total) if final else (end + around, end + fade)
            window = Window(
                held.part(first - start, stop - start), first, begin - first, last - begin
            )
            results = {name: _faded(tail, name, new) for name, new in function(window).items()}
            whole = Piece(last - begin, results)
            reached = total if final else end - fade
            done = held.part(begin - start, reached - start)
            yield done.changed(whole.part(0, reached - begin).tracks, drop)
            if final:
                break
            tail = whole.part(reached - begin, last - begin).tracks
            join = end
            past = max(0, join - around)
            held = held.part(past - start, held.units)
            start = past


def _faded(tail: Tracks, name: str, new: Array) -> Array:
    old = tail.get(name)
    if old is None or not old.size:
        return new
    size = min(old.shape[1], new.shape[1])
    share = ((np.arange(size) + 0.5) / old.shape[1]).astype(new.dtype)
    share = share.reshape(1, size, *[1] * (new.ndim - 2))
    return np.concatenate([old[:, :size] * (1 - share) + new[:, :size] * share, new[:, size:]], 1)


def each_channel(function: Callable[[dict[str, Array]], Array], tracks: Tracks) -> Array:
    """Apply a function to each channel; only once where channels are equal.

    Args:
        function: takes the tracks of one channel, shape (n, ...), gives one, shape (m, ...).
        tracks: shape (channels, n, ...).

    Returns:
        Shape (channels, m, ...).

    Example:
        >>> seen = []
        >>> each_channel(lambda own: seen.append(1) or own["x"], {"x": np.ones((3, 2))}).shape
        (3, 2)
        >>> len(seen)
        1
    """
    channels = len(next(iter(tracks.values())))
    results: list[Array] = []
    for channel in range(channels):
        own = {name: track[channel] for name, track in tracks.items()}
        for earlier in range(channel):
            if all(np.array_equal(tracks[name][earlier], own[name]) for name in own):
                results.append(results[earlier])
                break
        else:
            results.append(function(own))
    return np.stack(results)
