"""`sampan class export` and `sampan class return`: marks for other programs, and marks for the learners."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from studio.i18n import LANGUAGES, of_terminal, t

FORMS = ("nbgrader", "exercises", "canvas", "moodle", "lti")  # see exports.py, which takes seconds to import


def add_to(what: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parsers of both, next to the others of `sampan class`."""
    export = what.add_parser(
        "export",
        help="marks as a table, or as LTI scores",
        description="Marks as CSV for nbgrader, by exercise, for Canvas or Moodle, or as LTI scores (JSON lines).",
    )
    export.add_argument("folder", type=Path)
    export.add_argument("--form", choices=FORMS, default="nbgrader")
    export.add_argument("--assignment", default="", help="only this one")
    export.add_argument("--to", type=Path, help="the file (grades.csv; grades.jsonl for lti)")
    export.set_defaults(run=_export)
    back = what.add_parser("return", help="show marks and comments to the learners, or withdraw them")
    back.add_argument("folder", type=Path)
    back.add_argument("assignment")
    back.add_argument("learners", nargs="*", help="only these")
    back.add_argument("--withdraw", action="store_true", help="take back what was returned")
    back.add_argument("--language", choices=LANGUAGES, default="en", help="of the files in feedback/ (en)")
    back.set_defaults(run=_return)


def _export(arguments: argparse.Namespace) -> int:
    from .classroom import Classroom
    from .exports import export

    to = arguments.to or Path("grades.jsonl" if arguments.form == "lti" else "grades.csv")
    try:
        text = export(Classroom(arguments.folder), arguments.form, arguments.assignment, of_terminal())
        to.write_text(text, "utf-8")
    except (ValueError, OSError) as error:
        return _fail(error)
    print(to)
    return 0


def _return(arguments: argparse.Namespace) -> int:
    from .classroom import Classroom
    from .returning import return_marks, withdraw

    try:
        classroom, assignment = Classroom(arguments.folder), arguments.assignment
        if arguments.withdraw:
            done, said = withdraw(classroom, assignment, arguments.learners), "marking.said.withdrawn"
        else:
            done = return_marks(classroom, assignment, arguments.learners, arguments.language)
            said = "marking.said.returned"
    except (ValueError, OSError) as error:
        return _fail(error)
    print(t(said, of_terminal(), count=len(done)))
    return 0


def _fail(error: Exception) -> int:
    print(error, file=sys.stderr, flush=True)
    return 2
