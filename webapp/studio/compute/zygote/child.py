"""Turns a fork of the zygote into an independent program, as if it had been started normally."""

from __future__ import annotations

import atexit
import fcntl
import gc
import importlib
import multiprocessing
import os
import random
import runpy
import select
import signal
import site
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import psutil

from . import account, title
from .spawn import LONGEST, Spawn, encode

_OUTPUTS = 2


@dataclass(frozen=True)
class Own:
    """The account of the warm process."""

    def receive(self, connection: socket.socket) -> tuple[Spawn, list[int]]:
        """The request and its output files. When it returns, this process has the account that it is for."""
        spawn, outputs = _receive(connection)
        if spawn.account is not None:
            raise PermissionError("only root may name an account, and only in a class")
        return spawn, outputs


@dataclass(frozen=True)
class Peer(Own):
    """The account at the other end of the connection."""

    uid: int

    def receive(self, connection: socket.socket) -> tuple[Spawn, list[int]]:
        account.become(self.uid)  # before a byte of the request is read
        return super().receive(connection)


@dataclass(frozen=True)
class Named(Own):
    """The account that root's request names, one of the class's members."""

    members: frozenset[int]

    def receive(self, connection: socket.socket) -> tuple[Spawn, list[int]]:
        spawn, outputs = _receive(connection)
        if spawn.account not in self.members:
            raise PermissionError(f"the account {spawn.account} is not one of the class")
        account.become(spawn.account)
        return spawn, outputs


def _receive(connection: socket.socket) -> tuple[Spawn, list[int]]:
    message, outputs, *_ = socket.recv_fds(connection, LONGEST, _OUTPUTS)
    if len(outputs) != _OUTPUTS:
        raise ValueError(f"expected {_OUTPUTS} files for the output, got {len(outputs)}")
    return Spawn.decode(message), outputs


def close_all_but(connection: socket.socket) -> None:
    """Also the zygote's log, which only its own account may write."""
    nothing, number = os.open(os.devnull, os.O_RDWR), connection.fileno()
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.closerange(3, number)
    os.closerange(number + 1, os.sysconf("SC_OPEN_MAX"))


def prepare(connection: socket.socket, whose: Own) -> Spawn:
    """Everything that must hold before the first line of the program; returns the program.

    An error here is reported to the caller and ends the child.
    """
    connection.setblocking(True)
    try:
        spawn, outputs = whose.receive(connection)
        os.setsid()
        if spawn.tied:
            _tie(connection)
        _restore_signals(spawn.what)
        _redirect(outputs)
        os.environ.clear()
        os.environ.update(spawn.env)
        os.chdir(spawn.cwd)
        if spawn.limits is not None:
            spawn.limits.apply()
        _forget_the_zygote()
        kind = {"kernel": ["-m", "ipykernel_launcher"], "module": ["-m"], "script": []}[spawn.what]
        title.show([sys.executable, *kind, *spawn.argv])
        _say_ready(connection)
    except BaseException as error:
        with suppress(OSError):  # the caller is gone
            connection.send(encode(error=f"{type(error).__name__}: {error}"))
        os._exit(1)
    connection.detach()  # the lifeline stays open; nothing may close it
    return spawn


def become(spawn: Spawn, files: list[str]) -> NoReturn:
    """Run the program and exit as Python does, but leave freeing the memory to the operating system. Python would
    visit every module that was imported: a third of a second, and a copy of each page it looks at.

    `files` are those that the zygote has imported.
    """
    gc.enable()
    status = _run(spawn, files)
    threading._shutdown()  # type: ignore[attr-defined]  # waits for the program's threads, as at every end
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(
            AttributeError, ValueError, OSError
        ):  # the program has removed or closed it, or there is no reader
            stream.flush()
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def _run(spawn: Spawn, files: list[str]) -> int:
    """Its exit status; negative: the signal it is to end by."""
    sys.excepthook = _without_our_frames
    try:
        _program(spawn, files)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _program(spawn: Spawn, files: list[str]) -> None:
    if spawn.what == "kernel":
        from .kernel import launch

        sys.argv = ["ipykernel_launcher", *spawn.argv]
        launch(spawn.argv, files)
        return
    name, *arguments = spawn.argv
    sys.argv = [name, *arguments]
    if spawn.what == "script":
        sys.path.insert(0, os.path.dirname(os.path.abspath(name)))
        runpy.run_path(name, run_name="__main__")
    else:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(name, run_name="__main__", alter_sys=True)


def _say_ready(connection: socket.socket) -> None:
    """Through a pidfd of this process: unlike a process number, it cannot refer to another process later."""
    own = os.pidfd_open(os.getpid())
    socket.send_fds(connection, [encode(ready=True, started=psutil.Process().create_time())], [own])
    os.close(own)


def _tie(connection: socket.socket) -> None:
    """When the other end closes, the operating system kills this process group: no thread or lock of Python is
    involved, and it works as long as any process here has the socket open."""
    set_signal = 10  # F_SETSIG, which the fcntl module does not name
    fcntl.fcntl(connection, set_signal, signal.SIGKILL)
    fcntl.fcntl(connection, fcntl.F_SETOWN, -os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    hung_up = select.poll()
    hung_up.register(connection, select.POLLHUP)
    if hung_up.poll(0):  # it closed before this was armed
        os._exit(1)


def _restore_signals(what: str) -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGPIPE, signal.SIGXFSZ}:
        if number < signal.SIGRTMIN:
            signal.signal(number, signal.SIG_DFL)
    # A kernel ignores interrupts except in its cells (ipykernel); so also while it starts, else it would end with a
    # traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN if what == "kernel" else signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


def _redirect(outputs: list[int]) -> None:
    """No standard input, both outputs to the requested files, line buffered."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((nothing, *outputs)):
        os.dup2(source, target)
        os.close(source)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # stdout is a TextIOWrapper


def _forget_the_zygote() -> None:
    """Reset what libraries cached from the zygote's environment, and the random state that all forks would share."""
    time.tzset()
    tempfile.tempdir = None
    threads = int(os.environ.get("OMP_NUM_THREADS") or len(os.sched_getaffinity(0)))
    if "numba" in sys.modules:
        from numba.core import config

        config.reload_config()
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(threads)
        torch.default_generator.seed()
    # OpenBLAS read its number of threads when NumPy was imported: one, see client.py.
    if threads > 1 and "threadpoolctl" in sys.modules:
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads, user_api="blas")
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed()
    random.seed()
    # A secret between a program and its own workers.
    multiprocessing.current_process().authkey = os.urandom(32)
    if "send2trash.plat_other" in sys.modules:  # it keeps the path of the home folder's trash
        importlib.reload(sys.modules["send2trash.plat_other"])
    _own_packages()


def _own_packages() -> None:
    """The packages that the account has installed for itself, instead of the warm process's account."""
    if site.ENABLE_USER_SITE:
        sys.path[:] = [path for path in sys.path if path != site.USER_SITE]
        site.USER_BASE = site.USER_SITE = None
        site.addusersitepackages(set(sys.path))


def _without_our_frames(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
    """Print a traceback that begins in the program, without the frames that started it."""
    own = {__file__, str(Path(__file__).with_name("server.py")), runpy.run_path.__code__.co_filename}
    here = trace
    while here is not None and here.tb_frame.f_code.co_filename in own:
        here = here.tb_next
    # Python prints the error's own traceback, whatever the third argument is.
    sys.__excepthook__(kind, error.with_traceback(here or trace), None)
