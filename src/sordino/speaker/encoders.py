"""Speaker encoders that are model bundles, run by ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import numpy.typing as npt

from sordino.audio.recording import Recording
from sordino.errors import AudioError, UsageError
from sordino.models.bundle import Bundle
from sordino.models.find import load_model
from sordino.models.session import Session
from sordino.speaker.base import BLOCK, SpeakerEncoder, Vector, mean_vector
from sordino.speaker.waves import Wave, is_silent, wave_pieces

KIND = "speaker-encoder"
GRAPH = "encoder.onnx"
INPUT, OUTPUT = "wave", "vector"

# The longest stretch that goes through a graph at once: memory grows with it.
MAXIMUM_SECONDS = 60
_BATCH = 64
# On a processor larger batches are no faster; memory stays below what the longest piece takes.
_BATCH_SECONDS = 30
# How much sound waits for other recordings of its length.
_WINDOW_SECONDS = 600


class OnnxEncoder(SpeakerEncoder):
    """A speaker encoder from a bundle.

    The bundle's graph takes `wave`, float32 (batch, samples) with full scale 1, and gives
    `vector`, float32 (batch, dimension); a bundle may name another `input` and `output`.
    Recordings may have any rate and any number of channels: channels are averaged, then resampled.

    A recording longer than the bundle's `maximum_samples` (60 s where it names none) is cut: see
    `sordino.speaker.waves.cut`. Its vector is the mean direction of its pieces' vectors, weighted
    by their lengths, with their mean length (`mean_vector`); pieces that are digital silence do not
    count. So memory does not grow with a recording.

    An encoder can be pickled: another process opens the same bundle again.

    Args:
        bundle: of the kind "speaker-encoder", with `sample_rate`, `dimension` and
            `minimum_samples`.
        threads: how many threads one run of the graph may use.

    Raises:
        UsageError: the bundle is something else, or its graph cannot be run.
    """

    def __init__(self, bundle: Bundle, *, threads: int = 1) -> None:
        if bundle.kind != KIND:
            raise UsageError(f"model {bundle.folder}: is a {bundle.kind}, not a {KIND}")
        self.bundle = bundle
        self.name = bundle.name
        self.digest = bundle.digest
        self.dimension = bundle.integer("dimension")
        self.sample_rate = bundle.integer("sample_rate")
        self.minimum = bundle.integer("minimum_samples")
        self.maximum = bundle.integer("maximum_samples", default=MAXIMUM_SECONDS * self.sample_rate)
        if self.maximum < 2 * self.minimum:
            raise UsageError(
                f"model {bundle.folder}: maximum_samples is less than twice minimum_samples"
            )
        self._input = str(bundle.metadata.get("input", INPUT))
        self._output = str(bundle.metadata.get("output", OUTPUT))
        self._session = Session(bundle, GRAPH, threads=threads)
        _check_graph(self._session, self._input, self._output, self.dimension)

    def embed(self, recording: Recording) -> Vector:
        """See `SpeakerEncoder.embed`."""
        return self.embed_blocks(_blocks(recording), recording.sample_rate)

    def embed_blocks(self, blocks: Iterable[npt.NDArray[np.floating]], sample_rate: int) -> Vector:
        """See `SpeakerEncoder.embed_blocks`; memory does not grow with the recording."""
        return self._combined(self._pieces(blocks, sample_rate))

    def embed_many(self, recordings: Iterable[Recording]) -> Vector:
        """See `SpeakerEncoder.embed_many`.

        Recordings of exactly the same number of samples go through the graph together, at most 64
        and 30 seconds of them. At most 10 minutes of sound wait for others of their length.
        """
        vectors: list[Vector] = []
        waiting = _Waiting(self.sample_rate, self._vectors)
        for number, recording in enumerate(recordings):
            vectors.append(np.empty(0, dtype=np.float32))
            try:
                pieces = self._pieces(_blocks(recording), recording.sample_rate)
                first = next(pieces)
                second = next(pieces, None)
                if second is not None:
                    vectors[number] = self._combined(chain((first, second), pieces))
            except AudioError as error:
                raise AudioError(f"recording {number}: {error}") from error
            if second is None:
                waiting.add(number, first, vectors)
        waiting.run_all(vectors)
        return np.array(vectors, dtype=np.float32).reshape(-1, self.dimension)

    def _pieces(
        self, blocks: Iterable[npt.NDArray[np.floating]], sample_rate: int
    ) -> Iterator[Wave]:
        for piece in wave_pieces(blocks, sample_rate, self.sample_rate, self.maximum):
            if piece.size < self.minimum:
                raise AudioError(
                    f"is too short: {piece.size / self.sample_rate:.3f} s; the encoder {self.name}"
                    f" needs at least {self.minimum / self.sample_rate:.3f} s"
                )
            yield piece

    def _combined(self, pieces: Iterator[Wave]) -> Vector:
        vectors, weights = [], []
        for piece in pieces:
            if not is_silent(piece):
                vectors.append(_finite(self._vectors(piece[None])[0]))
                weights.append(piece.size)
        if not vectors:
            raise AudioError("is digital silence")
        return vectors[0] if len(vectors) == 1 else mean_vector(vectors, weights)

    def _vectors(self, waves: Wave) -> Vector:
        (vectors,) = self._session.run({self._input: waves}, [self._output])
        if vectors.shape != (len(waves), self.dimension):
            raise UsageError(
                f"model {self.bundle.folder}: gives vectors of shape {vectors.shape} instead of"
                f" {(len(waves), self.dimension)}"
            )
        result: Vector = vectors.astype(np.float32, copy=False)
        return result


class _Waiting:
    """Recordings that wait for others of exactly their length, in the order of their arrival."""

    def __init__(self, sample_rate: int, work: Callable[[Wave], Vector]) -> None:
        self._longest_batch = _BATCH_SECONDS * sample_rate
        self._window = _WINDOW_SECONDS * sample_rate
        self._work = work
        self._groups: dict[int, list[tuple[int, Wave]]] = {}
        self._held = 0

    def add(self, number: int, wave: Wave, vectors: list[Vector]) -> None:
        group = self._groups.setdefault(wave.size, [])
        group.append((number, wave))
        self._held += wave.size
        if len(group) == _BATCH or (len(group) + 1) * wave.size > self._longest_batch:
            self._run(wave.size, vectors)
        while self._held > self._window:
            self._run(next(iter(self._groups)), vectors)

    def run_all(self, vectors: list[Vector]) -> None:
        for size in list(self._groups):
            self._run(size, vectors)

    def _run(self, size: int, vectors: list[Vector]) -> None:
        group = self._groups.pop(size)
        self._held -= len(group) * size
        results = self._work(np.stack([wave for _, wave in group]))
        for (number, _), vector in zip(group, results, strict=True):
            try:
                vectors[number] = _finite(vector)
            except AudioError as error:
                raise AudioError(f"recording {number}: {error}") from error


def load_encoder(
    name_or_path: str, *, threads: int = 1, tell: Callable[[str], None] = lambda text: None
) -> OnnxEncoder:
    """Find and open a speaker encoder.

    Args:
        name_or_path: a model's name, a bundle's folder, or "hub:OWNER/NAME[@REVISION]"; see
            `sordino.models.find.find_model`.
        threads: how many threads one run of the graph may use.
        tell: told what is downloaded and how big it is, before it is.

    Raises:
        UsageError: there is no such model, it is damaged, or it is no speaker encoder.

    Example:
        >>> encoder = load_encoder("ecapa-small")  # doctest: +SKIP
        >>> encoder.embed(Recording.read("anna.wav")).shape  # doctest: +SKIP
        (192,)
    """
    return OnnxEncoder(load_model(name_or_path, KIND, tell=tell), threads=threads)


def _check_graph(session: Session, wave: str, vector: str, dimension: int) -> None:
    place = f"model {session.bundle.folder}: {session.graph}"
    if list(session.inputs) != [wave] or len(session.inputs[wave]) != 2:
        raise UsageError(f"{place} does not take {wave} (batch, samples), but {session.inputs}")
    if any(isinstance(size, int) for size in session.inputs[wave]):
        raise UsageError(f"{place} takes only {wave} of shape {session.inputs[wave]}")
    shape = session.outputs.get(vector)
    fits = shape is not None and len(shape) == 2
    if shape is None or not fits or (isinstance(shape[1], int) and shape[1] != dimension):
        raise UsageError(
            f"{place} does not give {vector} (batch, {dimension}), but {session.outputs}"
        )


def _blocks(recording: Recording) -> Iterator[npt.NDArray[np.float32]]:
    for start in range(0, recording.samples.shape[1], BLOCK):
        yield recording.samples[:, start : start + BLOCK]


def _finite(vector: Vector) -> Vector:
    if not np.isfinite(vector).all():
        raise AudioError("the encoder gives no finite vector for it")
    return vector
