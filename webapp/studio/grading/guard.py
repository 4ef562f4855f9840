"""The guard of one learner's process: forked between it and the warm process, outside of its namespaces.

It ends all processes of that submission when the grader closes the lifeline, or when together they use too much
memory; it stops them while something else is timed. The learner's code can neither see nor signal it.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

from studio import processes

from . import family, isolation

# The grader's requests and the guard's answers, one byte each.
READY, STOP, GO_ON, MOVED, DONE, MEMORY = b"r", b"s", b"g", b"x", b"d", b"m"
LOOK_SECONDS = 0.2  # the interval of memory checks
MOST_ROUNDS = 500  # of stopping: code that forks faster than this is ended
ROUND_SECONDS = 0.001
STILL_SECONDS = 0.002  # processor time that a process may use before its stop takes effect


def run(
    lifeline: socket.socket, keep: Sequence[int], walled: bool, memory: int, learner: Callable[[], None]
) -> int:
    """Forks the learner's process and watches over it; returns the guard's own exit status.

    `keep` are the learner's channel and its output, which the guard itself closes. `memory` is in bytes, for all of the
    learner's processes together.
    """
    if walled:
        isolation.leave_the_others()
    else:
        os.setsid()
        folder = _own_folder()
    pid = os.fork()
    if pid == 0:
        _become(lifeline, keep, learner)
    if walled:
        isolation.close_to_inspection()
    for descriptor in keep:
        os.close(descriptor)
    out_of_memory = _watch(lifeline, pid, memory, walled)
    _end(pid, walled)
    if not walled:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)  # the learner's code may have removed permissions in it
    with suppress(OSError):  # the grader may be gone
        lifeline.sendall(MEMORY if out_of_memory else DONE)
    return 0


def _own_folder() -> str:
    """A work folder without a sandbox: the code is not confined to it, but it is deleted afterwards."""
    folder = tempfile.mkdtemp(prefix="sampan-grading-", dir="/tmp")
    os.environ.update(HOME=folder, TMPDIR=folder, IPYTHONDIR=os.path.join(folder, ".ipython"))
    os.chdir(folder)
    return folder


def _become(lifeline: socket.socket, keep: Sequence[int], learner: Callable[[], None]) -> None:
    """The forked child: keeps the learner's channel and output, and closes all other files."""
    status = 1
    try:
        lifeline.close()
        channel, output = keep
        for number in (1, 2):
            os.dup2(output, number)
        for start, stop in ((3, channel), (channel + 1, os.sysconf("SC_OPEN_MAX"))):
            os.closerange(start, stop)
        learner()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _watch(lifeline: socket.socket, pid: int, memory: int, walled: bool) -> bool:
    """Returns when the child has ended, the grader has closed the lifeline, or too much memory is used (then True)."""
    ended = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    waiting: list[socket.socket | int] = [lifeline] if ended is None else [lifeline, ended]
    still: dict[int, float] = {}  # processor time of the stopped processes
    while True:
        ready, _, _ = select.select(waiting, [], [], LOOK_SECONDS)
        if ended in ready or (ended is None and not psutil.pid_exists(pid)):
            return False
        if lifeline in ready:
            request = lifeline.recv(1)
            if request == STOP:
                still = _stop(pid)
                lifeline.sendall(STOP if still else MOVED)
            elif request == GO_ON:
                lifeline.sendall(GO_ON if _stood_still(pid, still) else MOVED)
                for member in family.members(pid):
                    _signal(member, signal.SIGCONT)
            else:
                return False
        if family.used(family.members(pid), memory, walled) > memory:
            return True


def _stop(pid: int) -> dict[int, float]:
    """Stops all processes of the family; returns the processor time of each, or nothing if they cannot be stopped.

    A stopped process may be continued by one that still runs, so the check is repeated until none runs; after that
    nothing can continue them: timers and similar calls are refused (`syscalls.py`).
    """
    told: set[int] = set()
    for _ in range(MOST_ROUNDS):
        before = family.members(pid)
        running = [member for member in before if family.runs(member, member in told)]
        for member in running:
            _signal(member, signal.SIGSTOP)
            told.add(member)
        if not running and before and family.members(pid) == before:
            return {member: family.seconds(member) for member in before}
        time.sleep(ROUND_SECONDS)
    return {}


def _stood_still(pid: int, still: dict[int, float]) -> bool:
    """Whether no process was started and none has run since `_stop`."""
    now = family.members(pid)
    return set(now) <= still.keys() and all(
        family.seconds(member) - still[member] <= STILL_SECONDS for member in now
    )


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _end(pid: int, walled: bool) -> None:
    if walled:  # process 1 of its namespaces: all others there end with it, before it can be waited for
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    else:
        processes.stop_tree(pid)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
