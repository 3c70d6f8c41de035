"""The anonymizers by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping

from sordino.anonymize.base import Anonymizer
from sordino.anonymize.mcadams import McAdams
from sordino.anonymize.named import make_known
from sordino.anonymize.neural import Neural
from sordino.errors import UsageError

SYSTEMS: Mapping[str, type[Anonymizer]] = {system.name: system for system in (Neural, McAdams)}


def load(system: str, **parameters: object) -> Anonymizer:
    """Make an anonymizer by its name; see `sordino.load`.

    Raises:
        UsageError: there is no such system, or it has no such setting or value.
    """
    if system not in SYSTEMS:
        raise UsageError(f"there is no system {system!r}; there are: {', '.join(SYSTEMS)}")
    for setting in parameters:
        having = [name for name, kind in SYSTEMS.items() if _has(kind, setting)]
        if having and system not in having:
            raise UsageError(
                f"{system} has no setting {setting!r}, but the system {having[0]} has"
                " (see: sordino systems)"
            )
    return make_known(SYSTEMS[system], parameters, system)


def _has(kind: type[Anonymizer], setting: str) -> bool:
    return setting in inspect.signature(kind).parameters
