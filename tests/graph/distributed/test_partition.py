import numpy as np
import pytest

from sampan import datasets
from sampan.graph import Graph
from sampan.graph.distributed.partition import SLACK, owners, quality


def power_law(nodes: int, edges: int, rng: np.random.Generator) -> Graph:
    """Sources have a power law of degrees."""
    return Graph(((nodes * rng.random(edges) ** 3).astype(int), rng.integers(0, nodes, edges)), nodes)


def test_quality_counts_edges_between_shards() -> None:
    graph = Graph([(0, 1), (1, 2), (2, 2), (3, 0)], 4)
    assert quality(graph, np.array([0, 0, 1, 1]), 2) == (0.5, 1.0, 1.0)
    assert quality(Graph([], 0), np.empty(0, np.int32), 2)[0] == 0.0


@pytest.mark.parametrize("parts", [4, 16])
def test_greedy_cuts_fewer_edges_of_a_power_law_than_a_hash(parts: int) -> None:
    graph = power_law(20_000, 200_000, np.random.default_rng(0))
    found = {how: quality(graph, owners(graph, parts, how, ""), parts) for how in ("hash", "ldg")}
    assert found["ldg"].edge_cut < 0.87 * found["hash"].edge_cut
    assert found["ldg"].nodes <= SLACK + parts / graph.num_nodes
    assert abs(found["hash"].edge_cut - (1 - 1 / parts)) < 0.01
    assert found["hash"].nodes < 1.1


def test_greedy_cuts_far_fewer_edges_of_citations_than_a_hash() -> None:
    if "cora" not in datasets.available():
        pytest.skip("needs cora in SAMPAN_DATA")
    data = datasets.load_graph("cora")
    found = {how: quality(data.graph, owners(data.graph, 4, how, ""), 4) for how in ("hash", "ldg")}
    assert found["ldg"].edge_cut < 0.35 * found["hash"].edge_cut
    assert found["ldg"].nodes <= SLACK + 4 / data.graph.num_nodes
