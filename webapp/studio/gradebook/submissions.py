"""Reads untrusted submissions: never through a link, never more than the size limit."""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

MOST_BYTES = 20 << 20  # of one notebook


@dataclass
class Unreadable(Exception):
    """Raised for a submission that is not read. `kind` names the sentence for people (`grading.trouble.<kind>`),
    `mark` identifies its state."""

    kind: str
    mark: str


def read(root: Path, path: Path) -> bytes:
    """The bytes at `path` below `root`. Raises `Unreadable` for a link on the path, for anything but a file, and
    for a file that is too large.

    Every part of the path is opened relative to the one before, so that nothing can be replaced by a link
    meanwhile.
    """
    *folders, name = path.relative_to(root).parts
    steps = [(folder, os.O_DIRECTORY) for folder in folders]
    steps.append((name, os.O_NONBLOCK))  # opening a pipe without a writer must not block
    with ExitStack() as opened:
        handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        opened.callback(os.close, handle)
        for step, flags in steps:
            handle = _below(handle, step, flags)
            opened.callback(os.close, handle)
        about = os.fstat(handle)
        if not stat.S_ISREG(about.st_mode):
            raise Unreadable("no_file", f"kind:{stat.S_IFMT(about.st_mode):o}")
        with os.fdopen(os.dup(handle), "rb") as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise Unreadable("too_big", f"size:{about.st_size}:{about.st_mtime_ns}")
        return content


def _below(folder: int, name: str, flags: int) -> int:
    try:
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | flags, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:  # ELOOP, or ENOTDIR for a link where a folder is expected
        if stat.S_ISLNK(os.lstat(name, dir_fd=folder).st_mode):
            raise Unreadable("link", f"link:{os.readlink(name, dir_fd=folder)}") from error
        raise Unreadable("no_file", f"error:{error.errno}") from error


def mark(content: bytes) -> str:
    """A checksum of the content."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
