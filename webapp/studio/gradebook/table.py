"""A class as a table: the result of each learner in each exercise, and the hidden case that fails most.

`arranged` sorts it and leaves learners out, as a teacher asks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from studio.grading.release import check_id

from . import book, feedback, outcomes
from .classroom import Classroom, Submission
from .outcomes import Outcome
from .titles import titles

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

SHADES = 4  # steps of the heat map between nothing and everything
Sort = Literal["name", "login", "email", "points"]
Only = Literal["all", "waiting", "open", "incomplete", "missing"]
SORTS: tuple[Sort, ...] = get_args(Sort)
ONLY: tuple[Only, ...] = get_args(Only)


@dataclass(frozen=True)
class Column:
    """A graded cell of a notebook. `missed` is the hidden case that most learners fail, by language, and how many."""

    notebook: str
    cell: str
    points: float
    titles: dict[str, str]
    missed: dict[str, str]
    missed_by: int
    mean: float | None
    failed: int = 0  # learners with a mark and less than its points
    marked: int = 0  # learners with a mark

    def title(self, lang: str) -> str:
        return self.titles[lang]

    @property
    def slot(self) -> str:
        """The exercise that this cell checks, as far as its verdicts say so."""
        return self.titles.get("slot", "")


@dataclass(frozen=True)
class Mark:
    """One field. `kind` is a verdict (`verdict.<kind>`), "trouble", "marked" (by nbgrader or by hand), "waiting"
    (handed in, not graded), "unchecked" (handed in, and without hidden checks not ours to grade) or "missing";
    `earned` is from the gradebook."""

    kind: str
    earned: float | None
    points: float
    by_hand: bool = False
    open: bool = False  # a teacher has to look at it

    @property
    def is_verdict(self) -> bool:
        return self.kind not in ("trouble", "marked", "waiting", "unchecked", "missing")

    @property
    def shade(self) -> int:
        """0 (nothing) to `SHADES` (everything); -1 where there is no mark."""
        if self.earned is None:
            return -1
        part = self.earned / self.points if self.points else 1.0
        return max(0, min(SHADES, int(part * SHADES)))


@dataclass(frozen=True)
class Row:
    """`returned` is when the marks were returned, in seconds since 1970, or 0; `stale` that the sum has changed since."""

    student: str
    name: str
    marks: tuple[Mark, ...]
    email: str = ""
    last_name: str = ""
    penalty: float = 0.0
    returned: float = 0.0
    stale: bool = False

    @property
    def earned(self) -> float:
        """The points, without a penalty for being late."""
        return sum(mark.earned or 0.0 for mark in self.marks)

    @property
    def score(self) -> float:
        return max(0.0, self.earned - self.penalty)


@dataclass(frozen=True)
class Table:
    assignment: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    waiting: int  # submissions without a verdict, or changed since theirs
    graded: int  # submissions with a verdict
    failed: int  # those of them that did not pass in full
    unchecked: tuple[str, ...] = ()  # notebooks that were handed in and have no hidden checks

    @property
    def points(self) -> float:
        return sum(column.points for column in self.columns)

    @property
    def mean(self) -> float:
        return sum(row.earned for row in self.rows) / max(1, len(self.rows))

    @property
    def returned(self) -> int:
        return sum(row.returned > 0 for row in self.rows)

    def hardest(self, count: int = 5) -> list[Column]:
        """The columns that the largest share of learners has not passed, the hardest first."""
        found = [column for column in self.columns if column.failed]
        return sorted(found, key=lambda column: -column.failed / column.marked)[:count]

    def shares(self) -> list[float]:
        """The share of the points of each learner who has a mark, 0 to 1."""
        marked = [row for row in self.rows if any(mark.earned is not None for mark in row.marks)]
        return [min(1.0, row.score / self.points) for row in marked] if self.points else []

    def notebooks(self) -> list[tuple[str, int]]:
        """The notebooks, each with its number of columns, in their order."""
        counts = Counter(column.notebook for column in self.columns)
        return list(counts.items())


def assignments(classroom: Classroom) -> list[str]:
    """Those on disk and those that only the gradebook knows."""
    with book.opened(classroom) as gradebook:
        return sorted(
            {assignment.name for assignment in gradebook.assignments} | classroom.assignments().keys()
        )


def table(classroom: Classroom, assignment: str) -> Table:
    """The state of an assignment."""
    handed_in = {s for s in classroom.submissions() if s.assignment == assignment}
    unchecked = tuple(notebook for name, notebook in classroom.unchecked() if name == assignment)
    with book.opened(classroom) as gradebook:
        people = {s.id: s for s in gradebook.students}
        told = {s.id: (s.first_name or "", s.last_name or "", s.email or "") for s in people.values()}
        returned = feedback.of_assignment(gradebook, assignment)
        late = _penalties(gradebook, assignment)
        found = {o.submission: o for o in outcomes.all_of(gradebook) if o.assignment == assignment}
        cells = _cells(gradebook, assignment)
        grades = _grades(gradebook, assignment)
    students = sorted(
        {s.student for s in handed_in}
        | {student for student, *_ in grades}
        | (told.keys() if cells else set())
    )
    rows = tuple(
        _row(
            student,
            told.get(student, ("", "", "")),
            late.get(student, 0.0),
            returned.get(student),
            tuple(
                _mark(
                    found.get(place := Submission(student, assignment, notebook)),
                    "missing"
                    if place not in handed_in
                    else "unchecked"
                    if notebook in unchecked
                    else "waiting",
                    cell,
                    points,
                    grades.get((student, notebook, cell)),
                )
                for notebook, cell, points in cells
            ),
        )
        for student in students
    )
    named = {notebook: titles(classroom, assignment, notebook) for notebook, *_ in cells}
    columns = tuple(
        _column(
            notebook,
            cell,
            points,
            named[notebook].get(cell),
            list(found.values()),
            [row.marks[n].earned for row in rows],
        )
        for n, (notebook, cell, points) in enumerate(cells)
    )
    waiting = sum(
        _waits(classroom, place, found.get(place)) for place in handed_in if place.notebook not in unchecked
    )
    failed = sum(outcome.failed for outcome in found.values())
    return Table(assignment, columns, rows, waiting, len(found), failed, unchecked)


def _waits(classroom: Classroom, place: Submission, outcome: Outcome | None) -> bool:
    return outcome is None or classroom.path(place).lstat().st_mtime > outcome.graded


def _cells(gradebook: Gradebook, assignment: str) -> list[tuple[str, str, float]]:
    """(notebook, graded cell, points), in the order of the notebooks and of their cells."""
    from nbgrader.api import MissingEntry

    try:
        notebooks = gradebook.find_assignment(assignment).notebooks
    except MissingEntry:
        return []
    return [
        (notebook.name, cell.name, float(cell.max_score))
        for notebook in sorted(notebooks, key=lambda notebook: notebook.name)
        for cell in (*notebook.grade_cells, *notebook.task_cells)
    ]


def _grades(gradebook: Gradebook, assignment: str) -> dict[tuple[str, str, str], Any]:
    """{(student, notebook, cell): grade} in one query: a class has hundreds."""
    from nbgrader.api import Assignment, BaseCell, Grade, Notebook, SubmittedAssignment, SubmittedNotebook

    rows = (
        gradebook.db.query(
            SubmittedAssignment.student_id,
            Notebook.name,
            BaseCell.name,
            Grade.auto_score,
            Grade.manual_score,
            Grade.score,
            Grade.needs_manual_grade,
        )
        .select_from(Grade)
        .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
        .join(Notebook, Notebook.id == SubmittedNotebook.notebook_id)
        .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .join(BaseCell, BaseCell.id == Grade.cell_id)
        .filter(Assignment.name == assignment)
    )
    return {(student, notebook, cell): rest for student, notebook, cell, *rest in rows}


def _mark(outcome: Outcome | None, ungraded: str, cell: str, points: float, grade: Any) -> Mark:
    """`ungraded` is the kind without a mark."""
    auto, manual, score, needs = grade or (None, None, None, False)
    earned = None if auto is None and manual is None else float(score or 0.0)
    kind = "marked" if earned is not None else ungraded
    if outcome is not None and cell.startswith("check-"):
        verdicts = {check_id(exercise.id): exercise.verdict for exercise in outcome.exercises}
        kind = "trouble" if outcome.trouble else verdicts.get(cell, kind)
    return Mark(kind, earned, points, by_hand=manual is not None, open=bool(needs))


def _column(
    notebook: str,
    cell: str,
    points: float,
    titled: dict[str, str] | None,
    found: list[Outcome],
    earned: Iterable[float | None],
) -> Column:
    exercises = [
        exercise
        for outcome in found
        if outcome.notebook == notebook
        for exercise in outcome.exercises
        if check_id(exercise.id) == cell
    ]
    named = {"en": cell, "zh": cell}
    if exercises:
        first = exercises[0]
        named = {"en": first.title, "zh": first.title_zh, "slot": first.id}
    named |= titled or {}
    missed = Counter((e.case, e.case_zh) for e in exercises if not e.passed and e.case).most_common(1)
    (case, case_zh), by = missed[0] if missed else (("", ""), 0)
    marks = [mark for mark in earned if mark is not None]
    mean = sum(marks) / len(marks) if marks else None
    failed = sum(mark < points for mark in marks)
    return Column(notebook, cell, points, named, {"en": case, "zh": case_zh}, by, mean, failed, len(marks))


def _row(
    student: str,
    told: tuple[str, str, str],
    penalty: float,
    back: feedback.Feedback | None,
    marks: tuple[Mark, ...],
) -> Row:
    first, last, email = told
    name = " ".join(filter(None, (first, last)))
    row = Row(student, name, marks, email, last, penalty, back.returned if back else 0.0)
    return replace(row, stale=back is not None and abs(back.score - row.score) > 1e-9)


def _penalties(gradebook: Gradebook, assignment: str) -> dict[str, float]:
    """{learner: points that are subtracted because the submission was late}"""
    from nbgrader.api import Assignment, SubmittedAssignment

    rows = (
        gradebook.db.query(SubmittedAssignment.student_id, SubmittedAssignment.late_submission_penalty)
        .join(Assignment, Assignment.id == SubmittedAssignment.assignment_id)
        .filter(Assignment.name == assignment)
    )
    return {student: float(penalty or 0.0) for student, penalty in rows}


def arranged(shown: Table, sort: Sort = "name", only: Only = "all", find: str = "") -> Table:
    """The table with its rows sorted (points from the most), and only those that `only` and the text `find` choose; the
    columns still tell about the whole class."""
    text = find.casefold().strip()
    keys: dict[Sort, Callable[[Row], Any]] = {
        "name": lambda row: ((row.last_name or row.name or row.student).casefold(), row.name.casefold()),
        "login": lambda row: row.student,
        "email": lambda row: (not row.email, row.email.casefold()),
        "points": lambda row: -row.score,
    }
    rows = [
        row
        for row in shown.rows
        if _chosen(row, only) and text in " ".join((row.student, row.name, row.email)).casefold()
    ]
    return replace(shown, rows=tuple(sorted(rows, key=keys[sort])))


def _chosen(row: Row, only: Only) -> bool:
    kinds = {mark.kind for mark in row.marks}
    return {
        "all": True,
        "waiting": "waiting" in kinds,
        "open": any(mark.open for mark in row.marks),
        "incomplete": any(mark.earned is not None and mark.earned < mark.points for mark in row.marks),
        "missing": "missing" in kinds,
    }[only]
