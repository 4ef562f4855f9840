"""The verdict on a notebook, as the grader reports it, files store it and pages show it; `judge.py` decides it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

VerdictKind = Literal[
    "passed", "failed", "not_attempted", "timed_out", "out_of_memory", "broke_rule", "error"
]


@dataclass(frozen=True)
class JudgedCase:
    """A hidden case that was judged: its name, and whether the answer was right."""

    name: str
    name_zh: str
    passed: bool


@dataclass(frozen=True)
class Compared:
    """What a learner sees beside an exercise that is passed: the library's version, and how long both took."""

    source: str
    case: str = ""  # the case that was timed; empty: none was
    case_zh: str = ""
    seconds: float = 0.0  # of the learner's function, as its process told: shown, never graded
    library_seconds: float = 0.0


@dataclass(frozen=True)
class Result:
    """The verdict on one exercise. `message` shows the first wrong number beside the expected one (cases are drawn
    anew for each check, so that it cannot be copied), and never contains a line of a check."""

    id: str
    title: str
    title_zh: str
    points: float
    earned: float
    passed: bool
    message: str
    message_zh: str
    library_calls: int = (
        0  # how often the library called the learner's function, cells and hidden cases together
    )
    verdict: VerdictKind = "failed"
    case: str = ""  # the name of the case that failed
    case_zh: str = ""
    hint: str = ""
    hint_zh: str = ""
    traceback: str = ""  # the learner's own lines only
    cases: tuple[JudgedCase, ...] = ()  # those that were judged; the first wrong one is `case`
    compared: Compared | None = None  # only of a passed exercise
    opened: float = 0.0  # when its model answer was opened, if before the hand-in: `earned` is limited

    def told(self, what: Literal["title", "message", "case", "hint"], lang: str) -> str:
        """One of its texts in a language."""
        text: str = getattr(self, what if lang == "en" else f"{what}_{lang}")
        return text


@dataclass(frozen=True)
class StoppedCell:
    """A cell that did not end within the limit; `number` counts all cells from 1, `line` is its first line."""

    number: int
    line: str


@dataclass(frozen=True)
class Verdict:
    """The result of a check of a notebook."""

    exercises: tuple[Result, ...]
    stopped: tuple[StoppedCell, ...] = ()
    sandboxed: bool = True  # False: graded with --trust-learners and without a sandbox
    programs: Mapping[str, str] = field(default_factory=dict)  # by slot, the source of each passed function

    @property
    def passed(self) -> int:
        return sum(exercise.passed for exercise in self.exercises)

    @property
    def complete(self) -> bool:
        return self.passed == len(self.exercises)

    @property
    def earned(self) -> float:
        return sum(exercise.earned for exercise in self.exercises)

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)


def parse_report(report: Any) -> Verdict:
    """The verdict in the grader's report. Raises `ValueError`, `KeyError` or `TypeError` if it is not one."""
    return Verdict(
        exercises=tuple(parse_result(entry) for entry in report["exercises"]),
        stopped=tuple(StoppedCell(int(c["number"]), str(c["first_line"])) for c in report["stopped"]),
        sandboxed=bool(report.get("sandboxed", True)),
        programs={str(slot): str(source) for slot, source in report.get("programs", {}).items()},
    )


def parse_verdict(told: Any) -> Verdict:
    """A verdict from its fields, as `dataclasses.asdict` gives them. Raises as `parse_report` does."""
    return Verdict(
        exercises=tuple(map(parse_result, told["exercises"])),
        stopped=tuple(StoppedCell(**cell) for cell in told["stopped"]),
        sandboxed=bool(told["sandboxed"]),
        programs={str(slot): str(source) for slot, source in told["programs"].items()},
    )


def parse_result(entry: dict[str, Any]) -> Result:
    """A result from its fields, of a report or a file. Raises as `parse_report` does."""
    if not isinstance(entry["passed"], bool):
        raise TypeError(f"passed must be true or false, got {entry['passed']!r}")
    kind = str(entry.get("verdict") or ("passed" if entry["passed"] else "failed"))
    if kind not in get_args(VerdictKind):
        raise ValueError(f"verdict must be one of {', '.join(get_args(VerdictKind))}, got {kind!r}")
    return Result(
        id=str(entry["id"]),
        title=str(entry["title"]),
        title_zh=str(entry["title_zh"]),
        points=float(entry["points"]),
        earned=float(entry["earned"]),
        passed=entry["passed"],
        message=str(entry["message"]),
        message_zh=str(entry["message_zh"]),
        library_calls=int(entry.get("library_calls", 0)),
        verdict=cast(VerdictKind, kind),
        case=str(entry.get("case", "")),
        case_zh=str(entry.get("case_zh", "")),
        hint=str(entry.get("hint", "")),
        hint_zh=str(entry.get("hint_zh", "")),
        traceback=str(entry.get("traceback", "")),
        cases=tuple(JudgedCase(**case) for case in entry.get("cases", ())),
        compared=Compared(**entry["compared"]) if entry.get("compared") else None,
        opened=float(entry.get("opened", 0.0)),
    )
