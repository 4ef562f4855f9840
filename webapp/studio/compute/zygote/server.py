"""The warm process: imports once, then forks on request.

    python -m studio.compute.zygote.server --control FD [--socket PATH] module ...

It imports the modules, sends `{"ready": true}` on the inherited socket FD, and takes connections to fork for: those
to PATH, and those passed through FD. When an imported file changes, it sends `{"stale": true}`; then, or when FD
closes with the Studio, it accepts no more and ends with its last fork, which is a job's.

It stays safe to fork: one thread, no tensor computed, no GPU touched, no secret in the environment.
"""

from __future__ import annotations

import argparse
import gc
import os
import selectors
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from . import child
from .spawn import LONGEST, Spawn, encode

LOOK_S = 5.0  # how often it checks whether imported files have changed
_OUTPUTS = 2


@dataclass(frozen=True)
class Fork:
    """A running child: its process number, and the connection of the caller."""

    pid: int
    connection: socket.socket


class ForkServer:
    """Waits for requests and for the ends of children, in one thread."""

    def __init__(self, control: socket.socket, door: socket.socket | None) -> None:
        self._control = control
        self._door = door
        self._forks: dict[int, Fork] = {}  # by the descriptor that becomes readable when the child ends
        self._selector = selectors.DefaultSelector()
        self._watch(control, self._handed)
        if door is not None:
            self._watch(door, self._knocked)
        self._stamp = stamp()
        self._over = False

    def run(self) -> Spawn | None:
        """Returns in every child the program to run; in the zygote None, at its end."""
        self._control.send(encode(ready=True))
        while not self._over:
            events = self._selector.select(LOOK_S)
            if not self._retired and stamp() != self._stamp:
                self._retire()
            for key, _ in events:
                # Unless an earlier event has closed it.
                asked = key.data(key.fd) if self._selector.get_map().get(key.fd) is key else None
                if asked is not None:
                    return asked
        return None

    @property
    def _retired(self) -> bool:
        return self._stamp == ()

    def _watch(self, what: socket.socket | int, react: Callable[[int], Spawn | None]) -> None:
        self._selector.register(what, selectors.EVENT_READ, react)

    def _retire(self) -> None:
        """Accept no more requests, and end with the last fork. A new fork would run outdated code, or would have no
        Studio."""
        if not self._retired:
            self._stamp = ()
            with suppress(BrokenPipeError, ConnectionResetError):  # the Studio is gone
                self._control.send(encode(stale=True))
            if self._door is not None:
                self._selector.unregister(self._door)
                self._door.close()
        self._over = not self._forks

    # ---- requests -----------------------------------------------------------------------------------

    def _handed(self, _fd: int) -> None:
        message, descriptors = b"", list[int]()
        with suppress(ConnectionResetError):  # it ended before it received all messages
            message, descriptors, *_ = socket.recv_fds(self._control, 1, 1)
        if not message:  # the Studio has ended: only jobs outlive it
            self._selector.unregister(self._control)
            self._retire()
        for descriptor in descriptors:
            self._welcome(socket.socket(fileno=descriptor))

    def _knocked(self, _fd: int) -> None:
        assert self._door is not None
        connection, _ = self._door.accept()
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if uid == os.geteuid():
            self._welcome(connection)
        else:
            connection.close()

    def _welcome(self, connection: socket.socket) -> None:
        if self._retired:
            connection.close()
            return
        connection.setblocking(False)
        self._watch(connection, lambda _: self._asked(connection))

    def _asked(self, connection: socket.socket) -> Spawn | None:
        self._selector.unregister(connection)
        message, outputs, *_ = socket.recv_fds(connection, LONGEST, _OUTPUTS)
        try:
            if not message or self._retired:
                connection.close()
                return None
            spawn = Spawn.decode(message)
            pid = os.fork()
            if pid == 0:
                return self._be_child(spawn, connection, outputs)
            end = os.pidfd_open(pid)
            self._forks[end] = Fork(pid, connection)
            self._watch(end, self._ended)
        except (OSError, ValueError, TypeError, KeyError) as error:
            with suppress(OSError):  # the caller is gone
                connection.send(encode(error=f"{type(error).__name__}: {error}"))
            connection.close()
        finally:
            for descriptor in outputs:
                os.close(descriptor)
        return None

    # ---- ends ---------------------------------------------------------------------------------------

    def _ended(self, end: int) -> None:
        fork = self._forks.pop(end)
        self._selector.unregister(end)
        os.close(end)
        with suppress(ProcessLookupError, PermissionError):  # nothing is left of its group
            os.killpg(fork.pid, signal.SIGKILL)  # before it is reaped: until then its number cannot be reused
        status = os.waitstatus_to_exitcode(os.waitpid(fork.pid, 0)[1])
        with suppress(OSError):  # the caller is gone
            fork.connection.send(encode(exit=status))
        fork.connection.close()
        self._over = self._over or (self._retired and not self._forks)

    def _be_child(self, spawn: Spawn, connection: socket.socket, outputs: list[int]) -> Spawn:
        """Close all files of the zygote except the lifeline."""
        self._selector.close()
        for fork in self._forks.values():
            fork.connection.close()
        self._control.close()
        if self._door is not None:
            self._door.close()
        child.prepare(spawn, connection, outputs)
        return spawn


def stamp() -> tuple[tuple[str, int], ...]:
    """The modification times of all files that this process has imported: about 3 ms for 2,000 files."""
    stamps = []
    for module in tuple(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str):
            try:
                stamps.append((path, os.stat(path).st_mtime_ns))
            except OSError:
                stamps.append((path, 0))
    return tuple(stamps)


def forbid_what_forks_badly() -> None:
    """RuntimeError if an import has started a thread or used the GPU."""
    threads = os.listdir("/proc/self/task")
    if len(threads) != 1:
        raise RuntimeError(
            f"the zygote must have one thread, its imports have started {len(threads) - 1} more"
        )
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        raise RuntimeError("the zygote must leave the GPU to its children, an import has initialised CUDA")
    files = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    drivers = [name for name in files if name.startswith("/dev/nvidia")]
    if drivers:
        raise RuntimeError(f"the zygote must leave the GPU to its children, an import has opened {drivers}")


def _listen(path: Path) -> socket.socket:
    """At `path`, for this person only. Renamed into place: it never exists with another mode."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    new = f"{path.name}.{os.getpid()}"
    os.chdir(path.parent)  # the address of a Unix socket may have 107 bytes; a path may be longer
    before = os.umask(0o177)
    try:
        door.bind(new)
        door.listen(64)
    finally:
        os.umask(before)
    os.replace(new, path.name)
    return door


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--control", type=int, required=True, metavar="FD")
    parser.add_argument("--socket", type=Path, metavar="PATH")
    parser.add_argument("modules", nargs="*")
    arguments = parser.parse_args()
    gc.disable()
    for name in arguments.modules:
        import_module(name)
    forbid_what_forks_badly()
    # The first garbage collection of a child would touch, and so copy, every object: freeze them.
    gc.collect()
    gc.freeze()
    control = socket.socket(fileno=arguments.control)
    door = None if arguments.socket is None else _listen(arguments.socket)
    asked = ForkServer(control, door).run()
    if asked is not None:
        child.become(asked)


if __name__ == "__main__":
    main()
