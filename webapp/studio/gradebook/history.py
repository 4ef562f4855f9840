"""Earlier submissions: each version that was handed in, with its receipt time and, once graded, its marks.

    CLASS/.sampan/history/STUDENT/ASSIGNMENT/NOTEBOOK/RECEIVED-SHA256.ipynb    the content
    CLASS/.sampan/history/STUDENT/ASSIGNMENT/NOTEBOOK/RECEIVED-SHA256.json     its marks

RECEIVED is in microseconds since 1970, SHA256 the first 16 digits. The contents of the last `MOST_KEPT` versions are
kept, as far as they fit into `MOST_BYTES`; marks of the last `MOST_MARKS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from studio.runtime import write_atomically

from .classroom import Classroom, Submission
from .outcomes import Outcome
from .submissions import mark

MOST_KEPT = 20
MOST_BYTES = 64 << 20  # of one learner's versions of one notebook
MOST_MARKS = 200
KEY = re.compile(r"(\d{10,20})-([0-9a-f]{16})")


@dataclass(frozen=True)
class Version:
    """One version. `key` identifies it among those of a submission; `received` and `graded` are seconds since 1970.

    `graded` is 0 for a version that was replaced before it was graded; then there are no marks. `exercises` is {slot:
    (earned, points, passed)}.
    """

    key: str
    received: float
    kept: bool  # the content can still be shown
    graded: float = 0.0
    trouble: str = ""
    exercises: tuple[tuple[str, float, float, bool], ...] = ()

    @property
    def earned(self) -> float:
        return sum(earned for _, earned, _, _ in self.exercises)

    @property
    def points(self) -> float:
        return sum(points for _, _, points, _ in self.exercises)

    @property
    def passed(self) -> int:
        return sum(passed for *_, passed in self.exercises)


def keep(classroom: Classroom, submission: Submission, content: bytes, received: float) -> None:
    """Keeps a version that was handed in now."""
    folder = _folder(classroom, submission)
    path = folder / f"{_key(received, mark(content))}.ipynb"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
        _prune(folder)


def graded(classroom: Classroom, outcome: Outcome, content: bytes) -> None:
    """Notes the marks of a version; its content is kept too, if it did not come through `keep`."""
    if not content:  # a link, or a file that is not read
        return
    folder = _folder(classroom, outcome.submission)
    same = sorted(
        path.stem for path in folder.glob(f"*-{digits(outcome.mark)}.ipynb")
    )  # the learner may go back to an earlier one
    key = same[-1] if same else _key(outcome.submitted, outcome.mark)
    told = {
        "graded": outcome.graded,
        "trouble": outcome.trouble,
        "exercises": [[e.id, e.earned, e.points, e.passed] for e in outcome.exercises],
    }
    folder.mkdir(parents=True, exist_ok=True)
    if not same:
        write_atomically(folder / f"{key}.ipynb", content)
    write_atomically(folder / f"{key}.json", json.dumps(told).encode())
    _prune(folder)


def versions(classroom: Classroom, submission: Submission) -> list[Version]:
    """The versions of one submission, the latest first."""
    return _versions(_folder(classroom, submission))


def of_assignment(classroom: Classroom, assignment: str) -> Iterator[tuple[Submission, Version]]:
    """Every version of every learner in an assignment."""
    for folder in sorted((classroom.private / "history").glob("*")):
        for notebook in sorted((folder / assignment).glob("*")):
            submission = Submission(folder.name, assignment, notebook.name)
            for version in _versions(notebook):
                yield submission, version


def content(classroom: Classroom, submission: Submission, key: str) -> bytes | None:
    """What was handed in then; None if it is not kept."""
    if not KEY.fullmatch(key):
        return None
    try:
        return (_folder(classroom, submission) / f"{key}.ipynb").read_bytes()
    except FileNotFoundError:
        return None


def _folder(classroom: Classroom, submission: Submission) -> Path:
    return classroom.private / "history" / submission.student / submission.assignment / submission.notebook


def _key(received: float, mark_: str) -> str:
    return f"{int(received * 1e6):016d}-{digits(mark_)}"


def digits(mark_: str) -> str:
    """The part of a content's mark that is in the names of the files."""
    return mark_.partition(":")[2][:16]


def _versions(folder: Path) -> list[Version]:
    keys = {path.stem for path in folder.glob("*") if KEY.fullmatch(path.stem)}
    return [_version(folder, key) for key in sorted(keys, reverse=True)]


def _version(folder: Path, key: str) -> Version:
    received, kept = int(key.partition("-")[0]) / 1e6, (folder / f"{key}.ipynb").exists()
    try:
        told = json.loads((folder / f"{key}.json").read_text("utf-8"))
    except FileNotFoundError:
        return Version(key, received, kept)
    exercises = tuple((str(s), float(e), float(p), bool(ok)) for s, e, p, ok in told["exercises"])
    return Version(key, received, kept, told["graded"], told["trouble"], exercises)


def _prune(folder: Path) -> None:
    left = MOST_BYTES
    for number, path in enumerate(sorted(folder.glob("*.ipynb"), reverse=True)):
        left -= path.stat().st_size
        if number and (number >= MOST_KEPT or left < 0):  # the last version is kept in any case
            path.unlink()
    for path in sorted(folder.glob("*.json"), reverse=True)[MOST_MARKS:]:
        path.unlink()
