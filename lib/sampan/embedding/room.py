"""How many rows a table may have whose capacity was not given."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.platform != "win32":
    import resource

MOST_ROWS = 100_000_000
PART = 4  # one table reserves a quarter of what the process may still have, so that others find room too
STATES = 2  # an optimizer's arrays of the table's shape, as Adam has
OTHER_BYTES = 160  # of a row: its id, counts, and the slots of the table of ids that are reserved for it


def default_capacity(dim: int, item_bytes: int, ids: int | None) -> int:
    """Rows [dim] of items of so many bytes, for ids from 0 to below `ids`, or any (None).

    A table reserves room for its capacity and takes memory row by row. But Linux counts what is reserved
    where the data or the address space of a process is limited (`ulimit -d`, `ulimit -v`), so there the
    capacity is what fits in a part of the rest.
    """
    most = min(ids or MOST_ROWS, MOST_ROWS)
    room = _room()
    return most if room is None else max(1, min(most, room // PART // _row_bytes(dim, item_bytes)))


def _row_bytes(dim: int, item_bytes: int) -> int:
    return (1 + STATES) * dim * item_bytes + OTHER_BYTES


def _room() -> int | None:
    """The bytes that this process may still reserve; None without a limit, or where that is not known."""
    status = Path("/proc/self/status")
    if sys.platform == "win32" or not status.exists():
        return None
    used = dict(line.split(":", 1) for line in status.read_text().splitlines())
    found = []
    for which, name in ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")):
        limit = resource.getrlimit(which)[0]
        if limit != resource.RLIM_INFINITY:
            found.append(max(0, limit - 1024 * int(used[name].split()[0])))
    return min(found, default=None)
