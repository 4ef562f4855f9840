"""Accounts on this machine: one for each person of a class, and one that grades. Changing them needs root."""

from __future__ import annotations

import csv
import os
import pwd
import secrets
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .roster import Person

GRADER = "sampan-grader"
FIRST_UID = 1000  # accounts below it belong to the system
_WORDS = (
    "abcdefghijkmnpqrstuvwxyz23456789"  # letters that cannot be confused when a password is copied from paper
)


@dataclass(frozen=True)
class Missing:
    """Why a class cannot use the accounts of this machine yet."""

    without: tuple[str, ...] = ()  # no account
    system: tuple[str, ...] = ()  # an account of the system
    open_homes: tuple[str, ...] = ()  # others may enter the home folder

    def __str__(self) -> str:
        parts = [
            ("no account on this machine", self.without),
            ("an account of the system, which no learner may have", self.system),
            ("a home folder that others can enter (chmod 700)", self.open_homes),
        ]
        return "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)


def missing(names: Iterable[str]) -> Missing | None:
    """What is wrong with the accounts of these people; None if nothing is."""
    without, system, open_homes = [], [], []
    for name in names:
        try:
            account = pwd.getpwnam(name)
        except KeyError:
            without.append(name)
            continue
        if account.pw_uid < FIRST_UID:
            system.append(name)
        home = Path(account.pw_dir)
        if home.is_dir() and home.stat().st_mode & 0o077:
            open_homes.append(name)
    found = Missing(tuple(without), tuple(system), tuple(open_homes))
    return found if str(found) else None


def create(people: Iterable[Person], passwords: Path) -> list[str]:
    """An account with a closed home folder for each person who has none; returns their names.

    The first passwords are random. They are written to the CSV file `passwords` (mode 0600), to be handed out once.
    Needs root. Raises `ValueError` if an account cannot be made.
    """
    new = [person for person in people if not _exists(person.name)]
    if not new:
        return []
    # The file first, and each row as soon as its account exists: a password that is in no file is lost.
    handle = os.open(passwords, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(("name", "full name", "first password"))
        for person in new:
            full = f"{person.first_name} {person.last_name}".strip().replace(":", " ").replace(",", " ")
            options = ["--create-home", "--key", "HOME_MODE=0700", "--shell", "/bin/bash", "--comment", full]
            _run(["useradd", *options, person.name])
            password = "".join(secrets.choice(_WORDS) for _ in range(12))
            _run(["chpasswd"], f"{person.name}:{password}\n")
            table.writerow((person.name, full, password))
            stream.flush()
    return [person.name for person in new]


def create_grader() -> None:
    """The account that grades: without a password, a shell or a home folder. Needs root."""
    if not _exists(GRADER):
        _run(["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", GRADER])


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _run(command: list[str], stdin: str = "") -> None:
    done = subprocess.run(command, input=stdin, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(f"{command[0]} failed: {done.stderr.strip()}")
