"""Competitions for the tests, and the processes that submit to them: `python rooms.py FOLDER FIRST COUNT`."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

from studio.competitions.competition import Competition
from studio.competitions.making import create
from studio.competitions.store import Store

ROWS = 20
NAME = "flowers"


def solution(rows: int = ROWS) -> bytes:
    """Ids r0, r1, ...; the labels are a and b in turn."""
    return ("id,label\n" + "".join(f"r{n},{'ab'[n % 2]}\n" for n in range(rows))).encode()


def answer(right: int, rows: int = ROWS) -> bytes:
    """Predictions of which the first `right` are right."""
    return ("id,label\n" + "".join(f"r{n},{'ab'[(n + (n >= right)) % 2]}\n" for n in range(rows))).encode()


def card(**changes: Any) -> Competition:
    now = time.time()
    given = {
        "name": NAME,
        "title": "Flowers",
        "description": "Name *flowers*.",
        "metric": "accuracy",
        "share": 0.5,
    }
    return Competition(**{**given, "start": now - 60, "deadline": now + 3600, **changes})  # type: ignore[arg-type]  # a test may give anything


def room(
    folder: Path, code: str = "", labels: bytes = b"", data: dict[str, bytes] | None = None, **changes: Any
) -> tuple[Store, Competition]:
    """A store with one competition; its sample submission waits."""
    store = Store(folder / "competitions")
    return store, create(store, card(**changes), labels or solution(), data or {}, code)


def submit_all(store: Store, first: int, count: int) -> None:
    """`count` learners submit at the same moment, each in a thread of its own."""
    competition = store.competition(NAME)
    assert competition is not None
    gate = threading.Barrier(count)

    def one(number: int) -> None:
        gate.wait()
        learner = f"learner{number}"
        team = store.own_team(NAME, learner)
        sent = store.submit(competition, team, learner, "predictions", "p.csv", answer(number % (ROWS + 1)))
        os.write(1, f"{sent.id}\n".encode())  # in one piece: `print` writes the end of the line apart

    threads = [threading.Thread(target=one, args=(number,)) for number in range(first, first + count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    submit_all(Store(Path(sys.argv[1])), int(sys.argv[2]), int(sys.argv[3]))
