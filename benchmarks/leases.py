"""Cost of leases, and fairness of the queue for two slots: `python -m benchmarks.leases [--quick]`.

On SQLite, and on PostgreSQL if it is installed. Meaningful on a machine that is otherwise idle.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studio.compute import machine as machines
from studio.compute.lease import Ask, Lease
from studio.compute.quota import Quota
from studio.compute.sql import SqlStore
from tests.webapp.compute import postgres
from tests.webapp.compute.conftest import Clock, machine
from tests.webapp.compute.queueing import play, thirty_sessions

LEASES = 1000
ROUNDS = 200
GOAL_S = 0.020
LENGTH_S = 10.0  # length of a session in the simulation of the queue; one request every 5 s


@contextmanager
def databases() -> Iterator[dict[str, list[str]]]:
    """Two empty databases of each kind."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"SQLite": [f"sqlite:///{folder}/{n}.sqlite3" for n in range(2)]}
        binaries = postgres.binaries()
        if binaries is None:
            yield found
            return
        with postgres.running(binaries) as url:
            # Those that every new server has.
            yield found | {"PostgreSQL": [url, url.replace("/postgres?", "/template1?")]}


def grant_and_release(url: str, rounds: int) -> tuple[list[float], float]:
    """Seconds of each grant with its release while 1,000 leases are held, and of one scan of their processes."""
    me = machines.holder(os.getpid())
    with SqlStore(url, machine(slots=LEASES + 10, memory=1 << 50), Quota()) as store:
        for n in range(LEASES):
            store.take(Ask(f"person {n % 300}", "notebook"), holder=me)
        times = []
        for _ in range(rounds):
            begun = time.perf_counter()
            lease = store.take(Ask("amy", "notebook"), holder=me)
            assert isinstance(lease, Lease)
            store.release(lease.id)
            times.append(time.perf_counter() - begun)
        store._next_look = 0.0
        begun = time.perf_counter()
        assert len(store.leases()) == LEASES
        return times, time.perf_counter() - begun


def shares(url: str) -> str:
    clock = Clock()
    with SqlStore(url, machine(slots=2), Quota(), clock) as store:
        served = play(store, clock, thirty_sessions(LENGTH_S), LENGTH_S, look=LENGTH_S / 2)
    first = Counter(owner for owner, _, _ in served[:20])
    others = [first[owner] for owner in first if owner != "greedy"]
    off = statistics.median(abs(waited - estimated) / LENGTH_S for _, waited, estimated in served)
    return (
        f"{len(served)} served; of the first 20, one person who wants 12 got {first['greedy']}, nine who want 2 got "
        f"{min(others)} to {max(others)} each; first estimates were off by {off:.1f} sessions (median)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rounds")
    rounds = ROUNDS // 10 if parser.parse_args().quick else ROUNDS
    print(f"Load before the start: {os.getloadavg()[0]:.1f} (a quiet machine: under 0.5)\n")
    print(
        f"| {LEASES} leases stand | median | 95 % | most | goal | one look at all |\n|---|---|---|---|---|---|"
    )
    with databases() as found:
        for name, (first, _) in found.items():
            times, look = grant_and_release(first, rounds)
            cells = [
                statistics.median(times),
                statistics.quantiles(times, n=20)[-1],
                max(times),
                GOAL_S,
                look,
            ]
            print(
                f"| {name}: grant and release | "
                + " | ".join(f"{cell * 1e3:.1f} ms" for cell in cells)
                + " |"
            )
        print("\n30 sessions on 2 slots:")
        for name, (_, second) in found.items():
            print(f"- {name}: {shares(second)}")


if __name__ == "__main__":
    main()
