"""The guard of one learner's process: forked between it and the warm process, outside of its namespaces.

It ends everything of that submission when the grader lets go of the lifeline, or when all of it together takes too much
memory; it makes it stand still while something else is timed. The learner's code can neither see nor signal it.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress

import psutil

from studio import processes

from . import isolation

# The grader's requests and the guard's answers, one byte each.
READY, STOP, GO_ON, DONE, MEMORY = b"r", b"s", b"g", b"d", b"m"
LOOK_SECONDS = 0.2  # how often memory is looked at
MOST_ROUNDS = 50  # of stopping: code that forks faster than this is ended


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
    out_of_memory = _watch(lifeline, pid, memory)
    _end(pid, walled)
    if not walled:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)  # the learner's code may have closed what lies in it
    with suppress(OSError):  # a grader that is gone need not hear it
        lifeline.sendall(MEMORY if out_of_memory else DONE)
    return 0


def _own_folder() -> str:
    """A work folder in the open: no wall keeps the code in it, but nothing of it stays."""
    folder = tempfile.mkdtemp(prefix="sampan-grading-", dir="/tmp")
    os.environ.update(HOME=folder, TMPDIR=folder, IPYTHONDIR=os.path.join(folder, ".ipython"))
    os.chdir(folder)
    return folder


def _become(lifeline: socket.socket, keep: Sequence[int], learner: Callable[[], None]) -> None:
    """The forked child: the learner's channel and output, and no other open file."""
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


def _watch(lifeline: socket.socket, pid: int, memory: int) -> bool:
    """Returns when the child has ended, the grader has let go, or too much memory is used (then True)."""
    ended = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    at_birth = _own(psutil.Process())
    waiting: list[socket.socket | int] = [lifeline] if ended is None else [lifeline, ended]
    while True:
        ready, _, _ = select.select(waiting, [], [], LOOK_SECONDS)
        if ended in ready or (ended is None and not psutil.pid_exists(pid)):
            return False
        if lifeline in ready:
            request = lifeline.recv(1)
            if not request or not _obey(lifeline, request, pid):
                return False
        if _used(_family(pid), at_birth) > memory:
            return True


def _obey(lifeline: socket.socket, request: bytes, pid: int) -> bool:
    """False when the family cannot be made to stand still."""
    number = signal.SIGSTOP if request == STOP else signal.SIGCONT
    told: set[psutil.Process] = set()
    for _ in range(MOST_ROUNDS):
        new = [process for process in _family(pid) if process not in told]
        if not new:
            lifeline.sendall(request)
            return True
        for process in new:
            told.add(process)
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)
    return False


def _family(pid: int) -> list[psutil.Process]:
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        return [first, *first.children(recursive=True)]
    return []


def _used(family: Sequence[psutil.Process], at_birth: int) -> int:
    """Bytes that the processes use together, without what is shared with files, or in shared memory (which has a limit of
    its own). What a fork has `at_birth` it shares with the warm process, and is counted once."""
    total = at_birth
    for process in family:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            total += max(0, _own(process) - at_birth)
    return total


def _own(process: psutil.Process) -> int:
    used = process.memory_info()
    return int(used.rss) - int(getattr(used, "shared", 0))


def _end(pid: int, walled: bool) -> None:
    if walled:  # process 1 of its namespaces: all others there end with it, before it can be waited for
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    else:
        processes.stop_tree(pid)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
