"""Whose turn it is: priorities, fair shares, what a place in the queue is worth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from studio.compute import machine as machines
from studio.compute.lease import Ask, Lease, Place, Ticket
from studio.compute.machine import Device, Machine
from studio.compute.sql import SqlStore
from studio.compute.turns import AGEING_S, AWAKE_S, Free, order, priority, turn, wait
from tests.webapp.compute.conftest import GIB, Clock, machine
from tests.webapp.compute.queueing import play, thirty_sessions

pytestmark = pytest.mark.servers

NOW = 1_000_000.0
NOTEBOOK = Ask("amy", "notebook", memory=GIB)
JOB = replace(NOTEBOOK, purpose="job")


def ticket(id: str, ask: Ask = NOTEBOOK, waited: float = 0.0, slept: float = 0.0) -> Ticket:
    return Ticket(id, ask, asked=NOW - waited, seen=NOW - slept)


def names(line: list[Ticket]) -> str:
    return " ".join(entry.id for entry in line)


def test_short_and_interactive_work_goes_first() -> None:
    purposes = ["job", "notebook", "grading"]
    line = [ticket(p, replace(NOTEBOOK, purpose=p, owner=p), 10 - n) for n, p in enumerate(purposes)]
    assert names(order(line, {}, {}, NOW)) == "grading notebook job"
    assert priority(replace(JOB, seconds=600)) == priority(NOTEBOOK) < priority(replace(JOB, seconds=601))


def test_nobody_waits_for_ever() -> None:
    old, new = (
        ticket("old", JOB, waited=AGEING_S + 1),
        ticket("new", replace(NOTEBOOK, owner="bob"), waited=1),
    )
    assert names(order([new, old], {}, {}, NOW)) == "old new"
    assert names(order([new, replace(old, asked=NOW - AGEING_S / 2)], {}, {}, NOW)) == "new old"


def test_who_holds_less_comes_first_then_who_used_less_then_who_came_first() -> None:
    amy, bob, eve = (
        ticket(name, replace(NOTEBOOK, owner=name), waited)
        for name, waited in zip(("amy", "bob", "eve"), (3, 2, 1), strict=True)
    )
    assert names(order([eve, bob, amy], {}, {}, NOW)) == "amy bob eve"
    assert names(order([eve, bob, amy], {("amy", "cpu"): 1}, {}, NOW)) == "bob eve amy"
    assert (
        names(order([eve, bob, amy], {}, {("amy", "cpu"): 60.0, ("bob", "cpu"): 90.0}, NOW)) == "eve amy bob"
    )
    assert names(order([eve, bob, amy], {("amy", "gpu"): 1}, {("bob", "gpu"): 9.0}, NOW)) == "amy bob eve"


def test_many_tickets_do_not_push_others_back() -> None:
    many = [ticket(f"amy{n}", waited=100 - n) for n in range(5)]
    assert names(order([*many, ticket("bob", replace(NOTEBOOK, owner="bob"))], {}, {}, NOW)).startswith(
        "amy0 bob amy1"
    )


def test_a_turn_comes_when_all_before_have_theirs() -> None:
    line = [ticket("a"), ticket("b"), ticket("c")]
    free = lambda: Free(machine(slots=2), {}, 0)
    assert [turn(entry, line, free(), NOW) for entry in line] == [["cpu:0"], ["cpu:1"], []]
    line[0] = replace(line[0], seen=NOW - AWAKE_S - 1)
    assert [turn(entry, line, free(), NOW) for entry in line] == [["cpu:0"], ["cpu:0"], ["cpu:1"]]
    with pytest.raises(LookupError, match="'d' is not in the queue"):
        turn(ticket("d"), line, free(), NOW)


def test_grading_does_not_wait_behind_sessions() -> None:
    check = ticket("check", replace(NOTEBOOK, purpose="grading"))
    line = [ticket("a", waited=2 * AGEING_S), check]  # waited so long that it stands before the check
    assert names(order(line, {}, {}, NOW)) == "a check"
    assert turn(check, line, Free(machine(slots=1), {"cpu:0": 1.0}, 0), NOW) == ["cpu:1"]


def test_a_check_does_not_wait_for_memory_either() -> None:
    free = Free(machine(memory=2 * GIB), {"cpu:0": 1.0}, 4 * GIB)  # all that may be promised
    assert free.take(NOTEBOOK) == [] and free.take(replace(NOTEBOOK, purpose="grading")) == ["cpu:2"]


def lease(device: str, ends: float, ask: Ask = NOTEBOOK) -> Lease:
    return Lease(device, ask, device, NOW - 100, NOW + ends)


def test_the_estimate_plays_the_queue_through() -> None:
    leases, devices = [lease("cpu:0", 40), lease("cpu:1", 100), lease("cpu:9", 1)], ["cpu:0", "cpu:1"]
    line = [ticket("a", replace(NOTEBOOK, seconds=30)), ticket("b"), ticket("c")]
    estimates = [wait(entry, line, leases, devices, {}, NOW) for entry in line]
    assert estimates == [40, 70, 100]  # a has cpu:0 from 40 to 70; then b; c has cpu:1
    assert wait(line[2], line, leases, devices, {"notebook": 10.0}, NOW) == 20  # they last 10 s as a rule
    assert wait(line[0], line, leases[:1], devices, {}, NOW) == 0  # cpu:1 is free
    assert wait(line[0], line, [lease("cpu:0", -5)], ["cpu:0"], {}, NOW) == 0  # past its end
    assert wait(line[0], line, [], [], {}, NOW) is None


def test_thirty_sessions_on_two_slots_get_fair_shares(store: SqlStore, clock: Clock) -> None:
    """One person wants 12 sessions, nine others two each, and they came last."""
    owners = [owner for owner, _, _ in play(store, clock, thirty_sessions(2.0), length=2.0, look=2.0)]
    assert len(owners) == 30
    for seen in range(4, 23):  # as long as all still want something
        shares = Counter(owners[:seen])
        # The first two went to the only user; from then on no user is more than one session ahead.
        assert max(shares.values()) - min(shares[f"person {n}"] for n in range(9)) <= 2, owners
    assert Counter(owners[2:20]) == {f"person {n}": 2 for n in range(9)}, owners


def test_the_estimated_wait_comes_true(store: SqlStore, clock: Clock) -> None:
    """Sessions that last as long as they may: then the estimate is exact, to the second of each look."""
    asks = [Ask(f"person {n}", "notebook", memory=GIB, seconds=5.0) for n in range(10)]
    for _, waited, estimated in play(store, clock, asks, length=5.0):
        assert abs(waited - estimated) <= 6, (waited, estimated)  # a second for each session before


def test_estimates_learn_from_what_sessions_lasted(store: SqlStore, clock: Clock) -> None:
    me = machines.holder(1)
    for _ in range(3):
        done = store.take(NOTEBOOK, holder=me)
        assert isinstance(done, Lease)
        clock.now += 60
        store.release(done.id)
    for name in ("a", "b"):
        store.take(replace(NOTEBOOK, owner=name), holder=me)
    place = store.take(replace(NOTEBOOK, owner="c"))
    assert isinstance(place, Place) and place.wait == 60


def test_devices_of_a_real_card_and_a_simulated_one_are_told_apart(
    open_store: Callable[..., SqlStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Machine((Device("gpu:0", "gpu"), Device("sim:0", "gpu")), 64 * GIB)
    free = Free(both, {}, 0)
    ask = replace(JOB, kind="gpu")
    assert [free.take(ask), free.take(ask), free.take(ask)] == [["gpu:0"], ["sim:0"], []]
    assert Lease("x", ask, "sim:0", 0, 1).simulated and not Lease("x", ask, "gpu:0", 0, 1).simulated
