"""A persistent grader: imports and the warm process are started once, then a check takes only as long as its
exercises.

    python -m studio.grading.service [--trust-learners]

A line of JSON in: {"slot"} asks for the model answer of an exercise, and {"answer"} comes out. To grade:
{"copy", "instructor", "seconds"}, and "autograded" if a copy for nbgrader's formgrader is wanted. Lines of JSON out: {"progress": [kind, number, count]} during the check, then one of {"report"}, {"broken":
[English, Chinese]} for a notebook that cannot be graded, {"refused": [English, Chinese]} if none can be. Any other
error ends this process, with a traceback on stderr, and `client.py` starts another. When its input closes, it ends
with its children.
"""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from . import answering
from .formgrader import write_autograded
from .grader import NoChecks, grade
from .model_answer import model_answer
from .sandbox import NoSandbox, Warm


def answer(question: dict[str, Any], warm: Warm, say: answering.Say) -> dict[str, Any]:
    """The result for one notebook, or a model answer."""
    if "slot" in question:
        try:
            return {"answer": asdict(model_answer(question["slot"]))}
        except ValueError as error:
            return {"broken": [str(error)] * 2}
    copy, instructor = Path(question["copy"]), Path(question["instructor"])
    try:
        report = grade(
            copy,
            instructor,
            time_limit=question["seconds"],
            progress=lambda kind, number, count: say({"progress": [kind, number, count]}),
            warm=warm,
        )
    except NoChecks as error:
        return {"broken": error.why}
    # not a notebook, or JSON nested too deeply
    except (ValueError, RecursionError, MemoryError, OSError) as error:
        return {"broken": [str(error) or repr(error)] * 2}
    except RuntimeError as error:
        return {"refused": [str(error)] * 2}
    if "autograded" in question:
        write_autograded(copy, instructor, Path(question["autograded"]), report.exercises)
    return {"report": report.to_dict()}


def main() -> None:
    following, say = answering.begin()
    try:
        warm = Warm(trust="--trust-learners" in sys.argv)
    except NoSandbox as reason:
        while True:
            following()
            say({"refused": reason.why})
    with warm:
        while True:
            say(answer(following(), warm, say))


if __name__ == "__main__":
    main()
