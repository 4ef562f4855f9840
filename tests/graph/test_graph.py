"""Graph against networkx."""

import networkx as nx
import numpy as np
import pytest

import sampan as paddle
from sampan.graph import Graph


@pytest.fixture(params=["array", "tensor"])
def graph(request):
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 30, (200, 2))  # with repeated edges and self loops
    features = {"x": rng.normal(size=(31, 4)).astype(np.float32)}, {"w": np.arange(200.0)}
    made = Graph(edges, 31, *features)
    return made.tensor() if request.param == "tensor" else made


@pytest.fixture
def oracle(graph):
    made = nx.MultiDiGraph()
    made.add_nodes_from(range(31))
    for number, (a, b) in enumerate(np.asarray(graph.edges).tolist()):
        made.add_edge(a, b, key=number)
    return made


def test_degrees_and_neighbours(graph, oracle):
    answer = paddle.Tensor if graph.is_tensor() else np.ndarray
    assert isinstance(graph.indegree(), answer) and isinstance(graph.successor([1])[0], answer)
    assert graph.indegree().tolist() == [oracle.in_degree(n) for n in range(31)]
    assert graph.outdegree().tolist() == [oracle.out_degree(n) for n in range(31)]
    assert graph.outdegree([3, 30, 3]).tolist() == [oracle.out_degree(3), 0, oracle.out_degree(3)]
    found, numbers = graph.successor(return_eids=True)
    for node in range(31):
        expected = [(b, e) for _, b, e in oracle.out_edges(node, keys=True)]
        assert sorted(zip(found[node].tolist(), numbers[node].tolist(), strict=True)) == sorted(expected)
        assert numbers[node].tolist() == sorted(numbers[node].tolist())
    into = graph.predecessor([5, 30])
    assert sorted(into[0].tolist()) == sorted(a for a, _ in oracle.in_edges(5)) and into[1].tolist() == []


def test_edges_by_either_end(graph):
    for sort_by, column in (("src", 0), ("dst", 1)):
        *ends, numbers = graph.sorted_edges(sort_by)
        order = np.argsort(np.asarray(graph.edges)[:, column], kind="stable")
        assert numbers.tolist() == order.tolist()
        assert (
            np.stack([np.asarray(end) for end in ends], 1).tolist() == np.asarray(graph.edges)[order].tolist()
        )


def test_reverse_and_undirected(graph, oracle):
    turned = graph.reverse()
    assert np.asarray(turned.edges).tolist() == np.asarray(graph.edges)[:, ::-1].tolist()
    assert turned.edge_feat["w"] is graph.edge_feat["w"] and turned.is_tensor() == graph.is_tensor()
    both = {(a, b) for a, b, _ in oracle.edges} | {(b, a) for a, b, _ in oracle.edges}
    assert sorted(map(tuple, np.asarray(graph.to_undirected().edges).tolist())) == sorted(both)


def test_self_loops(graph, oracle):
    loops = nx.number_of_selfloops(oracle)
    assert loops and graph.remove_self_loops().num_edges == 200 - loops
    with pytest.raises(ValueError, match=r"add_self_loops: expected edges without features, got \['w'\]"):
        graph.add_self_loops()
    plain = Graph(graph.edges, 31).add_self_loops()
    assert np.asarray(plain.edges)[200:].tolist() == [[n, n] for n in range(31)]


def test_subgraphs_carry_features_and_original_ids(graph, oracle):
    nodes = [7, 30, 2, 11, 19]
    part = graph.subgraph(nodes)
    expected = [(nodes.index(a), nodes.index(b)) for a, b, _ in oracle.subgraph(nodes).edges]
    assert sorted(map(tuple, np.asarray(part.edges).tolist())) == sorted(expected)
    np.testing.assert_array_equal(part.node_feat["x"], np.asarray(graph.node_feat["x"])[nodes])
    np.testing.assert_array_equal(part.edge_feat["w"], part.original_edges.astype(float))
    assert part.original_nodes.tolist() == nodes
    some = graph.edge_subgraph([5, 3])
    assert some.num_nodes == 31 and some.edge_feat["w"].tolist() == [5.0, 3.0]
    with pytest.raises(ValueError, match="subgraph: nodes: expected different ids, got one twice"):
        graph.subgraph([1, 1])
    with pytest.raises(ValueError, match="subgraph: nodes: expected ids from 0 to 30, got 31"):
        graph.subgraph([31])


