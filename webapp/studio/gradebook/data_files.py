"""Files of data beside the notebooks of an assignment: released with them, and present in the sandbox when they are graded.

    CLASS/source/ASSIGNMENT/data/NAME     for the grader
    CLASS/release/ASSIGNMENT/data/NAME    for learners

A notebook reads them as `data/NAME`, relative to its own folder.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from studio.grading.release import DATA, data_beside
from studio.uploads.examine import examined

from .classroom import Classroom, checked, composed

MOST_FILES = 64
MOST_BYTES = 16 << 20  # of all files of an assignment: each process that is graded gets a copy
SUFFIXES = (".csv", ".tsv", ".npy", ".npz", ".parquet", ".png", ".jpg", ".jpeg", ".wav", ".zip")


@dataclass(frozen=True)
class DataFile:
    """One file; `size` is in bytes."""

    name: str
    size: int
    sha256: str


def checked_name(name: str) -> str:
    """The name, with each letter as one character. Raises `ValueError` if it cannot be one of a file of data."""
    path = Path(composed(name))
    if path.suffix.lower() not in SUFFIXES:
        raise ValueError(f"{path.name}: expected a file of data ({', '.join(SUFFIXES)})")
    checked(path.stem)
    return path.name


async def check(paths: Sequence[Path]) -> None:
    """Reads each file in a limited process, as an upload. Raises `ValueError` that says why one is refused."""
    if len(paths) > MOST_FILES:
        raise ValueError(f"data: expected at most {MOST_FILES} files, got {len(paths)}")
    total = sum(path.stat().st_size for path in paths)
    if total > MOST_BYTES:
        raise ValueError(
            f"data: expected at most {MOST_BYTES >> 20} MB in all files, got {total / 1e6:.1f} MB"
        )
    for path in paths:
        await examined(path, checked_name(path.name), alone=True)


def bring(classroom: Classroom, assignment: str, paths: Sequence[Path]) -> None:
    """Makes files that were checked those of an assignment; the former ones are removed."""
    for step in ("source", "release"):
        folder = classroom.folder(step, assignment) / DATA
        fresh = folder.with_name(f".{DATA}.new")
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        for path in paths:
            shutil.copyfile(path, fresh / checked_name(path.name))
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(fresh, folder)


def released(classroom: Classroom, assignment: str) -> list[DataFile]:
    """What learners get with the notebooks."""
    found = []
    for path in data_beside(classroom.folder("release", assignment)):
        known = path.stat()
        found.append(DataFile(path.name, known.st_size, _sha256(path, known.st_ino, known.st_mtime_ns)))
    return found


@lru_cache(maxsize=1024)
def _sha256(path: Path, _inode: int, _changed: int) -> str:
    """Kept while the file is the same: every page of every learner asks for it."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read(classroom: Classroom, assignment: str, name: str) -> bytes | None:
    """The bytes of a released file; None if there is none of that name."""
    folder = classroom.folder("release", assignment) / DATA
    path = folder / name
    return path.read_bytes() if path.parent == folder and path.is_file() else None
