"""What `parameter_server.py` measures: shards over each transport, a click model on two workers, kills."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.distributed import rpc

import sampan as paddle
from sampan import nn
from sampan.distributed.parameter_server import Service, Shard, start_shards
from sampan.distributed.server_roles import Roles
from sampan.distributed.utils import find_free_ports
from sampan.models.recommender_ranking import auc
from sampan.transport import Sockets, serve_shard
from sampan.transport.calls import Call, array_bytes

KINDS = "in process", "processes", "sockets", "actors", "rpc"
SHARDS: dict[int, Shard] = {}  # of the process behind torch.distributed.rpc


class Home:
    """Open shards. pids: of their processes; end: what closes them."""

    def __init__(self, transport: Any, pids: Callable[[], list[int]], end: Callable[[], None]) -> None:
        self.transport, self.pids, self.close = transport, pids, end


def opened(kind: str, shards: int, folder: str = "") -> Home:
    """Shards of one kind."""
    if kind == "sockets":
        return _behind_addresses(shards, folder)
    if kind == "rpc":
        return _behind_rpc()
    home: Any = start_shards(shards, kind, folder, timeout=300.0)
    if kind == "in process":
        return Home(home, lambda: [os.getpid()], home.close)
    if kind == "actors":
        return Home(home, home.processes, home.close)
    return Home(home, lambda: [process.pid for process in home.processes], home.close)


@contextmanager
def kept(kind: str, shards: int, folder: str = "") -> Iterator[Home]:
    """Shards of one kind, which are closed afterwards."""
    home = opened(kind, shards, folder)
    try:
        yield home
    finally:
        home.close()


# --- shards behind addresses, each started again when it dies ---


def serve(endpoint: str, number: int, shards: int, folder: str) -> None:
    """The life of a shard behind an address."""
    shard = Shard()
    shard.open(folder, number, shards)
    serve_shard(endpoint, number, shard, lambda: False)


def _behind_addresses(shards: int, folder: str) -> Home:
    context: Any = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sampan.distributed.parameter_server"])
    endpoints = [f"127.0.0.1:{port}" for port in find_free_ports(shards) or ()]
    closing = threading.Event()

    def start(number: int) -> Any:
        process = context.Process(target=serve, args=(endpoints[number], number, shards, folder), daemon=True)
        process.start()
        return process

    processes = [start(number) for number in range(shards)]

    def watch() -> None:
        while not closing.wait(0.01):
            for number, process in enumerate(processes):
                if not process.is_alive() and not closing.is_set():
                    processes[number] = start(number)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    transport = Sockets(endpoints, timeout=300.0, patience=300.0)

    def end() -> None:
        closing.set()
        watcher.join()
        transport.close()
        for process in processes:
            process.kill()
            process.join()

    return Home(transport, lambda: [process.pid for process in processes], end)


# --- a shard behind torch.distributed.rpc ---


def answer(calls: list[Any]) -> list[Any]:
    """Make the calls here; arrays travel as tensors, which rpc does not pickle."""
    return [
        _as(np.ndarray, getattr(SHARDS[s], method)(*_as(torch.Tensor, given))) for s, method, given in calls
    ]


def _as(kind: Any, value: Any) -> Any:
    """Nested values with NumPy's arrays as tensors (kind ndarray), or the other way round."""
    if isinstance(value, kind):
        return value.numpy() if kind is torch.Tensor else torch.from_numpy(value)
    if isinstance(value, dict):
        return {key: _as(kind, one) for key, one in value.items()}
    return type(value)(_as(kind, one) for one in value) if isinstance(value, tuple | list) else value


class Rpc:
    """The transport for one shard."""

    parts = 1

    def __init__(self) -> None:
        self.sent = self.received = 0

    def ask(self, calls: Sequence[Call]) -> Any:
        self.sent += array_bytes(list(calls))
        future = rpc.rpc_async("shard", answer, args=(_as(np.ndarray, list(calls)),))
        return _Waiting(future)

    def request(self, calls: Sequence[Call]) -> list[Any]:
        return self.ask(calls).wait()

    def close(self) -> None:
        rpc.shutdown()


class _Waiting:
    def __init__(self, future: Any) -> None:
        self.future = future

    def wait(self) -> list[Any]:
        return _as(torch.Tensor, self.future.wait())


def _of_rpc(port: int) -> None:
    SHARDS[0] = Shard()
    SHARDS[0].open("", 0, 1)
    _join("shard", 1, port)
    rpc.shutdown()


