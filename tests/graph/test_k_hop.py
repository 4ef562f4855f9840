import numpy as np
import pytest

import sampan as paddle
from sampan.graph import Graph, HeteroGraph, induced, k_hop
from tests.graph.chances import fits, with_threads

PAIRS = [(1, 0), (2, 0), (2, 0), (0, 0), (3, 1), (4, 2), (0, 2), (5, 4)]  # an edge twice, a loop; 6 is alone
GRAPH = Graph(PAIRS, num_nodes=7)
WRITES, CITES = ("author", "writes", "paper"), ("paper", "cites", "paper")
TYPED = HeteroGraph(
    {"author": 3, "paper": 4, "place": 2},
    {WRITES: [(0, 0), (1, 1), (2, 2), (0, 3)], CITES: [(0, 1), (2, 3), (1, 3)]},
)


def edges_of(sample: object, graph: Graph = GRAPH) -> None:
    """What the sample calls edge e is edge e of the graph."""
    nodes = sample.nodes.numpy()  # type: ignore[attr-defined]
    ends = nodes[sample.sources.numpy()], nodes[sample.targets.numpy()]  # type: ignore[attr-defined]
    numbers = sample.edges.numpy()  # type: ignore[attr-defined]
    assert (ends[0] == graph.sources[numbers]).all()
    assert (ends[1] == graph.targets[numbers]).all()


def test_all_edges_of_two_hops() -> None:
    sample = k_hop(GRAPH, [0, 6, 0], [-1, -1])
    assert sample.nodes.tolist() == [0, 6, 1, 2, 3, 4]
    assert sample.seeds.tolist() == [0, 1, 0]
    assert sorted(sample.edges.tolist()) == [0, 1, 2, 3, 4, 5, 6]
    assert sample.node_counts == [2, 2, 2]
    assert sample.edge_counts == [4, 3]
    edges_of(sample)
    assert repr(sample) == "Sample(node_counts=[2, 2, 2], edge_counts=[4, 3])"
    with pytest.raises(AttributeError, match="no attribute 'times'"):
        sample.times  # noqa: B018 the access is what is tested


def test_sizes_bound_the_edges_of_each_node_and_no_edge_comes_twice() -> None:
    for seed in range(30):
        sample = k_hop(GRAPH, [0, 2], [2, 1], seed=seed)
        assert np.bincount(sample.targets.numpy()).max() <= 2
        assert len(set(sample.edges.tolist())) == len(sample.edges.tolist())
        edges_of(sample)


def test_chances_of_edges() -> None:
    drawn = [tuple(sorted(k_hop(GRAPH, [0], [2], seed=seed).edges.tolist())) for seed in range(3_000)]
    fits(drawn, {(a, b): 1.0 for a in range(4) for b in range(a + 1, 4)})
    weights = [1.0, 2.0, 0.0, 5.0, *[1.0] * 4]
    drawn = [k_hop(GRAPH, [0], [1], weights=weights, seed=seed).edges.tolist()[0] for seed in range(3_000)]
    fits(drawn, {0: 1.0, 1: 2.0, 2: 0.0, 3: 5.0})
    twice = [tuple(k_hop(GRAPH, [2], [2], replace=True, seed=s).edges.tolist()) for s in range(3_000)]
    fits(twice, dict.fromkeys([(5, 5), (5, 6), (6, 5), (6, 6)], 1.0))


def test_a_seed_gives_the_same_sample_with_any_number_of_threads() -> None:
    rng = np.random.default_rng(0)
    large = Graph((rng.integers(0, 3_000, 90_000), rng.integers(0, 3_000, 90_000)), num_nodes=3_000)
    seeds = rng.permutation(3_000)[:1_500]
    one, two = (with_threads(n, lambda: k_hop(large, seeds, [10, 20], seed=4)) for n in (1, 2))
    assert one.edges.tolist() == two.edges.tolist()
    assert one.nodes.tolist() == two.nodes.tolist()
    edges_of(one, large)
    assert one.edges.tolist() != k_hop(large, seeds, [10, 20], seed=5).edges.tolist()
    paddle.seed(9)
    first = k_hop(large, seeds, [3]).edges.tolist()
    assert first != k_hop(large, seeds, [3]).edges.tolist()
    paddle.seed(9)
    assert first == k_hop(large, seeds, [3]).edges.tolist()


