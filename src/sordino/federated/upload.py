"""What goes between server and device, as objects and as bytes."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from sordino.errors import UsageError
from sordino.privacy.randomness import IntArray

NONCE_BYTES = 16

_MAGIC = b"SDFL\x01"
_HEAD = struct.Struct("<I")
_LONGEST_HEADER = 2**20
_WIDTHS = ("<i1", "<i2", "<i4", "<i8")


@dataclass(frozen=True, eq=False)
class Request:
    """What the server asks devices.

    Attributes:
        round: number of the round, from 0.
        nonce: 16 bytes that no other round has.
        parameters: of the model, float32, shape (d,).
        regime: what `Regime.terms` gives, with this round's clip.
    """

    round: int
    nonce: bytes
    parameters: npt.NDArray[np.float32]
    regime: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        """For the way; read back by `from_bytes`."""
        header = {
            "kind": "request",
            "round": self.round,
            "nonce": self.nonce.hex(),
            "regime": dict(self.regime),
        }
        return _packed(header, np.asarray(self.parameters, dtype="<f4"))

    @classmethod
    def from_bytes(cls, data: bytes) -> Request:
        """What `to_bytes` made.

        Raises:
            UsageError: these are no such bytes, or parameters are NaN or infinite.
        """
        header, array = _unpacked(data, "request", ("<f4",))
        if not np.isfinite(array).all():
            raise UsageError("a request with parameters that are NaN or infinite")
        regime = header.get("regime")
        if not isinstance(regime, dict):
            raise UsageError("a request without a regime")
        return cls(*_round_and_nonce(header), array.astype(np.float32), regime)


@dataclass(frozen=True, eq=False)
class Upload:
    """What leaves a device.

    Attributes:
        round: number of the round.
        nonce: that of the request.
        sender: who the transport says it comes from; not part of what is protected.
        regime: digest of the regime that made it.
        points: the update, in whole grid steps, int64, shape (d,).
        below: 1 where the update was no longer than the clip, -1 where it was; None where the
            clip does not adapt.

    Example:
        >>> upload = Upload(0, bytes(16), "anna", "0" * 16, np.array([3, -70_000]), None)
        >>> Upload.from_bytes(upload.to_bytes()).points
        array([     3, -70000])
    """

    round: int
    nonce: bytes
    sender: str
    regime: str
    points: IntArray
    below: int | None = None

    def to_bytes(self) -> bytes:
        """For the way, in the narrowest type that all numbers fit into."""
        header = {
            "kind": "upload",
            "round": self.round,
            "nonce": self.nonce.hex(),
            "sender": self.sender,
            "regime": self.regime,
            "below": self.below,
        }
        return _packed(header, _narrowed(self.points))

    @classmethod
    def from_bytes(cls, data: bytes) -> Upload:
        """What `to_bytes` made.

        Raises:
            UsageError: these are no such bytes.
        """
        header, array = _unpacked(data, "upload", _WIDTHS)
        number, nonce = _round_and_nonce(header)
        sender, regime, below = (header.get(name) for name in ("sender", "regime", "below"))
        if not isinstance(sender, str) or not isinstance(regime, str):
            raise UsageError("an upload that does not say whose it is, or under which regime")
        if below not in (None, 1, -1) or isinstance(below, bool | float):
            raise UsageError("an upload whose sign is none")
        return cls(number, nonce, sender, regime, array.astype(np.int64), below)


def _narrowed(points: IntArray) -> npt.NDArray[Any]:
    low, high = int(points.min(initial=0)), int(points.max(initial=0))
    for width in _WIDTHS:
        kind = np.iinfo(width)
        if kind.min <= low and high <= kind.max:
            return points.astype(width)
    raise UsageError("an upload with numbers beyond 64 bits")


def _packed(header: Mapping[str, Any], array: npt.NDArray[Any]) -> bytes:
    described = {**header, "dtype": array.dtype.str, "size": int(array.size)}
    # A width of one byte has no order.
    described["dtype"] = described["dtype"].replace("|", "<")
    text = json.dumps(described, sort_keys=True).encode("ascii")
    return _MAGIC + _HEAD.pack(len(text)) + text + array.tobytes()


def _unpacked(
    data: bytes, kind: str, dtypes: tuple[str, ...]
) -> tuple[dict[str, Any], npt.NDArray[Any]]:
    start = len(_MAGIC) + _HEAD.size
    if len(data) < start or data[: len(_MAGIC)] != _MAGIC:
        raise UsageError(f"{len(data)} bytes that are no {kind} of federated training")
    (length,) = _HEAD.unpack_from(data, len(_MAGIC))
    if length > min(_LONGEST_HEADER, len(data) - start):
        raise UsageError(f"a {kind} that is cut short")
    try:
        header = json.loads(data[start : start + length].decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"a {kind} with a header that cannot be read") from error
    if not isinstance(header, dict) or header.get("kind") != kind:
        raise UsageError(f"bytes that are no {kind}")
    dtype, body = str(header.get("dtype")), data[start + length :]
    size: object = header.get("size")
    if dtype not in dtypes or not _whole(size) or size < 1:
        raise UsageError(f"a {kind} with numbers of a kind that is not expected")
    if len(body) != size * np.dtype(dtype).itemsize:
        raise UsageError(f"a {kind} that is cut short, or too long")
    return header, np.frombuffer(body, dtype=dtype)


def _round_and_nonce(header: Mapping[str, Any]) -> tuple[int, bytes]:
    number: object = header.get("round")
    nonce = header.get("nonce")
    if not _whole(number) or number < 0 or not isinstance(nonce, str):
        raise UsageError("a message that does not say of which round it is")
    try:
        known = bytes.fromhex(nonce)
    except ValueError as error:
        raise UsageError("a message whose nonce cannot be read") from error
    if len(known) != NONCE_BYTES:
        raise UsageError(f"a message whose nonce has {len(known)} bytes, not {NONCE_BYTES}")
    return number, known


def _whole(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool)
