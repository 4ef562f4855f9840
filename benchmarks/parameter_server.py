"""Pull and push of rows over each transport, killed shards, and what the planner says: Markdown tables.

    python -m benchmarks.parameter_server [--parts rows kills plans] [--rounds 30] [--kinds "in process" processes sockets actors rpc]

rows: 10,000 different ids of one shard with 100,000 rows [64] of float32, SGD; the transports take turns. `rpc` is
torch.distributed.rpc with the same shard behind it. Beside them the machine's limit: how long 2.56 MB take through a
pair of sockets with nothing at either end. Then steps of a small network with 10,000 rows a batch, whose next rows
are asked for while it computes, beside the same in one process.
kills: SIGKILL of a shard until the next answered pull, also when the process that waits has not loaded everything; the AUC of a click model on MovieLens beside the undisturbed
run. plans: bytes, memory and time of a run with two shards, and of one real shard of K, beside `planner.plan`.
Transports that are not installed (Ray: the extra `cluster`) are left out by name. Times hold for an idle machine
only; the table has the fastest and the median.
"""

from __future__ import annotations

import argparse
import os
import socket
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import sampan as paddle
from benchmarks.parameter_server_kills import killed
from benchmarks.parameter_server_parts import KINDS, Home, auc_of_clicks, kept, opened
from sampan.distributed.parameter_server import Client, Service, TableSettings, prefetched
from sampan.distributed.parameter_server.planner import Costs, plan, simulate
from sampan.distributed.server_roles import Roles

IDS, ROWS, DIM = 10_000, 100_000, 64


def milliseconds(times: Sequence[float]) -> str:
    return f"{1e3 * min(times):.1f} | {1e3 * statistics.median(times):.1f}"


def socket_limit(rounds: int) -> list[float]:
    """Seconds for the bytes of one batch through a pair of sockets into memory that is there."""
    ours, theirs = socket.socketpair()
    given, taken = bytearray(4 * IDS * DIM), memoryview(bytearray(4 * IDS * DIM))
    times = []
    for _ in range(rounds):
        sender = threading.Thread(target=ours.sendall, args=(given,))
        began = time.perf_counter()
        sender.start()
        place = 0
        while place < len(taken):
            place += theirs.recv_into(taken[place:])
        times.append(time.perf_counter() - began)
        sender.join()
    return times


def rows(homes: dict[str, Home], rounds: int) -> None:
    rng, times = np.random.default_rng(0), {name: ([], [], []) for name in homes}
    clients = {name: Client(home.transport, timeout=300.0) for name, home in homes.items()}
    gradients = rng.normal(size=(IDS, DIM)).astype(np.float32)
    for client in clients.values():
        client.table("t", TableSettings(DIM, capacity=2 * ROWS))
        for first in range(0, ROWS, IDS):
            client.pull("t", np.arange(first, first + IDS))
        client.push({"t": (np.arange(IDS), gradients, 0.1)})
        client.settle()
    for _ in range(rounds):
        ids = np.sort(rng.choice(ROWS, IDS, replace=False))
        for name, client in clients.items():
            begin = time.perf_counter()
            client.pull("t", ids)
            middle = time.perf_counter()
            client.push({"t": (ids, gradients, 0.1)})
            client.settle()
            end = time.perf_counter()
            for found, value in zip(times[name], (middle - begin, end - middle, end - begin), strict=True):
                found.append(value)
    print(f"### {IDS:,} x {DIM} float32, one shard, ms (fastest, median of {rounds})\n")
    print("| transport | pull | | push | | both | |\n|---|---|---|---|---|---|---|")
    for name, found in times.items():
        print(f"| {name} | " + " | ".join(map(milliseconds, found)) + " |")
    print(f"| 2.56 MB through sockets | {milliseconds(socket_limit(rounds))} | | | | |\n", flush=True)


