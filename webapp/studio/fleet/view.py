"""What the page shows of a fleet, from the files of its workers: plain values, written as JSON by the host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampan.distributed.elastic import report

POINTS = 240  # of a curve
SMALL = 60  # points of a worker's own curve
Records = NDArray[Any]  # of report.RECORD


def restarts(records: Records) -> list[dict[str, float]]:
    """Where the steps of one rank go on in another process: at (the step that would have been next), again (how many
    steps are computed again), seconds (without a step), time (of the first step after it)."""
    found = []
    for at in np.flatnonzero(records["started"][1:] != records["started"][:-1]) + 1:
        before, after = records[at - 1], records[at]
        found.append(
            {
                "at": int(before["step"]) + 1,
                "again": max(0, int(before["step"]) + 1 - int(after["step"])),
                "seconds": float(after["time"] - before["time"]),
                "time": float(after["time"]),
            }
        )
    return found


def curve(all_records: list[Records], points: int = POINTS) -> list[tuple[float, float]]:
    """(step, loss) in the order of steps: the mean over the workers of each step, as computed last, and over
    neighbouring steps where there are more than `points`."""
    records = np.concatenate(all_records) if all_records else np.zeros(0, report.RECORD)
    records = records[np.isfinite(records["loss"])]
    if not records.size:
        return []
    records = records[np.argsort(records["time"], kind="stable")]
    starts = restarts(all_records[0])
    if starts:  # the steps that were computed again replace those before the kill
        at, now = records["step"], records["time"]
        dropped = np.zeros(len(records), bool)
        for one in starts:
            dropped |= (now < one["time"] - 1e-9) & (at >= one["at"] - one["again"]) & (at < one["at"])
        kept = records[~dropped]
        records = kept if kept.size else records
    lowest, highest = int(records["step"].min()), int(records["step"].max())
    width = max(1, -(-(highest - lowest + 1) // points))
    place = (records["step"] - lowest) // width
    counts = np.bincount(place)
    with_any = counts > 0
    losses = np.bincount(place, records["loss"])[with_any] / counts[with_any]
    middles = np.bincount(place, records["step"].astype(np.float64))[with_any] / counts[with_any]
    return [(round(float(x), 2), float(f"{y:.5g}")) for x, y in zip(middles + 1, losses, strict=True)]


def events(folder: Path) -> list[dict[str, Any]]:
    """What the host has done, oldest first."""
    try:
        lines = (folder / "events.jsonl").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


def seen(folder: Path, count: int, program: str) -> dict[str, Any]:
    """The state of the workers: one entry for each, the mean curve, restarts, and events."""
    reports = [one for one in report.read(folder) if one.rank < count]
    records = [report.steps(folder, rank) for rank in range(count)]
    goes_on = restarts(records[0]) if records else []
    workers = []
    for one in reports:
        waits = None
        if one.waits is not None:
            place = f"{Path(one.waits.file).name}:{one.waits.line}" if one.waits.file else ""
            waits = {
                "collective": one.waits.collective.removeprefix("DataParallel's "), "place": place, "since": one.waits.since,
                "ranks": list(one.waits.ranks), "code": _line(one.waits.file, one.waits.line, program),
            }  # fmt: skip  # one row of fields to a line
        # Its last step is newer than its report, which is written a few times a second.
        own = records[one.rank][records[one.rank]["started"] == one.started]
        step, loss = (int(own["step"][-1]), float(own["loss"][-1])) if own.size else (one.step, one.loss)
        workers.append(
            {
                "rank": one.rank, "state": one.state, "pid": one.pid, "step": step + 1,
                "loss": loss if np.isfinite(loss) else None, "rate": one.rate, "waits": waits,
                "step_bytes": {name: counts[2] for name, counts in one.step_bytes.items()},
                "total_bytes": {name: counts[2] for name, counts in one.total_bytes.items() if counts[2]},
                "curve": curve([records[one.rank]], SMALL),
            }
        )  # fmt: skip  # one row of fields to a line
    return {"workers": workers, "curve": curve(records), "restarts": goes_on, "events": events(folder)}


def _line(file: str, number: int, program: str) -> str:
    """The text of a line of the training program."""
    if file != program:
        return ""
    lines = Path(file).read_text("utf-8").splitlines()
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""
