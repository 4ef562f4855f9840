"""What the store gives out: teams, submissions, and the outcome of scoring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .problems import Problem

Kind = Literal["predictions", "notebook"]
# "refused": the file cannot be read, and the learner is told why. "failed": it could not be scored.
State = Literal["waiting", "running", "scored", "refused", "failed"]


@dataclass(frozen=True)
class Team:
    """`code` is the invitation; `baseline` teams are the teacher's, without members and without rank."""

    id: int
    title: str
    code: str
    baseline: bool
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """`private` and `detail` are for teachers until the end. `claim` is a scorer's proof that it may enter the scores."""

    id: str
    competition: str
    team: int
    learner: str
    kind: Kind
    file: str
    bytes: int
    sha256: str
    received: float
    state: State
    public: float | None
    private: float | None
    chosen: bool
    problems: list[Problem]
    detail: str
    preview: dict[str, Any] | None
    labels: int = 0
    claim: str = ""


@dataclass(frozen=True)
class Outcome:
    """What scoring came to."""

    state: State
    public: float | None = None
    private: float | None = None
    problems: Sequence[Problem] = ()
    detail: str = ""
    preview: dict[str, Any] | None = None
