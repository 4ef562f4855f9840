"""The roster of a class: who learns, who teaches, who administers. It is imported from a CSV file."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

from studio.identity import Role
from studio.runtime import write_atomically

# Also valid as the name of an account on this machine.
NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
COLUMNS = ("name", "first_name", "last_name", "email", "role")
MOST_PEOPLE = 1000
MOST_LETTERS = 200


@dataclass(frozen=True)
class Person:
    """One line of a roster. `name` is the name of the login and of the account; the rest is shown to teachers."""

    name: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    role: Role = "learner"

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(
                f"name: expected a lower-case letter, then letters a-z, digits, _ and -, got {self.name!r}"
            )
        if self.role not in get_args(Role):
            raise ValueError(f"role: expected one of {', '.join(get_args(Role))}, got {self.role!r}")
        for field in (self.first_name, self.last_name, self.email):
            if len(field) > MOST_LETTERS or not field.isprintable():
                raise ValueError(
                    f"expected at most {MOST_LETTERS} printable characters, got {field[:50]!r} for {self.name}"
                )


def read_csv(path: Path) -> list[Person]:
    """The people in a CSV file with the columns of COLUMNS in any order; all but `name` may be missing.

    Raises `ValueError` that names the line of the first problem.
    """
    try:
        text = path.read_text("utf-8-sig")  # a spreadsheet may write a mark at the beginning
    except UnicodeDecodeError as error:
        raise ValueError(f"{path.name}: expected UTF-8, got {error.reason} at byte {error.start}") from error
    reader = csv.DictReader(text.splitlines(), delimiter=";" if ";" in text.partition("\n")[0] else ",")
    columns = [column.strip().lower() for column in reader.fieldnames or ()]
    unknown = [column for column in columns if column not in COLUMNS]
    if "name" not in columns or unknown:
        raise ValueError(
            f"{path.name}, line 1: expected the columns {', '.join(COLUMNS)} (name is required), got {', '.join(columns)}"
        )
    reader.fieldnames = columns
    people: dict[str, Person] = {}
    for row in reader:
        where = f"{path.name}, line {reader.line_num}"
        if None in row:
            raise ValueError(f"{where}: expected {len(columns)} columns, got {len(columns) + len(row[None])}")
        values = {column: (value or "").strip() for column, value in row.items()}
        if not any(values.values()):
            continue
        try:
            person = Person(**{column: value for column, value in values.items() if value})  # type: ignore[arg-type]  # Person checks the role
        except (ValueError, TypeError) as error:
            raise ValueError(f"{where}: {error}") from error
        if person.name in people:
            raise ValueError(f"{where}: {person.name} is there twice")
        people[person.name] = person
    if not 0 < len(people) <= MOST_PEOPLE:
        raise ValueError(f"{path.name}: expected 1 to {MOST_PEOPLE} people, got {len(people)}")
    return list(people.values())


def save(path: Path, people: Iterable[Person]) -> None:
    write_atomically(
        path, json.dumps([asdict(person) for person in people], ensure_ascii=False, indent=1).encode()
    )


def load(path: Path) -> list[Person]:
    """The people of a class. Raises `ValueError` if there is no roster yet or it is broken."""
    try:
        return [Person(**entry) for entry in json.loads(path.read_text("utf-8"))]
    except FileNotFoundError as error:
        raise ValueError(
            f"{path.parent} has no roster yet: sampan class roster {path.parent} people.csv"
        ) from error
    except (TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a roster: {error}") from error


def named(people: Iterable[Person], *roles: Role) -> list[str]:
    """The names of those who have one of the roles."""
    return sorted(person.name for person in people if person.role in roles)
