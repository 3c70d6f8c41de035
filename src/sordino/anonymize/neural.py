"""The neural anonymizer: what is said, by somebody else.

Networks take speech apart into what is said, the pitch and who speaks, and make speech from the
first two in another voice. Files of any length go through in overlapping windows, in memory that
does not grow; see `sordino.anonymize.windows` and `sordino.anonymize.stages`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from sordino.anonymize.base import Anonymizer, Blocks, Draws, Level
from sordino.anonymize.gate import gated
from sordino.anonymize.input_level import levelled
from sordino.anonymize.prosody import make_prosody, warp_times
from sordino.anonymize.prosody.base import LOOK_AHEAD_S, MOST_LOOK_AHEAD_S
from sordino.anonymize.prosody.duration import LARGEST_SHIFT_S
from sordino.anonymize.pseudo import make_strategy
from sordino.anonymize.pseudo.base import Source, checked_number
from sordino.anonymize.stages import (
    EXCITATIONS,
    F0,
    HARMONIC,
    converted,
    excited,
    spoken,
    tracked,
    voiced,
    warped,
)
from sordino.anonymize.windows import RATE, UNIT, WAVE, Piece, cells
from sordino.audio.resample import at_rate
from sordino.errors import AudioError, UsageError

if TYPE_CHECKING:
    from sordino.speaker.encoders import OnnxEncoder

FloatArray = npt.NDArray[np.float64]

VOICE = "sordino-small"
"""The voice that comes with sordino."""

MIN_WINDOW_S, MAX_WINDOW_S = 0.16, 60.0

_UNIT_S = UNIT / RATE
_LEVEL_AHEAD_S = 1.0
_LISTEN_S = 60
_SEEDS = 2**53


class Neural(Anonymizer):
    """Speech made anew in a voice that nobody has, by networks.

    The networks come in a bundle, the voice. A generator makes speech from what is said, from a
    pitch that is converted to the new voice's, and from the vector of a pseudo-speaker. Everything
    else of the recording is lost: other voices, music, rooms.

    A stream comes out later than it goes in: by `window`, by `lookahead` twice (once by 1 s at
    most), and by what the networks see. Where the pseudo-speaker depends on the source and the
    source is not given, the first minute is heard before anything comes out.

    Args:
        voice: name or folder of a voice, or hub:OWNER/NAME; see `sordino models list`.
        digest: SHA-256 that the voice must have; any if not given.
        strategy: how pseudo-speakers are made from the pool of the voice: "density", "average",
            "orthogonal" or "pool".
        gender: of the pseudo-speaker; "same", "cross", "any", "F" or "M".
        proximity: strategy average: "farthest", "nearest" or "random".
        candidates: strategy average: how many pool speakers to draw from.
        averaged: strategy average: how many of them to average.
        voices: strategy density: how many different voices there are for each sex.
        spread: strategy density: how much voices differ, 1 for as much as real ones.
        turn: strategy orthogonal: "common" or "own".
        prosody: what becomes of the pitch: "copy", "keep", "normalise", "quantise" or "flatten",
            from the most to the least of the source's intonation.
        steps: prosody quantise: semitones from one step to the next.
        jitter: prosody quantise: how far steps move, 0 to 1 of half a step.
        drift: prosody flatten: semitones by which the pitch drifts.
        duration: the most that sounds are shifted in time, in seconds, 0 to 0.5; 0.06 is natural.
        lookahead: seconds of sound that are heard before the pitch is converted, 0 to 60, and
            before the level is judged, 1 at most.
        window: seconds that go through the networks at once, 0.16 to 60; longer is faster and
            takes more memory.
        level: "speaker" or "utterance".

    Raises:
        UsageError: the voice cannot be used, or a setting is out of range.

    Example:
        >>> hum = 0.1 * np.sin(np.arange(16000) * 0.05)
        >>> Neural().anonymize(hum, 16000, speaker="alice", key=b"sixteen bytes or more").shape
        (16000,)

    Source: X. Miao et al., "Language-independent speaker anonymization approach using
    self-supervised pre-trained models", 2022; here with converted pitch.
    """

    name = "neural"
    version = 1
    protection = (
        "No formal guarantee. How well it protects has to be measured for each voice and its"
        " settings; pitch and timing that are kept can tell who speaks."
    )

    def __init__(
        self,
        voice: str = VOICE,
        digest: str | None = None,
        strategy: str = "density",
        gender: str | None = None,
        proximity: str | None = None,
        candidates: float | None = None,
        averaged: float | None = None,
        voices: float | None = None,
        spread: float | None = None,
        turn: str | None = None,
        prosody: str = "normalise",
        steps: float | None = None,
        jitter: float | None = None,
        drift: float | None = None,
        duration: float = 0.0,
        lookahead: float = LOOK_AHEAD_S,
        window: float = 4.0,
        level: Level = "speaker",
    ) -> None:
        from sordino.anonymize.voice import Voice  # ONNX Runtime: only where a voice is used

        super().__init__(level)
        if not isinstance(voice, str) or not voice:
            raise UsageError(
                f"voice {voice!r} is not the name or folder of a voice (see: sordino models list)"
            )
        self._duration = checked_number(duration, "duration", 0.0, LARGEST_SHIFT_S)
        self._lookahead = checked_number(lookahead, "lookahead", 0.0, MOST_LOOK_AHEAD_S)
        self._window = checked_number(window, "window", MIN_WINDOW_S, MAX_WINDOW_S)
        self._given = {
            "gender": gender,
            "proximity": proximity,
            "candidates": candidates,
            "averaged": averaged,
            "voices": voices,
            "spread": spread,
            "turn": turn,
        }
        self._strategy = make_strategy(strategy, **_set(self._given))
        self._tuned = {"steps": steps, "jitter": jitter, "drift": drift}
        self._prosody = make_prosody(prosody, lookahead=self._lookahead, **_set(self._tuned))
        self._place = voice
        self._voice = Voice.load(voice)
        if digest is not None and digest != self._voice.digest:
            raise UsageError(
                f"voice {voice}: is another than the one wanted (digest {self._voice.digest})"
            )

    def parameters(self) -> Mapping[str, object]:
        """See `Anonymizer.parameters`."""
        made = {**dict.fromkeys(self._given), **self._strategy.settings()}
        tuned = {**dict.fromkeys(self._tuned), **self._prosody.settings()}
        return {
            "voice": self._voice.name,
            "digest": self._voice.digest,
            "strategy": self._strategy.name,
            **{name: made[name] for name in self._given},
            "prosody": self._prosody.name,
            **{name: tuned[name] for name in self._tuned},
            "duration": self._duration,
            "lookahead": self._lookahead,
            "window": self._window,
            "level": self.level,
        }

    def resynthesis(self) -> Neural:
        """See `Anonymizer.resynthesis`: the speaker's own vector and pitch."""
        return _OwnVoice(
            self._place,
            self._voice.digest,
            prosody="copy",
            lookahead=self._lookahead,
            window=self._window,
            level=self.level,
        )

    @property
    def needs_source(self) -> bool:
        """See `Anonymizer.needs_source`."""
        return self._strategy.needs_source

    def source_encoder(self) -> OnnxEncoder:
        """See `Anonymizer.source_encoder`."""
        return self._voice.encoder()

    def check(self) -> None:
        """See `Anonymizer.check`: whether the voice's pool suffices."""
        self._strategy.check(self._voice.pool)

    def pseudo_speaker(self, draws: Draws, source: Source | None) -> FloatArray:
        """The vector of a pseudo-speaker, shape (dimension,); a secret."""
        return self._strategy.choose(self._voice.pool, draws, source)

    def transform(self, blocks: Blocks, sample_rate: int, draws: Draws) -> Iterator[FloatArray]:
        """See `Anonymizer.transform`.

        Everything happens at 16 kHz, which removes what lies above 8 kHz.
        """
        return at_rate(blocks, sample_rate, RATE, lambda inner: self._changed(inner, draws))

    def _changed(self, blocks: Blocks, draws: Draws) -> Iterator[FloatArray]:
        source = draws.source
        if self.needs_source and source is None:
            source, blocks = self._heard(blocks)
        vector = self.pseudo_speaker(draws, source)
        received = sent = 0

        def counted() -> Iterator[npt.NDArray[np.floating]]:
            nonlocal received
            for block in blocks:
                received += block.shape[1]
                yield block

        for piece in self._pieces(counted(), vector, draws):
            wave = piece.tracks[WAVE]
            sent += wave.shape[1]
            if piece.last:
                wave = wave[:, : wave.shape[1] - (sent - received)]
            yield wave.astype(np.float64)

    def _pieces(self, blocks: Blocks, vector: FloatArray, draws: Draws) -> Iterator[Piece]:
        voice, wants, most = self._voice, self._voice.wants, -int(-self._window // _UNIT_S)
        ahead = max(1, round(min(self._lookahead, _LEVEL_AHEAD_S) / _UNIT_S))
        pieces = spoken(levelled(cells(blocks, most), ahead), voice, most)
        if wants & {F0, HARMONIC}:
            register = voice.pool.register(vector)
            pieces = tracked(pieces, voice, most)
            pieces = converted(pieces, lambda: self._prosody.contour(register, draws))
        if self._duration:
            pieces = warped(
                pieces,
                lambda start, frames, seconds: warp_times(
                    start, frames, draws, self._duration, frame_s=seconds
                ),
                self._duration,
            )
        if wants & EXCITATIONS:
            pieces = excited(pieces, wants, int(draws.uniform("noise") * _SEEDS))
        return gated(voiced(pieces, voice, vector, most))

    def _heard(self, blocks: Blocks) -> tuple[Source, Blocks]:
        """How the first minute sounds, and the stream with that minute."""
        heard: list[npt.NDArray[np.floating]] = []
        samples = 0
        arriving = iter(blocks)
        for block in arriving:
            heard.append(block.astype(np.float32))
            samples += block.shape[1]
            if samples >= _LISTEN_S * RATE:
                break
        try:
            vector = self._voice.encoder().embed_blocks(heard, RATE).astype(np.float64)
        except AudioError:
            # Silence, or too short to hear anybody: as far from anybody as can be.
            vector = self._voice.pool.vectors.mean(axis=0)
        return Source(vector), chain(heard, arriving)


class _OwnVoice(Neural):
    """Speaks with the speaker's own vector."""

    @property
    def needs_source(self) -> bool:
        return True

    def pseudo_speaker(self, draws: Draws, source: Source | None) -> FloatArray:
        del draws
        if source is None:
            raise UsageError("a speaker's own voice is needed, and no source was given")
        return source.vector


def _set(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings that are given; whole numbers as such, since text is parsed as decimals."""
    return {
        name: int(value) if isinstance(value, float) and value.is_integer() else value
        for name, value in settings.items()
        if value is not None
    }
