"""What `classroom.py --kill` does to a class, and what its book must be afterwards."""

from __future__ import annotations

import csv
import json
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from tests.webapp.hub.serving import NOTEBOOK, ClassHub, wait_for

EVERY_S = 8.0
# Younger programs are left alone: one that needs longer to start than the time between two kills would never run.
AGE_S = 20.0
GRADED_S = 300
SERVICE = "/services/sampan-7b"
WARM = "studio.compute.zygote.server"


def programs(hub: ClassHub) -> list[psutil.Process]:
    """All processes of the class outside of sandboxes, the oldest first: those of its mount namespace. A fork whose warm process
    was killed has no parent any more."""
    own, found = _namespace(hub.process.pid), []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.NoSuchProcess):  # it has just ended
            if _namespace(process.pid) == own:
                found.append((process.create_time(), process.pid, process))
    return [process for _, _, process in sorted(found)]


def _namespace(pid: int) -> str:
    return os.readlink(f"/proc/{pid}/ns/mnt")


class Killer:
    """Kills a random program of the class every few seconds, with SIGKILL."""

    def __init__(self, hub: ClassHub, names: list[str]) -> None:
        self.hub = hub
        self.uids = {hub.uid(name) for name in names}
        self.killed: Counter[str] = Counter()
        self.over = threading.Event()

    @contextmanager
    def at_work(self) -> Iterator[None]:
        thread = threading.Thread(target=self._work)
        thread.start()
        try:
            yield
        finally:
            self.over.set()
            thread.join()

    def told(self) -> str:
        return ", ".join(f"{count} x {kind}" for kind, count in self.killed.most_common())

    def _work(self) -> None:
        while not self.over.wait(EVERY_S):
            kinds = self._programs()
            if not kinds:
                continue
            kind = random.choice(sorted(kinds))
            with suppress(psutil.NoSuchProcess):
                random.choice(kinds[kind]).kill()
                self.killed[kind] += 1

    def _programs(self) -> dict[str, list[psutil.Process]]:
        """The running programs by kind. A learner's server is the first process of the account."""
        found: dict[str, list[psutil.Process]] = {}
        servers: dict[int, psutil.Process] = {}
        for process in programs(self.hub):
            try:
                command, uid = " ".join(process.cmdline()), process.uids().real
                young = time.time() - process.create_time() < AGE_S
            except psutil.NoSuchProcess:
                continue
            if young:
                continue
            if uid in self.uids:
                servers.setdefault(uid, process)
            elif WARM in command and uid == 0:
                found.setdefault("warm process", []).append(process)
            elif "studio.hub.service" in command:
                found.setdefault("service", []).append(process)
            elif "studio.grading.service" in command:
                found.setdefault("grader", []).append(process)
        return {**found, **({"learner's server": list(servers.values())} if servers else {})}


def book_errors(hub: ClassHub, points: dict[Path, int]) -> list[str]:
    """What is wrong with the class's book. `points` has each learner's home folder and the right mark."""
    teacher = hub.visitor("tia")
    page = wait_for(lambda: (reply := teacher.get(f"{SERVICE}/studio/grading/7b")).ok and reply, GRADED_S)
    assert "7b" in page.text, page.text
    errors, expected = [], []
    for home, right in points.items():
        name = home.parent.name
        receipts = [json.loads(path.read_text()) for path in (home / ".studio" / "receipts").glob("*.json")]
        if not receipts:
            continue  # nothing was promised
        expected.append((name, float(right)))
        last = max(receipts, key=lambda one: float(one["received"]))

        def graded(name: str = name) -> list[dict[str, Any]]:
            address = f"{SERVICE}/api/submissions?learner={name}"
            told: list[dict[str, Any]] = teacher.get(address).json()["submissions"]
            return told if all(one["graded"] for one in told) else []

        try:
            found = wait_for(graded, GRADED_S)
        except AssertionError:
            errors.append(f"{name}: handed in, with a receipt, and not graded")
            continue
        if [(one["notebook"], one["sha256"]) for one in found] != [(NOTEBOOK, last["sha256"])]:
            errors.append(f"{name}: the book has {found}, the last receipt is {last}")
        elif [one["passed"] for one in found[0]["verdict"]["exercises"]] != [bool(right)]:
            errors.append(f"{name}: expected {right} points, the verdict is {found[0]['verdict']}")
    table = teacher.get(f"{SERVICE}/studio/grading/7b/marks.csv").text
    rows = list(csv.DictReader(table.splitlines()))
    assert rows and "score" in rows[0], table[:300]
    marks = [(row["student_id"], float(row["score"])) for row in rows if row["timestamp"]]
    if sorted(marks) != sorted(expected):
        errors.append(f"marks.csv: {sorted(set(marks) ^ set(expected))}")
    return errors
