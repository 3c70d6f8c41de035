"""A node that behaves badly, as a process: rogue.py INVITATION KEY KIND MARKER.

KIND is "hang": a node like any other that never answers in round 1; or "nan": sends NaN in every
round, and in round 2 waits for the file MARKER.go before that. Where it stops it makes the file
MARKER.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from pathlib import Path

import numpy as np

from sordino.federated.flower.deployment import Invitation
from sordino.federated.flower.extra import require_flower
from sordino.federated.flower.node_keys import read_private_key
from sordino.federated.regimes import Regime
from sordino.federated.upload import Request, Upload
from sordino.privacy.randomness import SystemRandomness


def poisoned(request: Request) -> bytes:
    """An upload in every respect but for its numbers, which are NaN."""
    size = len(request.parameters)
    header = {
        "kind": "upload",
        "round": request.round,
        "nonce": request.nonce.hex(),
        "sender": "",
        "regime": Regime.from_terms(request.regime).digest,
        "below": None,
        "dtype": "<f8",
        "size": size,
    }
    text = json.dumps(header).encode()
    numbers = struct.pack(f"<{size}d", *[float("nan")] * size)
    return b"SDFL\x01" + struct.pack("<I", len(text)) + text + numbers


def modest(request: Request) -> Upload:
    """An upload as others make it, without any training."""
    regime = Regime.from_terms(request.regime)
    points = regime.protect(np.full((1, regime.dimension), 0.1), SystemRandomness()).points[0]
    return Upload(request.round, request.nonce, "", regime.digest, points)


def main(invitation_path: str, key: str, kind: str, marker: str) -> None:
    """Take part, badly."""
    require_flower()
    from sordino.federated.flower.client_app import client_app
    from sordino.federated.flower.node import Node

    invitation = Invitation.read(Path(invitation_path))
    ended: list[bytes] = []

    def hang(request: Request) -> bytes:
        if request.round == 1:
            Path(marker).touch()
            time.sleep(3600)
        return modest(request).to_bytes()

    def nan(request: Request) -> bytes:
        if request.round == 2:
            Path(marker).touch()
            while not Path(marker + ".go").exists():
                time.sleep(0.05)
        return poisoned(request)

    behave = {"hang": hang, "nan": nan}[kind]
    Node(
        invitation.server,
        invitation.authority,
        read_private_key(Path(key)),
        client_app(lambda sent: behave(Request.from_bytes(sent)), ended.append),
        patience=300,
    ).run(lambda: bool(ended))


if __name__ == "__main__":
    main(*sys.argv[1:])
