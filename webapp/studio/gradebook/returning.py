"""Returns the marks of an assignment to its learners, or withdraws them: the gradebook, and nbgrader's `feedback/`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from studio.grading.release import check_id
from studio.i18n import HTML_LANGUAGE, t
from studio.moments import minute
from studio.runtime import write_atomically

from . import answers, book, feedback, marking, outcomes, titles
from .classroom import Classroom, Submission
from .feedback import Feedback, Returned, ReturnedNotebook
from .submissions import Unreadable, read

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


def return_marks(
    classroom: Classroom, assignment: str, students: Collection[str] = (), lang: str = "en"
) -> list[str]:
    """Shows the present marks, verdicts and comments to these learners, or to all who have marks; returns their names.

    `lang` is the language of the files. Raises `ValueError` if there is nothing to return.
    """
    now = time.time()
    with book.writing(classroom), book.opened(classroom) as gradebook:
        found = [
            replace(one, returned=now)
            for one in current(gradebook, classroom, assignment)
            if not students or one.student in students
        ]
        if not found:
            raise ValueError(f"{assignment}: there are no marks to return yet")
        for one in found:
            feedback.keep(gradebook, one)
        gradebook.db.commit()
        for one in found:
            for notebook in one.notebooks:
                parts = _answers(gradebook, classroom, Submission(one.student, assignment, notebook.name))
                path = _path(classroom, one, notebook.name)
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, _page(one, notebook, parts, lang).encode())
                path.chmod(0o644)  # as nbgrader's own: `nbgrader release_feedback` copies them
    return [one.student for one in found]


def withdraw(classroom: Classroom, assignment: str, students: Collection[str] = ()) -> list[str]:
    """Takes back what was returned to these learners, or to all; returns their names."""
    with book.writing(classroom), book.opened(classroom) as gradebook:
        found = feedback.of_assignment(gradebook, assignment)
        chosen = {name: one for name, one in found.items() if not students or name in students}
        feedback.forget(gradebook, assignment, chosen)
        gradebook.db.commit()
    for one in chosen.values():
        for notebook in one.notebooks:
            _path(classroom, one, notebook.name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # the folder has other files
            _path(classroom, one, "x").parent.rmdir()
    return list(chosen)


def current(gradebook: Gradebook, classroom: Classroom, assignment: str) -> list[Feedback]:
    """What each learner with a submission would get now, not returned."""
    from nbgrader.api import MissingEntry

    try:
        rows = gradebook.find_assignment(assignment).submissions
    except MissingEntry:
        return []
    verdicts = {o.submission: o for o in outcomes.all_of(gradebook) if o.assignment == assignment}
    found = []
    for row in rows:
        places = [Submission(row.student.id, assignment, notebook.name) for notebook in row.notebooks]
        notebooks = tuple(
            notebook
            for place in sorted(places)
            if (notebook := _notebook(gradebook, classroom, place, verdicts.get(place))).exercises
        )
        found.append(
            Feedback(assignment, row.student.id, notebooks, float(row.late_submission_penalty or 0.0))
        )
    return sorted(found, key=lambda one: one.student)


def _notebook(
    gradebook: Gradebook, classroom: Classroom, place: Submission, outcome: outcomes.Outcome | None
) -> ReturnedNotebook:
    named = titles.titles(classroom, place.assignment, place.notebook)
    results = {check_id(e.id): e for e in outcome.exercises} if outcome else {}
    found = []
    for part in marking.load(gradebook, classroom, place):
        for number, mark in enumerate(part.marks):
            title, result = named.get(mark.cell, {}), results.get(mark.cell)
            found.append(
                Returned(
                    title.get("en", result.title if result else mark.cell),
                    title.get("zh", result.title_zh if result else mark.cell),
                    mark.points,
                    mark.score,
                    mark.extra or 0.0,
                    mark.manual is not None,
                    (part.comment or "") if number == 0 else "",
                    *((result.verdict, result.message, result.message_zh) if result else ("", "", "")),
                    mark.given is not None,
                )
            )
        if part.comment and not part.marks:  # an answer that has no points of its own
            found.append(Returned(part.part.answer, part.part.answer, 0.0, 0.0, comment=part.comment))
    return ReturnedNotebook(place.notebook, tuple(found), outcome.trouble if outcome else "")


def _path(classroom: Classroom, one: Feedback, notebook: str) -> Path:
    return classroom.folder("feedback", one.assignment, one.student) / f"{notebook}.html"


def _page(one: Feedback, notebook: ReturnedNotebook, parts: list[answers.Part], lang: str) -> str:
    """A page without scripts; all that a learner or a teacher wrote is in it as text."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    from studio.paths import TEMPLATES, stylesheet

    templates = Environment(
        loader=FileSystemLoader(TEMPLATES / "pages"), autoescape=True, undefined=StrictUndefined
    )
    return templates.get_template("feedback_file.html").render(
        t=partial(t, lang=lang),
        lang=lang,
        html_lang=HTML_LANGUAGE[lang],
        one=one,
        notebook=notebook,
        answers=parts,
        when=minute(one.returned),
        styles=Markup(stylesheet()),
    )


def _answers(gradebook: Gradebook, classroom: Classroom, place: Submission) -> list[answers.Part]:
    """What was handed in, answer by answer; empty if it cannot be read."""
    parts = [marked.part for marked in marking.load(gradebook, classroom, place)]
    try:
        answers.fill(
            parts, read(classroom.root, classroom.path(place)), answers.handed_out(classroom, place)[1]
        )
    except (OSError, ValueError, Unreadable):
        return []
    return [part for part in parts if part.written is not None]
