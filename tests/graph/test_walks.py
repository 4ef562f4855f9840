import numpy as np
import pytest

import sampan as paddle
from sampan.graph import Graph, HeteroGraph, meta_path_walks, node2vec_walks, random_walks
from tests.graph.chances import fits, with_threads

GRAPH = Graph([(0, 1), (0, 2), (0, 2), (1, 0), (2, 2)], num_nodes=4)
TYPED = HeteroGraph(
    {"author": 3, "paper": 4, "venue": 2},
    {
        ("author", "writes", "paper"): [(0, 0), (0, 1), (1, 1), (1, 2)],
        ("paper", "at", "venue"): [(0, 0), (1, 0), (2, 1), (3, 1)],
    },
)


def test_each_edge_is_equally_likely() -> None:
    found = random_walks(GRAPH, np.zeros(9_000, np.int64), 2, seed=1)
    assert found.shape == [9_000, 3]
    fits(map(tuple, found.tolist()), {(0, 1, 0): 1.0, (0, 2, 2): 2.0})
    assert random_walks(GRAPH, [3, 1], 0).tolist() == [[3], [1]]
    assert random_walks(GRAPH, [3], 2).tolist() == [[3, -1, -1]]
    assert random_walks(GRAPH, [], 2).shape == [0, 3]


def test_seeds() -> None:
    nodes = np.resize([0, 1], 5_000)
    walks = [with_threads(n, lambda: random_walks(GRAPH, nodes, 5, seed=2).numpy()) for n in (1, 2)]
    assert (walks[0] == walks[1]).all()
    paddle.seed(1)
    first = random_walks(GRAPH, nodes, 5).numpy()
    assert (first != random_walks(GRAPH, nodes, 5).numpy()).any()
    paddle.seed(1)
    assert (first == random_walks(GRAPH, nodes, 5).numpy()).all()


def test_walks_along_a_meta_path() -> None:
    path = ["author", "writes", "paper", "written_by", "author"]
    found = meta_path_walks(TYPED, path, np.zeros(8_000, np.int64), seed=1)
    fits(map(tuple, found.tolist()), {(0, 0, 0): 2.0, (0, 1, 0): 1.0, (0, 1, 1): 1.0})
    longer = meta_path_walks(TYPED, path, [0, 1, 2], 7, seed=1).numpy()
    writes = {(0, 0), (0, 1), (1, 1), (1, 2)}
    for walk in longer[:2]:
        for step in range(7):
            pair = (walk[step], walk[step + 1]) if step % 2 == 0 else (walk[step + 1], walk[step])
            assert pair in writes
    assert longer[2].tolist() == [2, *[-1] * 7]
    once = meta_path_walks(TYPED, ["author", "writes", "paper", "at", "venue"], [1] * 4, seed=1).numpy()
    assert ((once[:, 1] == 2) == (once[:, 2] == 1)).all()
    wide = ["author", "writes", "paper", "at", "venue", "holds", "paper", "written_by", "author"]
    assert meta_path_walks(TYPED, wide, [0], 16).shape == [1, 17]


def test_node2vec() -> None:
    # 0 - 1, 0 - 2, 1 - 2, 1 - 3 in both directions: from 1 after 0, back to 0 is 1/p, 2 is 1, and 3 is 1/q
    pairs = [(0, 1), (0, 2), (1, 2), (1, 3)]
    graph = Graph(pairs + [(b, a) for a, b in pairs], num_nodes=4)
    for p, q in ((0.5, 4.0), (3.0, 0.5)):
        found = node2vec_walks(graph, np.zeros(20_000, np.int64), 2, p, q, seed=5)
        through = [walk[2] for walk in found.tolist() if walk[1] == 1]
        fits(through, {0: 1 / p, 2: 1.0, 3: 1 / q})
    plain = node2vec_walks(graph, np.zeros(20_000, np.int64), 2, seed=5)
    fits([walk[2] for walk in plain.tolist() if walk[1] == 1], dict.fromkeys((0, 2, 3), 1.0))
    assert node2vec_walks(Graph([(0, 1)]), [0, 1], 3).tolist() == [[0, 1, -1, -1], [1, -1, -1, -1]]


def test_wrong_input() -> None:
    with pytest.raises(ValueError, match="random_walks: nodes: expected ids from 0 to 3, got 4"):
        random_walks(GRAPH, [4], 1)
    with pytest.raises(ValueError, match="at least 0 for steps, got -1"):
        random_walks(GRAPH, [0], -1)
    with pytest.raises(TypeError, match="expected a Graph"):
        random_walks(TYPED, [0], 1)
    with pytest.raises(TypeError, match="expected a HeteroGraph"):
        meta_path_walks(GRAPH, ["a", "b", "c"], [0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at most 1 for steps"):
        meta_path_walks(TYPED, ["author", "writes", "paper"], [0], 2)
    with pytest.raises(ValueError, match="one edge type for the step"):
        meta_path_walks(TYPED, ["author", "eats", "venue"], [0])
    for p, q in ((0.0, 1.0), (1.0, -1.0), (float("nan"), 1.0), (1.0, float("inf"))):
        with pytest.raises(ValueError, match="finite number above 0"):
            node2vec_walks(GRAPH, [0], 1, p, q)
