"""The session that a program runs in: its device, how long and how much it may, and the progress that it
reports.

    sampan.session.time_left()                      # seconds
    sampan.session.keep()                           # still in use
    sampan.session.progress(step, steps, loss=0.3)  # a point of a curve

The Studio writes a file beside each session (`SAMPAN_SESSION`) and reads another; there is no other channel
between the two. In a program that was started without the Studio, `device()` and the limits raise NoSession,
and `progress`, `keep` and `artefacts` do nothing, nothing, and return a folder in the working
directory.
"""

from __future__ import annotations

import json
import math
import os
import time
from pathlib import Path
from typing import Any

__all__ = ["NoSession", "about", "artefacts", "device", "keep", "memory_left", "progress", "time_left"]


class NoSession(RuntimeError):
    """This program does not run in a session of the Studio."""


def about() -> dict[str, Any]:
    """The Studio's record of this session. Raises NoSession outside one.

    `id`, `owner`, `purpose` ("notebook", "page", "job" or "grading"), `title`, `device`, `share` of the GPU's
    memory, `memory` in bytes, `granted` and `ends` in seconds since 1970, `culled_at`: when it will be
    culled as idle (0: not scheduled).
    """
    path = os.environ.get("SAMPAN_SESSION")
    if not path:
        raise NoSession(
            "this program does not run in a session: open it in the Studio, or start it with `sampan run`"
        )
    try:
        found: dict[str, Any] = json.loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        raise NoSession("the session that this program was started in is over") from None
    return found


def device() -> str:
    """ "cpu:3" (a place on the CPU), "gpu:0", or "sim:0": a simulated GPU, which computes on the CPU."""
    return str(about()["device"])


def time_left() -> float:
    """Seconds until the session ends, never below 0."""
    return max(0.0, float(about()["ends"]) - time.time())


def memory_left() -> int:
    """Bytes that this process may still allocate, never below 0. Each child process has the same limit."""
    limit = int(about()["memory"])
    # As the system counts it against the limit: private memory that was allocated, used or not.
    status = Path("/proc/self/status").read_text()
    used = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmData:"))
    return max(0, limit - used)


def keep() -> None:
    """Mark the session as in use: restarts the idle time after which it is culled."""
    path = os.environ.get("SAMPAN_SESSION")
    if path and Path(path).exists():
        Path(path).with_suffix(".keep").touch()


def progress(done: float, total: float = 0, **values: float) -> None:
    """A job's step `done` of `total` (0: unknown) with metrics, each a point of a curve on its
    page."""
    line = {
        "done": float(done),
        "total": float(total),
        "values": {name: float(value) for name, value in values.items()},
    }
    if not (math.isfinite(done) and math.isfinite(total)):
        raise ValueError(f"progress: done and total must be finite numbers, got {done!r} and {total!r}")
    folder = os.environ.get("SAMPAN_JOB")
    if folder:
        with open(Path(folder) / "progress.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def artefacts() -> Path:
    """The folder for a job's output: the Studio lists its files. Outside a job: `artefacts` in the working
    directory."""
    folder = os.environ.get("SAMPAN_JOB")
    path = Path(folder, "artefacts") if folder else Path("artefacts")
    path.mkdir(exist_ok=True)
    return path
