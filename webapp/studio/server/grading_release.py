"""Grading: handing an assignment out, and taking its submissions in from a zip file."""

from __future__ import annotations

import ast
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from tornado import web
from tornado.httputil import HTTPFile

from studio import moments
from studio.gradebook import data_files, terms
from studio.gradebook.classroom import Classroom, checked, composed
from studio.gradebook.handout import hand_out, packed
from studio.gradebook.intake import take_in
from studio.gradebook.submissions import MOST_BYTES
from studio.uploads.refusal import Refusal

from .grading_base import GradingPage, one_line

MOST_UPLOADED = 256 << 20  # bytes of one zip file


class Release(GradingPage):
    """Hands notebooks out as an assignment: of the course, and the teacher's own."""

    @web.authenticated
    async def post(self, name: str) -> None:
        room, assignment = self.find(name), composed(self.get_body_argument("assignment", "").strip())
        lessons = [self.desk.course.lesson(lesson_id) for lesson_id in self.get_body_arguments("lesson")]
        paths = [lesson.source for lesson in lessons if lesson is not None]
        sent = [file for file in self.request.files.get("own", []) if file.filename]
        files = [file for file in sent if Path(file.filename).suffix.lower() not in data_files.SUFFIXES]
        data = [file for file in sent if file not in files]
        if any(file.filename.endswith(".py") for file in files) and not self.user.admin:
            # They are run with the rights of the grading account, which other classes of this machine have too.
            raise web.HTTPError(403, "only an administrator may bring hidden checks")
        hidden = not self.get_body_argument("visible", "")
        with tempfile.TemporaryDirectory(prefix="sampan-data-") as folder:
            try:
                brought = await asyncio.to_thread(_brought, Path(folder), data)
                await data_files.check(brought)
            except ValueError as error:
                words = error.words(self.language) if isinstance(error, Refusal) else str(error)
                raise web.HTTPError(
                    409, words, reason=words if self.language == "zh" else one_line(words)
                ) from error
            earlier = await self.in_thread(_release, room, assignment, paths, files, self.language, hidden)
            if brought:
                await self.in_thread(data_files.bring, room, assignment, brought)
        self.desk.said[name] = ("released" if earlier is None else "released_again", earlier or 0)
        self.to_class(name, assignment)


def _brought(folder: Path, files: Sequence[HTTPFile]) -> list[Path]:
    """The uploaded files of data in `folder`. Raises `ValueError` for a name that is not one, or comes twice."""
    found = []
    for file in files:
        found.append(folder / data_files.checked_name(file.filename))
        if found[-1].exists():
            raise ValueError(f"{file.filename} comes twice")
        found[-1].write_bytes(file.body)
    return found


def _release(
    room: Classroom, assignment: str, lessons: list[Path], files: Sequence[HTTPFile], lang: str, hidden: bool
) -> int | None:
    """Returns how many submissions there are of an earlier version; None if there is none."""
    checked(assignment)
    known = assignment in room.assignments()
    with tempfile.TemporaryDirectory(prefix="sampan-release-") as folder:
        own = _unpack(Path(folder), files)
        twice = sorted({path.name for path in own} & {path.name for path in lessons})
        if twice:
            raise ValueError(f"{twice[0]} is in the course and among your files: give yours another name")
        before = terms.of(room, assignment)
        if before.visible and hidden:  # before anyone can see it
            terms.save(room, assignment, before.shown(False))
        try:
            hand_out(room, assignment, [*lessons, *own], lang)
        except BaseException:
            terms.save(room, assignment, before)
            raise
        if not before.visible and not hidden:
            terms.save(room, assignment, before.shown(True))
    if not known:
        return None
    return sum(submission.assignment == assignment for submission in room.submissions())


def _unpack(folder: Path, files: Sequence[HTTPFile]) -> list[Path]:
    """The uploaded notebooks as files, with their checks beside them. Raises `ValueError`."""
    (folder / "checks").mkdir()
    found = []
    for file in files:
        name = Path(composed(file.filename))
        checked(name.stem)
        if len(file.body) > MOST_BYTES:
            raise ValueError(f"{name.name}: expected at most {MOST_BYTES >> 20} MB")
        if name.suffix == ".ipynb":
            found.append(folder / name.name)
            found[-1].write_bytes(file.body)
        elif name.suffix == ".py":
            _parse(name.name, file.body)
            (folder / "checks" / name.name).write_bytes(file.body)
        else:
            raise ValueError(
                f"{name.name}: expected notebooks (.ipynb), their hidden checks (.py) and files of data"
            )
    for path in (folder / "checks").iterdir():
        if not (folder / f"{path.stem}.ipynb").is_file():
            raise ValueError(f"{path.name} belongs to no notebook: expected one named {path.stem}.ipynb")
    return sorted(found)


def _parse(name: str, source: bytes) -> None:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{name} is not Python: {error}") from error
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    targets += [node.target for node in tree.body if isinstance(node, ast.AnnAssign)]
    if not any(isinstance(target, ast.Name) and target.id == "EXERCISES" for target in targets):
        raise ValueError(f"{name}: expected a list EXERCISES of the hidden checks")


class Packed(GradingPage):
    """The learners' copies of an assignment as a zip file."""

    @web.authenticated
    async def get(self, name: str, assignment: str) -> None:
        room = self.find(name)
        content = await self.in_thread(lambda: packed(room, checked(assignment)))
        self.set_header("Content-Type", "application/zip")
        self.set_header("Content-Disposition", f"attachment; filename*=UTF-8''{quote(assignment)}.zip")
        self.finish(content)


class TakeIn(GradingPage):
    """A zip file of submissions."""

    @web.authenticated
    async def post(self, name: str) -> None:
        room, assignment = self.find(name), self.get_body_argument("assignment")
        files = self.request.files.get("file", [])
        if len(files) != 1 or len(files[0].body) > MOST_UPLOADED:
            raise web.HTTPError(400, f"expected one zip file of at most {MOST_UPLOADED >> 20} MB")
        when = self.tried(lambda: moments.parse(self.get_body_argument("received", "")))
        with tempfile.NamedTemporaryFile(suffix=".zip") as zipped:
            zipped.write(files[0].body)
            zipped.flush()
            self.desk.taken[name] = await self.in_thread(take_in, room, assignment, Path(zipped.name), when)
        self.to_class(name, assignment)
