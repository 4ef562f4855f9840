"""A submission as its teacher sees it: the answers with their verdicts, marks and comments, and its earlier versions."""

from __future__ import annotations

from dataclasses import dataclass

from studio.grading.release import check_id
from studio.grading.verdict import Result

from . import answers, book, feedback, history, marking, outcomes, titles
from .classroom import Classroom, Submission
from .marking import Beside, Marked
from .outcomes import Outcome
from .submissions import Unreadable, read


@dataclass(frozen=True)
class Work:
    """`parts` have what was handed in; `results` is {graded cell: verdict}, `titles` {graded cell: {language: title}}.

    `version` is the key of the earlier version that is shown instead of the present one, "" for the present one, and
    `readable` says whether its content could be read as a notebook. `returned` is when the marks were returned, in
    seconds since 1970, or 0.
    """

    submission: Submission
    name: str
    email: str
    parts: tuple[Marked, ...]
    results: dict[str, Result]
    titles: dict[str, dict[str, str]]
    outcome: Outcome | None
    penalty: float
    returned: float
    versions: tuple[history.Version, ...]
    beside: Beside
    readable: bool
    version: str = ""

    def title(self, marked: Marked, lang: str) -> str:
        """What a part is called: the titles of its graded cells, else the name of its answer."""
        named = [self.titles.get(cell, {}).get(lang, cell) for cell in marked.part.graded]
        return " · ".join(named) or marked.part.answer


def work(classroom: Classroom, submission: Submission, version: str = "") -> Work:
    """Reads a submission. Raises `LookupError` for a version that is not kept."""
    with book.opened(classroom) as gradebook:
        parts = marking.load(gradebook, classroom, submission)
        outcome = outcomes.load(gradebook, submission)
        beside = marking.beside(gradebook, classroom, submission)
        person = next((s for s in gradebook.students if s.id == submission.student), None)
        row = (
            next((s for s in person.submissions if s.name == submission.assignment), None) if person else None
        )
        penalty = float(row.late_submission_penalty or 0.0) if row else 0.0
        back = feedback.of_assignment(gradebook, submission.assignment).get(submission.student)
        first, last = (person.first_name or "", person.last_name or "") if person else ("", "")
        email = (person.email or "") if person else ""
    named = titles.titles(classroom, submission.assignment, submission.notebook)
    results = {check_id(result.id): result for result in outcome.exercises} if outcome else {}
    named = {**{c: {"en": r.title, "zh": r.title_zh} for c, r in results.items()}, **named}
    return Work(
        submission,
        " ".join(filter(None, (first, last))),
        email,
        tuple(parts),
        results,
        named,
        outcome,
        penalty,
        back.returned if back else 0.0,
        tuple(history.versions(classroom, submission)),
        beside,
        _read(classroom, submission, version, [marked.part for marked in parts]),
        version,
    )


def _read(classroom: Classroom, submission: Submission, version: str, parts: list[answers.Part]) -> bool:
    if version:
        content = history.content(classroom, submission, version)
        if content is None:
            raise LookupError(f"version {version!r} is not kept")
    else:
        try:
            content = read(classroom.root, classroom.path(submission))
        except (OSError, Unreadable):
            return False
    try:
        answers.fill(parts, content, answers.handed_out(classroom, submission)[1])
    except ValueError:
        return False
    return True
