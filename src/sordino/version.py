"""The version, for whatever part of the package needs it."""

__version__ = "0.1.0"
