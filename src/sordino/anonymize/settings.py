"""How recordings are anonymized; the same for all files of a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache

from sordino.anonymize.base import Anonymizer
from sordino.anonymize.render import Shape
from sordino.anonymize.segments import Unassigned
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
        unassigned: what becomes of the parts of a recording that no turn covers; None where no
            turns are given.
    """

    system: str
    parameters: tuple[tuple[str, object], ...]
    shape: Shape
    key: SecretKey
    unassigned: Unassigned | None = None

    def anonymizer(self) -> Anonymizer:
        """The anonymizer, ready for use."""
        return _loaded(self.system, self.parameters)

    def public(self) -> dict[str, object]:
        """Everything but the key, for the run record."""
        anonymizer = self.anonymizer()
        public = {
            "system": anonymizer.name,
            "system_version": anonymizer.version,
            "parameters": dict(anonymizer.parameters()),
            "sample_rate": self.shape.sample_rate,
            "mono": self.shape.mono,
        }
        return public if self.unassigned is None else {**public, "unassigned": self.unassigned}

    def fingerprint(self, **more: object) -> str:
        """Tells runs with the same settings and key; does not tell the key.

        Args:
            more: what else must be the same.
        """
        text = json.dumps({**self.public(), **more}, sort_keys=True)
        return self.key.derive("settings", text)[:16].hex()


# Several parts of a run ask for it, and it may be large.
@lru_cache(maxsize=1)
def _loaded(system: str, parameters: tuple[tuple[str, object], ...]) -> Anonymizer:
    return load(system, **dict(parameters))
