"""What a voice was trained with, from its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino.models.bundle import Bundle

UNKNOWN = "not stated"


@dataclass(frozen=True)
class VoiceFacts:
    """The parts of a voice that an ablation compares.

    Attributes:
        name: what the voice is called.
        content: architecture and output of the content network, and how large a frame is.
        encoder: the speaker encoder whose vectors the generator speaks with.
        generator: its architecture.
    """

    name: str
    content: str
    encoder: str
    generator: str

    @classmethod
    def of(cls, bundle: Bundle) -> VoiceFacts:
        """The facts of a bundle; what its metadata do not tell is "not stated"."""
        content = _section(bundle, "content")
        shape = f"{content.get('channels', '?')} numbers"
        made = [str(content[key]) for key in ("architecture", "output") if content.get(key)]
        return cls(
            bundle.name,
            f"{' '.join(made) or UNKNOWN} ({shape})",
            str(_section(bundle, "speaker").get("encoder") or UNKNOWN),
            str(_section(bundle, "generator").get("architecture") or UNKNOWN),
        )


def _section(bundle: Bundle, name: str) -> Mapping[str, Any]:
    found = bundle.metadata.get(name)
    return found if isinstance(found, Mapping) else {}
