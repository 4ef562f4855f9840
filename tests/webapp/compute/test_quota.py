"""Hours a week: what counts, when they end, and what is said."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace

import pytest

from studio.compute import machine as machines
from studio.compute.lease import Ask, Lease, OverQuota
from studio.compute.quota import Quota, week
from studio.compute.sql import SqlStore
from tests.webapp.compute.conftest import GIB, Clock

pytestmark = pytest.mark.servers

AMY = Ask("amy", "notebook", memory=GIB)
HOUR = 3600.0
TWO_HOURS = Quota(cpu=2.0, gpu=1.0)


def take(store: SqlStore, ask: Ask = AMY) -> Lease:
    lease = store.take(ask, holder=machines.holder(1))
    assert isinstance(lease, Lease)
    return lease


def test_a_week_begins_on_monday() -> None:
    at = lambda *date: datetime.datetime(*date, tzinfo=datetime.UTC).timestamp()
    assert week(at(2026, 11, 22, 23, 59)) == at(2026, 11, 16)  # a Sunday
    assert week(at(2026, 11, 23)) == at(2026, 11, 23)


def test_no_quota_no_end(store: SqlStore) -> None:
    assert store.left("amy") is None and take(store).ends - store._clock() == AMY.seconds


def test_used_up_until_the_next_week(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store = open_store(quota=TWO_HOURS)
    lease = take(store)
    assert lease.ends == clock.now + 2 * HOUR  # not the four that were asked for
    clock.now += HOUR
    assert store.used("amy", clock.now - 600) == 600  # it still runs
    assert store.left("amy") == HOUR and store.left("bob") == 2 * HOUR and store.left("amy", "gpu") == HOUR
    clock.now += HOUR
    store.release(lease.id)
    with pytest.raises(OverQuota) as over:
        store.take(AMY)
    monday = datetime.datetime.fromtimestamp(week(clock.now), datetime.UTC) + datetime.timedelta(days=7)
    assert str(over.value) == (
        f"This week's 2 CPU hours are used up. New hours are available from {monday:%Y-%m-%d} 00:00 UTC."
    )
    assert (
        over.value.sentence_zh == f"本周的 2 小时 CPU 时间已用完，{monday:%Y-%m-%d} 00:00 UTC 起有新的额度。"
    )
    take(store, replace(AMY, owner="bob"))
    clock.now = monday.timestamp() + 1
    take(store)


def test_what_reaches_into_the_week_counts_from_monday(
    open_store: Callable[..., SqlStore], clock: Clock
) -> None:
    clock.now = week(clock.now) - HOUR
    store = open_store(quota=TWO_HOURS)
    lease = take(store)
    clock.now += 1.5 * HOUR
    assert store.left("amy") == 1.5 * HOUR
    store.release(lease.id)
    assert store.left("amy") == 1.5 * HOUR
    assert store.used("amy", 0) == 1.5 * HOUR


def test_two_sessions_use_it_up_in_half_the_time(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store = open_store(quota=TWO_HOURS)
    first, second = take(store), take(store)
    assert second.ends == clock.now + HOUR
    assert {lease.ends for lease in store.leases()} == {second.ends}
    store.release(second.id)
    assert store.extend(first.id, 4 * HOUR).ends == clock.now + 2 * HOUR
    clock.now += 2 * HOUR
    with pytest.raises(OverQuota, match="2 CPU hours are used up"):
        store.extend(first.id, 60)


def test_half_a_gpu_counts_half(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store = open_store(quota=TWO_HOURS, gpus=1)
    lease = take(store, replace(AMY, kind="gpu", share=0.5))
    assert lease.ends == clock.now + 2 * HOUR
    clock.now += HOUR
    store.release(lease.id)
    assert store.left("amy", "gpu") == HOUR / 2 and store.left("amy", "cpu") == 2 * HOUR
    assert store.uses(0)[0].seconds == HOUR / 2


def test_grading_is_never_refused(open_store: Callable[..., SqlStore], clock: Clock) -> None:
    store = open_store(quota=Quota(cpu=0.0))
    lease = take(store, replace(AMY, purpose="grading"))
    clock.now += HOUR
    assert store.used("amy", 0) == 0
    store.release(lease.id)
    assert store.used("amy", 0) == 0
    with pytest.raises(OverQuota):
        store.take(AMY)


def test_who_runs_out_while_waiting_leaves_the_queue(
    open_store: Callable[..., SqlStore], clock: Clock
) -> None:
    store = open_store(quota=TWO_HOURS)
    leases = [take(store, replace(AMY, seconds=HOUR)) for _ in range(2)]
    ticket = store.take(AMY)
    assert not isinstance(ticket, Lease)
    for _ in leases:
        clock.now += 20  # asked for meanwhile
        store.take(AMY, ticket.ticket)
    clock.now += HOUR - 40
    with pytest.raises(OverQuota):
        store.take(AMY, ticket.ticket)
    assert store.queue() == []


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Quota.from_environment() == Quota(None, None, 24 * HOUR)
    monkeypatch.setenv("SAMPAN_CPU_HOURS", "40")
    monkeypatch.setenv("SAMPAN_GPU_HOURS", "7.5")
    monkeypatch.setenv("SAMPAN_LONGEST_HOURS", "12")
    assert Quota.from_environment() == Quota(40.0, 7.5, 12 * HOUR)
    monkeypatch.setenv("SAMPAN_GPU_HOURS", "many")
    with pytest.raises(ValueError, match="SAMPAN_GPU_HOURS must be a number, got 'many'"):
        Quota.from_environment()
    monkeypatch.setenv("SAMPAN_GPU_HOURS", "-1")
    with pytest.raises(ValueError, match="SAMPAN_GPU_HOURS must be at least 0, got '-1'"):
        Quota.from_environment()
