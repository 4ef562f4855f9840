"""A process that grades one submission after the other, so that imports are paid once for a class.

    python -m studio.gradebook.worker [--trust-learners]

A line of JSON in: {"copy", "instructor", "autograded", "seconds"}. A line of JSON out: {"report"}, or
{"broken"} when the submission is none that can be graded, or {"refused"} with a sentence in both languages when nothing
can be. Whatever else happens
ends this process, with its last words on stderr, and `pool.py` starts another. When the end of its input says that the
run is gone, it goes too, with its children.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from pathlib import Path
from typing import IO, Any

import psutil

# jsonschema, which nbformat imports, asks for this one: it builds a grammar for 3 s of processor time, and notebooks
# have no field that would be checked with it. Marked as missing, it is passed over.
sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]

from studio.grading.grader import grade  # noqa: E402
from studio.grading.sandbox import NoSandbox, Warm  # noqa: E402

from .formgrader import write_autograded  # noqa: E402


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


def _follow(lines: IO[bytes], requests: queue.SimpleQueue[bytes]) -> None:
    for line in lines:
        requests.put(line)
    for child in psutil.Process().children(recursive=True):
        child.kill()
    os._exit(0)


def main() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no reply
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_follow, args=(sys.stdin.buffer, requests), daemon=True).start()

    def reply(said: dict[str, Any]) -> None:
        replies.write(json.dumps(said, ensure_ascii=True).encode() + b"\n")
        replies.flush()

    try:
        warm = Warm(trust="--trust-learners" in sys.argv)
    except NoSandbox as error:
        requests.get()
        reply({"refused": error.why})
        return
    with warm:
        while True:
            reply(answer(json.loads(requests.get()), warm))


if __name__ == "__main__":
    main()
