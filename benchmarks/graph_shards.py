"""What `sampan.graph.distributed.plan` says of memory, network and time, beside measured runs: a Markdown table.

    python benchmarks/graph_shards.py [--rounds 21] [--shards 2] [--sizes 20000 100000 400000]

Each row is a random graph with ten edges a node and 64 float32 features, in that many worker processes; samples of
1,024 seeds, fan-outs [15, 10], with features. Memory is what the arrays of the largest shard take, network what went
through the sockets, time the median and the fastest of the rounds. The costs are measured first, on this machine. Then how many edges
two ways to divide a graph cut, on Cora (if SAMPAN_DATA has it) and on a graph whose sources have a power law.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from sampan import datasets
from sampan.graph import Graph
from sampan.graph.distributed import Costs, ShardedGraph, plan
from sampan.graph.distributed.partition import owners, quality

BATCH, FANOUTS, FEATURES, DEGREE = 1024, [15, 10], 64, 10


def uniform(nodes: int) -> Graph:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, nodes, nodes * DEGREE), rng.integers(0, nodes, nodes * DEGREE)
    return Graph(ends, nodes, node_feat={"x": np.zeros((nodes, FEATURES), np.float32)})


def measured(nodes: int, shards: int, rounds: int) -> tuple[float, float, list[float]]:
    """(bytes of the largest shard, bytes through sockets and seconds of each batch)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph")
        ShardedGraph.partition(uniform(nodes), shards, path).close()
        largest = max(sum(file.stat().st_size for file in one.glob("*.npy")) for one in path.glob("shard-*"))
        rng, times = np.random.default_rng(1), []
        with ShardedGraph.open(path, workers=shards, timeout=300) as graph:
            before = 0
            for turn in range(rounds + 2):
                if turn == 2:  # the pages of the files are in memory by now
                    before, times = sum(graph.bytes_moved), []
                seeds = rng.choice(nodes, BATCH, replace=False)
                begin = time.perf_counter()
                graph.k_hop(seeds, FANOUTS, features=["x"])
                times.append(time.perf_counter() - begin)
            moved = (sum(graph.bytes_moved) - before) / rounds
    return largest, moved, times


def costs_and_plans(sizes: list[int], shards: int, rounds: int) -> None:
    costs = Costs.measured()
    print(f"Costs: {1e6 * costs.request:.0f} µs a request, {1e9 * costs.byte:.2f} ns a byte, ", end="")
    print(f"{1e9 * costs.edge:.0f} ns an edge; {shards} shards.\n")
    print(
        "| nodes | shard, planned MB | measured | batch, planned MB | measured | planned ms | fastest | median |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for nodes in sizes:
        largest, moved, times = measured(nodes, shards, rounds)
        said = plan(nodes, nodes * DEGREE, 4 * FEATURES, shards, BATCH, FANOUTS, costs=costs)
        pairs = [(said.memory_per_shard / 1e6, largest / 1e6), (said.network_per_batch / 1e6, moved / 1e6)]
        pairs.append((1e3 * (said.seconds_per_batch or 0.0), 1e3 * min(times)))
        print(
            f"| {nodes:,} | "
            + " | ".join(f"{a:.1f} | {b:.1f}" for a, b in pairs)
            + f" | {1e3 * median(times):.1f} |",
            flush=True,
        )


def cuts() -> None:
    rng = np.random.default_rng(0)
    nodes, edges = 200_000, 2_000_000
    power_law = Graph(((nodes * rng.random(edges) ** 3).astype(int), rng.integers(0, nodes, edges)), nodes)
    graphs = {"power law": power_law}
    if "cora" in datasets.available():
        graphs["Cora"] = datasets.load_graph("cora").graph
    print(
        "\n| graph | shards | how | edge cut | nodes, largest / equal share | edges | s |\n|---|---|---|---|---|---|---|"
    )
    for name, graph in graphs.items():
        for parts in (4, 16):
            for how in ("hash", "ldg"):
                begin = time.perf_counter()
                owner = owners(graph, parts, how, "benchmark")
                seconds = time.perf_counter() - begin
                cut, of_nodes, of_edges = quality(graph, owner, parts)
                print(
                    f"| {name} | {parts} | {how} | {cut:.3f} | {of_nodes:.2f} | {of_edges:.2f} | {seconds:.2f} |"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 100_000, 400_000])
    given = parser.parse_args()
    costs_and_plans(given.sizes, given.shards, given.rounds)
    cuts()
