"""Processes that take leases, use them and die at random; run by test_kills.py as a program of its own.

    python kills.py ADDRESS ROUNDS SEED

Two clients at a time take leases, start a holder for each, bind it and give the lease back. Each round kills one
process: a holder, or a client at any moment; besides, each client ends itself at a random statement that it sends
to the database, so that all points inside a grant, and between grant and binding, are tried. A holder locks a file
for its device with the operating system, which frees it when the process dies: two holders of one device show
there, whatever the store believes. Prints what happened as JSON.

Time runs 50 times as fast here, so that 10 s of patience are over in 0.2 s.
"""

from __future__ import annotations

import fcntl
import gc
import json
import os
import random
import signal
import socket
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import event

from studio.compute.lease import Ask, Lease, Purpose
from studio.compute.machine import Device, Machine, holder
from studio.compute.quota import Quota
from studio.compute.sql import SqlStore

SPEED = 50.0
CLIENTS = 2
DEADLINE_S = 10.0
DEVICES = [Device(f"cpu:{n}", "cpu", grading_only=n == 2) for n in range(3)]
DEVICES += [Device(f"sim:{n}", "gpu", memory=8 << 30) for n in range(2)]


def open_store(url: str) -> SqlStore:
    return SqlStore(url, Machine(tuple(DEVICES), 1 << 40), Quota(), lambda: time.monotonic() * SPEED)


def child(folder: Path, work: Callable[[], None]) -> int:
    """The number of a new process that does its work and ends, whatever happens; what fails is complained about."""
    pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:
        complain(folder, traceback.format_exc())
    finally:
        os._exit(0)


def complain(folder: Path, what: str) -> None:
    with open(folder / "complaints", "a") as file:
        file.write(what + "\n")


