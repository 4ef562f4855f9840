"""The inside of grading: runs the learner's cells and answers calls, over one socket. It knows no right answers.

Started by `sandbox.py` as `python -m studio.grading.sandboxed FD`. Nothing that happens here decides a verdict.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

from sampan.learn import drivers, slots

from . import wire

MAX_FILE = 64 << 20
ERROR_TEXT = 500


class TooLong(BaseException):
    """Raised by the alarm inside code that ran longer than it may; no `except Exception` catches it."""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Stops Python code after so many seconds. Code that swallows the alarm is ended by the grader from outside."""

    def ring(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(
        signal.ITIMER_REAL, seconds, 0.5
    )  # again and again: a bare `except: pass` loop may catch one
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _fence() -> None:
    """Limits that need no sandbox: dies with the grader, no core files, no huge files."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
        # A grader that was gone before this line shows as the end of the socket in `serve`.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_FILE, MAX_FILE))


def _shell() -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell.instance(config=config)


def _cell(shell: Any, source: str, seconds: float) -> dict[str, Any]:
    """Runs one cell as a notebook does (magics too), without showing its last value."""
    error: BaseException | None = None
    try:
        with _within(seconds):
            result = shell.run_cell(source, store_history=False, silent=True)
            error = result.error_before_exec or result.error_in_exec
    except TooLong as alarm:  # rang between the cell and IPython's own handler
        error = alarm
    sys.stdout.flush()
    sys.stderr.flush()
    return {"error": _words(error), "too_long": isinstance(error, TooLong)}


def _call(message: dict[str, Any]) -> dict[str, Any]:
    error: BaseException | None = None
    value = None
    try:
        with _within(message["seconds"]):
            value = drivers.run(message["slot"], message["driver"], message["args"])
    except (Exception, TooLong) as caught:
        error = caught
    missing = isinstance(error, (LookupError, ValueError)) and message["slot"] not in slots.filled()
    return {
        "id": message["id"],
        "value": value,
        "error": _words(error),
        "missing": missing,
        "unwritten": isinstance(error, NotImplementedError),
        "too_long": isinstance(error, TooLong),
    }


def _words(error: BaseException | None) -> str | None:
    return None if error is None else f"{type(error).__name__}: {error}".removesuffix(": ")[:ERROR_TEXT]


def _counts() -> dict[str, int]:
    return {name: slot.library_calls for name, slot in slots.filled().items()}


def serve(channel: socket.socket) -> None:
    """Answers messages until the other side closes the connection."""
    shell = _shell()
    wire.send(channel, {"ready": True})
    while True:
        try:
            message = wire.receive(channel)
        except EOFError:
            return
        kind = message["kind"]
        if kind == "cell":
            reply: dict[str, Any] = _cell(shell, message["source"], message["seconds"])
        elif kind == "call":
            reply = _call(message)
        else:
            reply = {"library_calls": _counts()}
        try:
            wire.send(channel, reply)
        except wire.WireError as error:  # an answer of too many bytes: say so instead
            wire.send(channel, {**reply, "value": None, "error": str(error)})


if __name__ == "__main__":
    _fence()
    import sampan  # noqa: F401  before "ready", so that no learner's cell pays for the import

    serve(socket.socket(fileno=int(sys.argv[1])))
