"""The attackers' encoders: as they are, or trained further on the attacker's own speech."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from sordino.corpus.corpus import Corpus
from sordino.errors import UsageError
from sordino.evaluate.anonymization.speech import Heard, fingerprint
from sordino.speaker.base import SpeakerEncoder
from sordino.speaker.encoders import load_encoder


@dataclass(frozen=True)
class Ear:
    """An encoder.

    Attributes:
        name: what it is loaded by.
        encoder: the encoder.
        is_tuned: whether it stands for copies that are trained further on the attacker's speech.
    """

    name: str
    encoder: SpeakerEncoder
    is_tuned: bool = False

    @property
    def title(self) -> str:
        """As results call it."""
        return f"{self.encoder.name} tuned" if self.is_tuned else self.encoder.name

    @property
    def what(self) -> str:
        """What it is, for people."""
        how = ", trained further on the attacker's speech" if self.is_tuned else ""
        return f"speaker encoder {self.encoder.name}{how}"

    def tuned(self) -> Ear:
        """The encoder as one that is trained further."""
        return Ear(self.name, self.encoder, True)


@dataclass(frozen=True)
class Tuner:
    """Trains encoders further.

    Attributes:
        steps: how long.
        folder: where trained encoders go; what is there is not trained again.
        seed: of the training.
    """

    steps: int
    folder: Path
    seed: int

    def listener(self, ear: Ear, training: Corpus, heard: Heard, system: str) -> Ear:
        """The encoder that hears: the given one, or one trained further.

        Args:
            ear: which encoder.
            training: the attacker's utterances.
            heard: them, as the system has changed them.
            system: its name.

        Raises:
            UsageError: the encoder cannot be trained further here.
        """
        if not ear.is_tuned:
            return ear
        corpus = Corpus(tuple(heard[utterance.id] for utterance in training))
        parts = [ear.encoder.digest, str(self.steps), str(self.seed)]
        parts += [fingerprint(utterance) for utterance in corpus]
        place = self.folder / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
        if not (place / "model.json").exists():
            try:
                from sordino.training.speaker.tune import fine_tune
            except ImportError as error:
                raise UsageError(
                    'training encoders further needs the extra train: pip install "sordino[train]"'
                ) from error
            fine_tune(ear.name, corpus, place, steps=self.steps, seed=self.seed)
        return Ear(str(place), load_encoder(str(place)))
