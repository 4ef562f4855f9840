"""Shards of tables, started in one of the ways of `transport`."""

from __future__ import annotations

from pathlib import Path

from ...engine.errors import InvalidArgument
from ...transport import Actors, Call, InProcess, Transport, Workers
from .shard import Shard

KINDS = ("in process", "processes", "actors")


def start_shards(
    shards: int,
    kind: str = "in process",
    folder: str | Path = "",
    *,
    timeout: float = 60.0,
    patience: float = 30.0,
    name: str = "",
) -> Transport:
    """Open `shards` shards, and whatever tables their folder has.

    kind: "in process"; "processes": one for each shard, started again when one dies; "actors": of a Ray
    cluster, all of whose machines see the folder (extra `cluster`). folder: where rows and logs lie; "" for
    memory alone: then a shard that dies comes back without tables. timeout: seconds for which a shard may
    be silent. patience: seconds for which a process that dies is started again. name: of actors that
    several clients share.
    """
    if kind not in KINDS:
        raise InvalidArgument(f"kind: expected one of {', '.join(KINDS)}, got {kind!r}")
    if shards < 1:
        raise InvalidArgument(f"shards: expected 1 or more, got {shards}")
    openings: list[Call] = [
        (number, "open", (str(folder) and str(Path(folder).resolve()), number, shards))
        for number in range(shards)
    ]
    if kind == "in process":
        return InProcess(Shard, shards, openings)
    if kind == "processes":
        return Workers(Shard, shards, shards, timeout, openings, patience, f"{__package__}.warm")
    return Actors(Shard, shards, openings, name, timeout, f"{__package__}.warm")
