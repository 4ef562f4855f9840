"""nbgrader's gradebook through its own Python API.

The score of an exercise is written to `auto_score` of the grade cell `check-<slot>` of the same notebook, as
nbgrader's own autograder would write it: formgrader, manual grades, comments and all exports keep working.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from studio.environment import clean_environment
from studio.grading.release import check_id

from . import feedback, lateness, moved, outcomes  # noqa: F401  `feedback` declares a table
from .classroom import Classroom, Submission
from .outcomes import Outcome
from .terms import FREE, Terms

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

# The columns of `nbgrader export`.
COLUMNS = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)
FORMULA = tuple("=+-@＝＋－＠")


@contextmanager
def opened(classroom: Classroom) -> Iterator[Gradebook]:
    """The class's gradebook, created if missing, and migrated to the schemas of this nbgrader and of Sampan if it
    is older."""
    from nbgrader.api import Gradebook  # imports take seconds, and few processes need them

    with FileLock(classroom.private / "gradebook.lock"):
        prepare(classroom)
        files = classroom.private / "outcomes"
        if files.is_dir():
            from .outcome_files import take_over

            with Gradebook(classroom.database, classroom.course_id) as gradebook:
                take_over(gradebook, files)
    with Gradebook(classroom.database, classroom.course_id) as gradebook:
        yield gradebook


@contextmanager
def writing(classroom: Classroom) -> Iterator[None]:
    """One writer at a time in a class, of all threads and processes: rows inserted by two at once would conflict,
    and the later verdict must be kept."""
    with FileLock(classroom.private / "writing.lock", thread_local=False):
        yield


def prepare(classroom: Classroom) -> None:
    """nbgrader's tables and their version, our own tables, and exercises of the course that have moved. Where nbgrader's are missing, `Gradebook` itself starts the
    program `alembic` to ask for the version: seconds, and an error where it is not on the PATH."""
    from alembic.script import ScriptDirectory
    from nbgrader import dbutil
    from nbgrader.api import Base
    from sqlalchemy import create_engine, inspect, text

    engine = create_engine(classroom.database)
    try:
        newest = ScriptDirectory(dbutil.ALEMBIC_DIR).get_current_head()
        tables = inspect(engine).get_table_names()
        with engine.begin() as connection:
            if not tables:
                Base.metadata.create_all(connection)
                connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
                connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": newest})
            outcomes.OURS.create_all(connection)
            moved.settle(connection, classroom)
            versioned = not tables or "alembic_version" in tables
            ours = (
                connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
                if versioned
                else None
            )
    finally:
        engine.dispose()
    if ours != newest:
        _upgrade(classroom)


def _upgrade(classroom: Classroom) -> None:
    """As `nbgrader db upgrade` does: a copy under a dated name, then the migrations, in a process of their own."""
    file = classroom.root / "gradebook.db"
    if file.is_file():
        shutil.copy2(file, f"{file}.{datetime.now():%Y-%m-%d-%H%M%S.%f}")
    environment = clean_environment(os.environ)
    environment["PATH"] = os.pathsep.join(
        [sysconfig.get_path("scripts"), environment.get("PATH", os.defpath)]
    )
    command = [sys.executable, "-c", "import sys; from nbgrader.dbutil import upgrade; upgrade(sys.argv[1])"]
    done = subprocess.run([*command, classroom.database], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"the gradebook of {classroom.name} could not be upgraded: {done.stderr[-2000:]}")


def know(classroom: Classroom, assignment: str, notebook: str, released: Any) -> None:
    """Enters a notebook's cells and points, with nbgrader's own code; `released` also gets its checksums.

    Raises `ValueError` if graded cells were added or removed after the first submission.
    """
    from nbgrader.preprocessors import ComputeChecksums, SaveCells

    resources = {
        "nbgrader": {"notebook": notebook, "assignment": assignment, "db_url": classroom.database},
    }
    with opened(classroom) as gradebook:
        gradebook.update_or_create_assignment(assignment, course_id=classroom.course_id)
    ComputeChecksums().preprocess(released, resources)
    try:
        SaveCells().preprocess(released, resources)
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def knows(gradebook: Gradebook, assignment: str, notebook: str) -> bool:
    from nbgrader.api import MissingEntry

    try:
        return bool(gradebook.find_notebook(notebook, assignment).grade_cells)
    except MissingEntry:
        return False


def enter(gradebook: Gradebook, outcome: Outcome, terms: Terms | None = None) -> None:
    """The verdict and the marks of one notebook, in one transaction, with what `terms` take for lateness. A teacher's own
    marks are never touched.

    A submission that could not be graded gets no points and is marked for manual grading. Raises `ValueError` when
    the gradebook has no cell for an exercise.
    """
    assignment, name = outcome.assignment, outcome.notebook
    notebook = begin(gradebook, outcome.submission)
    submission = notebook.assignment
    grades = {grade.name: grade for grade in notebook.grades}
    earned = {check_id(slot): points for slot, points in outcome.earned().items()}
    unknown = sorted(earned.keys() - grades.keys())
    if unknown:
        raise ValueError(f"{assignment}/{name}: the gradebook has no graded cell {', '.join(unknown)}")
    if outcome.stamped:
        when = datetime.fromtimestamp(outcome.submitted, UTC).replace(tzinfo=None)
        # of the notebook that was handed in last
        submission.timestamp = max(when, submission.timestamp or when)
    else:  # as nbgrader does: its formgrader counts a submission as graded if this equals timestamp.txt
        submission.timestamp = None
    for cell, grade in grades.items():
        if cell in earned or (outcome.trouble and cell.startswith("check-")):
            grade.auto_score = earned.get(cell, 0.0)
            grade.needs_manual_grade = bool(outcome.trouble) or grade.manual_score is not None
    outcomes.keep(gradebook, notebook, outcome)
    if terms is not None:
        lateness.charge(notebook, terms, outcome.submitted if outcome.stamped else 0.0)
    gradebook.db.commit()


def enter_by_hand(
    gradebook: Gradebook, submission: Submission, submitted: float, terms: Terms | None = None
) -> None:
    """A notebook without hidden checks that was handed in: all its graded cells wait for a teacher's marks. No-op if this
    hand-in is known."""
    notebook = begin(gradebook, submission)
    row = notebook.assignment
    when = datetime.fromtimestamp(submitted, UTC).replace(tzinfo=None)
    if row.timestamp is None or row.timestamp < when or notebook.late_submission_penalty is None:
        for grade in notebook.grades:  # a mark for what was handed in before has to be looked at again
            grade.needs_manual_grade = row.timestamp is not None or grade.manual_score is None
        row.timestamp = max(when, row.timestamp or when)
        lateness.charge(notebook, terms or FREE, submitted)
    gradebook.db.commit()


def begin(gradebook: Gradebook, place: Submission) -> Any:
    """nbgrader's row of a submitted notebook; it, the learner and the submission are created if missing."""
    gradebook.update_or_create_student(place.student)
    with gradebook.db.no_autoflush:  # nbgrader's own way to add one causes a warning
        submission = gradebook.update_or_create_submission(place.assignment, place.student)
        return _submitted(gradebook, submission, place.notebook)


