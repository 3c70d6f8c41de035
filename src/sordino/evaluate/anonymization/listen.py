"""What the attackers' encoders hear: a vector of each utterance."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sordino.corpus.utterance import Utterance
from sordino.errors import AudioError, SordinoError
from sordino.evaluate.anonymization.finished import Finished, Outcome, work_off
from sordino.evaluate.anonymization.speech import Heard, fingerprint
from sordino.evaluate.results import Failure
from sordino.speaker.base import SpeakerEncoder

Vector = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Hearing:
    """An utterance to embed.

    Attributes:
        utterance: which.
        encoder: what makes the vector.
    """

    utterance: Utterance
    encoder: SpeakerEncoder

    @property
    def key(self) -> str:
        """Depends on the encoder and on the recording."""
        return f"{self.encoder.digest} {fingerprint(self.utterance)}"


def hear(job: Hearing, advance: Callable[[float], None]) -> Outcome:
    """The vector of an utterance, in whatever process: "vector", or "error"."""
    del advance
    try:
        vector = job.encoder.embed(job.utterance.read())
    except SordinoError as error:
        return {"error": str(error)}
    return {"vector": base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")}


def listen(
    encoder: SpeakerEncoder,
    heard: Heard,
    *,
    finished: Finished,
    workers: int,
    scratch: Path,
    tell: Callable[[], None] = lambda: None,
) -> tuple[dict[str, Vector], dict[str, Failure]]:
    """Embed utterances.

    Args:
        encoder: the encoder.
        heard: the utterances.
        finished: what earlier runs have embedded.
        workers: processes.
        scratch: folder for what workers tell.
        tell: called after each utterance.

    Returns:
        The vectors, float32 (dimension,), and the failures, both by the utterances' ids.
    """
    vectors: dict[str, Vector] = {}
    failures: dict[str, Failure] = {}
    jobs: dict[str, Hearing] = {}
    for key, utterance in heard.items():
        job = Hearing(utterance, encoder)
        try:
            fingerprint(utterance)
        except AudioError as error:
            failures[key] = _failure(encoder, key, str(error))
        else:
            jobs[key] = job
    outcomes = work_off(
        list(jobs.values()), hear, finished, workers=workers, scratch=scratch, tell=tell
    )
    for key, outcome in zip(jobs, outcomes, strict=True):
        if "error" in outcome:
            failures[key] = _failure(encoder, key, str(outcome["error"]))
        else:
            data = base64.b64decode(str(outcome["vector"]))
            vectors[key] = np.frombuffer(data, dtype="<f4").astype(np.float32)
    return vectors, failures


def stacked(vectors: Mapping[str, Vector], names: Iterable[str]) -> Vector:
    """The vectors of utterances, float32 (names, dimension)."""
    return np.stack([vectors[name] for name in names])


def _failure(encoder: SpeakerEncoder, utterance: str, why: str) -> Failure:
    return Failure(f"heard by {encoder.name}", utterance, why, "")
