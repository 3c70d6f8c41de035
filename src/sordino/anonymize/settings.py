"""How recordings are anonymized; the same for all files of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sordino.anonymize.base import Anonymizer
from sordino.anonymize.render import Shape
from sordino.anonymize.systems import load
from sordino.privacy.keys import SecretKey


@dataclass(frozen=True)
class Settings:
    """System, its parameters, shape of the outputs, and key.

    Attributes:
        system: the anonymizer's name.
        parameters: its settings, as name and value pairs.
        shape: rate and channels of outputs.
        key: the secret.
    """

    system: str
    parameters: tuple[tuple[str, object], ...]
    shape: Shape
    key: SecretKey

    def anonymizer(self) -> Anonymizer:
        """The anonymizer, ready for use."""
        return load(self.system, **dict(self.parameters))

    def public(self) -> dict[str, object]:
        """Everything but the key, for the run record."""
        anonymizer = self.anonymizer()
        return {
            "system": anonymizer.name,
            "system_version": anonymizer.version,
            "parameters": dict(anonymizer.parameters()),
            "sample_rate": self.shape.sample_rate,
            "mono": self.shape.mono,
        }

    def fingerprint(self, **more: object) -> str:
        """Tells runs with the same settings and key; does not tell the key.

        Args:
            more: what else must be the same.
        """
        text = json.dumps({**self.public(), **more}, sort_keys=True)
        return self.key.derive("settings", text)[:16].hex()
