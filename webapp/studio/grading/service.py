"""A grader that stays: imports and the warm process are paid once, then a check takes as long as its exercises.

    python -m studio.grading.service

A line of JSON in: {"copy", "instructor", "seconds"}. Lines of JSON out: {"progress": [kind, number, count]} while it
goes on, then {"report"}, or {"refused": [English, Chinese]} when there is none. It ends with its input.
"""

from __future__ import annotations

from typing import Any

from . import answering
from .grader import NoChecks, grade
from .sandbox import NoSandbox, Warm


def _answer(request: dict[str, Any], warm: Warm | NoSandbox, say: Any) -> dict[str, Any]:
    if isinstance(warm, NoSandbox):
        return {"refused": warm.why}
    try:
        report = grade(
            request["copy"],
            request["instructor"],
            time_limit=request["seconds"],
            progress=lambda kind, number, count: say({"progress": [kind, number, count]}),
            warm=warm,
        )
    except NoChecks as error:
        return {"refused": error.why}
    except (ValueError, OSError, RuntimeError) as error:
        return {"refused": [f"{error}", f"{error}"]}
    return {"report": report.to_dict()}


def main() -> None:
    following, say = answering.begin()
    try:
        warm: Warm | NoSandbox = Warm()
    except NoSandbox as reason:
        warm = reason
    while True:
        say(_answer(following(), warm, say))


if __name__ == "__main__":
    main()
