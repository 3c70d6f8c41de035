"""The machine that figures come from."""

from __future__ import annotations

import os
import platform


def facts() -> dict[str, str]:
    """Processors, memory, system and Python, for `Results.machine`.

    Example:
        >>> "python" in facts()
        True
    """
    found = {
        "processors": str(os.cpu_count() or 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        found["memory"] = f"{memory / 2**30:.0f} GiB"
    return found
