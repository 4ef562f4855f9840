"""The store on SQLite and PostgreSQL: granting, binding, waiting, giving back, extending."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import sqlalchemy

from studio.compute import machine, schema
from studio.compute.lease import Ask, Holder, Impossible, Lease, Place, Store
from studio.compute.quota import Quota
from studio.compute.sql import SqlStore
from tests.webapp.compute.conftest import GIB, Clock

pytestmark = pytest.mark.servers

AMY, BOB, EVE = (Ask(name, "notebook", memory=GIB) for name in ("amy", "bob", "eve"))
GPU = Ask("amy", "job", kind="gpu", memory=GIB)


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as sleeping:
        yield sleeping
        sleeping.kill()


def granted(answer: Lease | Place) -> Lease:
    assert isinstance(answer, Lease), answer
    return answer


def waits(answer: Lease | Place) -> Place:
    assert isinstance(answer, Place), answer
    return answer


def fill(store: SqlStore, ask: Ask = EVE) -> list[Lease]:
    """Take every slot for sessions there is, for a process that lives: this one."""
    me = machine.holder(os.getpid())
    return [granted(store.take(ask, holder=me)) for _ in range(2)]


def test_it_is_the_interface(store: SqlStore) -> None:
    as_interface: Store = store
    assert as_interface.leases() == []


def test_what_is_granted_stands_as_asked(store: SqlStore, clock: Clock) -> None:
    ask = replace(AMY, title="01_tensors.ipynb", seconds=90.0)
    lease = granted(store.take(ask))
    assert (lease.ask, lease.device, lease.granted, lease.ends) == (ask, "cpu:0", clock.now, clock.now + 90)
    assert store.leases() == store.leases("amy") == [lease] and store.leases("bob") == []
    assert granted(store.take(BOB)).device == "cpu:1"


def test_release_books_the_use_and_frees_the_device(store: SqlStore, clock: Clock) -> None:
    lease, other = fill(store)
    place = waits(store.take(AMY))
    clock.now += 60
    store.release(lease.id)
    store.release(lease.id)  # nothing happens
    (use,) = store.uses(0)
    assert (use.id, use.ask, use.device, use.seconds) == (lease.id, EVE, lease.device, 60)
    assert store.uses(0, "amy") == []
    again = granted(store.take(AMY, place.ticket))
    assert (again.device, again.id) == (lease.device, place.ticket)
    assert store.queue() == [] and {x.id for x in store.leases()} == {other.id, again.id}


def test_a_lease_goes_back_when_its_process_is_killed(
    store: SqlStore, process: subprocess.Popen[bytes]
) -> None:
    lease = granted(store.take(AMY))
    store.bind(lease.id, machine.holder(process.pid))
    store._look()
    assert store.leases() == [replace(lease, holder=machine.holder(process.pid))]
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, but still a zombie
    store._next_look = 0.0
    assert store.leases() == [] and [use.id for use in store.uses(0)] == [lease.id]


def test_a_number_that_another_process_got_does_not_count(store: SqlStore) -> None:
    lease = granted(store.take(AMY))
    me = machine.holder(os.getpid())
    store.bind(lease.id, replace(me, started=me.started - 1))
    store._next_look = 0.0
    assert store.leases() == []


def test_a_lease_that_nobody_binds_goes_back(store: SqlStore, clock: Clock) -> None:
    lease = granted(store.take(AMY))
    clock.now += 9
    assert granted(store.take(AMY, lease.id)) == lease  # asked for again: ten more seconds
    clock.now += 9
    store._next_look = 0.0
    assert store.leases() == [lease]
    clock.now += 2
    store._next_look = 0.0
    assert store.leases() == []
    with pytest.raises(LookupError, match=f"no lease '{lease.id}'"):
        store.bind(lease.id, machine.holder(os.getpid()))


def test_past_its_end_a_lease_is_still_seen(store: SqlStore, clock: Clock) -> None:
    lease = granted(store.take(replace(AMY, seconds=60), holder=machine.holder(os.getpid())))
    clock.now += 3600
    store._next_look = 0.0
    assert store.leases() == [lease] and lease.ends < clock.now


def test_only_the_holder_passes_a_lease_on(store: SqlStore, process: subprocess.Popen[bytes]) -> None:
    lease, me = granted(store.take(AMY)), machine.holder(os.getpid())
    store.bind(lease.id, me)
    store.bind(lease.id, machine.holder(process.pid))  # a server hands it to the kernel
    store.bind(lease.id, machine.holder(process.pid))
    with pytest.raises(ValueError, match=f"used by process {process.pid}, which still runs"):
        store.bind(lease.id, me)
    process.send_signal(signal.SIGKILL)
    process.wait()
    store.bind(lease.id, me)  # a restart: the kernel before is gone


def test_of_two_with_one_ticket_the_second_asks_anew(store: SqlStore) -> None:
    me = machine.holder(os.getpid())
    ticket = granted(store.take(AMY)).id  # the waiting page has it, then two kernels come
    first, second = (granted(store.take(AMY, ticket, me)) for _ in range(2))
    assert first.id == ticket != second.id and first.device != second.device
    assert granted(store.take(AMY, ticket)) == first  # the page sees that it is used
    assert first.holder == me
    with pytest.raises(ValueError, match="does not belong to 'bob'"):
        store.take(BOB, ticket)


def test_places_in_the_queue(store: SqlStore, clock: Clock) -> None:
    first, _ = fill(store)
    amy = waits(store.take(AMY))
    clock.now += 1
    bob = waits(store.take(BOB))
    assert (amy.ahead, bob.ahead, bob.of) == (0, 1, 2)
    assert [ticket.ask for ticket in store.queue()] == [AMY, BOB]
    assert [ticket.id for ticket in store.queue("bob")] == [bob.ticket]
    store.release(first.id)
    assert waits(store.take(BOB, bob.ticket)).ahead == 1  # it is amy's turn
    assert granted(store.take(AMY, amy.ticket)).device == first.device
    assert waits(store.take(BOB, bob.ticket)).ahead == 0


def test_who_sleeps_lets_others_pass_and_is_dropped_in_the_end(store: SqlStore, clock: Clock) -> None:
    first, _ = fill(store)
    amy = waits(store.take(AMY))
    clock.now += 1
    bob = waits(store.take(BOB))
    clock.now += 5
    store.release(first.id)
    assert granted(store.take(BOB, bob.ticket, machine.holder(os.getpid())))
    clock.now += 23
    assert waits(store.take(AMY, amy.ticket)).of == 1  # her place was kept
    clock.now += 31
    assert store.queue() == []
    eve = waits(store.take(EVE))
    late = waits(store.take(AMY, amy.ticket))
    assert late.ticket == amy.ticket and {x.id: x.asked for x in store.queue()}[amy.ticket] == clock.now
    store.leave(eve.ticket)
    store.leave(late.ticket)
    assert store.queue() == []


def test_leaving_gives_back_what_was_granted_and_not_used(store: SqlStore) -> None:
    unused, used = granted(store.take(AMY)), granted(store.take(AMY, holder=machine.holder(os.getpid())))
    store.leave(unused.id)
    store.leave(used.id)
    assert store.leases() == [used]


def test_one_ticket_may_be_granted_twice(store: SqlStore) -> None:
    lease = granted(store.take(AMY))
    store.release(lease.id)
    assert granted(store.take(AMY, lease.id)).id == lease.id
    store.release(lease.id)
    assert [use.id for use in store.uses(0)] == [lease.id] * 2


def test_a_check_never_waits_behind_open_notebooks(store: SqlStore) -> None:
    fill(store)
    waits(store.take(AMY))
    check = granted(store.take(replace(AMY, purpose="grading")))
    assert check.device == "cpu:2"
    store.release(check.id)
    store.release(store.leases()[0].id)
    assert (
        granted(store.take(replace(BOB, purpose="grading"))).device == "cpu:2"
    )  # and leaves their slots free


def test_extend(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store = open_store(quota=Quota(longest=7200))
    lease = granted(store.take(replace(AMY, seconds=3600)))
    assert store.extend(lease.id, 60).ends == clock.now + 3660
    assert store.extend(lease.id, 24 * 3600).ends == clock.now + 7200  # as far as is allowed
    with pytest.raises(Impossible, match=r"Requested: 3\.0 hours; a session may last 2 hours"):
        store.extend(lease.id, 3600)
    with pytest.raises(ValueError, match="seconds must be more than 0, got -1"):
        store.extend(lease.id, -1)
    with pytest.raises(LookupError, match="no lease 'x'"):
        store.extend("x", 60)


def test_parts_of_a_gpu(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store = open_store(gpus=2)
    half, third = (granted(store.take(replace(GPU, share=share))) for share in (0.5, 0.3))
    assert half.device == third.device == "sim:0" and half.simulated
    whole = granted(store.take(GPU))
    assert whole.device == "sim:1"
    assert waits(store.take(replace(GPU, owner="bob", share=0.21))).of == 1
    clock.now += 1
    assert waits(store.take(replace(GPU, owner="eve", share=0.2))).ahead == 1  # the queue is not bypassed
    store.release(whole.id)
    assert (
        granted(store.take(replace(GPU, owner="bob", share=0.21), store.queue("bob")[0].id)).device == "sim:1"
    )
    granted(store.take(AMY))  # another kind, another queue


def test_memory_is_not_promised_without_end(open_store: Callable[..., SqlStore]) -> None:
    store = open_store(slots=8, memory=4 * GIB)  # 8 GiB may be promised
    big = [granted(store.take(replace(AMY, memory=4 * GIB))) for _ in range(2)]
    place = waits(store.take(AMY))
    store.release(big[0].id)
    granted(store.take(AMY, place.ticket))


def test_what_this_machine_can_never_give(store: SqlStore) -> None:
    with pytest.raises(Impossible, match="This machine has no GPU") as refusal:
        store.take(GPU)
    assert refusal.value.sentence_zh == "这台机器没有 GPU。" and isinstance(refusal.value, ValueError)
    with pytest.raises(Impossible, match=r"Requested: 65\.0 GiB of memory; this machine has 64\.0 GiB"):
        store.take(replace(AMY, memory=65 * GIB))
    with pytest.raises(Impossible, match=r"Requested: 25\.0 hours; a session may last 24 hours"):
        store.take(replace(AMY, seconds=25 * 3600))
    assert store.queue() == []


def test_another_machine_shares_the_database_and_nothing_else(
    open_store: Callable[..., SqlStore], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = open_store()
    fill(here)
    waits(here.take(AMY))
    monkeypatch.setattr(machine, "boot", lambda: "another machine, or this one before it was started anew")
    there = open_store()
    there._next_look = float("inf")
    lease = granted(there.take(AMY, holder=Holder(2**22 + 1, 1.0)))  # no process of ours
    assert lease.device == "cpu:0" and there.queue() == []
    here._next_look = 0.0
    assert len(here.leases()) == 3  # whether that process lives, only that machine can tell
    clock.now += 601  # and it has not for long
    here._next_look = 0.0
    assert lease.id not in [x.id for x in here.leases()]
    assert here.uses(0)[-1].seconds == 0  # it was last seen when it was granted


def test_a_ticket_from_before_the_machine_was_started_anew(
    open_store: Callable[..., SqlStore], clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_store()
    me = machine.holder(os.getpid())
    lease = granted(before.take(AMY, holder=me))
    fill_one, place = granted(before.take(EVE, holder=me)), waits(before.take(BOB))
    monkeypatch.setattr(machine, "boot", lambda: "the next boot")
    after = open_store()
    after._next_look = float("inf")
    again = granted(after.take(AMY, lease.id))  # her page asks on; the old lease is not hers any more
    assert again.id != lease.id and again.device == fill_one.device.replace("1", "0")
    granted(after.take(EVE, holder=me))
    assert waits(after.take(BOB, place.ticket)).ticket == place.ticket  # he moves on to this queue
    assert [x.id for x in after.queue()] == [place.ticket] and before.queue() == []


def test_use_is_booked_until_a_holder_was_last_seen(
    store: SqlStore, clock: Clock, process: subprocess.Popen[bytes]
) -> None:
    store.take(AMY, holder=machine.holder(process.pid))
    for _ in range(3):
        clock.now += 61
        store._next_look = 0.0
        store.leases()
    clock.now += 20
    process.kill()
    process.wait()
    store._next_look = 0.0
    assert store.leases() == [] and store.uses(0)[0].seconds == 3 * 61 + 20  # it has only just died
    late = granted(store.take(AMY, holder=Holder(2**22 + 1, 1.0)))
    clock.now += 8 * 3600  # no poll all night
    store._next_look = 0.0
    assert store.leases() == [] and store.uses(0)[-1].seconds == 0 and store.uses(0)[-1].id == late.id


def test_the_database_itself_lends_nothing_twice(store: SqlStore) -> None:
    lease = granted(store.take(AMY))
    with store._engine.begin() as c, pytest.raises(sqlalchemy.exc.IntegrityError):
        row = c.execute(sqlalchemy.select(schema.lease)).mappings().one()
        c.execute(sqlalchemy.insert(schema.lease).values({**row, "id": "forged"}))
    assert store.leases() == [lease]


@pytest.mark.parametrize(
    "wrong",
    [
        {"owner": ""},
        {"purpose": "fun"},
        {"kind": "tpu"},
        {"kind": "gpu", "share": 1.5},
        {"share": 0.5},
        {"memory": 0},
        {"seconds": float("nan")},
    ],
)
def test_asks_that_mean_nothing(wrong: dict[str, object]) -> None:
    name, value = list(wrong.items())[-1]
    with pytest.raises(ValueError, match=rf"{name} .*{value!r}"):
        replace(AMY, **wrong)  # type: ignore[arg-type]


def test_use_that_nobody_asks_about_any_more_is_forgotten(
    store: SqlStore, open_store: Callable[..., SqlStore], clock: Clock
) -> None:
    day = 86400.0
    for name, later in (("old", 0.0), ("counts", 3 * day), ("new", 6 * day)):
        clock.now += later
        store.release(granted(store.take(replace(AMY, title=name))).id)
    assert [use.ask.title for use in store.uses(0)] == [
        "old",
        "counts",
        "new",
    ]  # looked for once an hour only
    other = open_store()
    other.release(granted(other.take(BOB)).id)
    assert [use.ask.title for use in other.uses(0)] == ["counts", "new", ""]
