"""Collects submissions from a folder or a zip file into nbgrader's `submitted` folder.

No entry is unpacked under its own name: each is matched with the class's notebooks and written to a path that we
choose. Accepted names are STUDENT/ASSIGNMENT/NOTEBOOK.ipynb, STUDENT/NOTEBOOK.ipynb (below any folders), and the
flat STUDENT_..._NOTEBOOK.ipynb that learning platforms export.
"""

from __future__ import annotations

import contextlib
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path, PurePosixPath

from studio.runtime import write_atomically

from . import history
from .classroom import NAME, Classroom, Submission, composed
from .submissions import MOST_BYTES, Unreadable, read

SIDE = {".ipynb_checkpoints", "__MACOSX"}
MOST_ENTRIES = 20_000
MOST_UNPACKED = 512 << 20  # bytes of all notebooks together


@dataclass
class Taken:
    """The result: names of new or changed submissions, and what was left out, with the kind of reason
    (`grading.left_out.<kind>`)."""

    submissions: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)


def take_in(classroom: Classroom, assignment: str, source: Path, received: float | None = None) -> Taken:
    """Copies the notebooks of one assignment from a folder or a zip file. They count as handed in at `received` (seconds
    since 1970; None: now). Raises `ValueError` if the source is neither, is broken, or has more than any class hands in; the
    class is then unchanged."""
    now = datetime.now(UTC) if received is None else datetime.fromtimestamp(received, UTC)
    known = set(classroom.assignments().get(assignment, ()))
    if not known:
        raise ValueError(f"the class {classroom.name} has no assignment {assignment!r}; hand it out first")
    if source.is_dir():
        return _take(classroom, assignment, known, _of_folder(source), now)
    try:
        with zipfile.ZipFile(source) as archive:
            return _take(classroom, assignment, known, _of_zip(archive), now)
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise ValueError(f"{source.name} is not a readable zip file: {error}") from error


Entry = tuple[PurePosixPath, Callable[[], bytes]]


def _of_folder(folder: Path) -> Iterator[Entry]:
    for path, folders, files in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(path) / name
            yield PurePosixPath(file.relative_to(folder).as_posix()), partial(read, folder, file)


def _of_zip(archive: zipfile.ZipFile) -> Iterator[Entry]:
    entries = archive.infolist()
    # The sizes in the archive's directory are not trusted: `_unpack` counts as it reads.
    if len(entries) > MOST_ENTRIES:
        raise ValueError(f"expected at most {MOST_ENTRIES} files in the zip file, got {len(entries)}")
    for entry in entries:
        if not entry.is_dir():
            yield PurePosixPath(_file_name(entry)), partial(_unpack, archive, entry)


def _file_name(entry: zipfile.ZipInfo) -> str:
    """A name that is not marked as UTF-8 is decoded as UTF-8 if possible: many programs do not mark it."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable("link", "")
    try:
        with archive.open(entry) as stream:
            content = stream.read(MOST_BYTES + 1)
    except (zipfile.BadZipFile, RuntimeError, EOFError) as error:  # a wrong checksum; a password
        raise Unreadable("broken", str(error)) from error
    if len(content) > MOST_BYTES:
        raise Unreadable("too_big", "")
    return content


def _take(
    classroom: Classroom, assignment: str, known: set[str], entries: Iterator[Entry], now: datetime
) -> Taken:
    taken, found, total = Taken(), dict[tuple[str, str], bytes](), 0
    for name, content in entries:
        if name.suffix != ".ipynb" or name.name.startswith("._") or SIDE.intersection(name.parts):
            continue  # other files
        whose = _whose(name, assignment, known)
        if whose is None:
            taken.left_out.append((str(name), "unknown"))
        elif whose in found:
            taken.left_out.append((str(name), "twice"))
        else:
            try:
                found[whose] = content()
            except Unreadable as refusal:
                taken.left_out.append((str(name), refusal.kind))
                continue
            total += len(found[whose])
            if total > MOST_UNPACKED:
                raise ValueError(f"expected at most {MOST_UNPACKED >> 20} MB of submissions, got more")
    for (student, notebook), content_ in sorted(found.items()):
        target = classroom.folder("submitted", assignment, student) / f"{notebook}.ipynb"
        if _write(classroom, target, content_):
            taken.submissions.append(f"{student}/{assignment}/{notebook}")
            history.keep(classroom, Submission(student, assignment, notebook), content_, now.timestamp())
            _stamp(target, now)
    return taken


def accept(classroom: Classroom, submission: Submission, content: bytes, received: float) -> None:
    """Stores one submission that its learner has sent; `received` is in seconds since 1970."""
    target = classroom.path(submission)
    _write(classroom, target, content)
    _stamp(target, datetime.fromtimestamp(received, UTC))
    history.keep(classroom, submission, content, received)


def _stamp(target: Path, when: datetime) -> None:
    """As `nbgrader collect` does. A learner's own file of that name is not trusted."""
    write_atomically(target.with_name("timestamp.txt"), f"{when:%Y-%m-%d %H:%M:%S.%f} UTC".encode())


def _whose(name: PurePosixPath, assignment: str, known: set[str]) -> tuple[str, str] | None:
    """(student, notebook), or None if the name does not identify them or points outside."""
    if name.is_absolute() or ".." in name.parts or "\\" in str(name):
        return None
    *folders, file = map(composed, name.parts)
    stem = file.removesuffix(".ipynb")
    if stem in known and folders:
        student = folders[-2] if folders[-1] == assignment and len(folders) > 1 else folders[-1]
        return (student, stem) if NAME.fullmatch(student) and student != assignment else None
    for notebook in sorted(known, key=len, reverse=True):
        if stem.endswith(f"_{notebook}"):
            student = stem.removesuffix(f"_{notebook}").split("_")[0]
            return (student, notebook) if NAME.fullmatch(student) else None
    return None


def _write(classroom: Classroom, target: Path, content: bytes) -> bool:
    """Returns whether it was new. A link at the target is replaced, never followed."""
    folder = classroom.root
    for part in target.parent.relative_to(classroom.root).parts:
        folder = folder / part
        if folder.is_symlink():
            raise ValueError(f"{folder} is a link: submissions are not written through it")
        folder.mkdir(exist_ok=True)
    if target.is_dir() and not target.is_symlink():
        raise ValueError(f"{target} is a folder where a notebook is expected")
    with contextlib.suppress(FileNotFoundError, Unreadable):  # it is new, or the target is something else
        if read(classroom.root, target) == content:
            return False
    write_atomically(target, content)
    return True
