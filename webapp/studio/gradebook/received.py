"""The hand-ins of a class's learners: each has a number and a time, and is on the disk before its receipt.

CLASS/.sampan/received/STUDENT/ASSIGNMENT/NOTEBOOK.json holds number, time and checksum of the last ones; what was sent last
is in `submitted`, where nbgrader expects it. One learner's hand-ins of a notebook follow each other under a lock, in all
threads and processes: so the count is exact, and none overtakes another.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from studio.runtime import write_atomically

from . import terms
from .classroom import Classroom, Submission
from .intake import accept
from .submissions import mark
from .terms import State

KEPT = 100  # records of one notebook; the numbering continues


@dataclass(frozen=True)
class HandIn:
    """`number` counts the hand-ins of this notebook from 1; `mark` is a checksum of the content."""

    number: int
    received: float
    mark: str


@dataclass
class NotTaken(Exception):
    """Raised for a hand-in that the terms do not allow."""

    state: State


def history(classroom: Classroom, submission: Submission) -> list[HandIn]:
    """The last hand-ins of a notebook, in their order; only those that a learner has sent."""
    with contextlib.suppress(FileNotFoundError):
        return [HandIn(**told) for told in json.loads(_record(classroom, submission).read_text("utf-8"))]
    return []


def used(classroom: Classroom, submission: Submission) -> int:
    """How many hand-ins there have been."""
    known = history(classroom, submission)
    return known[-1].number if known else 0


def take(
    classroom: Classroom,
    submission: Submission,
    content: bytes,
    received: float,
    reached: Callable[[], None] = lambda: None,
) -> HandIn:
    """Stores a hand-in that arrived at `received`, by the server's clock. Raises `NotTaken`.

    After a crash between the two writes, `submitted` has a hand-in without a record: its learner has no receipt, and tries
    again. `reached` is called between them (tests).
    """
    record = _record(classroom, submission)
    record.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(record.with_suffix(".lock"), thread_local=False):
        known = history(classroom, submission)
        number = known[-1].number + 1 if known else 1
        state = terms.of(classroom, submission.assignment).state(submission.student, received, number - 1)
        if state not in ("open", "late"):
            raise NotTaken(state)
        made = HandIn(number, received, mark(content))
        accept(classroom, submission, content, received)
        reached()
        told = [asdict(one) for one in (*known, made)][-KEPT:]
        write_atomically(record, json.dumps(told).encode())
    return made


def received(classroom: Classroom, submission: Submission, of: str) -> float | None:
    """When the content with the checksum `of` was handed in; None if its learner has not sent it. Sending the same once
    more does not make it later."""
    found = None
    for one in history(classroom, submission):
        found = None if one.mark != of else one.received if found is None else found
    return found


def _record(classroom: Classroom, submission: Submission) -> Path:
    student, assignment, notebook = submission.student, submission.assignment, submission.notebook
    return classroom.private / "received" / student / assignment / f"{notebook}.json"