class Clicks(paddle.nn.Layer):
    def __init__(self, table: Any) -> None:
        super().__init__()
        self.table = table
        self.net = paddle.nn.Sequential(
            paddle.nn.Linear(DIM, 256), paddle.nn.ReLU(), paddle.nn.Linear(256, 1)
        )

    def forward(self, ids: Any) -> Any:
        return self.net(self.table(ids).mean(1))[:, 0]


def training(home: Home, batches: Sequence[Any], ahead: bool) -> Callable[[], None]:
    """A function that trains one epoch of the batches."""
    service = Service(Roles(), True, 0, home.transport)
    table = service.embedding([ROWS, DIM], f"table_{ahead}", capacity=2 * ROWS)
    model = Clicks(table)
    step = service.optimizer(paddle.optimizer.SGD(0.1, parameters=model.net.parameters()), True, 0)

    def epoch() -> None:
        for ids in prefetched(batches, [(table, lambda ids: ids)]) if ahead else batches:
            loss = (model(ids) - 1.0).square().mean()
            loss.backward()
            step.step()
            step.clear_grad()
        service.client().settle()

    return epoch


def steps(homes: dict[str, Home], rounds: int) -> None:
    rng, count = np.random.default_rng(0), 8
    batches = [paddle.to_tensor(rng.permutation(ROWS)[:IDS].reshape(2500, 4)) for _ in range(count)]
    programs = {
        (name, ahead): training(home, batches, ahead)
        for name, home in homes.items()
        for ahead in (False, True)
    }
    times: dict[Any, list[float]] = {key: [] for key in programs}
    for turn in range(max(3, rounds // 6)):
        for key, program in programs.items():
            began = time.perf_counter()
            program()
            if turn:
                times[key].append((time.perf_counter() - began) / count)
    print(f"### Steps of a network with {IDS:,} rows a batch, steps per second (fastest, median)\n")
    print("| transport | without prefetch | | with | | with / in process |\n|---|---|---|---|---|---|")
    base = [f(times["in process", False]) for f in (min, statistics.median)]
    for name in homes:
        rates = [1 / f(times[name, ahead]) for ahead in (False, True) for f in (min, statistics.median)]
        ratio = f"{rates[2] * base[0]:.2f} (fastest), {rates[3] * base[1]:.2f} (median)"
        print(f"| {name} | " + " | ".join(f"{rate:.1f}" for rate in rates) + f" | {ratio} |")
    print(flush=True)


def kills(kinds: Sequence[str], count: int) -> None:
    print("### SIGKILL of one of two shards, seconds until the next answered pull\n")
    print(
        "| transport | kills | fastest | median | slowest | processor, median | rows exact, each push once |\n"
        "|---|---|---|---|---|---|---|"
    )
    for kind in (kind for kind in kinds if kind not in ("in process", "rpc")):
        for warm in (True, False) if kind == "actors" else (True,):
            with TemporaryDirectory() as folder:
                times, work, exact = killed(kind, Path(folder), count, warm)
            name = kind if warm else f"{kind}, at once again"
            parts = [min(times), statistics.median(times), max(times), statistics.median(work)]
            print(
                f"| {name} | {len(times)} | " + " | ".join(f"{part:.2f}" for part in parts) + f" | {exact} |"
            )
    print("\n### AUC of a click model, two workers, a shard killed in the middle\n")
    print("| mode | undisturbed | shard killed | rows equal bit for bit |\n|---|---|---|---|", flush=True)
    for a_sync in (False, True):
        found = []
        for kill in (False, True):
            with TemporaryDirectory() as folder:
                found.append(auc_of_clicks(a_sync, kill, Path(folder)))
        same = "yes" if np.array_equal(found[0][1], found[1][1]) else "no"
        print(
            f"| {'asynchronous' if a_sync else 'synchronous'} | {found[0][0]:.5f} | {found[1][0]:.5f} | {same} |"
        )
    print(flush=True)


def plans(rounds: int) -> None:
    costs = Costs.measured(rounds=30)
    print(
        f"### Costs: {1e6 * costs.request:.0f} µs a request, {1e9 * costs.number:.2f} ns a number, {1e9 * costs.row:.0f} ns a row\n"
    )
    print("| run | what | planned | measured | error |\n|---|---|---|---|---|")
    for name, what, planned, measured in [*two_shards(), *one_of_many(costs, rounds)]:
        print(
            f"| {name} | {what} | {planned:.4g} | {measured:.4g} | {100 * (planned / measured - 1):+.1f} % |",
            flush=True,
        )
    print()


def two_shards() -> list[tuple[str, str, float, float]]:
    """Bytes of a step and memory of two shards in processes, 1,000,000 rows [16] with Adam."""
    total, dim, batch = 1_000_000, 16, 50_000
    settings = TableSettings(dim, rule="Adam", rule_settings={"lazy_mode": True}, capacity=total)
    with kept("processes", 2) as home:
        client = Client(home.transport, timeout=300.0)
        client.table("t", settings)
        empty = sum(map(resident, home.pids()))
        rng = np.random.default_rng(0)
        for first in range(0, total, batch):
            ids = np.arange(first, first + batch)
            client.push({"t": (ids, client.pull("t", ids), 0.1)})
        client.settle()
        memory = sum(map(resident, home.pids())) - empty
        before = home.transport.sent + home.transport.received
        drawn = np.minimum(rng.zipf(1.05, batch), total) - 1
        ids = np.unique(drawn)
        client.push({"t": (ids, client.pull("t", ids), 0.1)})
        client.settle()
        moved = home.transport.sent + home.transport.received - before
    said = plan(total, dim, batch, shards=2)
    said_bytes = said.network_per_step * len(ids) / said.ids_per_step
    return [
        (
            "2 shards, 1,000,000 x 16, Adam",
            "MB of both shards",
            2 * said.memory_per_shard / 1e6,
            memory / 1e6,
        ),
        (f"the same, {len(ids):,} ids", "MB moved in a step", said_bytes / 1e6, moved / 1e6),
    ]


def one_of_many(costs: Costs, rounds: int) -> list[tuple[str, str, float, float]]:
    """One real shard of K serves its part of a stream of Zipf's law."""
    found = []
    for shards, total, dim in ((16, 100_000_000, 16), (128, 1_000_000_000, 64)):
        said = plan(total, dim, 262_144, costs=costs, shards=shards)
        share = said.ids_per_step / shards
        for rule in ("SGD", "Adam"):
            real = simulate(shards, total, dim, 262_144, max(12, rounds), rule)
            name = f"1 shard of {shards}, {total:,} x {dim}, {rule}, 262,144 ids"
            if rule == "SGD":
                found.append((name, "different ids a step", said.ids_per_step, real.ids_per_step))
                largest = 1 + 3 / share**0.5
                found.append((name, "largest shard / mean", largest, real.imbalance))
            milliseconds = 1e3 * (costs.request + share * (costs.row + dim * costs.number))
            found.append((name, "ms of its step", milliseconds, 1e3 * real.seconds_per_step))
    return found


def resident(pid: int) -> int:
    """Bytes of a process in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--parts", nargs="+", default=["rows", "kills", "plans"])
    given.add_argument("--rounds", type=int, default=30)
    given.add_argument("--kills", type=int, default=5)
    given.add_argument("--kinds", nargs="+", default=list(KINDS))
    arguments = given.parse_args()
    kinds = [kind for kind in arguments.kinds if kind != "actors" or find_spec("ray") is not None]
    if kinds != arguments.kinds:
        print("actors are left out: Ray is not installed (extra cluster)\n")
    print(f"Load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.\n", flush=True)
    if "rows" in arguments.parts:
        homes = {kind: opened(kind, 1) for kind in kinds}
        try:
            rows(homes, arguments.rounds)
            steps(homes, arguments.rounds)
        finally:
            for home in homes.values():
                home.close()
    if "kills" in arguments.parts:
        kills(kinds, arguments.kills)
    if "plans" in arguments.parts:
        plans(arguments.rounds)


if __name__ == "__main__":
    main()
