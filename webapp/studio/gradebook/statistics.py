"""A class over time: submissions and exercises passed for each day, and how the marks are distributed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from . import book, history, outcomes
from .classroom import Classroom, Submission

MOST_DAYS = 60
BINS = 10


@dataclass(frozen=True)
class Day:
    """`submissions` were handed in on that day; `passed` counts learner-exercise pairs whose first passed version was."""

    day: date
    submissions: int
    passed: int


def days(classroom: Classroom, assignment: str) -> list[Day]:
    """From the first day with a submission to the last, at most `MOST_DAYS`; in this machine's time zone."""
    with book.opened(classroom) as gradebook:
        graded = [one for one in outcomes.all_of(gradebook) if one.assignment == assignment]
    events: list[tuple[Submission, float, list[str]]] = []
    seen: set[tuple[Submission, str]] = set()
    for submission, version in history.of_assignment(classroom, assignment):
        seen.add((submission, version.key.partition("-")[2]))
        events.append((submission, version.received, [slot for slot, _, _, ok in version.exercises if ok]))
    for one in graded:  # of a class that was graded before versions were kept
        if (one.submission, history.digits(one.mark)) not in seen:
            events.append((one.submission, one.submitted, [e.id for e in one.exercises if e.passed]))
    return _counted(events)


def _counted(events: Iterable[tuple[Submission, float, list[str]]]) -> list[Day]:
    submissions: Counter[date] = Counter()
    passed: Counter[date] = Counter()
    before: set[tuple[Submission, str]] = set()
    for submission, received, slots in sorted(events, key=lambda event: event[1]):
        day = datetime.fromtimestamp(received).date()
        submissions[day] += 1
        new = {(submission, slot) for slot in slots} - before
        passed[day] += len(new)
        before |= new
    if not submissions:
        return []
    last = max(submissions)
    first = max(min(submissions), last - timedelta(days=MOST_DAYS - 1))
    every = (first + timedelta(days=n) for n in range((last - first).days + 1))
    return [Day(day, submissions[day], passed[day]) for day in every]


def distribution(shares: Sequence[float]) -> list[int]:
    """How many of the shares (0 to 1) are in each tenth; full marks count for the last one."""
    counts = Counter(min(BINS - 1, int(share * BINS + 1e-9)) for share in shares)
    return [counts[place] for place in range(BINS)]
