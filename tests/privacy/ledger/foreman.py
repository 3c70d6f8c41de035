"""Eight processes that release through one ledger, for the tests; run as a module.

Writes one line of JSON to standard output when all of them are through.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from sordino.errors import UsageError
from sordino.privacy.ledger.ledger import Ledger
from tests.privacy.ledger.mechanisms import Noise

PEOPLE = ("anna", "bruno")
WORKERS = 8
# However busy the machine is.
PATIENCE = 600.0


def work(ledger: Ledger, out: Path, number: int) -> None:
    """Release for everybody until all limits are reached; note each result that is handed out."""
    left = list(PEOPLE)
    log = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    mechanism = Noise(1.0)
    for turn in range(10**6):
        if not left:
            return
        person = left[turn % len(left)]
        name = f"{number} {os.getpid()} {turn}"
        try:
            result = ledger.release(person, "log-in", np.zeros(3), mechanism, name=name)
        except UsageError:
            left.remove(person)
            continue
        os.write(log, (json.dumps([person, name, list(result)]) + "\n").encode())


def agree(ledger: Ledger, out: Path, number: int) -> None:
    """Ask for the same names as all others, in another order."""
    names = [str(name) for name in range(6)]
    random.Random(number).shuffle(names)
    log = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for name in names:
        result = ledger.release("anna", "log-in", np.zeros(3), Noise(1.0), name=name)
        os.write(log, (json.dumps(["anna", name, list(result)]) + "\n").encode())


def start(job: str, path: Path, number: int, ledger: Ledger | None) -> int:
    """Split off a worker, which uses a ledger that was opened before or opens its own."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        own = ledger or Ledger(path, wait=PATIENCE)
        {"work": work, "agree": agree}[job](own, path.with_name(f"out-{number}"), number)
        status = 0
    finally:
        os._exit(status)


def main(job: str, path: Path, kills: int, seed: int) -> None:
    """Keep eight workers busy, kill so many of them, and wait for the rest."""
    chance = random.Random(seed)
    ledger = Ledger(path, wait=PATIENCE)
    living = {
        start(job, path, number, ledger if number % 2 else None): number
        for number in range(WORKERS)
    }
    killed, failed = 0, 0
    while living:
        if killed < kills:
            time.sleep(chance.uniform(0, 0.05))
            os.kill(victim := chance.choice(sorted(living)), signal.SIGKILL)
        child, status = os.waitpid(victim if killed < kills else -1, 0)
        number = living.pop(child)
        if os.WIFSIGNALED(status):
            killed += 1
            living[start(job, path, number, ledger)] = number
        else:
            failed += status != 0
            kills = min(kills, killed)
    print(json.dumps({"killed": killed, "failed": failed}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
