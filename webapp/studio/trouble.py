"""Recognises problems of the machine in an exception, so that people read what to do instead of a traceback."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from typing import Literal

Trouble = Literal["full", "locked", "read_only"]

_ERRNO: dict[int, Trouble] = {errno.ENOSPC: "full", errno.EDQUOT: "full", errno.EROFS: "read_only"}
# SQLite's primary result codes; the low byte of an extended code.
_SQLITE: dict[int, Trouble] = {
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_READONLY: "read_only",
}


def trouble(error: BaseException | None) -> Trouble | None:
    """The problem that an exception or its cause reports; None for anything else.

    A full disk and a file system mounted read-only are recognised by errno, SQLite's errors by their code.
    """
    for one in _causes(error):
        if isinstance(one, OSError) and one.errno in _ERRNO:
            return _ERRNO[one.errno]
        code = getattr(one, "sqlite_errorcode", None)
        if isinstance(code, int) and code & 0xFF in _SQLITE:
            return _SQLITE[code & 0xFF]
    return None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = getattr(error, "orig", None) or error.__cause__ or error.__context__  # `orig`: SQLAlchemy's
