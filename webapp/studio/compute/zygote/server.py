"""The warm process: imports once, then forks on request.

    python -m studio.compute.zygote.server --control FD [--socket PATH] [--members UID,...] module ...

It imports the modules, sends `{"ready": true}` on the inherited socket FD, and takes connections to fork for: those
to PATH, and those passed through FD. When an imported file changes, it sends `{"stale": true}`; then, or when FD
closes with the Studio, it accepts no more and ends with its last fork, which is a job's.

With `--members` it is run by root for a class: a fork for a member has the account of the member's process at the other end
of the connection, as the operating system reports it; one for root has the member's account that the request names.

It stays safe to fork: one thread, no tensor computed, no GPU touched, no secret in the environment. It reads no request: the
fork does, after it has given up the rights of root. So a request cannot harm the warm process, and what it holds (a server's
token) is in no other fork.
"""

from __future__ import annotations

import argparse
import gc
import os
import resource
import selectors
import signal
import socket
import struct
import sys
import time
from array import array
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from . import child
from .gate import SPARE_FILES, Gate
from .spawn import Spawn, encode

LOOK_S = 5.0  # how often it checks whether imported files have changed


@dataclass(frozen=True)
class Request:
    """A connection, and the account at its other end."""

    connection: socket.socket
    uid: int


@dataclass(frozen=True)
class Fork:
    """A running child: its process number, and who asked for it."""

    pid: int
    request: Request


class ForkServer:
    """Waits for requests and for the ends of children, in one thread."""

    def __init__(self, control: socket.socket, door: socket.socket | None, gate: Gate, files: Files) -> None:
        self._control = control
        self._door = door
        self._gate, self._files = gate, files
        self._waiting: set[Request] = set()
        self._forks: dict[int, Fork] = {}  # by the descriptor that becomes readable when the child ends
        self._selector = selectors.DefaultSelector()
        self._watch(control, self._handed)
        if door is not None:
            self._watch(door, self._knocked)
        self._retired = False
        self._over = False

    def run(self) -> Spawn | None:
        """Returns in every child the program to run; in the zygote None, at its end."""
        self._control.send(encode(ready=True))
        while not self._over:
            events = self._selector.select(LOOK_S)
            if not self._retired and self._files.changed():
                self._retire()
            for key, _ in events:
                # Unless an earlier event has closed it.
                asked = key.data(key.fd) if self._selector.get_map().get(key.fd) is key else None
                if asked is not None:
                    return asked
        return None

    def _watch(self, what: socket.socket | int, react: Callable[[int], Spawn | None]) -> None:
        self._selector.register(what, selectors.EVENT_READ, react)

    def _retire(self) -> None:
        """Accept no more requests, and end with the last fork. A new fork would run outdated code, or would have no
        Studio."""
        if not self._retired:
            self._retired = True
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
            self._welcome(socket.socket(fileno=descriptor), os.geteuid())

    def _knocked(self, _fd: int) -> None:
        assert self._door is not None
        connection, _ = self._door.accept()
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        self._welcome(connection, uid)

    def _welcome(self, connection: socket.socket, uid: int) -> None:
        if self._retired or not self._gate.enter(uid):
            connection.close()
            return
        connection.setblocking(False)
        request = Request(connection, uid)
        self._waiting.add(request)
        self._watch(connection, lambda _: self._asked(request))

    def _asked(self, request: Request) -> Spawn | None:
        connection = request.connection
        self._selector.unregister(connection)
        self._waiting.remove(request)
        try:
            gone = not connection.recv(1, socket.MSG_PEEK)
            if gone or self._retired or not self._gate.may_start(request.uid):
                self._close(request)
                return None
            pid = os.fork()
            if pid == 0:
                return self._be_child(request)
            end = os.pidfd_open(pid)
            self._forks[end] = Fork(pid, request)
            self._watch(end, self._ended)
        except OSError as error:
            with suppress(OSError):  # the caller is gone
                connection.send(encode(error=f"{type(error).__name__}: {error}"))
            self._close(request)
        return None

    def _close(self, request: Request) -> None:
        request.connection.close()
        self._gate.leave(request.uid)

    # ---- ends ---------------------------------------------------------------------------------------

    def _ended(self, end: int) -> None:
        fork = self._forks.pop(end)
        self._selector.unregister(end)
        os.close(end)
        with suppress(ProcessLookupError, PermissionError):  # nothing is left of its group
            os.killpg(fork.pid, signal.SIGKILL)  # before it is reaped: until then its number cannot be reused
        status = os.waitstatus_to_exitcode(os.waitpid(fork.pid, 0)[1])
        with suppress(OSError):  # the caller is gone
            fork.request.connection.send(encode(exit=status))
        self._close(fork.request)
        self._over = self._over or (self._retired and not self._forks)

    def _be_child(self, request: Request) -> Spawn:
        """Close all files of the zygote except the connection, then be what was asked for. Never comes back with an error: the
        loop of the zygote must not run in a child."""
        try:
            self._selector.close()
            for other in (*self._waiting, *(fork.request for fork in self._forks.values())):
                other.connection.close()
            self._control.close()
            if self._door is not None:
                self._door.close()
            child.close_all_but(request.connection)
            return child.prepare(request.connection, self._account(request))
        except BaseException:
            os._exit(1)

    def _account(self, request: Request) -> child.Own:
        if not self._gate.serves_a_class:
            return child.Own()
        if request.uid == os.geteuid():
            return child.Named(self._gate.members)
        return child.Peer(request.uid)


