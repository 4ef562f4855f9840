"""A process that grades one submission after the other, so that imports are paid once for a class.

    python -m studio.gradebook.worker [--trust-learners]

A line of JSON in: {"copy", "instructor", "autograded", "seconds"}. A line of JSON out: {"report"}, or
{"broken"} when the submission is none that can be graded, or {"refused"} with a sentence in both languages when nothing
can be. Whatever else happens
ends this process, with its last words on stderr, and `pool.py` starts another. When the end of its input says that the
run is gone, it goes too, with its children.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from studio.grading import answering
from studio.grading.grader import grade
from studio.grading.sandbox import NoSandbox, Warm

from .formgrader import write_autograded


def answer(request: dict[str, Any], warm: Warm) -> dict[str, Any]:
    """What came of one submission."""
    copy, instructor = Path(request["copy"]), Path(request["instructor"])
    try:
        report = grade(copy, instructor, time_limit=request["seconds"], warm=warm).to_dict()
    except (
        ValueError,
        RecursionError,
        MemoryError,
    ) as error:  # no notebook; JSON nested a thousand times deep
        return {"broken": str(error) or repr(error)}
    except RuntimeError as error:
        return {"refused": [str(error), str(error)]}
    write_autograded(copy, instructor, Path(request["autograded"]), report)
    return {"report": report}


def main() -> None:
    following, say = answering.begin()
    try:
        warm = Warm(trust="--trust-learners" in sys.argv)
    except NoSandbox as error:
        following()
        say({"refused": error.why})
        return
    with warm:
        while True:
            say(answer(following(), warm))


if __name__ == "__main__":
    main()
