"""A competition as its teacher sets it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .metrics import METRICS, OWN
from .problems import Problem, Refused

NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
RESERVED = frozenset({"new", "example"})  # addresses of pages
MOST_TEXT = 20_000
MOST_BYTES = 20 << 20  # of one submission
MOST_INPUT = 60 << 20  # of one data file; it goes into the sandbox in one message
MOST_SECONDS = 600  # of a notebook
CHOSEN = 2  # submissions that a team selects for the private score

Phase = Literal["soon", "open", "ended"]


@dataclass(frozen=True)
class Competition:
    """Times are in seconds since 1970. `share` of the rows, drawn by the secret `seed`, make the public score, or those that
    `split_column` of the solution names. `notebook_seconds` 0: no notebooks are taken."""

    name: str
    title: str
    description: str
    metric: str
    start: float
    deadline: float
    title_zh: str = ""
    description_zh: str = ""
    lower: bool = False  # whether a lower score is better
    k: int = 5  # of MAP@k
    id_column: str = "id"
    split_column: str = ""
    share: float = 0.3
    seed: str = ""
    daily: int = 5  # scored submissions of a team in a day (UTC)
    team_size: int = 1
    most_bytes: int = 2 << 20
    notebook_seconds: int = 120
    ended: float = 0.0  # when the teacher ended it early

    def __post_init__(self) -> None:
        problems = self._problems()
        if problems:
            raise Refused(*problems)

    def _problems(self) -> list[Problem]:
        wrong: list[Problem] = []
        if not NAME.fullmatch(self.name) or self.name in RESERVED:
            wrong.append(("name", {"name": self.name[:40]}))
        if not self.title.strip() or len(self.title) > 120:
            wrong.append(("title", {}))
        if max(len(self.description), len(self.description_zh)) > MOST_TEXT:
            wrong.append(("description", {"most": MOST_TEXT}))
        if self.metric not in (*METRICS, OWN):
            wrong.append(("metric", {"metric": self.metric[:40]}))
        if not self.start < self.deadline:
            wrong.append(("times", {}))
        limits = (
            *(("daily", self.daily, 1, 1000), ("team_size", self.team_size, 1, 20), ("k", self.k, 1, 100)),
            ("most_bytes", self.most_bytes, 1024, MOST_BYTES),
            ("notebook_seconds", self.notebook_seconds, 0, MOST_SECONDS),
        )
        wrong += [
            (f"limit.{name}", {"least": least, "most": most, "given": given})
            for name, given, least, most in limits
            if not least <= given <= most
        ]
        if not self.split_column and not 0.05 <= self.share <= 0.95:
            wrong.append(("share", {"given": self.share}))
        return wrong

    def phase(self, now: float) -> Phase:
        """From "ended" on nothing is accepted, and the private scores are shown."""
        if self.ended or now >= self.deadline:
            return "ended"
        return "soon" if now < self.start else "open"

    @property
    def end(self) -> float:
        """When it ended or will end."""
        return min(self.ended or self.deadline, self.deadline)

    def better(self, one: float, other: float) -> bool:
        return one < other if self.lower else one > other

    def told_title(self, lang: str) -> str:
        return (self.title_zh if lang == "zh" else "") or self.title

    def told_description(self, lang: str) -> str:
        return (self.description_zh if lang == "zh" else "") or self.description
