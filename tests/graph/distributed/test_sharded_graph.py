from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampan.graph import Graph, HeteroGraph, k_hop
from sampan.graph.distributed import ShardedGraph, ShardError
from tests.graph.distributed.whole import EDGES, GRAPH, NODES, same


@pytest.mark.parametrize("how", ["hash", "ldg", np.arange(NODES) % 2])
@pytest.mark.parametrize("parts", [1, 4])
def test_samples_are_those_of_the_whole_graph(tmp_path: Path, parts: int, how: Any) -> None:
    if not isinstance(how, str):
        how = how * (parts - 1)  # shards between stay empty
    with ShardedGraph.partition(GRAPH, parts, tmp_path / "g", how) as shards:
        for sizes in ([3, 2], [-1, 30], [0, 1], []):
            for options in ({}, {"replace": True}):
                found = shards.k_hop([5, 299, 5], sizes, seed=3, **options)
                same(found, k_hop(GRAPH, [5, 299, 5], sizes, seed=3, **options))
        found = shards.k_hop(range(50), [2, 30], weights="w", seed=4, features=["x"], edge_features=["time"])
        same(found, k_hop(GRAPH, range(50), [2, 30], weights=GRAPH.edge_feat["w"], seed=4))
        np.testing.assert_array_equal(found.node_feat["x"].numpy(), GRAPH.node_feat["x"][found.nodes.numpy()])
        assert found.edge_feat["time"].tolist() == found.edges.tolist()
        assert shards.k_hop([], [2], features=["x"]).node_feat["x"].shape == [0, 3]
        assert shards.k_hop([1], [], edge_features=["w"]).edge_feat["w"].shape == [0]


@settings(max_examples=25)
@given(st.data())
def test_shards_have_each_edge_once(tmp_path_factory: Any, data: st.DataObject) -> None:
    nodes, parts = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 5))
    ends = st.integers(0, nodes - 1)
    edges = data.draw(st.lists(st.tuples(ends, ends), max_size=30))
    owner = data.draw(st.lists(st.integers(0, parts - 1), min_size=nodes, max_size=nodes))
    folder = tmp_path_factory.mktemp("shards") / "g"
    with ShardedGraph.partition(Graph(edges, nodes), parts, folder, np.array(owner)) as shards:
        found = shards.k_hop(range(nodes), [-1])
        assert found.nodes.tolist() == list(range(nodes))
        pairs = zip(found.sources.tolist(), found.targets.tolist(), strict=True)
        assert dict(zip(found.edges.tolist(), pairs, strict=True)) == dict(enumerate(edges))
        assert len(found.edges) == len(edges)
        cut = [owner[a] != owner[b] for a, b in edges]
        assert shards.quality.edge_cut == pytest.approx(np.mean(cut) if cut else 0.0)


def changed(shards: ShardedGraph) -> Graph:
    """Edges and features are added to the shards; the same graph in one piece."""
    rng = np.random.default_rng(1)
    more = rng.integers(0, NODES, (200, 2))
    shards.update(more, {"w": np.ones(200), "time": np.arange(200)}, [7, 8], {"x": np.ones((2, 3))})
    features = GRAPH.node_feat["x"].copy()
    features[[7, 8]] = 1
    return Graph(np.concatenate([GRAPH.edges, more]), NODES, node_feat={"x": features})


def test_updates_are_seen_and_saved(tmp_path: Path) -> None:
    with ShardedGraph.partition(GRAPH, 3, tmp_path / "g") as shards:
        whole = changed(shards)
        same(shards.k_hop([1, 7], [4, 4], seed=1), k_hop(whole, [1, 7], [4, 4], seed=1))
        before = ShardedGraph.open(tmp_path / "g")
        assert before.num_edges == EDGES
        same(before.k_hop([1, 7], [4, 4], seed=1), k_hop(GRAPH, [1, 7], [4, 4], seed=1))
        shards.save()
        shards.save()  # nothing has changed
    again = ShardedGraph.open(tmp_path / "g")
    same(again.k_hop([1, 7], [4, 4], seed=1), k_hop(whole, [1, 7], [4, 4], seed=1))
    np.testing.assert_array_equal(again.features([7, 9])["x"].numpy(), whole.node_feat["x"][[7, 9]])
    same(before.k_hop([1, 7], [4, 4], seed=1), k_hop(GRAPH, [1, 7], [4, 4], seed=1))  # still that moment
    assert len(list((tmp_path / "g").glob("shard-*"))) == 3


def test_bad_input(tmp_path: Path) -> None:
    shards = ShardedGraph.partition(GRAPH, 2, tmp_path / "g")
    bad: list[tuple[type[Exception], str, Any]] = [
        (ValueError, "k_hop: seeds: expected ids from 0 to 299, got 300", lambda: shards.k_hop([300], [1])),
        (
            TypeError,
            "k_hop: expected a list with a number for each hop for sizes, got 2",
            lambda: shards.k_hop([1], 2),
        ),
        (ValueError, "sizes, got -2", lambda: shards.k_hop([1], [-2])),
        (ValueError, "features: expected names of", lambda: shards.k_hop([1], [1], features=["y"])),
        (ValueError, "features: expected names of", lambda: shards.k_hop([1], [1], features="x")),
        (ValueError, "weights or replace", lambda: shards.k_hop([1], [1], True, "w")),
        (ValueError, "features: nodes: expected ids", lambda: shards.features([-1])),
        (ValueError, "update: edges: expected ids", lambda: shards.update([(0, 300)])),
        (ValueError, "edge_feat: expected .*'w', 'time'", lambda: shards.update([(0, 1)], {"w": [1.0]})),
        (
            ValueError,
            r"'x': expected shape \[1, 3\], got \[1, 2\]",
            lambda: shards.update(nodes=[1], node_feat={"x": np.ones((1, 2))}),
        ),
        (FileExistsError, "exists", lambda: ShardedGraph.partition(GRAPH, 2, tmp_path / "g")),
        (
            ValueError,
            "how: expected 'hash'",
            lambda: ShardedGraph.partition(GRAPH, 2, tmp_path / "h", "metis"),
        ),
        (ValueError, "how: expected shape", lambda: ShardedGraph.partition(GRAPH, 2, tmp_path / "h", [0])),
        (ValueError, "at least 1 for parts", lambda: ShardedGraph.partition(GRAPH, 0, tmp_path / "h")),
        (
            TypeError,
            "expected a Graph",
            lambda: ShardedGraph.partition(HeteroGraph({}, {}), 1, tmp_path / "h"),
        ),  # type: ignore[arg-type]
        (ValueError, "at most 2 workers", lambda: ShardedGraph.open(tmp_path / "g", workers=3)),
        (ShardError, "cannot read", lambda: ShardedGraph.open(tmp_path / "none")),
    ]
    for kind, text, call in bad:
        with pytest.raises(kind, match=text):
            call()
    same(shards.k_hop([1], [3], seed=0), k_hop(GRAPH, [1], [3], seed=0))  # nothing was changed
    assert not list(tmp_path.glob(".*")) and not (tmp_path / "h").exists()
