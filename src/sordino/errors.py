"""What can go wrong, in one line that a person can act on."""

from __future__ import annotations


class SordinoError(Exception):
    """Base of all errors that sordino raises on purpose; the message is one clear line."""


class UsageError(SordinoError):
    """The request cannot be carried out as it stands; nothing has been written."""


class AudioError(SordinoError):
    """A file or an array is not audio that can be processed."""


class OutputError(SordinoError):
    """The result cannot be written; nothing of it is left behind."""


class StoreError(SordinoError):
    """A store of voices or a ledger is damaged, has been tampered with, or cannot be reached."""
