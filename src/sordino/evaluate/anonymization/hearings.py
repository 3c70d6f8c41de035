"""Everything that is heard in a run, by system and side, made and embedded once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.corpus.utterance import Utterance
from sordino.evaluate.anonymization.finished import Finished
from sordino.evaluate.anonymization.listen import Vector, listen
from sordino.evaluate.anonymization.prepare import Made, prepare
from sordino.evaluate.anonymization.protocol import Side
from sordino.evaluate.anonymization.sources import Source
from sordino.evaluate.anonymization.speech import Heard
from sordino.evaluate.progress import Told
from sordino.evaluate.results import Failure
from sordino.speaker.base import SpeakerEncoder


@dataclass
class Bench:
    """Where work is done.

    Attributes:
        folder: holds what is made and notes of what is finished.
        workers: processes.
        told: told how far the work is.
    """

    folder: Path
    workers: int
    told: Told
    files: dict[str, Finished] = field(default_factory=dict)

    @property
    def speech(self) -> Path:
        """Folder for anonymized speech."""
        return self.folder / "speech"

    @property
    def scratch(self) -> Path:
        """Folder for what workers tell."""
        return self.folder / "scratch"

    def finished(self, name: str) -> Finished:
        """The notes of one kind of work."""
        if name not in self.files:
            self.files[name] = Finished(self.folder / f"{name}.jsonl")
        return self.files[name]

    def make(self, source: Source, side: Side, utterances: Iterable[Utterance]) -> Made:
        """One form of a system's speech; see `prepare`."""
        wanted = list(utterances)
        if (encoder := source.listener(side)) is not None:
            vectors, _ = self.hear(
                encoder, f"originals for {source.name}, {side}", as_heard(wanted)
            )
            source.learn(side, wanted, vectors)
        if source.maker() is not None:
            self.told.stage(f"{source.name}: {len(wanted)} utterances ({side})", len(wanted))
        return prepare(
            source,
            side,
            wanted,
            finished=self.finished("speech"),
            workers=self.workers,
            scratch=self.scratch,
            tell=self.told.step,
        )

    def hear(
        self, encoder: SpeakerEncoder, what: str, heard: Heard
    ) -> tuple[dict[str, Vector], dict[str, Failure]]:
        """Vectors of utterances; see `listen`."""
        self.told.stage(f"{encoder.name} hears {what}", len(heard))
        return listen(
            encoder,
            heard,
            finished=self.finished("vectors"),
            workers=self.workers,
            scratch=self.scratch,
            tell=self.told.step,
        )


def as_heard(utterances: Corpus | Iterable[Utterance]) -> Mapping[str, Utterance]:
    """The original utterances by their ids."""
    return {utterance.id: utterance for utterance in utterances}
