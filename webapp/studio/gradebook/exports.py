"""Marks for other programs: nbgrader's table, a table by exercise, and what learning platforms import.

- `nbgrader`: the columns of `nbgrader export`. https://nbgrader.readthedocs.io/en/stable/user_guide/managing_the_gradebook.html
- `exercises`: one row a learner, one column for each graded cell.
- `canvas`: `Student, ID, SIS User ID, SIS Login ID, Section` and a column for each assignment; the row `Points Possible`
  has the maxima. Canvas identifies a learner by ID, else by one of the SIS columns; it imports no comments.
  https://community.canvaslms.com/t5/Instructor-Guide/How-do-I-import-grades-in-the-Gradebook/ta-p/807
- `moodle`: `username, idnumber, email, firstname, lastname`, and for each assignment `<name>`, `<name> (maximum)` and
  `<name> (feedback)`. Moodle asks which column is what when it imports. https://docs.moodle.org/en/Grade_import
- `lti`: a Score object of LTI Assignment and Grade Services 2.0 a line, for `POST <line item>/scores`.
  https://www.imsglobal.org/spec/lti-ags/v2p0#score-publish-service

Learners without a submission have an empty mark in the platforms' tables and no Score object: a zero would be a mark.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING, Any, Literal, get_args

from studio.i18n import t

from . import book, returning
from .classroom import Classroom
from .feedback import Feedback

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

Form = Literal["nbgrader", "exercises", "canvas", "moodle", "lti"]
FORMS: tuple[Form, ...] = get_args(Form)
# A Score names no assignment: it is posted to the line item of one. In an export of all of them this property names it:
# the specification allows further properties whose names are addresses.
ASSIGNMENT = "https://sampan.invalid/lti/assignment"


@dataclass(frozen=True)
class Learner:
    """`external` is the id in the learning platform (nbgrader's `lms_user_id`), else the learner's own."""

    id: str
    first_name: str
    last_name: str
    email: str
    external: str

    @property
    def name(self) -> str:
        """Last name first, as Canvas lists learners."""
        return ", ".join(filter(None, (self.last_name, self.first_name))) or self.id


def export(classroom: Classroom, form: Form, assignment: str = "", lang: str = "en") -> str:
    """The marks of one assignment, or of all, as text; comments are in `lang`. Raises `ValueError` for an unknown
    assignment."""
    with book.opened(classroom) as gradebook:
        known = [one.name for one in gradebook.assignments]
        if assignment and assignment not in known:
            raise ValueError(
                f"{classroom.name} has no {assignment!r}; there is {', '.join(known) or 'nothing'}"
            )
        chosen = [assignment] if assignment else sorted(known)
        if form == "nbgrader":
            return book.as_csv([row for row in book.marks(gradebook) if row["assignment"] in chosen])
        learners = [_learner(student) for student in gradebook.students]
        marks = {
            name: {m.student: m for m in returning.current(gradebook, classroom, name)} for name in chosen
        }
        if form == "lti":
            return _scores(gradebook, learners, marks, lang)
        if form == "exercises":
            return _table(*_by_exercise(learners, marks, lang))
        maxima = {name: float(gradebook.find_assignment(name).max_score) for name in chosen}
    rows = _canvas(learners, marks, maxima) if form == "canvas" else _moodle(learners, marks, maxima, lang)
    return _table(*rows)


def _learner(student: Any) -> Learner:
    told = (student.id, student.first_name or "", student.last_name or "", student.email or "")
    return Learner(*told, student.lms_user_id or student.id)


Marks = dict[str, dict[str, Feedback]]
Rows = tuple[list[str], Iterable[Sequence[Any]]]


def _by_exercise(learners: list[Learner], marks: Marks, lang: str) -> Rows:
    columns: dict[tuple[str, str, str], str] = {}
    values: dict[str, dict[tuple[str, str, str], float | str]] = {}
    for assignment, found in marks.items():
        for one in found.values():
            for notebook in one.notebooks:
                for exercise in notebook.exercises:
                    key = (assignment, notebook.name, exercise.title)
                    title = " / ".join((*key[:2], exercise.told("title", lang)))
                    columns.setdefault(key, f"{title} ({exercise.points:g})")
                    values.setdefault(one.student, {})[key] = exercise.score if exercise.marked else ""
    head = ["student_id", "last_name", "first_name", "email", *columns.values()]
    head += [
        f"{assignment} / {what}" for assignment in marks for what in ("late_submission_penalty", "score")
    ]
    rows = [
        [
            *(learner.id, learner.last_name, learner.first_name, learner.email),
            *(values.get(learner.id, {}).get(key, "") for key in columns),
            *(
                value
                for found in marks.values()
                for value in (
                    (found[learner.id].penalty, found[learner.id].score) if learner.id in found else ("", "")
                )
            ),
        ]
        for learner in learners
    ]
    return head, rows


def _canvas(learners: list[Learner], marks: Marks, maxima: dict[str, float]) -> Rows:
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *marks]
    rows: list[list[Any]] = [["Points Possible", "", "", "", "", *(f"{maxima[name]:g}" for name in marks)]]
    for learner in learners:
        own = learner.external if learner.external != learner.id else ""
        row = [learner.name, own, learner.id, learner.email or learner.id, ""]
        rows.append([*row, *(_score(found.get(learner.id)) for found in marks.values())])
    return head, rows


def _moodle(learners: list[Learner], marks: Marks, maxima: dict[str, float], lang: str) -> Rows:
    head = ["username", "idnumber", "email", "firstname", "lastname"]
    for name in marks:
        head += [name, f"{name} (maximum)", f"{name} (feedback)"]
    rows = []
    for learner in learners:
        row: list[Any] = [learner.id, learner.external, learner.email, learner.first_name, learner.last_name]
        for name, found in marks.items():
            one = found.get(learner.id)
            row += [_score(one), f"{maxima[name]:g}", "" if one is None else comment(one, lang)]
        rows.append(row)
    return head, rows


def _score(one: Feedback | None) -> str:
    return "" if one is None else f"{one.score:g}"


def comment(one: Feedback, lang: str) -> str:
    """The comments of all exercises, a line for each, and the late penalty."""
    lines = [
        f"{exercise.told('title', lang)}: {exercise.comment}"
        for notebook in one.notebooks
        for exercise in notebook.exercises
        if exercise.comment
    ]
    if one.penalty:
        lines.append(t("marking.late", lang, penalty=f"{one.penalty:g}"))
    return "\n".join(lines)


def _scores(gradebook: Gradebook, learners: list[Learner], marks: Marks, lang: str) -> str:
    now = _moment(datetime.now(UTC))
    lines = []
    for assignment, found in marks.items():
        rows = {row.student.id: row for row in gradebook.find_assignment(assignment).submissions}
        most = float(gradebook.find_assignment(assignment).max_score)
        for learner in learners:
            one, row = found.get(learner.id), rows.get(learner.id)
            if one is None or row is None or most <= 0:  # the specification wants a positive maximum
                continue
            score: dict[str, Any] = {
                "userId": learner.external,
                "scoreGiven": one.score,
                "scoreMaximum": most,
                "comment": comment(one, lang),
                "timestamp": now,
                "activityProgress": "Submitted",
                "gradingProgress": "PendingManual" if row.needs_manual_grade else "FullyGraded",
            }
            if len(marks) > 1:
                score[ASSIGNMENT] = assignment
            if row.timestamp is not None:
                score["submission"] = {"submittedAt": _moment(row.timestamp.replace(tzinfo=UTC))}
            lines.append(json.dumps(score, ensure_ascii=False) + "\n")
    return "".join(lines)


def _moment(when: datetime) -> str:
    """ISO 8601 with fractions of a second and a time zone, as the specification asks for."""
    return when.isoformat(timespec="milliseconds")


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([book.defused(value) for value in head])
    writer.writerows([book.defused(value) for value in row] for row in rows)
    return out.getvalue()