def test_types() -> None:
    sample = k_hop(TYPED, {"paper": [3, 1]}, [-1, {WRITES: 1}])
    assert sample.nodes["paper"].tolist() == [3, 1, 2, 0]
    assert sample.nodes["author"].tolist() == [0, 1, 2]
    assert sample.nodes["place"].tolist() == []
    assert sample.edges[WRITES].tolist() == [3, 1, 2, 0]
    assert sample.edges[CITES].tolist() == [1, 2, 0]
    assert sample.targets[CITES].tolist() == [0, 0, 1]
    assert sample.sources[CITES].tolist() == [2, 1, 3]
    assert sample.seeds["paper"].tolist() == [0, 1]
    assert sample.node_counts["paper"] == [2, 2, 0]
    assert sample.edge_counts[CITES] == [3, 0]


def test_the_subgraph_that_nodes_span() -> None:
    for nodes in ([2, 0], [0, 1, 2, 3, 4, 5, 6], [6], []):
        sample, whole = induced(GRAPH, nodes), GRAPH.subgraph(nodes)
        assert sorted(sample.edges.tolist()) == sorted(whole.original_edges.tolist())
        edges_of(sample)
    typed = induced(TYPED, {"paper": [3, 2], "author": [0]})
    assert typed.edges[CITES].tolist() == [1]
    assert typed.edges[WRITES].tolist() == [3]
    assert typed.sources[CITES].tolist() == [1]
    assert typed.targets[CITES].tolist() == [0]


@pytest.mark.parametrize(
    ("seeds", "sizes", "settings", "text"),
    [
        ([7], [1], {}, "k_hop: seeds: expected ids from 0 to 6, got 7"),
        ([0], [-2], {}, "at least -1 for sizes, got -2"),
        ([0], [1], {"weights": [1.0]}, "one for each of 8 edges, got 1"),
        ([0], [1], {"weights": [-1.0] * 8}, "finite weights"),
        ([0], [1], {"weights": [1.0] * 8, "replace": True}, "got both"),
    ],
)
def test_wrong_input(seeds: list[int], sizes: list[int], settings: dict[str, object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        k_hop(GRAPH, seeds, sizes, **settings)  # type: ignore[arg-type]


def test_wrong_types_of_input() -> None:
    with pytest.raises(TypeError, match="expected a Graph"):
        k_hop([[0, 1]], [0], [1])
    with pytest.raises(TypeError, match="a list with a number for each hop"):
        k_hop(GRAPH, [0], 5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dictionary by node type"):
        k_hop(TYPED, [0], [1])
    with pytest.raises(ValueError, match="dictionary by node type"):
        k_hop(TYPED, {"venue": [0]}, [1])
    with pytest.raises(ValueError, match="dictionary by edge type"):
        k_hop(TYPED, {"paper": [0]}, [{("a", "b", "c"): 1}])
    with pytest.raises(ValueError, match="different ids"):
        induced(GRAPH, [1, 1])


def test_a_layer_needs_the_hops_that_are_left() -> None:
    rng = np.random.default_rng(7)
    graph = Graph((rng.integers(0, 300, 2000), rng.integers(0, 300, 2000)), 300)
    x = paddle.to_tensor(rng.standard_normal((300, 5)).astype("float32"))
    layers = [paddle.graph.nn.GraphSageConv(5, 5, "mean") for _ in range(3)]
    sample = paddle.graph.k_hop(graph, rng.permutation(300)[:20], [4, 3, 2], seed=1)
    whole = Graph((sample.sources, sample.targets), len(sample.nodes))
    expected = trimmed = x[sample.nodes]
    for i, layer in enumerate(layers):
        expected = layer(whole, expected)
        part, targets = sample.within(len(layers) - i)
        assert part.num_nodes == len(trimmed) and targets == sum(sample.node_counts[: 3 - i])
        trimmed = layer(part, (trimmed, trimmed[:targets]))
    assert len(trimmed) == 20
    np.testing.assert_allclose(trimmed.numpy(), expected[:20].numpy(), rtol=1e-5, atol=1e-6)


def test_hops_that_a_sample_does_not_have() -> None:
    graph = Graph([(0, 1), (1, 2)])
    sample = paddle.graph.k_hop(graph, [2], [1, 1])
    assert (sample.within(0)[0].num_nodes, sample.within(0)[1], sample.within(2)[0].num_edges) == (1, 1, 2)
    for hops in (3, -1, 1.0):
        with pytest.raises(ValueError, match="hops: expected 0 to 2"):
            sample.within(hops)
    typed = HeteroGraph({"a": 2}, {("a", "to", "a"): [(0, 1)]})
    with pytest.raises(TypeError, match="without types"):
        paddle.graph.k_hop(typed, {"a": [1]}, [1]).within(1)
