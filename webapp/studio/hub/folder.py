"""The folder of a class: which part of it belongs to which account.

FOLDER/roster.json   names, real names and roles                      the Hub's account
FOLDER/hub/          the Hub's database, secrets and logs             the Hub's account, mode 0700
FOLDER/released/     learners' copies of the notebooks, by language   everyone may read
FOLDER/shared/       data sets of the class: a teacher shares them          the grading account; everyone may read
FOLDER/warm/         the socket of the class's warm process     the Hub's account, mode 0711
FOLDER/grading/      course with hidden checks, submissions, marks    the grading account, mode 0700
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from studio.uploads.places import SHARED

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?")


@dataclass(frozen=True)
class ClassFolder:
    """The folder of one class; its last part is the name of the class.

    Raises `ValueError` for a name that is not made of lower-case letters, digits and hyphens: it is part of addresses and of
    the names of groups.
    """

    root: Path

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.root.name):
            raise ValueError(
                "the folder's name is the name of the class: expected at most 32 lower-case letters, digits and "
                f"hyphens, got {self.root.name!r}"
            )

    @property
    def name(self) -> str:
        return self.root.name

    @property
    def service(self) -> str:
        """The name of the grading service in the Hub."""
        return f"sampan-{self.name}"

    @property
    def roster(self) -> Path:
        return self.root / "roster.json"

    @property
    def hub(self) -> Path:
        return self.root / "hub"

    @property
    def released(self) -> Path:
        return self.root / "released"

    @property
    def shared(self) -> Path:
        return self.root / SHARED

    @property
    def warm(self) -> Path:
        """Of the warm process that all members share."""
        return self.root / "warm"

    @property
    def receipt_key(self) -> Path:
        """The key that signs receipts."""
        return self.grading / "receipt.key"

    @property
    def grading(self) -> Path:
        """The workspace of the grading account."""
        return self.root / "grading"

    @property
    def course(self) -> Path:
        """The instructor's notebooks, with hidden checks in checks/."""
        return self.grading / "course"

    @property
    def classroom(self) -> Path:
        """Submissions and marks, in nbgrader's layout."""
        return self.grading / "classes" / self.name
