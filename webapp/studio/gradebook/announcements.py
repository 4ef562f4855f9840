"""Announcements of a class: short plain texts with a date, in CLASS/.sampan/announcements.json, the newest first."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock

from studio.runtime import write_atomically

from .classroom import Classroom

MOST_LETTERS = 5000
MOST = 200  # announcements of a class
# A link ends before the punctuation of its sentence.
_LINK = re.compile(r"https?://[^\s<>\"'（）【】，。；、]*[^\s<>\"'（）【】，。；、.,;:!?)\]]")


@dataclass(frozen=True)
class Announcement:
    """`written` and `edited` are in seconds since 1970; `edited` is 0 if it never was."""

    id: str
    text: str
    author: str
    written: float
    edited: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < len(self.text.strip()) <= MOST_LETTERS:
            raise ValueError(
                f"an announcement has 1 to {MOST_LETTERS} characters, got {len(self.text.strip())}"
            )

    @property
    def version(self) -> float:
        """Changes when the text does: who has read another version has not read this one."""
        return self.edited or self.written

    def paragraphs(self) -> list[list[tuple[str, bool]]]:
        """[[(text, whether it is a link)] of each line's pieces]; the page escapes them."""
        return [list(_pieces(line)) for line in self.text.split("\n") if line.strip()]


def _pieces(line: str) -> Iterator[tuple[str, bool]]:
    at = 0
    for found in _LINK.finditer(line):
        yield line[at : found.start()], False
        yield found[0], True
        at = found.end()
    yield line[at:], False


def load(classroom: Classroom) -> list[Announcement]:
    """Raises `ValueError` if the file is broken."""
    path = _file(classroom)
    try:
        return [Announcement(**told) for told in json.loads(path.read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path} does not hold announcements: {error}") from error


def add(classroom: Classroom, text: str, author: str, now: float) -> Announcement:
    """Raises `ValueError` for a text that is empty or too long, and if there are too many."""
    made = Announcement(secrets.token_hex(8), text, author, now)
    with _changing(classroom) as every:
        if len(every) >= MOST:
            raise ValueError(f"a class has at most {MOST} announcements: delete an old one first")
        every.insert(0, made)
    return made


def edit(classroom: Classroom, which: str, text: str, now: float) -> None:
    """No-op for one that is not there any more."""
    with _changing(classroom) as every:
        every[:] = [replace(one, text=text, edited=now) if one.id == which else one for one in every]


def delete(classroom: Classroom, which: str) -> None:
    with _changing(classroom) as every:
        every[:] = [one for one in every if one.id != which]


@contextmanager
def _changing(classroom: Classroom) -> Iterator[list[Announcement]]:
    with FileLock(classroom.private / "announcements.lock"):
        every = load(classroom)
        yield every
        told = json.dumps([asdict(one) for one in every], ensure_ascii=False, indent=1)
        write_atomically(_file(classroom), told.encode())


def _file(classroom: Classroom) -> Path:
    return classroom.private / "announcements.json"