def _submitted(gradebook: Gradebook, submission: Any, name: str) -> Any:
    """The notebook's row in a submission; created now if the notebook was added to the assignment later."""
    from nbgrader.api import Comment, Grade, MissingEntry, SubmittedNotebook

    assignment, student = submission.assignment.name, submission.student.id
    try:
        return gradebook.find_submission_notebook(name, assignment, student)
    except MissingEntry:
        notebook = gradebook.find_notebook(name, assignment)
    row = SubmittedNotebook(notebook=notebook, assignment=submission)
    row.grades = [Grade(cell=cell) for cell in (*notebook.grade_cells, *notebook.task_cells)]
    row.comments = [Comment(cell=cell) for cell in (*notebook.solution_cells, *notebook.task_cells)]
    gradebook.db.add(row)
    return row


def marks(gradebook: Gradebook) -> list[dict[str, Any]]:
    """One row for each assignment and student, with the columns and the values of `nbgrader export`."""
    from nbgrader.api import MissingEntry

    rows = []
    for assignment in gradebook.assignments:
        for student in gradebook.students:
            row: dict[str, Any] = {
                "assignment": assignment.name,
                "duedate": assignment.duedate,
                "student_id": student.id,
                "last_name": student.last_name,
                "first_name": student.first_name,
                "email": student.email,
                "max_score": assignment.max_score,
            }
            try:
                submission = gradebook.find_submission(assignment.name, student.id)
            except MissingEntry:
                row |= {"timestamp": "", "raw_score": 0.0, "late_submission_penalty": 0.0, "score": 0.0}
            else:
                late = submission.late_submission_penalty
                row |= {
                    "timestamp": submission.timestamp,
                    "raw_score": submission.score,
                    "late_submission_penalty": late,
                    "score": max(0.0, submission.score - late),
                }
            rows.append({column: row[column] for column in COLUMNS})
    return rows


def as_csv(rows: list[dict[str, Any]]) -> str:
    """For a spreadsheet: quoted where necessary, and no text that it would run as a formula."""
    out = StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({column: defused(value) for column, value in row.items()} for row in rows)
    return out.getvalue()


def defused(value: Any) -> Any:
    """A cell of a table that a spreadsheet will not run as a formula."""
    if not isinstance(value, str):
        return "" if value is None else value
    text = value.replace(
        "\r", " "
    )  # a spreadsheet would read it as the end of the line, and csv does not quote it
    return f"'{text}" if text.lstrip().startswith(FORMULA) else text
