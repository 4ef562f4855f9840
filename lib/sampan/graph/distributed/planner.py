"""What a sharded graph needs: memory, bytes through the network, and time for a batch."""

import math
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..drawing import whole
from ..graph import Graph
from .sharded_graph import ShardedGraph

ROW_STARTS, OWNER, ROW, NUMBERED, SOURCE, NUMBER, COUNT, PLACE = 8, 2, 4, 4, 4, 8, 4, 4  # bytes of one entry


class Costs(NamedTuple):
    """Seconds on one machine: of a request to one worker, of a byte through its socket, of an edge that is
    drawn and joined to the sample."""

    request: float
    byte: float
    edge: float

    @classmethod
    def measured(cls, nodes: int = 200_000, edges: int = 2_000_000, rounds: int = 15) -> "Costs":
        """The fastest of `rounds` calls on a random graph of this size, whose folder is then removed. Starts
        one worker. Edges of a graph that does not fit the processor's cache cost more: measure a large one.

        Calls beside other programs take longer: measure on an idle machine."""
        rng = np.random.default_rng(0)
        ends = rng.integers(0, nodes, edges), rng.integers(0, nodes, edges)
        graph = Graph(ends, nodes, node_feat={"x": np.zeros((nodes, 128), np.float32)})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "graph")
            with ShardedGraph.partition(graph, 1, path) as here:
                seeds = rng.permutation(nodes)[: nodes // 10]
                draws = rounds * [lambda: here.k_hop(seeds, [10])]
                edge = _time(draws) / max(int(here.k_hop(seeds, [10]).edge_counts[0]), 1)
            with ShardedGraph.open(path, workers=1, verify=False) as there:
                request = _time(rounds * 20 * [lambda: there.features([0])])
                before = sum(there.bytes_moved)
                rows = _time(rounds * [lambda: there.features(seeds)])
                moved = (sum(there.bytes_moved) - before) / rounds
        return cls(request, max(rows - request, 0.0) / moved, edge)


def _time(calls: Sequence[Callable[[], Any]]) -> float:
    calls[0]()
    times = []
    for call in calls:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


class Plan(NamedTuple):
    """memory_per_shard, client_memory, disk, network_per_batch: bytes. nodes_per_batch, edges_per_batch: of a
    sample. seconds_per_batch: None without costs."""

    memory_per_shard: float
    client_memory: float
    disk: float
    nodes_per_batch: float
    edges_per_batch: float
    network_per_batch: float
    seconds_per_batch: float | None


def plan(
    nodes: int,
    edges: int,
    feature_bytes: int,
    shards: int,
    batch: int,
    fanouts: Sequence[int],
    edge_feature_bytes: int = 0,
    imbalance: float = 1.0,
    costs: Costs | None = None,
    bandwidth: float | None = None,
) -> Plan:
    """What a `ShardedGraph` of N nodes and E edges in S shards needs, for samples of B seeds.

    feature_bytes F, edge_feature_bytes G: of one node and one edge. imbalance b: the largest shard over an
    equal share (`ShardedGraph.quality`). bandwidth: bytes per second of a network between this process and
    the shards, besides the sockets of `costs`.

    Memory of a shard: b / S * (N * (8 + F) + E * (4 + 8 + G)): row starts, features; source, number,
    features. Memory of this process: N * (2 + 4 + 4): shard and row of each node, the table that numbers a
    sample. Disk: the shards without b, and the directory, N * (2 + 4).
    Sample: f_0 = B, and for each hop e_h = f_h * min(fanout, E / N), or f_h * E / N for -1, and
    f_h+1 = (N - f_0 - ... - f_h) * (1 - (1 - 1/N)^e_h), the new nodes among e_h sources if each node is
    equally likely. Degrees of another distribution give fewer edges into equally likely nodes (min is
    concave) and fewer different sources. A fan-out of -1 in a later hop gives more, where nodes with many
    edges out have many in.
    Network: each hop asks with 4 + 4 bytes a node and is answered with 4 a node and 4 + 8 + G an edge;
    features cost 4 + F a node of the sample. All shards are counted as remote.
    Time: hops + 1 rounds of S requests, network * (costs.byte + 1 / bandwidth), and edges * costs.edge; edges
    are not divided by S, because joining them to a sample is the larger part of costs.edge: an upper bound.
    Checked by `benchmarks/graph_shards.py` against measured runs.
    """
    least = {"nodes": nodes, "shards": shards, "batch": batch}
    for name, value in least.items():
        whole(value, 1, f"plan: expected a whole number of at least 1 for {name}")
    for name, value in {"edges": edges, "feature_bytes": feature_bytes}.items():
        whole(value, 0, f"plan: expected a whole number of at least 0 for {name}")
    if bandwidth is not None and not bandwidth > 0:
        raise ValueError(f"plan: expected bytes per second above 0 for bandwidth, got {bandwidth}")
    if batch > nodes or not imbalance >= 1:
        raise ValueError(
            f"plan: expected batch <= nodes and imbalance >= 1, got {batch}, {nodes} and {imbalance}"
        )
    stored = nodes * (ROW_STARTS + feature_bytes) + edges * (SOURCE + NUMBER + edge_feature_bytes)
    frontier, seen, drawn, network, degree = float(batch), float(batch), 0.0, 0.0, edges / nodes
    for fanout in fanouts:
        whole(fanout, -1, "plan: expected whole numbers of at least -1 for fanouts")
        found = frontier * (degree if fanout < 0 else min(fanout, degree))
        network += frontier * (ROW + PLACE + COUNT) + found * (SOURCE + NUMBER + edge_feature_bytes)
        frontier = (nodes - seen) * -math.expm1(found * math.log1p(-1 / nodes)) if nodes > 1 else 0.0
        seen, drawn = seen + frontier, drawn + found
    network += seen * (ROW + feature_bytes)
    seconds = None
    if costs is not None:
        wire = costs.byte + (1 / bandwidth if bandwidth else 0.0)
        seconds = (len(fanouts) + 1) * shards * costs.request + network * wire + drawn * costs.edge
    return Plan(
        imbalance * stored / shards,
        nodes * (OWNER + ROW + NUMBERED),
        stored + nodes * (OWNER + ROW),
        seen,
        drawn,
        network,
        seconds,
    )
