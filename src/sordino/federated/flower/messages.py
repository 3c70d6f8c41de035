"""What the bytes of the core are called inside Flower's messages."""

from __future__ import annotations

from flwr.app import ConfigRecord, RecordDict

from sordino.errors import UsageError

ASK, END = "train", "query.end"
"""Types of messages: the request of a round, and the end of the training with the model."""

_RECORD, _KEY = "sordino", "bytes"


def packed(data: bytes) -> RecordDict:
    """Content of a message."""
    return RecordDict({_RECORD: ConfigRecord({_KEY: data})})


def unpacked(content: RecordDict) -> bytes:
    """What `packed` was given.

    Raises:
        UsageError: the content is something else.
    """
    record = content.get(_RECORD)
    data = record.get(_KEY) if isinstance(record, ConfigRecord) else None
    if not isinstance(data, bytes):
        raise UsageError("a message that holds something else than expected")
    return data
