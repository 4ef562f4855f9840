"""The class of this Studio's own user: their checks on the Courses page are entered in a gradebook too.

It is a class like any other (`WORKSPACE/classes/own`), with one assignment that holds the whole course.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from studio import identity
from studio.grading import release
from studio.grading.verdict import Verdict
from studio.runtime import write_atomically

from . import book, outcomes
from .classroom import COURSE, OWN, Classroom
from .outcomes import Outcome
from .submissions import mark


def enter(home: Path, instructor: Path, content: bytes, verdict: Verdict, attempt: int) -> None:
    """Enters the verdict on a learner's own notebook, as of now; `content` is what was graded.

    The gradebook opens in seconds the first time (imports) and in milliseconds then: call it in a thread.
    """
    folder = home / "classes" / OWN
    folder.mkdir(parents=True, exist_ok=True)
    classroom, student, notebook = (
        Classroom(folder, instructor.parent),
        identity.local().name,
        instructor.stem,
    )
    now = time.time()
    outcome = Outcome(
        *(student, COURSE, notebook, mark(content)),
        submitted=now,
        graded=now,
        attempt=attempt,
        sandboxed=verdict.sandboxed,
        stamped=True,
        exercises=verdict.exercises,
    )
    with book.writing(classroom):
        _write(classroom, instructor, outcome, content)


def _write(classroom: Classroom, instructor: Path, outcome: Outcome, content: bytes) -> None:
    """No-op if a later check has been entered already: checks may end in another order than they began."""
    with book.opened(classroom) as gradebook:
        before = outcomes.load(gradebook, outcome.submission)
        known = book.knows(gradebook, COURSE, outcome.notebook)
    if before is not None and before.attempt > outcome.attempt:
        return
    copy = classroom.path(outcome.submission)
    copy.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(copy, content)
    outcome = replace(
        outcome, graded=time.time()
    )  # not before the copy was written: it has not changed since
    if not known:
        book.know(classroom, COURSE, outcome.notebook, release.release(release.read(instructor)))
    with book.opened(classroom) as gradebook:
        book.enter(gradebook, outcome)
