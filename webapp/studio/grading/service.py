"""A grader that stays: imports and the warm process are paid once, then a check takes as long as its exercises.

    python -m studio.grading.service

A line of JSON in: {"copy", "instructor", "seconds"}. Lines of JSON out: {"progress": [kind, number, count]} while it
goes on, then {"report"}, or {"refused": [English, Chinese]} when there is none. It ends with its input.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from typing import IO, Any

from .grader import grade
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
    except (ValueError, OSError, RuntimeError) as error:
        return {"refused": [f"{error}", f"{error}"]}
    return {"report": report.to_dict()}


def _follow(lines: IO[bytes], requests: queue.SimpleQueue[bytes]) -> None:
    """The end of the input ends everything at once, also in the middle of a grading: nobody waits for it."""
    for line in lines:
        requests.put(line)
    os._exit(0)


def main() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no reply
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_follow, args=(sys.stdin.buffer, requests), daemon=True).start()

    def say(reply: dict[str, Any]) -> None:
        replies.write(json.dumps(reply).encode() + b"\n")
        replies.flush()

    try:
        warm: Warm | NoSandbox = Warm()
    except NoSandbox as reason:
        warm = reason
    while True:
        say(_answer(json.loads(requests.get()), warm, say))


if __name__ == "__main__":
    main()
