"""A fleet that really runs: a worker is killed, stopped, slowed down, and one is added."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from studio import identity
from studio.compute import here, jobs
from studio.compute.lease import Ask, Refused
from studio.fleet import control
from studio.fleet.control import Fleet
from studio.fleet.settings import Settings
from tests.webapp.running import until

ME = identity.local().name


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A workspace with three CPU places; no fleet outlives its test."""
    monkeypatch.setenv("SAMPAN_HOME", str(tmp_path))
    monkeypatch.delenv("SAMPAN_STORE", raising=False)
    monkeypatch.setenv("SAMPAN_CPU_SLOTS", "3")
    yield tmp_path
    for job in jobs.all():
        jobs.cancel(job.id)
        until(lambda: not [one for one in jobs.all() if not one.over])
    here.store().close()  # type: ignore[attr-defined]  # of a store on a database


def seen(condition: Callable[[Fleet], Any]) -> Fleet:
    """The fleet as soon as a condition holds."""

    def look() -> Fleet | None:
        fleet = control.latest(ME)
        assert fleet is not None
        assert not fleet.job.over, fleet.job.log()
        return fleet if fleet.state and condition(fleet) else None

    return until(look)


def all_run(fleet: Fleet) -> bool:
    return [one["state"] for one in fleet.workers] == ["running"] * fleet.count


@pytest.mark.servers
def test_a_fleet_goes_on_after_a_kill_shows_who_is_waited_for_and_takes_another_worker() -> None:
    control.start(ME, Settings("mlp", "half", workers=2, steps=100_000, pace=20))
    fleet = seen(lambda now: all_run(now) and now.step > 25)
    (lease,) = here.store().leases()
    assert lease.devices == ("cpu:0", "cpu:1")
    with pytest.raises(ValueError, match="a fleet runs already"):
        control.start(ME, Settings())
    assert control.latest("another") is None
    parameters = 64 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10
    for worker in fleet.workers:  # 16 bits each, and a few numbers that say who had a gradient
        assert 2 * parameters <= worker["step_bytes"]["all_reduce"] <= 2 * parameters + 100
    before = fleet.step
    pids = [one["pid"] for one in fleet.workers]

    control.ask(fleet, "kill", 1)
    fleet = seen(
        lambda now: now.state["restarts"] and all_run(now) and now.step > now.state["restarts"][0]["at"]
    )
    (restart,) = fleet.state["restarts"]
    assert before - 1 <= restart["at"]  # one process may be told of a step before the other
    # A copy is made every 16 steps. A kill at such a step comes before its copy (16 steps again) or after it (none).
    assert 0 <= restart["again"] <= 16
    assert restart["again"] % 16 == restart["at"] % 16
    assert not {one["pid"] for one in fleet.workers} & set(pids)
    assert [one["what"] for one in fleet.state["events"]] == ["kill"]

    control.ask(fleet, "pause", 0)
    fleet = seen(lambda now: now.workers[0]["state"] == "stopped" and now.workers[1]["waits"])
    waits = fleet.workers[1]["waits"]
    gradients = ([0], "backward", "loss.backward()")
    copies = ([0], "all_gather", "for step in run.steps(settings.steps):")  # every 16 steps
    assert (waits["ranks"], waits["collective"], waits["code"]) in (gradients, copies)
    assert waits["place"].startswith("program.py:")
    control.ask(fleet, "resume", 0)
    step = fleet.step
    fleet = seen(lambda now: all_run(now) and now.step > step + 3)

    control.ask(fleet, "slow", 1, 50_000)
    fleet = seen(lambda now: now.workers[1]["rate"] == 50_000 and now.workers[0]["waits"])
    assert fleet.workers[0]["waits"]["ranks"] == [1]
    control.ask(fleet, "slow", 1, 0)

    control.add(fleet)
    fleet = seen(lambda now: now.count == 3 and all_run(now))
    first, added = here.store().leases()
    assert added.holder == first.holder
    with pytest.raises(Refused, match="All places are in use"):
        control.add(fleet)
    assert len(here.store().leases()) == 2
    assert here.store().queue() == []

    family = psutil.Process(first.holder.pid).children(recursive=True)  # type: ignore[union-attr]  # it is held
    control.ask(fleet, "pause", 2)
    seen(lambda now: now.workers[2]["state"] == "stopped")
    jobs.cancel(fleet.job.id)
    until(lambda: jobs.find(fleet.job.id).over)
    assert psutil.wait_procs(family, timeout=60)[1] == []
    assert here.store().leases() == []
    ended = control.latest(ME)
    assert ended is not None
    assert ended.job.state == "cancelled"
    assert ended.step >= step  # what was seen last is still there
    assert not list(Path("/dev/shm").glob(f"sampan-*-fleet-{fleet.job.id}"))


def test_more_places_than_are_free_are_refused_and_nothing_is_left(home: Path) -> None:
    other = here.store().take(Ask("other", "notebook", memory=1 << 28))
    here.store().take(Ask("another", "notebook", memory=1 << 28))
    assert control.free_places() == (1, 3)
    with pytest.raises(Refused, match="All places are in use"):
        control.start(ME, Settings(workers=2))
    assert here.store().queue() == []
    assert control.latest(ME) is None
    assert other is not None


def test_what_the_page_sends_is_checked() -> None:
    form = {"network": "lenet", "exchange": "dgc", "workers": "2", "steps": "50", "pace": "0"}
    assert Settings.of_form(form) == Settings("lenet", "dgc", 2, 50, 0)
    assert Settings.of_text(Settings(steps=7).text()) == Settings(steps=7)
    for wrong in ({"network": "x"}, {"workers": "99"}, {"steps": "0"}, {"steps": "many"}, {"pace": "3"}):
        with pytest.raises(ValueError, match=r"expected|invalid literal"):
            Settings.of_form(form | wrong)


def test_what_a_job_writes_is_read_as_numbers_and_texts_or_not_at_all(home: Path) -> None:
    folder = home / "job"
    (folder / "fleet").mkdir(parents=True)
    worker = {
        "rank": 0, "state": "running", "pid": 1, "step": 3, "loss": None, "rate": None, "curve": [[1, 2]],
        "step_bytes": {"all_reduce": 5}, "total_bytes": {}, "waits": None,
    }  # fmt: skip  # one row of fields to a line
    told: dict[str, Any] = {
        "workers": [worker], "curve": [], "restarts": [], "count": 1, "time": 5,
        "events": [{"time": 1, "what": "kill", "rank": 0, "more": "<b>"}],
    }  # fmt: skip  # one row of fields to a line

    def read(**changed: Any) -> dict[str, Any]:
        (folder / "fleet" / "state.json").write_text(json.dumps(told | changed))
        return control._state(folder)

    assert read()["events"] == [{"time": 1.0, "what": "kill", "rank": 0}]
    assert read()["workers"][0]["curve"] == [(1.0, 2.0)]
    assert read(count="many") == {} == read(workers=[{}]) == read(workers=5) == read(curve=[[1]])
    fleet = Fleet(replace(_job(home)), Settings(), read())
    with pytest.raises(ValueError, match="rank: expected one of 1 workers, got 1"):
        control.ask(fleet, "kill", 1)
    with pytest.raises(ValueError, match="deed: expected"):
        control.ask(fleet, "burn", 0)
    with pytest.raises(ValueError, match="rate: expected"):
        control.ask(fleet, "slow", 0, 17)


def _job(home: Path) -> jobs.Job:
    return jobs.Job("1", Ask(ME, "job"), [], "", 0.0, "", state="done", folder=home)
