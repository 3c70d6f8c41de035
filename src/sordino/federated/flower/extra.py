"""Flower is there, in the version that this room was written for, and keeps quiet."""

from __future__ import annotations

import logging
import os
from importlib import metadata

from sordino.errors import UsageError

# The link and the node use parts of Flower that it may change from one minor version to the next.
FLOWER = "1.42"

_INSTALL = "install it with: pip install 'sordino[federated]' (Python 3.11 or newer)"


def require_flower() -> None:
    """Check that Flower can be imported, and turn off what it reports to its makers.

    To be called before anything of Flower is used.

    Raises:
        UsageError: Flower is missing or of another version.
    """
    os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
    os.environ["FLWR_DISABLE_UPDATE_CHECK"] = "1"
    try:
        version = metadata.version("flwr")
    except metadata.PackageNotFoundError as error:
        raise UsageError(f"federated training over a network needs Flower; {_INSTALL}") from error
    if version.split(".")[:2] != FLOWER.split("."):
        raise UsageError(f"Flower {FLOWER} is needed, {version} is installed; {_INSTALL}")
    from flwr.supercore import telemetry

    # Decided at its import, which may have been before.
    telemetry.FLWR_TELEMETRY_ENABLED = "0"
    # What it would say of refused messages is told by the round's report.
    logging.getLogger("flwr").setLevel(logging.CRITICAL)
