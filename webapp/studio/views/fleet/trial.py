"""Two real shards beside the plan: steps per second of pulls and pushes, in this process, in processes or in Ray actors."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np

SHARDS, STEPS = 2, 6
MOST = 4_000_000  # numbers of a batch: a page's memory is limited
SKEW = 1.05


class Trial(NamedTuple):
    """ids: of a batch, different: those of them that differ; measured: steps per second, of the fastest step, as costs
    are measured; planned: of the shards alone, without a network."""

    ids: int
    different: int
    measured: float
    planned: float


def tried(kind: str, rows: int, dim: int, ids: int, rule: str, half: bool, costs: object) -> Trial:
    """Train a table of `rows` rows [dim] on two shards of a kind of `start_shards`, with made gradients. The batch has
    `ids` ids of Zipf's law, or as many as fit; it is the same in each step, so that its rows are there."""
    from sampan.distributed.parameter_server.client import Client
    from sampan.distributed.parameter_server.planner import plan, zipf
    from sampan.distributed.parameter_server.settings import TableSettings
    from sampan.distributed.parameter_server.start import start_shards

    ids = max(1, min(ids, MOST // dim))
    rng, times = np.random.default_rng(0), []
    batch = np.unique(zipf(rng, ids, rows, SKEW))
    gradients = rng.standard_normal((batch.size, dim), np.float32)
    given = {"lazy_mode": True} if rule in ("Adam", "AdamW") else {}
    transport = start_shards(SHARDS, kind)
    try:
        client = Client(transport, half=half)
        client.table("t", TableSettings(dim, capacity=ids, rule=rule, rule_settings=given))
        for _ in range(STEPS + 1):
            begin = time.perf_counter()
            client.pull("t", batch)
            client.push({"t": (batch, gradients, 0.01)})
            client.settle()
            times.append(time.perf_counter() - begin)
    finally:
        transport.close()
    made = plan(rows, dim, ids, rule, skew=SKEW, half=half, costs=costs, bandwidth=1e15, shards=SHARDS)  # type: ignore[arg-type]  # Costs
    assert made.steps_per_second is not None  # there are costs
    return Trial(ids, batch.size, 1 / min(times[1:]), made.steps_per_second)  # the first step makes the rows
