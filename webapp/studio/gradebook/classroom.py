"""A class on disk, as nbgrader lays it out: source, release, submitted, autograded and the gradebook.

CLASS/source/ASSIGNMENT/NOTEBOOK.ipynb              the instructor's version, its hidden checks in checks/ beside it
CLASS/release/ASSIGNMENT/NOTEBOOK.ipynb             what learners get
CLASS/submitted/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb   what was handed in
CLASS/autograded/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb  the same with its verdicts, for nbgrader's formgrader
CLASS/feedback/STUDENT/ASSIGNMENT/NOTEBOOK.html     marks and comments that were returned
CLASS/gradebook.db                                  nbgrader's gradebook, and the verdicts (`outcomes.py`)
CLASS/.sampan/                                      the state of a grading run (`run.py`), earlier submissions, locks
"""

from __future__ import annotations

import ast
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from studio.grading.cells import parse
from studio.paths import NOTEBOOKS

PRIVATE = ".sampan"
OWN = "own"  # the class of this Studio's own user, with their own checks
COURSE = "course"  # the assignment that holds the whole course
SETTINGS = "nbgrader_config.py"
# Of a class, an assignment, a notebook or a learner, as a folder's name: in any script, with spaces inside.
NAME = re.compile(r"[^\W_]([\w.@' -]{0,62}[\w.@'-])?")


@dataclass(frozen=True, order=True)
class Submission:
    """One notebook that a learner has handed in; the file may be anything."""

    student: str
    assignment: str
    notebook: str

    @property
    def name(self) -> str:
        return f"{self.student}/{self.assignment}/{self.notebook}"


class Classroom:
    """The folder of one class. `course` has the instructor's notebooks for which the class has no `source`.

    Raises `ValueError` when the folder or its nbgrader_config.py cannot be used.
    """

    def __init__(self, folder: Path, course: Path = NOTEBOOKS) -> None:
        self.root = Path(os.path.abspath(folder))
        if not self.root.is_dir():
            raise ValueError(f"class: expected a folder, got {str(folder)!r}")
        self.course = course
        settings = _settings(self.root / SETTINGS)
        self.course_id = settings.get("course_id", "default_course") or "default_course"
        self.layout = settings.get("directory_structure", "{nbgrader_step}/{student_id}/{assignment_id}")
        self.steps = {
            step: settings.get(f"{step}_directory", step)
            for step in ("source", "release", "submitted", "autograded", "feedback")
        }
        # A timeout of half a minute: a grading run and the Studio's pages may write at the same moment.
        self.database = settings.get("db_url") or f"sqlite:///{self.root / 'gradebook.db'}?timeout=30"

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def private(self) -> Path:
        """The Studio's own folder inside the class; created if missing."""
        folder = self.root / PRIVATE
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def folder(self, step: str, assignment: str, student: str = ".") -> Path:
        """The folder of one assignment: of the class ("source", "release"), or of a student ("submitted",
        "autograded")."""
        place = self.layout.format(
            nbgrader_step=self.steps[step], student_id=student, assignment_id=assignment
        )
        return Path(os.path.normpath(self.root / place))

    def assignments(self) -> dict[str, list[str]]:
        """{assignment: its notebooks}, both in the order of their names; without a source, from the submissions."""
        found: dict[str, set[str]] = {}
        for step in ("source", "release"):
            for folder in _folders(self.folder(step, "x").parent):
                names = {path.stem for path in folder.glob("*.ipynb")}
                found.setdefault(folder.name, set()).update(names)
        handed_in = {name for student in self.students() for name in self._handed_in(student)}
        for name in handed_in - found.keys():
            found[name] = {path.stem for path in self.course.glob("*.ipynb")}
        return {name: sorted(found[name]) for name in sorted(found)}

    def students(self) -> list[str]:
        """The learners with submissions; a link counts as one, and is refused when it is read."""
        folder = self.folder("submitted", "x", "x").parent.parent
        if not folder.is_dir():
            return []
        found = [e.name for e in os.scandir(folder) if e.is_dir() or e.is_symlink()]
        return sorted(name for name in found if name.isprintable() and not name.startswith("."))

    def _handed_in(self, student: str) -> list[str]:
        return [folder.name for folder in _folders(self.folder("submitted", "x", student).parent)]

    def submissions(self) -> list[Submission]:
        """Everything that was handed in for a notebook of the class, whether it can be read or not."""
        return [
            submission
            for assignment, notebooks in self.assignments().items()
            for student in self.students()
            for notebook in notebooks
            if os.path.lexists(self.path(submission := Submission(student, assignment, notebook)))
        ]

    def path(self, submission: Submission) -> Path:
        folder = self.folder("submitted", submission.assignment, submission.student)
        return folder / f"{submission.notebook}.ipynb"

    def instructor(self, assignment: str, notebook: str) -> Path | None:
        """The instructor's version that has hidden checks: the class's own, else the course's. None: there is none, or the
        class's own has no checks and is marked by hand."""
        own = self.folder("source", assignment)
        folder = own if (own / f"{notebook}.ipynb").is_file() else self.course
        found = folder / f"{notebook}.ipynb"
        return found if found.is_file() and (folder / "checks" / f"{notebook}.py").is_file() else None

    def unchecked(self) -> list[tuple[str, str]]:
        """(assignment, notebook) of submissions without hidden checks, which Sampan's grader does not grade."""
        places = sorted({(s.assignment, s.notebook) for s in self.submissions()})
        return [place for place in places if self.instructor(*place) is None]


def classes(home: Path) -> dict[str, Path]:
    """The classes of a workspace by name: the folders in `classes/`. A link there was made by the teacher."""
    return {
        folder.name: folder for folder in _folders(home / "classes") if NAME.fullmatch(composed(folder.name))
    }


def create(home: Path, name: str) -> Classroom:
    """An empty class. Raises `ValueError` for a name that is not valid for a folder, or is taken."""
    name = checked(composed(name.strip(" ")))
    folder = home / "classes" / name
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise ValueError(f"there is a class named {name!r} already") from None
    return Classroom(folder)


def checked(name: str) -> str:
    """The name itself. Raises `ValueError` if it is not valid for a folder on every system."""
    if not NAME.fullmatch(name):
        raise ValueError(f"expected a name of letters, digits, spaces and . _ @ ' -, got {name!r}")
    return name


def composed(name: str) -> str:
    """The name with each letter as one character: some systems store an umlaut as a letter and a combining mark."""
    return unicodedata.normalize("NFC", name)


def _folders(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _settings(path: Path) -> dict[str, str]:
    """The settings of `c.CourseDirectory` in nbgrader_config.py, parsed but never executed: a page must not run a
    class's files.

    Raises `ValueError` if one of these settings is not a literal.
    """
    if not path.is_file():
        return {}
    try:
        tree = parse(path.read_text("utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not Python: {error}") from error
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Assign):
            continue
        for target in node.targets:
            words = ast.unparse(target).split(".")
            if words[-2:-1] == ["CourseDirectory"] and len(words) == 3:
                if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
                    found[words[2]] = node.value.value
                elif words[2] in ("course_id", "db_url") or words[2].startswith("directory"):
                    raise ValueError(
                        f"{path.name}, line {node.lineno}: {words[2]} must be a text written out here, "
                        f"{ast.unparse(node.value)!r} came"
                    )
    return found