def test_forms(graph):
    other = graph.numpy(inplace=False) if graph.is_tensor() else graph.tensor(inplace=False)
    assert other.is_tensor() != graph.is_tensor()
    np.testing.assert_array_equal(other.node_feat["x"], graph.node_feat["x"])
    assert other.edges.tolist() == graph.edges.tolist()
    batches = list(graph.node_batch_iter(8))
    assert sorted(n for batch in batches for n in batch.tolist()) == list(range(31))
    assert [n for batch in graph.node_batch_iter(8, shuffle=False) for n in batch.tolist()] == list(range(31))


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 1), (1, 2), (0, 2)],
        np.array([[0, 1], [1, 2], [0, 2]], np.int32),
        (np.array([0, 1, 0]), np.array([1, 2, 2])),
        (paddle.to_tensor([0, 1, 0]), paddle.to_tensor([1, 2, 2])),
        ([(0, 1), (1, 2), (0, 2)]),
    ],
)
def test_ways_to_name_edges(edges):
    made = Graph(edges)
    assert (made.num_nodes, made.num_edges) == (3, 3)
    assert made.edges.tolist() == [[0, 1], [1, 2], [0, 2]]


def test_a_graph_without_edges():
    for edges in ([], np.empty((0, 2), np.int64)):
        made = Graph(edges, num_nodes=2)
        assert made.indegree().tolist() == [0, 0] and made.successor()[1].tolist() == []
    assert Graph([]).num_nodes == 0 and Graph([]).indegree().tolist() == []


def test_what_was_passed_in_may_be_overwritten():
    edges = np.array([[0, 1], [1, 2]])
    made = Graph(edges, 3)
    edges[:] = 10**6
    assert made.successor([0])[0].tolist() == [1]


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (
            {"edges": [(0, 5)], "num_nodes": 3},
            ValueError,
            "targets: expected ids from 0 to 2, got 5 at place 0",
        ),
        ({"edges": [(0, -1)]}, ValueError, "targets: expected ids from 0 to 0, got -1"),
        ({"edges": [(0, 1.5)]}, TypeError, "expected whole numbers, got dtype float64"),
        ({"edges": [1, 2, 3]}, ValueError, r"expected pairs \(source, target\).*got list of shape \[3\]"),
        ({"edges": [(0, 1), (2,)]}, ValueError, "expected pairs .*got lists of different lengths"),
        ({"edges": zip([0], [1], strict=True)}, ValueError, r"expected pairs .*got zip of shape \[\]"),
        ({"edges": [(0, float("nan"))]}, TypeError, "sources: expected whole numbers, got dtype float64"),
        ({"edges": [("a", "b")]}, TypeError, "sources: expected whole numbers, got dtype <U1"),
        ({"edges": [(0, 1)], "num_nodes": 2.7}, TypeError, "num_nodes: expected a whole number .*got 2.7"),
        ({"edges": [(0, 1)], "num_nodes": -1}, ValueError, "num_nodes: expected a whole number .*got -1"),
        ({"edges": [(0, 1)], "node_feat": [1, 2]}, TypeError, "node_feat: expected a dictionary .*got list"),
        (
            {"edges": [(0, 1)], "node_feat": {"x": np.ones(3)}},
            ValueError,
            r"node_feat: expected 2 rows in 'x'",
        ),
        (
            {"edges": [(0, 1)], "edge_feat": {"x": np.ones(3)}},
            ValueError,
            r"edge_feat: expected 1 rows in 'x'",
        ),
        ({"edges": (np.array([0]), np.array([0, 1]))}, ValueError, "as many sources as targets, got 1 and 2"),
        ({"edges": [], "num_nodes": 2**31}, ValueError, "expected at most 2147483647 nodes"),
    ],
)
def test_bad_input(given, error, text):
    with pytest.raises(error, match=f"^Graph: .*{text}"):
        Graph(**given)


def test_features_of_another_length_cannot_be_sent():
    graph = Graph([(0, 1), (1, 2), (2, 2)], 4)
    with pytest.raises(
        ValueError, match=r"send_recv: feature: expected 4 rows, one for each node, got shape \[3, 2\]"
    ):
        graph.send_recv(paddle.ones([3, 2]))
    with pytest.raises(TypeError, match="send_recv: feature: expected a Tensor, got ndarray"):
        graph.send_recv(np.ones((4, 2), np.float32))
    assert graph.send_recv(paddle.ones([3, 2]), out_size=5).tolist() == [
        [0, 0],
        [1, 1],
        [2, 2],
        [0, 0],
        [0, 0],
    ]
    with pytest.raises(
        ValueError, match="node_batch_iter: batch_size: expected a whole number of at least 1"
    ):
        next(graph.node_batch_iter(0))