class Files:
    """The files that this process has imported, and when they were last changed.

    Their names are one piece of memory: a look at each module would copy the pages where it is, away from those of the forks,
    which was 20 MB.
    """

    def __init__(self, pause_s: float = 0.0) -> None:
        self._pause_s = pause_s
        paths = (getattr(module, "__file__", None) for module in tuple(sys.modules.values()))
        self._names = "\0".join(path for path in paths if isinstance(path, str)).encode()
        self._before = self._times()
        self._looked = time.monotonic()

    def names(self) -> list[str]:
        return self._names.decode().split("\0")

    def changed(self) -> bool:
        """Whether one has changed; looks again after `pause_s` seconds. About 5 ms for 4,000 files."""
        if time.monotonic() - self._looked < self._pause_s:
            return False
        self._looked = time.monotonic()
        return self._times() != self._before

    def _times(self) -> bytes:
        times = array("q")
        for name in self._names.split(b"\0"):
            try:
                times.append(os.stat(name).st_mtime_ns)
            except OSError:
                times.append(0)
        return times.tobytes()


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


def _listen(path: Path, mode: int) -> socket.socket:
    """At `path`, with that mode. Renamed into place: it never exists with another one."""
    door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    new = f"{path.name}.{os.getpid()}"
    os.chdir(path.parent)  # the address of a Unix socket may have 107 bytes; a path may be longer
    before = os.umask(0o777 & ~mode)
    try:
        door.bind(new)
        door.listen(64)
    finally:
        os.umask(before)
    os.replace(new, path.name)
    return door


def _gate(members: str) -> Gate:
    if not members:
        return Gate()
    if os.geteuid() != 0:
        raise SystemExit("--members: only root can fork for other accounts")
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return Gate(frozenset(map(int, members.split(","))), (files - SPARE_FILES) // 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--control", type=int, required=True, metavar="FD")
    parser.add_argument("--socket", type=Path, metavar="PATH")
    parser.add_argument("--members", default="", metavar="UID,...", help="accounts of a class, for root")
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
    gate = _gate(arguments.members)
    # Everyone may knock at a class's door: the gate reads the account from the connection.
    mode = 0o666 if gate.serves_a_class else 0o600
    door = None if arguments.socket is None else _listen(arguments.socket, mode)
    # A person's own package may change between two requests; that of a class does not, and many ask.
    files = Files(LOOK_S if gate.serves_a_class else 0.0)
    asked = ForkServer(control, door, gate, files).run()
    if asked is not None:
        child.become(asked, files.names())


if __name__ == "__main__":
    main()
