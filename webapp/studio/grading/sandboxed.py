"""The inside of grading: a warm process that forks for each submission, and the fork, which runs the learner's
cells and answers calls over one socket. It knows no right answers and decides no verdict.

Started by `sandbox.py` as `python -m studio.grading.sandboxed FD walled|open LIMITS`. The warm process only imports: one
thread, no torch operation, and no learner's code ever runs in it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import linecache
import os
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numba
import numpy as np
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from sampan.learn import drivers, lessons, slots
from studio.compute.limits import Limits

from . import guard, isolation, reading, wire
from .withheld import withhold

MOST_REQUEST = 65536  # bytes of a fork request: the names of the withheld functions, as JSON
ERROR_TEXT = 500
TRACEBACK_LINES = 12
SAYING_SECONDS = 1.0  # for an error to produce its text
# What torch imports at the first use of `broadcast_shapes` and the like (all of SymPy: a second), and what the course's
# cells import at their beginning.
LATE = ("torch.fx.experimental.symbolic_shapes", "sampan.visual")
CELL = "<ipython-input-{}-cell>"  # the name that IPython's own tools expect of a cell's code


class TooLong(BaseException):
    """Raised by the alarm in code that exceeds its time limit; no `except Exception` catches it."""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Stops Python code after so many seconds. Code that catches the alarm is ended by the grader from outside."""

    def ring(number: int, frame: Any) -> None:
        raise TooLong

    before = signal.signal(signal.SIGALRM, ring)
    # repeatedly: a bare `except: pass` loop may catch one
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _shell() -> InteractiveShell:
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell.instance(config=config)


def _cell(shell: InteractiveShell, number: int, source: str, seconds: float) -> dict[str, Any]:
    """Runs one cell as a notebook does (magics too), without showing its last value."""
    shell.compile.get_code_name = lambda raw, transformed, count: CELL.format(number)
    error: BaseException | None = None
    try:
        with _within(seconds):
            result = shell.run_cell(source, store_history=False, silent=True)
            error = result.error_before_exec or result.error_in_exec
    except (
        BaseException
    ) as caught:  # the alarm, between the cell and IPython's own handler; an error that cannot be shown
        error = caught
    sys.stdout.flush()
    sys.stderr.flush()
    return _told(error)


def _call(message: dict[str, Any]) -> dict[str, Any]:
    error: BaseException | None = None
    value = None
    began = time.perf_counter()
    try:
        with _within(message["seconds"]):
            value = drivers.run(message["slot"], message["driver"], message["args"])
    except BaseException as caught:  # SystemExit too: there must be an answer, whatever the function does
        error = caught
    missing = isinstance(error, (LookupError, ValueError)) and message["slot"] not in slots.filled()
    spent = time.perf_counter() - began
    return {"id": message["id"], "value": value, "spent": spent, "missing": missing, **_told(error)}


def _told(error: BaseException | None) -> dict[str, Any]:
    """A reply that describes how a piece of code ended."""
    words = (
        None if error is None else f"{type(error).__name__}: {_said(error)}".removesuffix(": ")[:ERROR_TEXT]
    )
    frames = _own_frames(error)
    return {
        "error": words,
        "traceback": "\n".join(text for _, text in frames),
        "unwritten": isinstance(error, NotImplementedError) and bool(frames) and frames[-1][0],
        "too_long": isinstance(error, TooLong),
        "memory": isinstance(error, MemoryError) or "can't allocate memory" in (words or ""),
    }


def _said(error: BaseException) -> str:
    """The text of an error; its `__str__` may raise or never end."""
    try:
        with _within(SAYING_SECONDS):
            return str(error)
    except BaseException as another:
        return f"(its text raises {type(another).__name__})"


def _own_frames(error: BaseException | None) -> list[tuple[bool, str]]:
    """The frames of the traceback that are in cells: (whether it is the innermost of all, its text)."""
    found = []
    if isinstance(error, SyntaxError) and error.filename:
        found.append((True, _line(error.filename, error.lineno or 0, "", error.text or "")))
    step = None if error is None else error.__traceback__
    while step is not None:
        code = step.tb_frame.f_code
        if code.co_filename.startswith("<ipython-input-"):
            line = linecache.getline(code.co_filename, step.tb_lineno)
            found.append((step.tb_next is None, _line(code.co_filename, step.tb_lineno, code.co_name, line)))
        step = step.tb_next
    return found[-TRACEBACK_LINES:]


