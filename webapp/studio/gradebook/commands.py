"""`sampan grade` and `sampan class`: the teacher's commands (`similar` is in alike.py)."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from studio import identity
from studio.backup import commands as backup
from studio.hub import commands as hub
from studio.i18n import LANGUAGES, of_terminal, t
from studio.paths import NOTEBOOKS

from . import alike, marks, terms_commands

if TYPE_CHECKING:
    from .run import Run


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The parsers of both commands."""
    grade = commands.add_parser(
        "grade", help="grade a class", description="Grade what a class has handed in."
    )
    grade.add_argument("folder", type=Path, help="the class: a folder in nbgrader's layout")
    grade.add_argument(
        "--course", type=Path, default=NOTEBOOKS, help="notebooks without a source in the class"
    )
    grade.add_argument("--workers", type=_count, metavar="N", help="submissions at a time (as many as cores)")
    grade.add_argument(
        "--regrade",
        nargs="?",
        const="all",
        choices=("all", "failed"),
        help="grade again: everything, or what did not pass",
    )
    grade.add_argument(
        "--only",
        default="",
        metavar="STUDENT/ASSIGNMENT/NOTEBOOK",
        help="one submission; * for all of a part",
    )
    grade.add_argument(
        "--exercise", default="", metavar="SLOT", help="replace only the verdict on this exercise"
    )
    grade.add_argument(
        "--trust-learners", action="store_true", help="grade without a sandbox if there is none"
    )
    grade.set_defaults(run=_grade)

    classes = commands.add_parser("class", help="hand out, collect, export", description="A class's files.")
    what = classes.add_subparsers(required=True, metavar="what")
    release = what.add_parser("release", help="hand out an assignment")
    release.add_argument("folder", type=Path, help="the class; created if missing")
    release.add_argument("assignment")
    release.add_argument("notebooks", type=Path, nargs="+", help="instructor's versions, with their checks/")
    release.add_argument(
        "--data", type=Path, nargs="+", default=[], help="files that the notebooks read as data/NAME"
    )
    release.add_argument("--language", choices=LANGUAGES, default="en", help="of the learners' copies (en)")
    release.set_defaults(run=_release)
    take = what.add_parser("import", help="collect submissions")
    take.add_argument("folder", type=Path)
    take.add_argument("assignment")
    take.add_argument("source", type=Path, help="a folder or a zip file")
    take.set_defaults(run=_import)
    marks.add_to(what)
    terms_commands.add_to(what)
    alike.add_to(what)
    hub.add_to(what)
    backup.add_to_class(what)


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 256, got {text!r}")
    return int(text)


def _say(key: str, **values: object) -> None:
    print(t(f"grading.{key}", of_terminal(), **values), flush=True)


def _fail(error: Exception) -> int:
    print(error, file=sys.stderr, flush=True)
    return 2


def _grade(arguments: argparse.Namespace) -> int:
    from .classroom import Classroom
    from .run import Busy

    try:
        classroom = Classroom(arguments.folder, arguments.course)
        run = asyncio.run(_run(classroom, arguments))
    except (ValueError, Busy) as error:
        return _fail(error)
    lang = of_terminal()
    if run.phase == "stopped":
        print(run.sentence_zh if lang == "zh" else run.sentence, file=sys.stderr, flush=True)
        return 2
    _say(f"said.{run.phase}", done=run.done, total=run.total)
    if run.troubled:
        _say("page.troubled", count=run.troubled)
    if run.unchecked:
        _say("unchecked", names=", ".join(run.unchecked))
    return 0 if run.phase == "done" else 130


async def _run(classroom: object, arguments: argparse.Namespace) -> Run:
    from studio.compute.sql import open_store

    from .classroom import Classroom
    from .run import grade_class

    assert isinstance(classroom, Classroom)
    task = asyncio.current_task()
    assert task is not None

    def stop() -> None:  # once: a second interrupt must not stop the clean-up after the first
        if not task.cancelling():
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):  # Windows
            asyncio.get_running_loop().add_signal_handler(number, stop)
    with open_store() as store:
        return await grade_class(
            classroom,
            store,
            identity.local().name,
            arguments.regrade or "new",
            arguments.only,
            arguments.workers,
            arguments.trust_learners,
            _Follower(),
            exercise=arguments.exercise,
        )


class _Follower:
    """Prints a line for each submission that is done, and one when it has to wait."""

    def __init__(self) -> None:
        self.done, self.waited = 0, False

    def __call__(self, run: Run) -> None:
        if run.waiting and not self.waited:
            self.waited = True
            _say("said.waiting")
        if run.done > self.done:
            self.done = run.done
            _say("said.progress", done=run.done, total=run.total, left=duration(run.left or 0.0))


def duration(seconds: float) -> str:
    """Minutes and seconds, as on a clock."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _release(arguments: argparse.Namespace) -> int:
    from . import data_files
    from .classroom import Classroom
    from .handout import hand_out

    arguments.folder.mkdir(parents=True, exist_ok=True)
    try:
        classroom = Classroom(arguments.folder)
        asyncio.run(data_files.check(arguments.data))
        for path in hand_out(classroom, arguments.assignment, arguments.notebooks, arguments.language):
            print(path)
        if arguments.data:
            data_files.bring(classroom, arguments.assignment, arguments.data)
    except (ValueError, OSError) as error:
        return _fail(error)
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from .classroom import Classroom
    from .intake import take_in

    try:
        taken = take_in(Classroom(arguments.folder), arguments.assignment, arguments.source)
    except (ValueError, OSError) as error:
        return _fail(error)
    _say("said.taken", count=len(taken.submissions))
    for name, kind in taken.left_out:
        print(f"  {name}: {t(f'grading.left_out.{kind}', of_terminal())}")
    return 0