def test_several_graphs_as_one():
    rng = np.random.default_rng(0)
    graphs = [
        Graph(rng.integers(0, n, (n, 2)), n, {"x": rng.normal(size=(n, 2))}, {"w": np.arange(n)})
        for n in (3, 1, 4)
    ]
    batch = Graph.batch(graphs)
    assert batch.num_graph == 3 and batch.graph_node_id.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    assert batch.graph_edge_id.tolist() == [0, 0, 0, 1, 2, 2, 2, 2]
    for number, first in enumerate((0, 3, 4)):
        own = batch.graph_edge_id == number
        assert (batch.edges[own] - first == graphs[number].edges).all()
        assert (batch.edge_feat["w"][own] == graphs[number].edge_feat["w"]).all()
        assert (batch.node_feat["x"][batch.graph_node_id == number] == graphs[number].node_feat["x"]).all()
    twice = Graph.batch([batch, graphs[0]])
    assert twice.num_graph == 4 and twice.graph_node_id.tolist() == [0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 3]
    assert Graph.disjoint(graphs, merged_graph_index=True).graph_node_id.tolist() == [0] * 8
    tensors = Graph.batch([graph.tensor(inplace=False) for graph in graphs])
    assert tensors.is_tensor() and isinstance(tensors.graph_node_id, paddle.Tensor)
    assert (tensors.node_feat["x"].numpy() == batch.node_feat["x"]).all()
    for other in (
        batch.reverse(),
        batch.remove_self_loops(),
        batch.tensor(inplace=False),
        batch.to_undirected(),
    ):
        assert other.num_graph == 3 and other.graph_node_id.tolist() == batch.graph_node_id.tolist()
    part = batch.subgraph([7, 0])
    assert part.num_graph == 3 and part.graph_node_id.tolist() == [2, 0]
    with pytest.raises(ValueError, match="disjoint: graph_list: expected one graph or more"):
        Graph.batch([])
    with pytest.raises(ValueError, match="disjoint: node_feat: expected the same names in all graphs"):
        Graph.batch([graphs[0], Graph([], 1, None, {"w": np.zeros(0)})])


def test_dump_and_load(tmp_path):
    first = Graph([(0, 1), (2, 1)], 4, {"x": np.eye(4, dtype="float32")}, {"w": paddle.to_tensor([1, 2])})
    second = Graph([(0, 0), (0, 0)], 1, {"x": np.ones((1, 4), "float32")}, {"w": paddle.to_tensor([3, 4])})
    for number, graph in enumerate((first, Graph.batch([first, second]), Graph([], 0))):
        path = tmp_path / str(number) / "graph"
        graph.dump(path)
        found = Graph.load(path)
        assert (found.edges == graph.numpy(inplace=False).edges).all() and found.num_nodes == graph.num_nodes
        assert found.num_graph == graph.num_graph
        assert found._ids().tolist() == graph._ids().tolist()
        for kind in ("node_feat", "edge_feat"):
            for name, values in getattr(graph, kind).items():
                assert (getattr(found, kind)[name] == np.asarray(values)).all()
                assert getattr(found, kind)[name].dtype == np.asarray(values).dtype
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    with pytest.raises(ValueError):
        Graph.load(path)
    with pytest.raises(FileNotFoundError):
        Graph.load(tmp_path / "none")
    paddle.save({"a": 1}, tmp_path / "other")
    with pytest.raises(ValueError, match="holds no graph"):
        Graph.load(tmp_path / "other")


def test_send_ue():
    graph = Graph([(0, 1), (2, 1), (1, 1)], 3)
    x, e = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), paddle.to_tensor([[1.0], [2.0], [4.0]])
    assert graph.send_ue(x, e, "mul").tolist() == [[1, 2], [10, 12], [12, 16]]
    assert graph.send_ue(x, e, "sub").tolist() == [[0, 1], [3, 4], [-1, 0]]
    with pytest.raises(ValueError, match="expected one of add, sub, mul, div for message_op"):
        graph.send_ue(x, e, "pow")


def test_features_that_are_none_are_left_out():
    assert Graph([(0, 1)], 2, {"x": None, "y": [1, 2]}).node_feat.keys() == {"y"}