def _line(name: str, number: int, function: str, source: str) -> str:
    cell = name.split("-")[2] if name.startswith("<ipython-input-") else "?"
    inside = f", in {function}" if function and function != "<module>" else ""
    return f"cell {cell}, line {number}{inside}\n    {source.strip()[:200]}"


def _put(message: dict[str, Any]) -> dict[str, Any]:
    """Writes a file into the work folder, before any cell runs."""
    path = Path(message["name"])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(message["content"].tobytes())
    path.chmod(message["mode"])
    return {}


def _get(message: dict[str, Any]) -> dict[str, Any]:
    """The bytes of a file that the cells have written, one more than `most` if it has more; None if there is none."""
    try:
        descriptor = os.open(message["name"], os.O_RDONLY | os.O_NONBLOCK)  # a pipe would block
    except OSError:
        return {"content": None}
    with open(descriptor, "rb") as file:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        content = file.read(message["most"] + 1) if regular else None
    return {"content": None if content is None else np.frombuffer(content, np.uint8)}


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
            reply: dict[str, Any] = _cell(shell, message["number"], message["source"], message["seconds"])
        elif kind == "call":
            reply = _call(message)
        elif kind == "read":
            reply = reading.answer(message)
        elif kind == "put":
            reply = _put(message)
        elif kind == "get":
            reply = _get(message)
        else:
            reply = {"library_calls": _counts()}
        try:
            wire.send(channel, reply)
        except wire.WireError as error:  # the answer has too many bytes: send that error instead
            wire.send(channel, {**reply, "value": None, "error": str(error)})


def _learner(channel: int, walled: bool, limits: Limits, absent: list[str]) -> None:
    """Turns a fork into the learner's process. `absent`: the slot that is graded, whose original is withheld, and
    other withheld functions."""
    covered = withhold(absent[0], absent[1:]) if absent else []
    if walled:
        isolation.settle(covered)
    np.random.seed()
    limits.apply()
    if walled:
        from .syscalls import learners_filter

        learners_filter().load()
    serve(socket.socket(fileno=channel))


def _compile_once() -> None:
    """Compile once, so that numba is initialised before a learner's kernel is compiled."""

    @numba.njit
    def rows(x: Any, out: Any) -> None:
        for i in range(x.shape[0]):
            row = out[i]
            row[:] = 0
            for j in range(row.size):
                row[j] += x[i, j]

    rows(np.ones((2, 2), np.float32), np.ones((2, 2), np.float32))


def main(control: socket.socket, walled: bool, limits: Limits) -> None:
    """Forks one learner's process for each request, until the grader closes the connection."""
    lessons.installed()  # the course's drivers, and with them numba and all of the library
    for name in LATE:
        importlib.import_module(name)
    if walled:
        from . import syscalls  # noqa: F401  loaded before the filter is set
    _compile_once()
    if walled:  # else its files would be in the user's own folders
        _shell()
    gc.collect()
    gc.freeze()  # a garbage collection in a fork would copy every page it touches
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    control.sendall(guard.READY)
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, MOST_REQUEST, 3)
        if not request:
            return
        if os.fork() == 0:
            control.close()
            channel, lifeline, output = descriptors
            learner = partial(_learner, channel, walled, limits, json.loads(request))
            _submission(lifeline, (channel, output), walled, limits, learner)
        for descriptor in descriptors:
            os.close(descriptor)


def _submission(
    lifeline: int, keep: Sequence[int], walled: bool, limits: Limits, learner: Callable[[], None]
) -> NoReturn:
    """Turns a fork of the warm process into the guard of one submission."""
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        status = guard.run(socket.socket(fileno=lifeline), keep, walled, limits.memory, learner)
    finally:
        os._exit(status)


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2] == "walled", Limits(**json.loads(sys.argv[3])))
