"""The server's part of a fleet: starts its job, reads what it shows, and passes requests on.

The job runs under a lease with as many places as workers. Its own process signals the workers (`host.py`): the server only
adds a line to a file of the job, and what a worker writes is read as text and numbers.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from studio.compute import here, jobs
from studio.compute.binding import full
from studio.compute.jobs import Job
from studio.compute.lease import Ask, Place

from .settings import MOST_WORKERS, RATES, Settings

HOST = Path(__file__).with_name("host.py")
TITLE = "Fleet"
SECONDS = 3600.0
MEMORY = 2 << 30  # bytes for each worker, if the machine has them
DEEDS = ("kill", "pause", "resume", "slow")


@dataclass(frozen=True)
class Fleet:
    """The latest fleet of a person. state: what its host has written last, see `view.seen`."""

    job: Job
    settings: Settings
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def workers(self) -> list[dict[str, Any]]:
        return list(self.state.get("workers", ()))

    @property
    def count(self) -> int:
        """How many workers there are or will be."""
        return int(self.state.get("count", self.settings.workers))

    @property
    def step(self) -> int:
        """Steps that a worker has completed, the most of all."""
        return max((int(worker["step"]) for worker in self.workers), default=0)

    @property
    def asked(self) -> bool:
        """Whether the host has yet to do what it was asked last."""
        try:
            return (self.job.folder / "asked.jsonl").stat().st_mtime > float(self.state.get("time", 0))
        except FileNotFoundError:
            return False


def start(owner: str, settings: Settings) -> Job:
    """Start a fleet now, with a place for each worker. Raises `lease.Refused` if not as many are free, ValueError while
    another one of this person runs."""
    running = latest(owner)
    if running is not None and not running.job.over:
        raise ValueError(f"a fleet runs already: {running.job.id}")
    memory = min(MEMORY, here.store().machine.slot_memory)
    ask = Ask(owner, "job", TITLE, memory=memory, seconds=SECONDS, places=settings.workers)
    job = jobs.start(
        HOST, [settings.text()], ask=ask, cwd=here.state().parent, queue=False, workers_of_its_own=True
    )
    for older in _all(owner)[1:]:  # one is kept: the page shows the latest
        if older.over:
            jobs.remove(older.id)
    return job


def latest(owner: str) -> Fleet | None:
    """The fleet that this person started last, running or not."""
    for job in _all(owner):
        try:
            settings = Settings.of_text(job.command[1])
        except (ValueError, TypeError, IndexError):  # of another version
            continue
        return Fleet(job, settings, _state(job.folder))
    return None


def ask(fleet: Fleet, deed: str, rank: int, rate: int = 0) -> None:
    """Ask the host to do something with one worker. ValueError for what it does not know."""
    if deed not in DEEDS:
        raise ValueError(f"deed: expected one of {', '.join(DEEDS)}, got {deed!r}")
    if not 0 <= rank < fleet.count:
        raise ValueError(f"rank: expected one of {fleet.count} workers, got {rank}")
    if rate not in RATES:
        raise ValueError(f"rate: expected one of {', '.join(map(str, RATES))}, got {rate}")
    _pass_on(fleet, {"do": deed, "rank": rank, "rate": rate})


def add(fleet: Fleet) -> None:
    """One more worker, in a place of its own that the host's process then holds. Raises `lease.Refused` if none is free,
    ValueError if the fleet has ended or has the most workers."""
    store = here.store()
    lease = next((one for one in store.leases(fleet.job.ask.owner) if one.id == fleet.job.lease), None)
    if fleet.job.over or lease is None or lease.holder is None:
        raise ValueError("the fleet has ended")
    if fleet.count >= MOST_WORKERS:
        raise ValueError(f"a fleet has at most {MOST_WORKERS} workers")
    given = fleet.job.ask
    seconds = max(1.0, lease.ends - time.time())
    answer = store.take(
        Ask(given.owner, "job", TITLE, memory=given.memory, seconds=seconds), holder=lease.holder
    )
    if isinstance(answer, Place):
        store.leave(answer.ticket)
        raise full(answer)
    _pass_on(fleet, {"do": "add"})


def free_places() -> tuple[int, int]:
    """(free CPU places, all of them)."""
    store = here.store()
    lent = {device for lease in store.leases() for device in lease.devices}
    places = [one.id for one in store.machine.devices if one.kind == "cpu" and not one.grading_only]
    return sum(one not in lent for one in places), len(places)


def _all(owner: str) -> list[Job]:
    return [job for job in jobs.all(owner) if job.command[:1] == [str(HOST)]]


def _pass_on(fleet: Fleet, asked: dict[str, Any]) -> None:
    with open(fleet.job.folder / "asked.jsonl", "a", encoding="utf-8") as file:
        file.write(json.dumps(asked) + "\n")


def _state(folder: Path) -> dict[str, Any]:
    """What the host has written, with everything of the expected kind: {} for anything else."""
    try:
        told = json.loads((folder / "fleet" / "state.json").read_text("utf-8"))
        return {
            "workers": [_worker(one) for one in told["workers"]],
            "curve": _points(told["curve"]),
            "restarts": [
                {name: float(one[name]) for name in ("at", "again", "seconds", "time")}
                for one in told["restarts"]
            ],
            "events": [_event(one) for one in told["events"]],
            "count": int(told["count"]),
            "time": float(told["time"]),
            "accuracy": None if told.get("accuracy") is None else float(told["accuracy"]),
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


def _worker(told: dict[str, Any]) -> dict[str, Any]:
    waits = told["waits"]
    return {
        "rank": int(told["rank"]), "state": str(told["state"]), "pid": int(told["pid"]), "step": int(told["step"]),
        "loss": _finite(told["loss"]), "rate": _finite(told["rate"]), "curve": _points(told["curve"]),
        "step_bytes": {str(name): float(count) for name, count in told["step_bytes"].items()},
        "total_bytes": {str(name): float(count) for name, count in told["total_bytes"].items()},
        "waits": waits and {
            "collective": str(waits["collective"]), "place": str(waits["place"]), "code": str(waits["code"]),
            "since": float(waits["since"]), "ranks": [int(rank) for rank in waits["ranks"]],
        },
    }  # fmt: skip  # one row of fields to a line


def _event(told: dict[str, Any]) -> dict[str, Any]:
    numbers: dict[str, Any] = {name: int(told[name]) for name in ("rank", "rate", "workers") if name in told}
    return {"time": float(told["time"]), "what": str(told["what"]), **numbers}


def _points(told: Any) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in told]


def _finite(told: Any) -> float | None:
    return None if told is None or not math.isfinite(told) else float(told)
