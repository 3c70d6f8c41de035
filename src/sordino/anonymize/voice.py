"""A voice: the bundle of networks and pseudo-speakers that the neural anonymizer runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sordino.anonymize.pseudo.pool import Pool
from sordino.anonymize.windows import FRAME, FRAMES, RATE, UNIT
from sordino.dsp.pitch import load_tracker
from sordino.dsp.pitch.base import Tracker
from sordino.errors import UsageError
from sordino.models.bundle import METADATA_NAME, Bundle
from sordino.models.find import load_model
from sordino.models.session import Session
from sordino.speaker.encoders import OnnxEncoder, load_encoder

Floats = npt.NDArray[np.float32]

KIND = "voice"
CONTENT, GENERATOR, POOL = "content.onnx", "generator.onnx", "pool.npz"

_RANKS = {"content": 3, "f0": 2, "speaker": 2, "harmonic": 2, "noise": 2}
# A voice follows the content; everything else is an offer to it.
_NEEDED = ("content",)


@dataclass(frozen=True)
class Voice:
    """A voice whose metadata and files have been checked.

    Graphs are opened when they first run, and once in each process. A voice can be pickled: another
    process opens the same bundle again and checks that it still is the same.

    Args:
        bundle: of the kind "voice".

    Attributes:
        hop: samples from one content frame to the next.
        channels: numbers in a content frame.
        content_context: units of 80 ms that the content network sees on each side; None for all.
        generator_context: the same for the generator.
        tracker: finds the pitch.
        dimension: numbers in a speaker vector.

    Raises:
        UsageError: the bundle is no voice, or its metadata are not those of one.
    """

    bundle: Bundle

    def __post_init__(self) -> None:
        if self.bundle.kind != KIND:
            raise UsageError(
                f"model {self.bundle.folder}: is a {self.bundle.kind}, not a {KIND}"
                " (see: sordino models list)"
            )
        if self.bundle.integer("sample_rate") != RATE:
            raise UsageError(self._says(f"a sample_rate other than {RATE}"))
        if self._number("generator", "hop") != FRAME:
            raise UsageError(self._says(f"a generator.hop other than {FRAME}"))
        if self.hop % FRAME or UNIT % self.hop:
            raise UsageError(self._says(f"a content.hop that is not {FRAME} or {2 * FRAME}"))
        for graph in (CONTENT, GENERATOR, POOL):
            self.bundle.path(graph)
        _ = (self.channels, self.dimension, self.content_context, self.generator_context)
        _ = (self.encoder_name, self.encoder_digest, self.tracker)

    @classmethod
    def load(cls, name: str) -> Voice:
        """Find a voice and check it.

        Args:
            name: a model's name, a bundle's folder, or "hub:OWNER/NAME[@REVISION]"; see
                `sordino.models.find.find_model`.

        Raises:
            UsageError: there is no such model, it is damaged, or it is no voice.

        Example:
            >>> Voice.load("my-voice").content(np.zeros(1280)).shape  # doctest: +SKIP
            (4, 200)
        """
        bundle = load_model(name)
        return _opened(str(bundle.folder), bundle.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened, (str(self.bundle.folder), self.digest)

    @property
    def name(self) -> str:
        """What the voice is called."""
        return self.bundle.name

    @property
    def digest(self) -> str:
        """SHA-256 of what decides its results, as 64 hexadecimal digits."""
        return self.bundle.digest

    @property
    def hop(self) -> int:
        """Samples from one content frame to the next."""
        return self._number("content", "hop")

    @property
    def channels(self) -> int:
        """Numbers in a content frame."""
        return self._number("content", "channels")

    @property
    def dimension(self) -> int:
        """Numbers in a speaker vector."""
        return self._number("speaker", "dimension")

    @property
    def content_context(self) -> int | None:
        """Units that the content network sees on each side; None for the whole signal."""
        samples = self._reach("content")
        return None if samples is None else -(-samples // UNIT)

    @property
    def generator_context(self) -> int | None:
        """Units that the generator sees on each side; None for the whole signal."""
        frames = self._reach("generator")
        return None if frames is None else -(-frames // FRAMES)

    @property
    def encoder_name(self) -> str:
        """The speaker encoder that the pool's vectors were made with."""
        return self._text("speaker", "encoder")

    @property
    def encoder_digest(self) -> str:
        """The digest of that encoder."""
        return self._text("speaker", "digest")

    @cached_property
    def tracker(self) -> Tracker:
        """What finds the pitch."""
        try:
            return load_tracker(self._text("pitch", "tracker"))
        except UsageError as error:
            raise UsageError(self._says(f"an unknown pitch.tracker: {error}")) from error

    @cached_property
    def pool(self) -> Pool:
        """The speakers that pseudo-speakers are made from.

        Raises:
            UsageError: the file does not hold a pool, or one of another dimension.
        """
        where = f"model {self.bundle.folder}: {POOL}"
        pool = Pool.from_arrays(self.bundle.arrays(POOL), where)
        if pool.dimension != self.dimension:
            raise UsageError(
                f"{where}: holds vectors of {pool.dimension} numbers instead of {self.dimension}"
            )
        return pool

    @property
    def wants(self) -> frozenset[str]:
        """What the generator takes, of content, f0, speaker, harmonic and noise.

        Raises:
            UsageError: the graph cannot be run, or takes or gives something else.
        """
        return frozenset(self._generator.inputs)

    def encoder(self) -> OnnxEncoder:
        """The speaker encoder that the pool's vectors were made with.

        Raises:
            UsageError: it cannot be found, or the model of that name is another.
        """
        return self._encoder

    @cached_property
    def _encoder(self) -> OnnxEncoder:
        try:
            encoder = load_encoder(self.encoder_name)
        except UsageError as error:
            raise UsageError(
                f"voice {self.name}: its speaker encoder is needed to hear how a speaker sounds,"
                f" and cannot be used: {error}"
            ) from error
        if encoder.digest != self.encoder_digest:
            raise UsageError(
                f"model {encoder.bundle.folder}: is not the {self.encoder_name} that the voice"
                f" {self.name} was made with (its digest is another); get that one"
            )
        return encoder

    def content(self, wave: npt.NDArray[np.floating]) -> Floats:
        """What is said.

        Args:
            wave: shape (samples,) at 16 kHz, whole units of 1280 samples.

        Returns:
            Shape (samples / hop, channels).

        Raises:
            UsageError: the graph fails, or gives something else.
        """
        inputs = {"wave": np.ascontiguousarray(wave[None], dtype=np.float32)}
        (found,) = self._content.run(inputs, ["content"])
        self._check(CONTENT, found, (1, wave.size // self.hop, self.channels))
        return np.asarray(found[0], dtype=np.float32)

    def speech(self, inputs: Mapping[str, npt.NDArray[np.floating]]) -> Floats:
        """Speech in the voice.

        Args:
            inputs: what the generator wants, without a first dimension: content
                (frames, channels), f0 (frames,), speaker (dimension,), harmonic and noise
                (samples,).

        Returns:
            Shape (samples,) at 16 kHz.

        Raises:
            UsageError: the graph fails, or gives something else.
        """
        samples = len(inputs["content"]) * self.hop
        batch = {
            name: np.ascontiguousarray(inputs[name][None], dtype=np.float32) for name in self.wants
        }
        (wave,) = self._generator.run(batch, ["wave"])
        self._check(GENERATOR, wave, (1, samples))
        return np.asarray(wave[0], dtype=np.float32)

    @cached_property
    def _content(self) -> Session:
        session = Session(self.bundle, CONTENT)
        place = f"model {self.bundle.folder}: {CONTENT}"
        if list(session.inputs) != ["wave"] or not _fits(session.inputs["wave"], (1, None)):
            raise UsageError(f"{place} does not take wave (1, samples), but {session.inputs}")
        if not _fits(session.outputs.get("content"), (1, None, self.channels)):
            raise UsageError(
                f"{place} does not give content (1, frames, {self.channels}), but {session.outputs}"
            )
        return session

    @cached_property
    def _generator(self) -> Session:
        session = Session(self.bundle, GENERATOR)
        place = f"model {self.bundle.folder}: {GENERATOR}"
        shapes: dict[str, tuple[int | None, ...]] = {
            name: (1, *[None] * (rank - 1)) for name, rank in _RANKS.items()
        }
        shapes["content"] = (1, None, self.channels)
        shapes["speaker"] = (1, self.dimension)
        for name, shape in session.inputs.items():
            if name not in shapes:
                raise UsageError(f"{place} takes {name!r}; known are: {', '.join(shapes)}")
            if not _fits(shape, shapes[name]):
                raise UsageError(f"{place} takes {name} {shape}; expected {_shown(shapes[name])}")
        for name in _NEEDED:
            if name not in session.inputs:
                raise UsageError(f"{place} does not take {name}, but {session.inputs}")
        if not _fits(session.outputs.get("wave"), (1, None)):
            raise UsageError(f"{place} does not give wave (1, samples), but {session.outputs}")
        return session

    def _check(self, graph: str, found: npt.NDArray[Any], shape: tuple[int, ...]) -> None:
        place = f"model {self.bundle.folder}: {graph}"
        if found.shape != shape:
            raise UsageError(f"{place} gives an array of shape {found.shape} instead of {shape}")
        if not np.isfinite(found).all():
            raise UsageError(f"{place} gives NaN or infinity")

    def _reach(self, part: str) -> int | None:
        value = self._part(part).get("context", 0.5)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(
                self._says(f"no {part}.context (a whole number from 0, or null for no bound)")
            )
        return value

    def _number(self, part: str, key: str) -> int:
        value = self._part(part).get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UsageError(self._says(f"no whole number above 0 as {part}.{key}"))
        return value

    def _text(self, part: str, key: str) -> str:
        value = self._part(part).get(key)
        if not isinstance(value, str) or not value:
            raise UsageError(self._says(f"no text {part}.{key}"))
        return value

    def _part(self, part: str) -> Mapping[str, Any]:
        value = self.bundle.metadata.get(part)
        if not isinstance(value, dict):
            raise UsageError(self._says(f"no section {part!r}"))
        return value

    def _says(self, what: str) -> str:
        return f"model {self.bundle.folder}: {METADATA_NAME} gives {what}"


@lru_cache(maxsize=2)
def _opened(folder: str, digest: str) -> Voice:
    bundle = Bundle.load(folder)
    if bundle.digest != digest:
        raise UsageError(f"model {folder}: has been replaced by another while it was in use")
    return Voice(bundle)


def _fits(shape: tuple[int | str | None, ...] | None, wanted: tuple[int | None, ...]) -> bool:
    """Whether a graph's shape can be the wanted one; None in `wanted` must be able to vary."""
    return (
        shape is not None
        and len(shape) == len(wanted)
        and all(
            not isinstance(size, int) or size == want
            for size, want in zip(shape, wanted, strict=True)
        )
    )


def _shown(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"
