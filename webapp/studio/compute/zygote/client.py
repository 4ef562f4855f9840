"""The Studio's side of the zygote: start it, keep it up to date, request forks, watch them."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from studio.environment import SLEEPING, clean_environment

from .spawn import LONGEST, Spawn, encode, open_pair

# What a notebook, a page or a job is likely to import; together they cost an ordinary kernel its first seconds.
WARM = (
    *("torch", "numba", "threadpoolctl", "sampan", "sampan.learn"),
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell", "ipykernel.debugger"),
    *("studio.compute.zygote.kernel", "IPython.core.debugger", "pdb"),
    *("IPython.core.completerlib", "IPython.extensions.storemagic", "tornado.platform.asyncio"),
    *("ipywidgets", "anywidget", "plotly.graph_objects"),
    *("sampan.datasets", "sklearn.datasets", "studio.views.train.page", "studio.views.tape.page"),
    *("studio.views.sparse.page", "scipy.sparse", "sampan.visual.sparsity", "sampan.visual.cloud"),
    *("sampan.models.point_cloud", "studio.views.embeddings.page", "sampan.visual.embeddings"),
    *("sklearn.decomposition", "sklearn.manifold", "sampan.text.word_vectors"),
    *("sampan.models.recommender", "sampan.embedding.monitor"),
)
SOCKET = "zygote.sock"
UNKNOWN_STATUS = 255  # the zygote died before its child, so the exit status of the child is unknown
ANSWER_S = 10.0
_STATUS_S = 10.0  # between the end of a child and the zygote's message about it, on a busy machine
_LOOK_S = 2.0
_END_S = 2.0  # how long to wait for its end
_PAUSE_S = 10.0  # between two starts: files may be changing, one after the other


class NotReady(Exception):
    """No warm process now, start without it. It is warming up, is being restarted, or is not available."""


class Child:
    """A fork of the zygote with the interface of `subprocess.Popen`. It ends with the process of this object.

    `returncode` is its real exit status (negative: the signal that ended it), or `UNKNOWN_STATUS`.
    `started` is its start in seconds since 1970.
    """

    stdin = stdout = stderr = None

    def __init__(self, connection: socket.socket, pid: int, started: float, end: int) -> None:
        self.pid, self.started = pid, started
        self.returncode: int | None = None
        self._connection = connection
        self._end = end  # becomes readable when it has ended
        self._patience: float | None = None  # when its exit status is given up

    def poll(self) -> int | None:
        """The exit status, None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Blocks until it has ended. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        status = self._look(timeout)
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(f"fork {self.pid} of the zygote", timeout)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal to this process only; no-op if it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it ended just now
                signal.pidfd_send_signal(self._end, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def end(self) -> None:
        """Kill it and its process group, and wait for it."""
        if self.returncode is None:
            self._connection.shutdown(socket.SHUT_WR)  # the lifeline; its status can still be read
            self.wait()

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None and _readable(self._end, timeout):
            self._patience = self._patience or time.monotonic() + _STATUS_S
            left = 0.0 if timeout == 0 else max(0.0, self._patience - time.monotonic())
            told = _readable(self._connection.fileno(), left)
            if told or time.monotonic() >= self._patience:
                self.returncode = self._status() if told else UNKNOWN_STATUS
                self._connection.close()
                os.close(self._end)
        return self.returncode

    def _status(self) -> int:
        with suppress(ConnectionResetError):  # as the end of the stream
            message = self._connection.recv(LONGEST)
            if message:
                return int(json.loads(message)["exit"])
        return UNKNOWN_STATUS


class Zygote:
    """The warm process of one Studio's state folder. Any process of the same user may request forks; the first that
    calls `ensure` owns it and stops it when it ends itself.

    With `members` (uids), root owns it, for a class: each member may request forks of the own account. It imports `more` before
    `WARM`, with `environment` in addition to the cleaned one of this process.
    """

    def __init__(
        self,
        state: Path,
        more: Iterable[str] = (),
        environment: Mapping[str, str] | None = None,
        members: Iterable[int] = (),
    ) -> None:
        self._state = state
        self._more = tuple(more)
        self._environment = dict(environment or {})
        self._members = sorted(members)
        self._ownership = FileLock(state / "zygote.lock", timeout=0, mode=0o600, thread_local=False)
        self._running: tuple[subprocess.Popen[bytes], socket.socket] | None = None
        self._retired: list[tuple[subprocess.Popen[bytes], socket.socket]] = []
        self._ready = False
        self._began = -_PAUSE_S
        self._one_at_a_time = threading.Lock()

    async def spawn(self, wanted: Spawn) -> Child:
        """A fork that runs it, set up completely. Raises `NotReady` at once when there is no warm process, and
        OSError with the child's message if it cannot be set up as asked (no such folder, ...)."""
        return await asyncio.to_thread(self._spawn, wanted)

    def _spawn(self, wanted: Spawn) -> Child:
        return ask(self._connect(), wanted)

    def _connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.settimeout(ANSWER_S)
        try:
            folder = os.open(self._state, os.O_PATH | os.O_DIRECTORY)
            try:  # the address of a Unix socket may have 107 bytes; a path may be longer
                connection.connect(f"/proc/self/fd/{folder}/{SOCKET}")
            finally:
                os.close(folder)
        except OSError as error:
            connection.close()
            raise NotReady(f"there is no warm process to fork: {error}") from error
        return connection

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Call `ensure` regularly while the block runs: it is restarted if it died or if packages changed. At the
        end it is stopped."""
        over = threading.Event()

        def look() -> None:
            while not over.is_set():
                with suppress(NotReady):
                    self._ensure()
                over.wait(_LOOK_S)

        thread = threading.Thread(target=look, name="zygote")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            self.stop()

    def await_ready(self, seconds: float) -> bool:
        """While `kept`: whether it is ready within so many seconds."""
        end = time.monotonic() + seconds
        while not self._ready and time.monotonic() < end:
            time.sleep(0.1)
        return self._ready

    async def ensure(self) -> None:
        """Start it if it is missing, has died, or has imported files that changed since; at most every ten seconds.
        Raises `NotReady` while it is not ready."""
        await asyncio.to_thread(self._ensure)

    def _ensure(self) -> None:
        if sys.platform != "linux":
            raise NotReady("the warm process needs Linux")
        with self._one_at_a_time:
            try:
                self._ownership.acquire()
            except Timeout:
                self._connect().close()  # another Studio of this workspace owns it
                return
            self._hear()
            if self._running is None and time.monotonic() - self._began > _PAUSE_S:
                self._start()
            if not self._ready:
                raise NotReady("the warm process is warming up")

    def _hear(self) -> None:
        """Handle its messages since the last call, and reap retired ones."""
        while self._running is not None and _readable(self._running[1].fileno(), 0):
            message = self._running[1].recv(LONGEST)
            self._ready = message == encode(ready=True)
            if not self._ready:  # what it has imported changed, or it died
                self._retired.append(self._running)
                self._running = None
        for process, control in self._retired:
            if process.poll() is not None:
                control.close()
        self._retired = [old for old in self._retired if old[0].returncode is None]

    def _start(self) -> None:
        ours, theirs = open_pair()
        fd = str(theirs.fileno())
        command = [sys.executable, "-Xfrozen_modules=off", "-P", "-m", "studio.compute.zygote.server"]
        # One thread: OpenBLAS starts its own when it is loaded. A child starts as many as its lease allows.
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        members = ["--members", ",".join(map(str, self._members))] if self._members else []
        with theirs, open(self._state / "zygote.log", "wb", opener=_private) as log:
            process = subprocess.Popen(
                [
                    *command,
                    "--control",
                    fd,
                    "--socket",
                    str(self._state / SOCKET),
                    *members,
                    *self._more,
                    *WARM,
                ],
                env={**clean_environment(os.environ), **SLEEPING, **threads, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # an interrupt in the terminal is for the Studio, which then stops it
            )
        self._running, self._ready, self._began = (process, ours), False, time.monotonic()

    def stop(self) -> None:
        """Stop it. It ends at once, or with the last job that it has forked."""
        with self._one_at_a_time:
            self._hear()
            if self._running is not None and not self._ready:
                # it has forked nothing, and would not react before all imports are done
                self._running[0].kill()
            ending = self._retired if self._running is None else [*self._retired, self._running]
            for process, control in ending:
                control.close()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_END_S)
            self._retired = [old for old in ending if old[0].returncode is None]
            self._running, self._ready = None, False
            self._ownership.release()


def through(control: socket.socket) -> socket.socket:
    """Pass a connection for a fork over the zygote's control socket, if it cannot be reached by path."""
    ours, theirs = open_pair()
    with theirs:
        socket.send_fds(control, [b"."], [theirs.fileno()])
    return ours


def ask(connection: socket.socket, wanted: Spawn) -> Child:
    """The child that the zygote at the other end forks. Raises as `Zygote.spawn` does; the child takes over the
    connection."""
    try:
        connection.settimeout(ANSWER_S)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        with _outputs(wanted.output) as outputs:
            socket.send_fds(connection, [wanted.encode()], outputs)
        message, enclosed, *_ = connection.recvmsg(LONGEST, 1024)
    except OSError as error:
        connection.close()
        raise NotReady(f"the warm process did not answer: {error}") from error
    if not message:
        connection.close()
        raise NotReady("the warm process has just retired")
    answer = json.loads(message)
    if "error" in answer:
        connection.close()
        raise OSError(f"the process could not be set up: {answer['error']}")
    if "exit" in answer:  # it was killed before it reported that it is set up
        connection.close()
        raise NotReady(f"the process ended at once, with status {answer['exit']}")
    described = {kind: data for _, kind, data in enclosed}
    (end,) = struct.unpack("i", described[socket.SCM_RIGHTS])
    pid, _, _ = struct.unpack("3i", described[socket.SCM_CREDENTIALS])
    return Child(connection, pid, answer["started"], end)


@contextmanager
def _outputs(path: Path | None) -> Iterator[list[int]]:
    """Descriptors for standard output and error: the file, else this process's own, as subprocess does."""
    if path is None:
        yield [1, 2]
        return
    with open(path, "ab", opener=_private) as stream:
        yield [stream.fileno()] * 2


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _readable(descriptor: int, timeout: float | None) -> bool:
    """Whether it becomes readable within so many seconds (None: no limit). Not select.select, which stops at
    descriptor 1023."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))
