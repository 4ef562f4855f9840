"""Turns a fork of the zygote into an independent program, as if it had been started normally."""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import random
import runpy
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import psutil

from .spawn import Spawn, encode


def prepare(spawn: Spawn, connection: socket.socket, outputs: list[int]) -> None:
    """Everything that must hold before the first line of the program.

    An error here is reported to the caller and ends the child.
    """
    connection.setblocking(True)
    try:
        os.setsid()
        _tie(connection)
        _restore_signals(spawn.what)
        _redirect(outputs)
        os.environ.clear()
        os.environ.update(spawn.env)
        os.chdir(spawn.cwd)
        if spawn.limits is not None:
            spawn.limits.apply()
        _forget_the_zygote()
        _say_ready(connection)
    except Exception as error:
        connection.send(encode(error=f"{type(error).__name__}: {error}"))
        os._exit(1)
    connection.detach()  # the lifeline stays open; nothing may close it


def become(spawn: Spawn) -> NoReturn:
    """Run the program and exit as Python does, but leave freeing the memory to the operating system. Python would
    visit every module that was imported: a third of a second, and a copy of each page it looks at."""
    gc.enable()
    status = _run(spawn)
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


def _run(spawn: Spawn) -> int:
    """Its exit status; negative: the signal it is to end by."""
    sys.excepthook = _without_our_frames
    try:
        _program(spawn)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        return -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _program(spawn: Spawn) -> None:
    if spawn.what == "kernel":
        from ipykernel.kernelapp import launch_new_instance

        sys.argv = ["ipykernel_launcher", *spawn.argv]
        # it registers with the kernel when it is imported: there was none yet
        if "ipywidgets" in sys.modules:
            sys.modules["ipywidgets"].register_comm_target()
        # 1: a parent watches it (here the lifeline), so it need not poll, nor print how to connect.
        launch_new_instance(argv=[*spawn.argv, "--IPKernelApp.parent_handle=1"])
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
    for source, target in zip([nothing, *outputs], (0, 1, 2), strict=False):
        os.dup2(source, target)
    os.close(nothing)
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
    if "threadpoolctl" in sys.modules:  # OpenBLAS read its number of threads when NumPy was imported
        from threadpoolctl import threadpool_limits

        threadpool_limits(threads, user_api="blas")
    if "numpy" in sys.modules:
        import numpy as np

        np.random.seed()
    random.seed()


def _without_our_frames(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
    """Print a traceback that begins in the program, without the frames that started it."""
    own = {__file__, str(Path(__file__).with_name("server.py")), runpy.run_path.__code__.co_filename}
    here = trace
    while here is not None and here.tb_frame.f_code.co_filename in own:
        here = here.tb_next
    # Python prints the error's own traceback, whatever the third argument is.
    sys.__excepthook__(kind, error.with_traceback(here or trace), None)
