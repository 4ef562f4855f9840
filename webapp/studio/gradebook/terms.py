"""The terms of an assignment: when it opens and is due, what being late costs, how often one may hand in, who sees it.

They are kept in CLASS/.sampan/terms.json, where a hand-in reads them without opening the gradebook. nbgrader's own columns
get what they can hold (`lateness.py`). Times are seconds since 1970.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from filelock import FileLock

from studio.model_answers import MOST_FAILURES, When
from studio.runtime import write_atomically

from .classroom import COURSE, NAME, Classroom

DAY_S = 86_400
MOST_ATTEMPTS = 1000
MOST_EXTRA_S = 366 * DAY_S
FILE = "terms.json"
Late = Literal["refused", "marked", "penalty"]
State = Literal["hidden", "early", "open", "late", "closed", "used"]


@dataclass(frozen=True)
class Terms:
    """`late` says what happens after the deadline: nothing is accepted; it is accepted and marked late; or it costs `percent`
    percent of a notebook's points for each started day, and never more than leaves `floor` percent of them.

    `attempts` counts the hand-ins of each notebook, 0: no limit. `extensions` has more seconds by learner. `answers` says
    when a learner may open the model answer of an exercise: never, after `failures` failed checks of it, or after the
    deadline. Raises `ValueError` that names what does not fit.
    """

    opens: float | None = None
    deadline: float | None = None
    late: Late = "marked"
    percent: float = 10.0
    floor: float = 0.0
    attempts: int = 0
    visible: bool = True
    extensions: dict[str, float] = field(default_factory=dict)
    answers: When = "deadline"
    failures: int = 3

    def __post_init__(self) -> None:
        for name, moment in (("opens", self.opens), ("deadline", self.deadline)):
            if moment is not None and not (math.isfinite(moment) and 0 < moment < 253_402_214_400):
                raise ValueError(f"{name}: expected a time before the year 9999, got {moment!r}")
        if self.opens is not None and self.deadline is not None and self.opens >= self.deadline:
            raise ValueError("deadline: expected a time after the assignment opens")
        if self.late not in get_args(Late):
            raise ValueError(f"late: expected one of {', '.join(get_args(Late))}, got {self.late!r}")
        if not 0 <= self.percent <= 100 or not 0 <= self.floor <= 100:
            raise ValueError(f"expected percentages from 0 to 100, got {self.percent:g} and {self.floor:g}")
        if type(self.attempts) is not int or not 0 <= self.attempts <= MOST_ATTEMPTS:
            raise ValueError(f"attempts: expected 0 (no limit) to {MOST_ATTEMPTS}, got {self.attempts!r}")
        if self.answers not in get_args(When):
            raise ValueError(f"answers: expected one of {', '.join(get_args(When))}, got {self.answers!r}")
        if type(self.failures) is not int or not 1 <= self.failures <= MOST_FAILURES:
            raise ValueError(f"failures: expected 1 to {MOST_FAILURES}, got {self.failures!r}")
        for learner, seconds in self.extensions.items():
            if not NAME.fullmatch(learner) or not 0 < seconds <= MOST_EXTRA_S:
                raise ValueError(f"extension: expected a learner and at most 366 days, got {learner!r}")

    def due(self, learner: str) -> float | None:
        """The learner's own deadline, with an extension."""
        return None if self.deadline is None else self.deadline + self.extensions.get(learner, 0.0)

    def seconds_late(self, learner: str, received: float) -> int:
        """Whole seconds after the learner's deadline; 0 until the second of the deadline has passed."""
        due = self.due(learner)
        return 0 if due is None else max(0, math.floor(received) - math.floor(due))

    def penalty(self, learner: str, received: float, points: float) -> float:
        """What lateness costs of the `points` of a notebook."""
        days = math.ceil(self.seconds_late(learner, received) / DAY_S)
        if self.late != "penalty":
            return 0.0
        return points * min(days * self.percent, 100.0 - self.floor) / 100.0

    def state(self, learner: str, now: float, used: int) -> State:
        """What a hand-in of the learner meets now, after `used` hand-ins of the notebook. It is taken if "open" or "late"."""
        if not self.visible:
            return "hidden"
        if self.opens is not None and now < self.opens:
            return "early"
        late = self.seconds_late(learner, now) > 0
        if late and self.late == "refused":
            return "closed"
        if self.attempts and used >= self.attempts:
            return "used"
        return "late" if late else "open"

    def extended(self, learner: str, seconds: float) -> Terms:
        """The same with an extension of one learner; 0 takes it away."""
        others = {name: extra for name, extra in self.extensions.items() if name != learner}
        return replace(self, extensions={**others, **({learner: seconds} if seconds else {})})

    def shown(self, visible: bool) -> Terms:
        """The same, visible or hidden."""
        return replace(self, visible=visible)


FREE = Terms()  # where a teacher has set none
PRACTICE = Terms(answers="failures")  # of the course, until a teacher sets its terms


def default(assignment: str) -> Terms:
    """The terms of an assignment for which a teacher has set none."""
    return PRACTICE if assignment == COURSE else FREE


def parse(told: dict[str, Any]) -> Terms:
    """Terms from JSON. Raises `ValueError`."""
    try:
        return Terms(**told)
    except TypeError as error:
        raise ValueError(f"expected the terms of an assignment: {error}") from error


def load(classroom: Classroom) -> dict[str, Terms]:
    """The terms that were set, by assignment. Raises `ValueError` if the file is broken: without it nothing is decided."""
    path = classroom.private / FILE
    try:
        return {name: parse(told) for name, told in json.loads(path.read_text("utf-8")).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path} does not hold the terms of assignments: {error}") from error


def of(classroom: Classroom, assignment: str) -> Terms:
    return load(classroom).get(assignment, default(assignment))


def save(classroom: Classroom, assignment: str, terms: Terms) -> None:
    """Replaces the terms of one assignment. `lateness.enter` then brings the gradebook up to date."""
    update(classroom, assignment, lambda before: terms)


def update(classroom: Classroom, assignment: str, changed: Callable[[Terms], Terms]) -> None:
    """As `save`, with terms made from the present ones; of two changes at once none is lost."""
    with FileLock(classroom.private / "terms.lock", thread_local=False):
        every = load(classroom)
        every[assignment] = changed(every.get(assignment, default(assignment)))
        told = {name: asdict(one) for name, one in sorted(every.items())}
        write_atomically(classroom.private / FILE, json.dumps(told, ensure_ascii=False, indent=1).encode())
