"""What tables on shards need: machines, memory, bytes through the network, steps a second."""

from __future__ import annotations

import functools
import math
import time
from typing import NamedTuple

import numpy as np

from ...engine.tensor import InvalidArgument
from ...kernels.cpu_embedding_shards import divided
from .shard import Shard

STATES = {"SGD": 0, "Adagrad": 1, "Momentum": 1, "Adam": 2, "AdamW": 2}  # arrays as wide as a row
PER_ROW = 93  # bytes beside weights and state, measured: id, slot of the hash table, when it was seen
PER_ID = 8  # bytes of an id in a message


class Costs(NamedTuple):
    """Seconds on one machine: of a request to a shard; of pulling and pushing one row of one number, and what
    a row costs whatever its width."""

    request: float
    number: float
    row: float

    @classmethod
    def measured(cls, rows: int = 10_000, rounds: int = 9) -> Costs:
        """From pulls and pushes of one shard in memory, of other ids in each round, of which some are new;
        the median of the rounds, in time of this thread: what other programs take is not counted, but for
        the processor's caches."""
        times = []
        for count, dim in ((1, 1), (rows, 1), (rows, 65)):
            # No more is reserved: a session's memory is limited.
            shard, rng = _shard(dim, capacity=20 * count), np.random.default_rng(0)
            given, found = np.zeros((count, dim), np.float32), []
            for step in range(1, rounds + 2):
                ids = np.sort(rng.choice(20 * count, count, replace=False))
                begin = time.thread_time()
                shard.pull("t", ids, step)
                shard.push("t", ids, given, 0.1, 0, step)
                found.append(time.thread_time() - begin)
            times.append(float(np.median(found[1:])))
        number = max(times[2] - times[1], 0.0) / (64 * rows)
        return cls(times[0], number, max(times[1] - times[0], 0.0) / rows)


class Plan(NamedTuple):
    """bytes_per_row; shards; memory_per_shard: bytes; ids_per_step: different ones in a batch;
    network_per_step: bytes, both ways, of one worker; steps_per_second: of one worker, what the shards, its
    network and nothing else allow; None without costs."""

    bytes_per_row: float
    shards: int
    memory_per_shard: float
    ids_per_step: float
    network_per_step: float
    steps_per_second: float | None


@functools.lru_cache(maxsize=16)  # plans of one table for several numbers of machines
def distinct(ids: int, rows: int, skew: float = 1.05) -> float:
    """How many different ids a batch has, expected: `ids` draws, where rank r of `rows` has a probability
    proportional to r^-skew (Zipf's law). The sum over the ranks of 1 - (1 - p_r)^ids; above a million, ranks
    are taken together in intervals of a thousandth of their size."""
    exact = np.arange(1, min(rows, 1_000_000) + 1, dtype=np.float64)
    edges = np.array([], np.float64)
    if rows > exact.size:
        count = math.ceil(1000 * math.log(rows / exact.size))
        edges = np.geomspace(exact.size + 0.5, rows + 0.5, count + 1)
    middle, width = np.sqrt(edges[1:] * edges[:-1]), np.diff(edges)
    weights, many = np.append(exact, middle) ** -skew, np.append(np.ones(exact.size), width)
    chance = weights / (weights * many).sum()
    return float((many * -np.expm1(ids * np.log1p(-chance))).sum())


def plan(
    rows: int,
    dim: int,
    ids: int,
    rule: str = "Adam",
    memory: float = 256e9,
    spare: float = 1.2,
    skew: float = 1.05,
    half: bool = False,
    costs: Costs | None = None,
    bandwidth: float = 1.25e9,
    shards: int | None = None,
) -> Plan:
    """What a table of `rows` rows [dim] needs, whose batches look `ids` ids up.

    rule: its state counts. memory: bytes of a machine, one for each shard; spare: what is kept free, as a
    factor. skew: of Zipf's law. half: rows travel as bfloat16. bandwidth: bytes per second of a machine's
    network. shards: so many, in place of the least that hold the table.

    A row takes 4 dim (1 + states) + 93 bytes. A step pulls and pushes u different ids: 2 u (8 + 4 dim) bytes
    (2 dim with half). Time of a step: a request to each shard, one after another; the largest share of the
    rows, u / shards + 3 sqrt(u / shards), at a shard; and the bytes at the worker's network.
    """
    for name, value in {"rows": rows, "dim": dim, "ids": ids}.items():
        if not isinstance(value, int) or value < 1:
            raise InvalidArgument(f"{name}: expected a whole number of at least 1, got {value!r}")
    if rule not in STATES:
        raise InvalidArgument(f"rule: expected one of {', '.join(STATES)}, got {rule!r}")
    if not (memory > 0 and spare >= 1 and bandwidth > 0):
        raise InvalidArgument("memory, spare, bandwidth: expected numbers above 0, spare at least 1")
    per_row = 4.0 * dim * (1 + STATES[rule]) + PER_ROW
    machines = shards or math.ceil(rows * per_row * spare / memory)
    different = distinct(ids, rows, skew)
    network = 2 * different * (PER_ID + dim * (2 if half else 4))
    rate = None
    if costs is not None:
        share = different / machines
        share = min(different, share + 3 * math.sqrt(share))
        seconds = machines * costs.request + share * (costs.row + dim * costs.number) + network / bandwidth
        rate = 1 / seconds
    return Plan(per_row, machines, rows * per_row / machines, different, network, rate)


class Simulated(NamedTuple):
    """ids_per_step: mean of the different ids of a batch; imbalance: the largest shard's share of them over
    an equal one; seconds_per_step: median, of one shard that serves its share, in time of this thread;
    rows: that it has at the end."""

    ids_per_step: float
    imbalance: float
    seconds_per_step: float
    rows: int


def simulate(
    shards: int, rows: int, dim: int, ids: int, steps: int = 20, rule: str = "Adam", skew: float = 1.05
) -> Simulated:
    """One real shard of `shards` serves its part of a stream of Zipf's law; the others' parts are counted."""
    rng, shard = np.random.default_rng(0), _shard(dim, rule, shards)
    counts, times, different = [], [], []
    for step in range(1, steps + 1):
        batch = np.unique(zipf(rng, ids, rows, skew))
        order, bounds = divided(batch, shards)
        mine = batch[order[: bounds[1]]]
        gradients = rng.normal(size=(mine.size, dim)).astype(np.float32)
        begin = time.thread_time()
        shard.pull("t", mine, step)
        shard.push("t", mine, gradients, 0.01, 0, step)
        times.append(time.thread_time() - begin)
        counts.append(np.diff(bounds))
        different.append(batch.size)
    share = np.array(counts)
    imbalance = float((share.max(1) * shards / share.sum(1)).mean())
    held = shard.statistics("t")["rows"]
    return Simulated(float(np.mean(different)), imbalance, float(np.median(times)), held)


def zipf(rng: np.random.Generator, count: int, rows: int, skew: float) -> np.ndarray:
    """`count` ids from 0 to below `rows`, rank r with a probability proportional to about r^-skew: by the
    inverse of the continuous distribution on 1 to rows + 1, skew not 1."""
    power = 1 - skew
    return ((1 + rng.random(count) * ((rows + 1.0) ** power - 1)) ** (1 / power)).astype(np.int64) - 1


def _shard(dim: int, rule: str = "SGD", shards: int = 1, capacity: int | None = None) -> Shard:
    settings = {"lazy_mode": True} if rule in ("Adam", "AdamW") else {}
    shard = Shard()
    shard.open("", 0, shards)
    shard.table("t", {"dim": dim, "rule": rule, "rule_settings": settings, "capacity": capacity})
    return shard
