"""Who was let in keeps the place until their kernel has it, and no longer."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from studio.compute import machine, room
from studio.compute.lease import Ask, Lease, OverQuota, Place
from studio.compute.machine import Device, Machine
from studio.compute.quota import Quota
from studio.compute.room import WaitingRoom
from studio.compute.sql import SqlStore

pytestmark = pytest.mark.alone

NOTEBOOK = Ask("amy", "notebook", "/home/amy/a.ipynb", memory=1 << 20)
PAGE = Ask("amy", "page", "train", memory=1 << 20)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlStore]:
    """One place to lend."""
    monkeypatch.setattr(room, "RENEW_S", 0.02)
    with SqlStore(f"sqlite:///{tmp_path}/x.sqlite3", Machine((Device("cpu:0", "cpu"),), 1 << 30)) as opened:
        yield opened


async def until(done: Callable[[], Awaitable[bool] | bool]) -> None:
    end = time.monotonic() + 20
    while True:
        found = done()
        if await found if isinstance(found, Awaitable) else found:
            return
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


async def granted(waiting: WaitingRoom, ask: Ask) -> Lease:
    answer = await waiting.look(ask)
    assert isinstance(answer, Lease)
    return answer


def test_a_place_that_nobody_comes_for_goes_back(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(room.HELD_S, "page", 0.1)

    async def live() -> None:
        await granted(WaitingRoom(store), PAGE)
        assert len(store.leases()) == 1
        await until(lambda: store.leases() == [])

    asyncio.run(live())


def test_a_place_is_held_longer_than_the_store_would(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.compute.sql.UNBOUND_S", 2.0)

    async def live() -> None:
        lease = await granted(WaitingRoom(store), NOTEBOOK)
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            await asyncio.sleep(0.05)
            assert [other.id for other in store.leases()] == [lease.id]

    asyncio.run(live())


def test_the_kernel_takes_it_over(store: SqlStore) -> None:
    async def live() -> None:
        waiting = WaitingRoom(store)
        lease = await granted(waiting, NOTEBOOK)
        assert waiting.ticket("/home/amy/other.ipynb") is None
        assert waiting.ticket(NOTEBOOK.title) == lease.id
        assert waiting.ticket(NOTEBOOK.title) is None  # once
        store.bind(lease.id, machine.holder(os.getpid()))
        await asyncio.gather(*waiting._tasks)  # what held it has let go, and did not give it back
        assert [other.id for other in store.leases()] == [lease.id]

    asyncio.run(live())


def test_pages_are_not_given_out_by_name(store: SqlStore) -> None:
    async def live() -> None:
        waiting = WaitingRoom(store)
        await granted(waiting, PAGE)
        assert waiting.ticket("train") is None  # theirs is in the address

    asyncio.run(live())


def test_leaving_while_the_place_is_renewed_is_final(
    store: SqlStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def live() -> None:
        waiting = WaitingRoom(store)
        lease = await granted(waiting, PAGE)
        asked, left = threading.Event(), threading.Event()

        def late_take(ask: Ask, ticket: str | None = None) -> Lease | Place:
            asked.set()
            assert left.wait(20)
            return take(ask, ticket)

        take = store.take
        monkeypatch.setattr(store, "take", late_take)
        await until(asked.is_set)
        await waiting.leave(lease.id)
        left.set()
        await asyncio.gather(*waiting._tasks)
        assert store.leases() == []

    asyncio.run(live())


def test_leaving_is_final(store: SqlStore, monkeypatch: pytest.MonkeyPatch) -> None:
    async def live() -> None:
        waiting = WaitingRoom(store)
        first = await granted(waiting, PAGE)
        second = await waiting.look(NOTEBOOK)
        assert isinstance(second, Place)
        await waiting.leave(second.ticket)
        assert store.queue() == []
        with pytest.raises(LookupError, match="given up"):  # the event stream that looks once more
            await waiting.look(NOTEBOOK, second.ticket)
        assert store.queue() == []
        await waiting.leave(first.id)
        assert store.leases() == []

        third = await granted(waiting, NOTEBOOK)
        place = await waiting.look(PAGE)
        assert isinstance(place, Place)
        await waiting.leave(third.id)
        taken, left = threading.Event(), threading.Event()

        def slow_take(ask: Ask, ticket: str | None = None) -> Lease | Place:
            answer = take(ask, ticket)
            taken.set()
            assert left.wait(20)
            return answer

        take = store.take
        monkeypatch.setattr(store, "take", slow_take)
        looking = asyncio.create_task(waiting.look(PAGE, place.ticket))
        await until(taken.is_set)  # it has been granted the free place, and does not know it yet
        await waiting.leave(place.ticket)
        left.set()
        with pytest.raises(LookupError, match="given up"):
            await looking
        assert (store.leases(), store.queue()) == ([], [])

    asyncio.run(live())


def test_who_used_up_the_week_hears_so(tmp_path: Path) -> None:
    quota = Quota(cpu=0)

    async def live() -> None:
        with SqlStore(f"sqlite:///{tmp_path}/x.sqlite3", quota=quota) as store, pytest.raises(OverQuota):
            await WaitingRoom(store).look(PAGE)

    asyncio.run(live())
