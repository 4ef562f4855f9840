import re
from pathlib import Path

import numpy as np
import pytest

from sampan.graph import Graph, k_hop
from sampan.graph.distributed import Costs, ShardedGraph, plan

DOCUMENT = Path(__file__).parents[3] / "docs" / "graph-scale.md"
WIDTH = 16  # float32 features


def uniform(nodes: int, degree: int) -> Graph:
    rng = np.random.default_rng(0)
    ends = rng.integers(0, nodes, nodes * degree), rng.integers(0, nodes, nodes * degree)
    return Graph(ends, nodes, node_feat={"x": np.zeros((nodes, WIDTH), np.float32)})


@pytest.mark.parametrize(("nodes", "degree", "parts"), [(2_000, 4, 1), (2_000, 20, 3), (20_000, 8, 2)])
def test_planned_bytes_are_those_of_the_files_and_arrays(
    tmp_path: Path, nodes: int, degree: int, parts: int
) -> None:
    graph = uniform(nodes, degree)
    with ShardedGraph.partition(graph, parts, tmp_path / "g") as shards:
        imbalance = max(shards.quality.nodes, shards.quality.edges)
        said = plan(nodes, nodes * degree, 4 * WIDTH, parts, 10, [1], imbalance=imbalance)
        held = [sum(array.nbytes for array in s.arrays.values()) for s in shards._home.shards]
        assert 0.95 * said.memory_per_shard < max(held) <= 1.01 * said.memory_per_shard
    files = sum(path.stat().st_size for path in (tmp_path / "g").rglob("*.npy"))
    assert files == pytest.approx(said.disk, rel=0.02)


@pytest.mark.parametrize("fanouts", [[5], [15, 10], [-1, 3]])
def test_planned_samples_are_those_that_are_drawn(fanouts: list[int]) -> None:
    graph = uniform(20_000, 12)
    said = plan(20_000, 240_000, 0, 1, 500, fanouts)
    found = k_hop(graph, range(500), fanouts, seed=0)
    assert len(found.nodes) == pytest.approx(said.nodes_per_batch, rel=0.1)
    assert len(found.edges) == pytest.approx(said.edges_per_batch, rel=0.1)


@pytest.mark.servers
def test_planned_network_and_costs_are_those_of_a_worker(tmp_path: Path) -> None:
    nodes, degree = 20_000, 8
    ShardedGraph.partition(uniform(nodes, degree), 2, tmp_path / "g").close()
    said = plan(nodes, nodes * degree, 4 * WIDTH, 2, 500, [5, 5])
    with ShardedGraph.open(tmp_path / "g", workers=1, timeout=120) as shards:
        before = sum(shards.bytes_moved)
        shards.k_hop(range(500), [5, 5], features=["x"], seed=0)
        assert sum(shards.bytes_moved) - before == pytest.approx(said.network_per_batch, rel=0.15)
    costs = Costs.measured(nodes=2_000, edges=20_000, rounds=3)
    assert costs.request > 0 and costs.edge > 0 and costs.byte >= 0
    timed = plan(nodes, nodes * degree, 4 * WIDTH, 2, 500, [5, 5], costs=costs).seconds_per_batch
    assert timed is not None and timed >= 6 * costs.request


def test_time_is_the_sum_of_its_parts() -> None:
    given = (1000, 10_000, 64, 4, 10, [3])
    said = plan(*given)
    assert said.seconds_per_batch is None
    timed = plan(*given, costs=Costs(1.0, 2.0, 3.0), bandwidth=0.5).seconds_per_batch
    assert timed == pytest.approx(2 * 4 * 1.0 + 4.0 * said.network_per_batch + 3.0 * said.edges_per_batch)


def test_wrong_numbers_are_refused() -> None:
    for given, text in (
        ((0, 1, 1, 1, 1, [1]), "at least 1 for nodes, got 0"),
        ((10, -1, 1, 1, 1, [1]), "at least 0 for edges, got -1"),
        ((10, 1, 1, 0, 1, [1]), "at least 1 for shards, got 0"),
        ((10, 1, 1, 1, 11, [1]), "batch <= nodes"),
        ((10, 1, 1, 1, 1, [-2]), "at least -1 for fanouts, got -2"),
    ):
        with pytest.raises(ValueError, match=text):
            plan(*given)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="above 0 for bandwidth, got -1"):
        plan(10, 1, 1, 1, 1, [1], bandwidth=-1)


def test_the_document_has_the_planner_s_numbers() -> None:
    text = DOCUMENT.read_text()
    request, byte, edge = (
        float(n) for n in re.findall(r"([\d.]+) (?:µs a request|ns a byte|ns an edge)", text)
    )
    costs = Costs(request * 1e-6, byte * 1e-9, edge * 1e-9)
    rows = re.findall(r"^\| (\d+) \| .*\|$", text, re.M)
    assert [int(shards) for shards in rows] == [16, 64, 256]
    for shards in map(int, rows):
        said = plan(10**9, 10**10, 256, shards, 1024, [15, 10], imbalance=1.05, costs=costs, bandwidth=1.25e9)
        assert said.seconds_per_batch is not None
        row = (
            f"| {shards} | {said.memory_per_shard / 1e9:.1f} GB | {said.client_memory / 1e9:.1f} GB | "
            f"{said.disk / 1e9:.0f} GB | {said.nodes_per_batch:,.0f} | {said.edges_per_batch:,.0f} | "
            f"{said.network_per_batch / 1e6:.1f} MB | {1e3 * said.seconds_per_batch:.0f} ms |"
        )
        assert row in text, row
