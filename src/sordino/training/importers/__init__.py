"""Models that others have trained, turned into model bundles.

What imports a kind is loaded when it is asked for, so that the kinds can be listed without torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sordino.errors import UsageError

if TYPE_CHECKING:
    from sordino.models.bundle import Bundle


@dataclass(frozen=True)
class Importer:
    """How one kind of model is imported.

    Attributes:
        module: in this package.
        function: in it; takes the source, the bundle's folder and its name, and options by their
            names.
        options: which options it takes.
    """

    module: str
    function: str
    options: frozenset[str] = frozenset()


IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        "speaker-anonymization-release": Importer(
            "voice", "import_release", frozenset({"pool", "vocoder"})
        ),
        "soft-hubert": Importer("soft_hubert", "import_soft_hubert"),
        "public-soft-hubert": Importer("public_soft_hubert", "import_public_soft_hubert"),
        "ssl-features": Importer("features", "import_features", frozenset({"layer"})),
        "hifigan": Importer("hifigan", "import_hifigan"),
        "speechbrain-ecapa": Importer("speechbrain", "import_ecapa"),
        "speechbrain-xvector": Importer("speechbrain", "import_xvector"),
        "ge2e": Importer("ge2e", "import_ge2e"),
    }
)


def import_model(kind: str, source: Path, destination: Path, name: str, **options: Any) -> Bundle:
    """Turn somebody else's checkpoint into a bundle.

    Args:
        kind: one of `IMPORTERS`.
        source: the checkpoint's file or folder.
        destination: the bundle's folder; must not exist.
        name: the bundle's name.
        options: what the kind takes besides; None stands for what is not given.

    Raises:
        UsageError: unknown kind, the source is not such a checkpoint, or the kind does not take an
            option.
        OutputError: the bundle cannot be written.
    """
    if kind not in IMPORTERS:
        raise UsageError(f"{kind!r} cannot be imported; known are {', '.join(IMPORTERS)}")
    importer = IMPORTERS[kind]
    given = {key: value for key, value in options.items() if value is not None}
    for option in sorted(given.keys() - importer.options):
        takers = [known for known, other in IMPORTERS.items() if option in other.options]
        raise UsageError(
            f"the import of {kind} takes no {option}; {', '.join(takers) or 'nothing'} does"
        )
    module = import_module(f"{__name__}.{importer.module}")
    bundle: Bundle = getattr(module, importer.function)(source, destination, name, **given)
    return bundle
