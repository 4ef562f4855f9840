"""Leases of several places: granted together or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from studio.compute import machine, remote
from studio.compute.lease import Ask, Impossible, Lease, Place
from studio.compute.limits import Limits
from studio.compute.quota import HOUR, Quota
from studio.compute.sql import SqlStore
from tests.webapp.compute.conftest import GIB, Clock

pytestmark = pytest.mark.servers

AMY = Ask("amy", "job", memory=GIB, places=2, seconds=3600.0)
ONE = Ask("bob", "job", memory=GIB, seconds=3600.0)


def granted(answer: Lease | Place) -> Lease:
    assert isinstance(answer, Lease), answer
    return answer


def waits(answer: Lease | Place) -> Place:
    assert isinstance(answer, Place), answer
    return answer


def test_all_places_or_none(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store, me = open_store(slots=3), machine.holder(os.getpid())
    two = granted(store.take(AMY, holder=me))
    assert two.devices == ("cpu:0", "cpu:1") and store.leases() == [two]
    other = waits(store.take(replace(AMY, owner="eve")))  # one place is free: it takes none
    assert [lease.devices for lease in store.leases()] == [("cpu:0", "cpu:1")]
    clock.now += 1
    assert waits(store.take(ONE)).ahead == 1  # no later request goes first, or it would never start
    store.release(two.id)
    assert store.leases() == [] and len(store.uses(0.0)) == 2
    second = granted(store.take(replace(AMY, owner="eve"), other.ticket))
    assert second.id == other.ticket and len(second.devices) == 2


def test_every_call_acts_on_all_of_its_places(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store, me = open_store(slots=2, quota=Quota(cpu=3.0)), machine.holder(os.getpid())
    lease = granted(store.take(AMY))
    assert granted(store.take(AMY, lease.id)).devices == lease.devices
    store.bind(lease.id, me)
    assert store.leases() == [replace(lease, holder=me)] and store.owner(lease.id) == "amy"
    assert lease.ends == clock.now + HOUR
    assert store.extend(lease.id, HOUR).ends == clock.now + 1.5 * HOUR  # two places use 3 hours up in 1.5
    clock.now += HOUR
    assert store.used("amy", 0.0) == 2 * HOUR
    store.release(lease.id)
    assert store.leases() == [] and store.used("amy", 0.0) == 2 * HOUR


def test_given_back_when_its_process_is_gone_or_never_came(
    open_store: Callable[..., SqlStore], clock: Clock
) -> None:
    store = open_store(slots=2)
    granted(store.take(AMY))
    clock.now += 11
    store._next_look = 0.0
    assert store.leases() == []
    granted(store.take(AMY, holder=machine.Holder(2**22 - 1, 1.0)))  # a number that no process has
    store._next_look = 0.0
    assert store.leases() == []
    lease = granted(store.take(AMY))
    store.leave(lease.id)
    assert store.leases() == []


def test_the_estimate_waits_for_as_many_places(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store, me = open_store(slots=2), machine.holder(os.getpid())
    granted(store.take(replace(ONE, seconds=100.0), holder=me))
    granted(store.take(replace(ONE, seconds=300.0), holder=me))
    assert waits(store.take(AMY)).wait == 300.0
    clock.now += 1
    assert waits(store.take(ONE)).wait == 299.0 + 3600.0


def test_a_gpu_each(open_store: Callable[..., SqlStore]) -> None:
    store, me = open_store(slots=1, gpus=2), machine.holder(os.getpid())
    ask = replace(AMY, kind="gpu")
    half = granted(store.take(replace(ask, places=1, share=0.5), holder=me))
    ticket = waits(store.take(ask)).ticket
    store.release(half.id)
    assert granted(store.take(ask, ticket)).devices == ("sim:0", "sim:1")


def test_more_than_the_machine_has_is_refused_at_once(open_store: Callable[..., SqlStore]) -> None:
    store = open_store(slots=2, memory=4 * GIB)
    with pytest.raises(Impossible, match="Requested: 3 places at once; this machine has 2"):
        store.take(replace(AMY, places=3))
    with pytest.raises(Impossible, match=r"Requested: 6\.0 GiB of memory; this machine has 4\.0 GiB"):
        open_store(slots=3, memory=2 * GIB).take(replace(AMY, memory=2 * GIB, places=3))
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="places must be a whole number of at least 1"):
            replace(AMY, places=wrong)  # type: ignore[arg-type] - what a caller may pass
    with pytest.raises(ValueError, match="several places are whole devices"):
        replace(AMY, kind="gpu", share=0.5)


def test_through_the_service_of_a_class() -> None:
    lease = Lease("x", AMY, "cpu:0", 1.0, 2.0, machine.holder(os.getpid()), ("cpu:1",))
    told = asdict(lease)
    told["others"] = list(told["others"])  # as JSON gives it back
    assert remote.lease_of(told) == lease


def test_limits_of_all_its_processes_together(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studio.compute.limits.delegated", lambda root: tmp_path)
    group = Limits(memory=GIB, processes=10, places=3).cgroup("job")
    assert group is not None
    assert (group.folder / "memory.max").read_text() == str(3 * GIB)
    assert (group.folder / "pids.max").read_text() == "30"
