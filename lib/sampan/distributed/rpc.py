"""paddle.distributed.rpc: functions that run in other processes.

Each worker listens at a port and runs what the others send: a pickled function with its arguments. Such a
worker runs any code, so a connection must prove that it knows a key (HMAC, see `multiprocessing.connection`),
which worker 0 draws and the key-value store passes on. The store is open to its network: it must be a trusted
one.
"""

from __future__ import annotations

import json
import os
import pickle
import secrets
import socket
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from multiprocessing.connection import Client, Connection, Listener
from typing import Any, NamedTuple

import torch.distributed as c10d

from ..engine.errors import InvalidArgument, InvalidType
from ..transport.sockets import knows
from .arguments import check_kind

__all__ = [
    "get_all_worker_infos",
    "get_current_worker_info",
    "get_worker_info",
    "init_rpc",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

STARTED_WITHIN = timedelta(seconds=900)  # that all workers call init_rpc, as in Paddle
CALLS = 64  # that one worker has under way


class WorkerInfo(NamedTuple):
    """A worker: its name, number and address."""

    name: str
    rank: int
    ip: str
    port: int

    def __repr__(self) -> str:
        return f"{{name: {self.name}, rank: {self.rank}, ip: {self.ip}, port: {self.port}}}"


class FutureWrapper:
    """The result of `rpc_async`."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def wait(self) -> Any:
        """The value of the function; raises its error, and TimeoutError where none came in time."""
        return self._future.result()


class _Worker:
    """This process's part: it serves calls in threads, and sends them over connections that it keeps."""

    def __init__(self, info: WorkerInfo, store: Any, key: bytes, listener: Listener) -> None:
        self.info, self.store, self.key, self.listener = info, store, key, listener
        self.every: dict[str, WorkerInfo] = {}
        self.idle: dict[str, list[Connection[Any, Any]]] = {}
        self.calls = ThreadPoolExecutor(CALLS, thread_name_prefix="rpc")
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection = self.listener.accept()
            except OSError:
                if self.listener_closed:
                    return
                continue  # the caller closed the connection before it was accepted
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    listener_closed = False

    def _answer(self, connection: Connection[Any, Any]) -> None:
        if not knows(connection, self.key):
            return
        while True:
            try:
                connection.send_bytes(self._answered(connection.recv_bytes()))
            except (EOFError, OSError):
                return  # the caller has ended, or did not wait so long

    def _answered(self, asked: bytes) -> bytes:
        """The pickled answer to a call: whether the function returned, and its value or error."""
        try:
            function, args, named = pickle.loads(asked)
        except Exception as error:  # sent to the caller
            unread = RuntimeError(f"{self.info.name} cannot read the call: {error!r}")
            return pickle.dumps((False, unread))
        try:
            answer: tuple[bool, Any] = (True, function(*args, **named))
        except Exception as error:  # raised again in the caller
            error.add_note(f"in worker {self.info.name}:\n{traceback.format_exc()}")
            answer = (False, error)
        except BaseException as error:  # such as SystemExit: neither the caller nor this thread ends
            answer = (False, RuntimeError(f"{self.info.name}: the function raised {error!r}"))
        try:
            return pickle.dumps(answer)
        except Exception as error:  # sent to the caller
            unsent = TypeError(f"{self.info.name} cannot send the result: {error!r}")
            return pickle.dumps((False, unsent))

    def call(self, to: str, what: bytes, timeout: float) -> Any:
        """Run a function at worker `to`. what: the function with its arguments, pickled."""
        target, kept = self.every[to], self.idle.setdefault(to, [])
        try:
            try:
                connection: Any = kept.pop()
            except IndexError:  # all are in use by other threads
                connection = Client((target.ip, target.port), authkey=self.key)
            connection.send_bytes(what)
            if timeout > 0 and not connection.poll(timeout):
                connection.close()  # its answer would be taken for that of the next call
                raise TimeoutError(f"rpc: {to} gave no result within {timeout:g} s")
            answer = connection.recv_bytes()
        except (EOFError, ConnectionError) as error:
            raise RuntimeError(f"rpc: {to} (rank {target.rank}) has ended: {error!r}") from error
        kept.append(connection)
        try:
            good, value = pickle.loads(answer)
        except Exception as error:  # as of an error whose class takes other arguments
            raise RuntimeError(f"rpc: the result of {to} cannot be read: {error!r}") from error
        if good:
            return value
        raise value

    def close(self) -> None:
        """Stop serving."""
        self.listener_closed = True
        self.calls.shutdown()
        for connections in self.idle.values():
            for connection in connections:
                connection.close()
        self.listener.close()


_own: list[_Worker] = []


def _worker(what: str) -> _Worker:
    if not _own:
        raise RuntimeError(f"{what}: call init_rpc first")
    return _own[0]


def _given(value: int | None, label: str, variable: str) -> int:
    """An argument, or what the environment has."""
    if value is None and variable not in os.environ:
        raise InvalidArgument(f"{label}: expected a number, since {variable} is not set")
    number = int(os.environ[variable]) if value is None else value
    check_kind(number, int, label)
    return number


def init_rpc(
    name: str, rank: int | None = None, world_size: int | None = None, master_endpoint: str | None = None
) -> None:
    """Start to serve calls as worker `name`, and meet the others.

    rank, world_size: by default those of the environment (PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM).
    master_endpoint: host:port at which worker 0 serves the key-value store, by default
    PADDLE_MASTER_ENDPOINT. This worker listens at PADDLE_WORKER_ENDPOINT, by default at a free port.
    Raises RuntimeError where it was called already, AssertionError where two workers have one name.
    """
    if _own:
        raise RuntimeError(
            f"init_rpc: this process is worker {_own[0].info.name} already; call shutdown first"
        )
    check_kind(name, str, "name")
    rank = _given(rank, "rank", "PADDLE_TRAINER_ID")
    count = _given(world_size, "world_size", "PADDLE_TRAINERS_NUM")
    if not 0 <= rank < count:
        raise InvalidArgument(f"rank: expected 0 to world_size - 1 = {count - 1}, got {rank}")
    master = master_endpoint or os.environ.get("PADDLE_MASTER_ENDPOINT", "")
    host, _, port = master.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 2**16:
        raise InvalidArgument(f"master_endpoint: expected host:port, got {master!r}")
    store = c10d.TCPStore(host, int(port), count, rank == 0, STARTED_WITHIN, wait_for_workers=False)
    if rank == 0:
        store.set("rpc/key", secrets.token_hex(32))
    key = store.get("rpc/key")
    ip, _, own_port = os.environ.get("PADDLE_WORKER_ENDPOINT", "").rpartition(":")
    ip = ip or (host if host in ("127.0.0.1", "localhost") else socket.gethostbyname(socket.gethostname()))
    listener = Listener((ip, int(own_port or 0)), backlog=CALLS)
    info = WorkerInfo(name, rank, ip, listener.address[1])
    store.set(f"rpc/worker{rank}", json.dumps(info))
    worker = _Worker(info, store, key, listener)
    for other in range(count):
        found = WorkerInfo(*json.loads(store.get(f"rpc/worker{other}")))
        if found.name in worker.every:
            worker.close()
            raise AssertionError(
                f"init_rpc: The Worker name must be unique, but name `{found.name}` is repeated."
            )
        worker.every[found.name] = found
    _own.append(worker)


def rpc_async(
    to: str, fn: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = -1
) -> FutureWrapper:
    """Start `fn(*args, **kwargs)` in worker `to`. Returns a future, whose `wait` gives the value.

    fn: a function that the other process can import, or finds in the same program. It and the arguments are
    pickled before this returns. timeout: seconds, 0 or less for none.
    """
    worker = _worker("rpc_async")
    if to not in worker.every:
        raise InvalidArgument(f"to: expected one of {', '.join(worker.every)}, got {to!r}")
    if not callable(fn):
        raise InvalidType(f"fn: expected a function, got {fn!r}")
    if not isinstance(args or (), tuple | list) or not isinstance(kwargs or {}, dict):
        raise InvalidType(f"args, kwargs: expected a tuple and a dict, got {args!r} and {kwargs!r}")
    if not isinstance(timeout, int | float):
        raise InvalidType(f"timeout: expected seconds, got {timeout!r}")
    what = pickle.dumps((fn, tuple(args or ()), dict(kwargs or {})))  # as the arguments are now
    return FutureWrapper(worker.calls.submit(worker.call, to, what, timeout))


def rpc_sync(
    to: str, fn: Callable[..., Any], args: Any = None, kwargs: Any = None, timeout: float = -1
) -> Any:
    """The value of `fn(*args, **kwargs)` in worker `to`; see `rpc_async`. Raises the function's error."""
    return rpc_async(to, fn, args, kwargs, timeout).wait()


def shutdown() -> None:
    """Stop serving, when every worker has called this: until then the others' calls are answered."""
    worker = _worker("shutdown")
    worker.store.add("rpc/ended", 1)
    _until(worker.store, "rpc/ended", len(worker.every))
    if worker.info.rank:
        worker.store.add("rpc/left", 1)
    else:
        _until(worker.store, "rpc/left", len(worker.every) - 1)  # the store ends with worker 0
    _own.clear()
    worker.close()


def _until(store: Any, name: str, count: int) -> None:
    while store.add(name, 0) < count:
        time.sleep(0.01)


def get_worker_info(name: str) -> WorkerInfo:
    """A worker by its name."""
    every = _worker("get_worker_info").every
    if name not in every:
        raise InvalidArgument(f"name: expected one of {', '.join(every)}, got {name!r}")
    return every[name]


def get_all_worker_infos() -> list[WorkerInfo]:
    """All workers, by their numbers."""
    return sorted(_worker("get_all_worker_infos").every.values(), key=lambda info: info.rank)


def get_current_worker_info() -> WorkerInfo:
    """This worker."""
    return _worker("get_current_worker_info").info
