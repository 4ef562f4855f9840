"""The terms of an assignment in nbgrader's columns: `duedate`, `extension` and `late_submission_penalty`.

So nbgrader's formgrader and every export agree with what the Studio says. The penalty is in points of one notebook; what a
submission is worth is its score less the penalty, and never below 0.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from . import outcomes
from . import terms as kept
from .classroom import Classroom, Submission
from .terms import Terms

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def charge(notebook: Any, terms: Terms, received: float) -> None:
    """Enters the penalty and the extension of one submitted notebook (nbgrader's row); the caller commits."""
    learner = notebook.assignment.student.id
    extra = terms.extensions.get(learner)
    # nbgrader adds the extension to the date: it must have one.
    notebook.assignment.extension = timedelta(seconds=extra) if extra and terms.deadline else None
    notebook.late_submission_penalty = terms.penalty(learner, received, float(notebook.notebook.max_score))


def enter(gradebook: Gradebook, classroom: Classroom, assignment: str) -> None:
    """After a change of the terms: the date of the assignment, and all its penalties anew. The caller holds
    `book.writing`."""
    terms = kept.of(classroom, assignment)
    row = gradebook.update_or_create_assignment(assignment, course_id=classroom.course_id)
    row.duedate = None if terms.deadline is None else _naive(terms.deadline)
    told = {o.submission: o.submitted if o.stamped else 0.0 for o in outcomes.all_of(gradebook)}
    for submission in gradebook.assignment_submissions(assignment):
        for notebook in submission.notebooks:
            stamp = submission.timestamp
            place = Submission(submission.student.id, assignment, notebook.name)
            received = told.get(place, stamp.replace(tzinfo=UTC).timestamp() if stamp else None)
            if received is not None:
                charge(notebook, terms, received)
    gradebook.db.commit()


def change(classroom: Classroom, assignment: str, changed: Callable[[Terms], Terms]) -> None:
    """Changes the terms of an assignment, and with them the penalties of what was handed in already."""
    from . import book  # it imports this module

    kept.update(classroom, assignment, changed)
    with book.writing(classroom), book.opened(classroom) as gradebook:
        enter(gradebook, classroom, assignment)


def adopt(gradebook: Gradebook, classroom: Classroom) -> None:
    """Dates that were set with nbgrader's own tools become deadlines here, where there are no terms yet."""
    known = kept.load(classroom)
    for row in gradebook.assignments:
        if row.duedate is not None and row.name not in known:
            deadline = row.duedate.replace(tzinfo=UTC).timestamp()
            kept.save(classroom, row.name, Terms(deadline=deadline))


def _naive(moment: float) -> datetime:
    """UTC without a zone, as nbgrader keeps its times."""
    return datetime.fromtimestamp(moment, UTC).replace(tzinfo=None)