def _join(name: str, rank: int, port: int) -> None:
    options = rpc.TensorPipeRpcBackendOptions(init_method=f"tcp://127.0.0.1:{port}", rpc_timeout=300)
    rpc.init_rpc(name, rank=rank, world_size=2, rpc_backend_options=options)


def _behind_rpc() -> Home:
    port = next(iter(find_free_ports(1) or ()))
    process = multiprocessing.get_context("spawn").Process(target=_of_rpc, args=(port,), daemon=True)
    process.start()
    _join("client", 0, port)
    transport = Rpc()

    def end() -> None:
        transport.close()
        process.join(30)

    return Home(transport, lambda: [process.pid or 0], end)


# --- a click model ---


def clicks() -> tuple[np.ndarray, np.ndarray]:
    """Ids [n, 2] of a user and a film, and whether the user gave it 4 stars or more [n], in a random order."""
    path = Path(os.environ.get("SAMPAN_DATA", ""), "movielens_latest_small", "ratings.csv")
    rng = np.random.default_rng(0)
    if path.exists():
        user, film, stars = np.loadtxt(path, delimiter=",", skiprows=1, usecols=(0, 1, 2)).T
    else:
        user, film = rng.integers(0, 600, 100_000), rng.zipf(1.3, 100_000) % 9000
        stars = 3.5 + rng.normal(size=600)[user] + rng.normal(size=9000)[film] + rng.normal(size=100_000)
    order = rng.permutation(len(user))
    ids = np.stack([user, film + 1_000_000], 1).astype(np.int64)[order]
    return ids, (stars[order] >= 4).astype(np.float32)


class Model(nn.Layer):
    """A bias and a product of factors, and a network over both rows."""

    def __init__(self, table: Any, dim: int) -> None:
        super().__init__()
        self.table = table
        self.net = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ids: Any) -> Any:
        rows = self.table(ids)
        product = (rows[:, 0, 1:] * rows[:, 1, 1:]).sum(1)
        return self.net(rows.flatten(1))[:, 0] + rows[:, :, 0].sum(1) + product


def auc_of_clicks(
    a_sync: bool,
    kill: bool,
    folder: Path,
    kind: str = "processes",
    steps: int = 150,
    batch: int = 512,
    dim: int = 9,
) -> tuple[float, np.ndarray]:
    """The AUC on a fifth of the ratings after two workers trained on the others, and the rows of the table.
    kill: SIGKILL of shard 0 in the middle."""
    ids, labels = clicks()
    cut = len(ids) * 4 // 5
    errors: list[BaseException] = []
    ready = threading.Barrier(2)

    def made(number: int, home: Home) -> tuple[Service, Model, Any]:
        service = Service(Roles(False, number, 2), a_sync, 0, home.transport)
        attr = paddle.ParamAttr("clicks", nn.initializer.Normal(0.0, 0.1))
        model = Model(service.embedding([None, dim], attr), dim)
        own = paddle.optimizer.Adagrad(0.05, parameters=model.net.parameters())
        return service, model, service.optimizer(own, a_sync, 0)

    def work(number: int, home: Home, service: Service, model: Model, step: Any) -> None:
        try:
            service.init_worker()
            ready.wait()
            for turn in range(steps):
                first = ((2 * turn + number) * batch) % (cut - batch)
                given, wanted = ids[first : first + batch], labels[first : first + batch]
                out = model(paddle.to_tensor(given))
                loss = nn.functional.binary_cross_entropy_with_logits(out, paddle.to_tensor(wanted))
                loss.backward()
                step.step()
                step.clear_grad()
                if kill and number == 0 and turn == steps // 2:
                    os.kill(home.pids()[0], signal.SIGKILL)
            service.client().settle()
            ready.wait()
        except BaseException as error:
            errors.append(error)
            ready.abort()

    with kept(kind, 2, str(folder)) as home:
        paddle.seed(0)
        workers = [made(number, home) for number in range(2)]
        threads = [
            threading.Thread(target=work, args=(number, home, *workers[number])) for number in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]
        model = workers[0][1]
        model.eval()
        with paddle.no_grad():
            scores = model(paddle.to_tensor(ids[cut:])).numpy()
        every = np.unique(ids)
        rows = model.table.client.pull("clicks", every, False)
    return auc(scores, labels[cut:]), rows
