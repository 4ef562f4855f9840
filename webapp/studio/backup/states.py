"""What state there is: one table of what each part is, how it is copied, and how an older one is brought to today's form.

What is not listed is the user's own (notebooks, scripts, the class's submissions) and is copied file by file. Databases are
recognised by their content and copied by SQLite.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from studio.runtime import write_atomically

Copied = Literal["files", "database", "never", "with keys"]
# The form of the folders and files; a change of it needs a migration here. Databases have revisions of their own.
FORMAT = 2


@dataclass(frozen=True)
class State:
    """`path` is a pattern, relative to the folder; the workspace of a learner may be below that of a class. `migrate` gets
    the place of one that was found. What is copied "never" is a secret, belongs to running processes, or is made again."""

    what: str
    path: str
    copied: Copied
    migrate: Callable[[Path], None] | None = None


def _leases(path: Path) -> None:
    from sqlalchemy.engine import URL

    from studio.compute import opening

    opening.open_engine(URL.create("sqlite", database=str(path))).dispose()
    Path(f"{path}.opening").unlink(missing_ok=True)
    _fold(path)


def _gradebook(path: Path) -> None:
    from studio.gradebook import book
    from studio.gradebook.classroom import Classroom

    book.prepare(Classroom(path.parent))


def _fold(path: Path) -> None:
    """Bring a write-ahead log into its database, so that the file is complete by itself."""
    import sqlite3

    with closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma wal_checkpoint(truncate)")


STATES = (
    # In the state folder of a workspace.
    State("leases, queue and use", "*.studio/compute.sqlite3", "database", _leases),
    State("competitions and their scores", "*.studio/competitions/competitions.sqlite3", "database"),
    State("the format of the folder", "*.studio/format", "files"),
    State("attempts at exercises", "*.studio/attempts/*", "files"),
    State("model answers that were opened", "*.studio/model-answers/*", "files"),
    State("receipts of what was handed in", "*.studio/receipts/*", "files"),
    State("jobs and their output", "*.studio/jobs/*", "files"),
    State("sessions", "*.studio/sessions/*", "never"),
    State("the address of a running Studio, with its token", "*.studio/studio-*.json", "never"),
    State("Jupyter's secrets, connections and signatures", "*.studio/jupyter/data/*", "never"),
    State("Jupyter's secrets, connections and signatures", "*.studio/jupyter/runtime/*", "never"),
    State("the warm process", "*.studio/zygote.*", "never"),
    State("looks inside data sets", "*.studio/looks/*", "never"),
    State("backups", "*.studio/backups/*", "never"),
    State("logs", "*.studio/*.log*", "never"),
    # Of a class.
    State("marks and verdicts", "*gradebook.db", "database", _gradebook),
    State("the key that signs receipts", "*receipt.key", "with keys"),
    State(
        "the Hub: tokens, cookies, passwords of a trial, logs; `sampan class serve` makes it",
        "hub/*",
        "never",
    ),
    State("first passwords", "passwords-*.csv", "never"),
    # Everywhere.
    State("uploads on their way", "*datasets/.incoming/*", "never"),
    State("locks", "*.studio/*.lock", "never"),
    State("locks", "*.studio/*.opening", "never"),
    State("locks", "*.sampan/*.lock", "never"),
    State("locks", "*datasets/.lock", "never"),
    State("files that are being written", "*.studio/*.tmp", "never"),
)


def _attempts(state: Path) -> None:
    """2: exercises of the course are in other notebooks than before."""
    from studio.attempts import Attempts

    Attempts(state / "attempts").settle()


def settle(state: Path) -> None:
    """Brings a state folder to today's format and marks it. ValueError if a newer Sampan has used it."""
    mark = state / "format"
    text = mark.read_text().strip() if mark.exists() else "0"
    if not text.isdecimal() or int(text) > FORMAT:
        raise ValueError(
            f"{state} has the format {text[:20]!r}, and this version of Sampan knows {FORMAT} at most: update Sampan, or "
            "give SAMPAN_HOME another folder"
        )
    if int(text) < FORMAT:
        _attempts(state)
        write_atomically(mark, f"{FORMAT}\n".encode())


def of(path: str) -> State | None:
    """The state that a file belongs to; None for a user's own."""
    return next((state for state in STATES if fnmatchcase(path, state.path)), None)


def is_copied(path: str, with_keys: bool) -> bool:
    """Whether a file belongs into a backup."""
    state = of(path)
    return state is None or state.copied not in ("never", *(() if with_keys else ("with keys",)))


def migrate(folder: Path) -> Iterator[str]:
    """Brings every state below the folder to today's form; gives the path of each database."""
    for path in sorted(folder.rglob("*")):
        state = of(path.relative_to(folder).as_posix())
        if state is not None and state.migrate is not None and path.is_file():
            state.migrate(path)
            yield path.relative_to(folder).as_posix()
    for place in sorted(folder.rglob(".studio")):
        settle(place)
