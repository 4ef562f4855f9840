"""SIGKILL of shards: what `parameter_server.py` measures."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import numpy as np

from benchmarks.parameter_server_parts import kept
from sampan.distributed.parameter_server import Client, TableSettings
from sampan.transport import Actors


def killed(kind: str, folder: Path, count: int, warm: bool = True) -> tuple[list[float], list[float], str]:
    """Of each SIGKILL of a shard: seconds until the next answered pull, and the processor's seconds of this process
    and of the shard's next one; whether all rows are exact afterwards: sums of whole numbers. warm: kill when the
    process that waits (Ray actors) has loaded everything; otherwise at once again."""
    ids, times, work, expected = np.arange(10_000), [], [], 0.0
    rows = np.ones((len(ids), 16), np.float32)
    with kept(kind, 2, str(folder)) as home:
        client = Client(home.transport, timeout=300.0)
        client.table("t", TableSettings(16, initializer=("constant", 0.0)))
        client.pull("t", ids)
        for number in range(count):
            if warm and isinstance(home.transport, Actors):
                home.transport.spare()
            for _ in range(3):
                client.push({"t": (ids, rows, 1.0)})
                expected -= 1
            victim, before, own = home.pids()[number % 2], processor_times(), time.process_time()
            os.kill(victim, signal.SIGKILL)  # the last push is on its way
            began = time.monotonic()
            found = client.pull("t", ids)
            times.append(time.monotonic() - began)
            now = home.pids()[number % 2]
            work.append(time.process_time() - own + processor_times()[now] - before.get(now, 0.0))
            if not (found == expected).all():
                return times, work, f"no: {np.unique(found)} in place of {expected}"
            client.settle()
    return times, work, "yes"


def processor_times() -> dict[int, float]:
    """The processor's seconds of every process so far."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has ended
            fields = path.read_text().rpartition(")")[2].split()
            found[int(path.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found