def kill(pid: int) -> bool:
    """False when it is gone already."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


# A holder


def hold(device: str, share: float, folder: Path, begin: int) -> None:
    """Wait to be told that the lease is bound, then use the device until killed."""
    for name in os.listdir(
        "/proc/self/fd"
    ):  # as a program does that is started: none of the client's connections
        if int(name) not in (2, begin):
            with suppress(OSError):  # the listing's own
                os.close(int(name))
    if os.read(begin, 1):  # else the client died first
        halves = [os.open(folder / f"{device}.{half}", os.O_CREAT | os.O_WRONLY) for half in (0, 1)]
        locked = sum(_lock(file) for file in halves[: 2 if share == 1 else 1])
        if share < 1 and not locked:
            locked = _lock(halves[1])
        if locked != round(share * 2):
            complain(folder, f"{device} has another holder already")
        signal.pause()


def _lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


# A client


def client(store: SqlStore, folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    fuse = chance.randrange(20, 1000)

    @event.listens_for(store._engine, "before_cursor_execute")
    def burn(*_: object) -> None:
        nonlocal fuse
        fuse -= 1
        if fuse == 0:
            kill(os.getpid())

    while True:
        session(store, folder, chance)


def session(store: SqlStore, folder: Path, chance: random.Random) -> None:
    purposes: list[Purpose] = ["grading", "page", "notebook", "job"]
    share = chance.choice([0.5, 1.0])
    ask = Ask(chance.choice("abcd"), chance.choice(purposes), kind="gpu" if chance.random() < 0.5 else "cpu")
    if ask.kind == "gpu":
        ask = Ask(ask.owner, ask.purpose, kind="gpu", share=share)
    answer = store.take(ask)
    while not isinstance(answer, Lease):
        if chance.random() < 0.1:
            return store.leave(answer.ticket)
        time.sleep(0.05)
        answer = store.take(ask, answer.ticket)
    if answer.holder is not None:
        raise RuntimeError(f"{answer} is already leased")
    begin, tell = os.pipe()
    pid = child(folder, partial(hold, answer.device, answer.ask.share, folder, begin))
    os.close(begin)
    try:
        store.bind(answer.id, holder(pid))
        os.write(tell, b"x")
        if chance.random() < 0.7:
            return None  # the holder runs until it is killed
        kill(pid)
        with suppress(ChildProcessError):  # it was not kept as a zombie
            os.waitpid(pid, 0)  # until then it has the device
        store.release(answer.id)
    except (
        LookupError,
        BrokenPipeError,
    ):  # we were so slow that the lease was taken back, or the holder was killed
        kill(pid)
    finally:
        os.close(tell)
    return None


# The killer


def nursery(url: str, folder: Path, other_end: socket.socket, orders: socket.socket) -> None:
    """Starts a client for each number that comes. A process of its own: one that forks must not be connected."""
    other_end.close()  # so that the end of the killer is seen here
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # no zombies
    store = open_store(url)
    answer = store.take(Ask("a", "job"))  # its statements are compiled: clients need not
    assert isinstance(answer, Lease)
    store.bind(answer.id, holder(os.getpid()))
    store.release(answer.id)
    store.close()
    gc.freeze()  # a fork copies what its collector touches
    while seed := int.from_bytes(orders.recv(8), "big"):
        orders.send(child(folder, partial(client, store, folder, seed)).to_bytes(8, "big"))


class Killer:
    def __init__(self, url: str, folder: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        open_store(url).close()  # the tables are there before the clients come
        child(folder, partial(nursery, url, folder, self.orders, theirs))
        theirs.close()
        self.store = open_store(url)
        self.clients: list[int] = []
        self.happened: Counter[str] = Counter()

    def round(self) -> None:
        living = [pid for pid in self.clients if _runs(pid)]
        self.happened["clients that ended at a statement"] += len(self.clients) - len(living)
        self.clients = living
        while len(self.clients) < CLIENTS:
            self.orders.send(self.chance.randrange(1, 2**60).to_bytes(8, "big"))
            self.clients.append(int.from_bytes(self.orders.recv(8), "big"))
        if self.chance.random() < 0.1:
            time.sleep(self.chance.random() * 0.01)
            self.happened["clients killed"] += kill(self.chance.choice(self.clients))
        else:
            held = until(self.held_or_client_ended, "a lease is held")
            if isinstance(held, list):
                self.kill_holder(self.chance.choice(held))

    def held_or_client_ended(self) -> list[Lease] | bool:
        held = [lease for lease in self.leases() if lease.holder is not None]
        return held or not all(map(_runs, self.clients))

    def kill_holder(self, lease: Lease) -> None:
        assert lease.holder is not None
        self.happened["holders killed"] += kill(lease.holder.pid)
        until(
            lambda: all(other.holder != lease.holder for other in self.leases()),
            "a killed holder's lease came back",
        )

    def leases(self) -> list[Lease]:
        """What the store says; and nothing is lent twice in it."""
        leases = self.store.leases()
        lent: Counter[str] = Counter()
        for lease in leases:
            lent[lease.device] += lease.ask.share
        if max(lent.values(), default=0) > 1:
            raise AssertionError(f"lent twice: {leases}")
        return leases

    def end(self) -> None:
        """Kill all that is left; everything comes back, and can be lent again."""
        for pid in self.clients:
            kill(pid)
        until(lambda: not any(map(_runs, self.clients)), "the clients ended")
        self.orders.close()
        for lease in self.leases():
            if lease.holder is not None:
                kill(lease.holder.pid)
        begun = time.monotonic() * SPEED
        until(lambda: not self.leases(), "all leases came back")
        self.happened["store seconds until all came back"] = round(time.monotonic() * SPEED - begun)
        until(lambda: not self.store.queue(), "the queue is empty")
        asks = [Ask("e", "grading") for _ in range(3)]
        asks += [Ask("e", "job", kind="gpu", share=share) for share in (0.5, 1.0, 0.5)]
        granted = [self.store.take(ask) for ask in asks]
        if not all(isinstance(lease, Lease) for lease in granted):
            raise AssertionError(f"not everything can be lent again: {granted}")
        self.happened["leases that were booked"] = len(self.store.uses(0))
        self.store.close()


def until(condition: Callable[[], Any], what: str) -> Any:
    """What the condition returns as soon as that is true."""
    end = time.monotonic() + DEADLINE_S
    while not (answer := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {DEADLINE_S:g} s: {what}")
        time.sleep(0.005)
    return answer


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def main(url: str, rounds: str, seed: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        killer = Killer(url, folder, int(seed))
        for _ in range(int(rounds)):
            killer.round()
        killer.end()
        complaints = folder / "complaints"
        seen = complaints.read_text() if complaints.exists() else ""
        print(json.dumps({**killer.happened, "complaints": seen}))


if __name__ == "__main__":
    main(*sys.argv[1:])
