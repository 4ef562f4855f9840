"""What sessions use, live and over the week, and how they are found."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from studio.compute import machine, record
from studio.compute.lease import Ask, Lease
from studio.compute.meter import Meter, Reading
from studio.compute.sessions import DAY_S, Sessions
from studio.compute.sql import SqlStore

pytestmark = pytest.mark.alone

BUSY = """
import subprocess, sys, time
held = bytearray(b"x") * (200 << 20)
child = subprocess.Popen([sys.executable, "-c", "held = bytearray(b'x') * (100 << 20); print('ready', flush=True); input()"],
    stdin=subprocess.PIPE)
while True:
    pass
"""


class Clock:
    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock(time.time())


@pytest.fixture
def sessions(tmp_path: Path, clock: Clock) -> Iterator[Sessions]:
    with SqlStore(f"sqlite:///{tmp_path}/compute.sqlite3", clock=clock) as store:
        yield Sessions(store, tmp_path)


def lend(sessions: Sessions, owner: str = "ann", pid: int | None = None) -> Lease:
    ask = Ask(owner, "notebook", "one.ipynb", memory=1 << 20)
    lease = sessions.store.take(ask, holder=machine.holder(pid or os.getpid()))
    assert isinstance(lease, Lease)
    return lease


def test_what_a_session_uses_with_all_that_it_has_started(sessions: Sessions) -> None:
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            time.sleep(1.1)  # the use of a new process is not known yet
            lease = lend(sessions, pid=process.pid)
            record.write(sessions.state, record.of(lease, kernel="k1"))
            (session,) = sessions.running("ann")
            assert session.kernel == "k1" and session.culled_at == 0
            assert 300 << 20 < session.reading.memory < 400 << 20
            assert 0 < session.reading.cores < 2 and session.reading.gpu is None
            assert sessions.standing()[0].reading == Reading()
        finally:
            process.kill()  # it would never end by itself
    end = time.monotonic() + 10
    while sessions.running():  # frequent polls get a cached answer
        assert time.monotonic() < end
        time.sleep(0.05)


def test_cores_are_those_since_the_look_before() -> None:
    meter = Meter()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as process:
        meter.read(process.pid)
        seconds, then, _ = meter._before[process.pid]
        meter._before[process.pid] = (
            seconds - 1500,
            then - 1000,
            0.0,
        )  # as if 1500 s of CPU time had passed in 1000
        assert meter.read(process.pid).cores == pytest.approx(1.5, rel=0.05)
        process.communicate("\n")
    assert meter.read(process.pid) == Reading()


def test_a_session_is_found_by_the_beginning_of_its_id(sessions: Sessions) -> None:
    mine, other = lend(sessions), lend(sessions, "bob")
    assert sessions.find(mine.id[:8]).id == mine.id
    assert sessions.find(other.id[:8]).lease.ask.owner == "bob"
    for beginning, owner in (("", None), ("nothing", None), (other.id, "ann")):
        with pytest.raises(LookupError, match=r"(0|2) sessions"):
            sessions.find(beginning, owner)


def test_records_that_killed_processes_left_are_removed(sessions: Sessions) -> None:
    lease = lend(sessions)
    for id in (lease.id, "killed", "new"):
        file = record.write(sessions.state, replace(record.of(lease), id=id))
        if id != "new":
            os.utime(file, (0, 0))
    record.keep(sessions.state, "killed")
    sessions.sweep()
    assert sorted(path.name for path in (sessions.state / "sessions").iterdir()) == sorted(
        [f"{lease.id}.json", "new.json"]
    )


def test_the_week_by_days(sessions: Sessions, clock: Clock) -> None:
    now = clock.now
    today = now // DAY_S * DAY_S
    clock.now = today - 2 * DAY_S - 3600  # an hour before midnight, and an hour after it
    first = lend(sessions)
    clock.now += 7200
    sessions.store.release(first.id)
    clock.now = today - 8 * DAY_S  # too long ago
    old = lend(sessions)
    clock.now += 60
    sessions.store.release(old.id)
    clock.now = today
    lend(sessions)  # runs now
    lend(sessions, "bob")
    clock.now = now
    week = sessions.week("ann")
    assert [day for day, _ in week] == [today - back * DAY_S for back in range(6, -1, -1)]
    used = [seconds for _, seconds in week]
    assert used[:3] == [0, 0, 0] and used[3:6] == pytest.approx([3600, 3600, 0])
    assert used[6] == pytest.approx(now - today, abs=30)
