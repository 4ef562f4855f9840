"""HeteroGraph: what is declared, the steps of meta-paths, and what cannot be walked."""

import numpy as np
import pytest

import sampan as paddle
from sampan.graph import Graph, HeteroGraph

NODES = {"Author": 10000, "Paper": 50000, "Institution": 200}
EDGES = {
    ("Author", "writes", "Paper"): [(0, 0), (1, 1)],
    ("Paper", "cited_by", "Paper"): [(0, 1), (1, 2)],
    ("Author", "affiliated_with", "Institution"): [(0, 0)],
}
PATH = ["Author", "writes", "Paper", "cited_by", "Paper", "written_by", "Author"]


def made(**other):
    return HeteroGraph(**{"node_types": NODES, "edge_types": EDGES, "meta_paths": [PATH], **other})


def test_the_call_of_the_documents():
    graph = made()
    assert (graph.num_nodes, graph.num_edges) == (60200, 5)
    steps = graph.steps(PATH)
    assert [(s.kind[1], s.inverse) for s in steps] == [
        ("writes", False),
        ("cited_by", False),
        ("writes", True),
    ]
    found = graph.path_counts(PATH)
    assert list(zip(found.rows.tolist(), found.neighbours.tolist(), found.counts.tolist(), strict=True)) == [
        (0, 1, 1)
    ]


@pytest.mark.parametrize(
    "edges",
    [
        [(0, 0), (1, 2)],
        ((0, 0), (1, 2)),
        np.array([[0, 0], [1, 2]], np.int32),
        paddle.to_tensor([[0, 0], [1, 2]]),
        (np.array([0, 1]), np.array([0, 2])),
        (paddle.to_tensor([0, 1]), paddle.to_tensor([0, 2])),
    ],
)
def test_forms_of_edges(edges):
    graph = HeteroGraph({"a": 2, "b": 3}, {("a", "to", "b"): edges})
    relation = graph["to"]
    assert relation.sources.tolist() == [0, 1] and relation.targets.tolist() == [0, 2]
    assert relation.by_target.degrees.tolist() == [1, 0, 1] and graph[("a", "to", "b")] is relation


def test_steps_are_found_by_name_by_inverse_and_by_types():
    edges = {("u", "buys", "i"): [(0, 0)], ("u", "likes", "i"): [(0, 1)], ("i", "of", "c"): [(0, 0)]}
    graph = HeteroGraph({"u": 1, "i": 2, "c": 1}, edges, inverse={"bought_by": "buys"})
    assert [s.kind[1] for s in graph.steps(["u", "buys", "i", "bought_by", "u"])] == ["buys", "buys"]
    assert [(s.kind[1], s.inverse) for s in graph.steps(["i", "c", "i"])] == [("of", False), ("of", True)]
    for path, text in [
        (["i", "liked_by", "u"], "expected one edge type for the step i -> liked_by -> u, got"),
        (["u", "i"], r"step u -> \? -> i, got \[\('u', 'buys', 'i'\), \('u', 'likes', 'i'\)\]"),
        (["i", "buys", "u"], r"step i -> buys -> u, got \[\]"),
        (["u", "bought_by", "i"], r"step u -> bought_by -> i, got \[\]"),
        (["u", "buys"], "expected node types and relations in turn"),
        (["u"], "expected node types and relations in turn"),
        (["u", "buys", "x"], "expected a node type, one of .* got 'x'"),
    ]:
        with pytest.raises(
            ValueError, match=f"HeteroGraph: meta_paths: .*{text}|HeteroGraph: meta_paths: {text}"
        ):
            graph.steps(path)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"node_types": {"Author": -1}},
            r"node_types: expected how many nodes there are of 'Author'.*got -1",
        ),
        ({"node_types": {"Author": 1.5}}, "node_types: .*got 1.5"),
        ({"edge_types": {("Author", "writes"): []}}, r"edge_types: expected \(source type, relation, target"),
        ({"edge_types": {("Author", "writes", "Book"): []}}, "edge_types: expected a node type, one of"),
        (
            {"edge_types": {("Author", "writes", "Paper"): [(0, 50000)]}},
            r"targets \(Paper\): expected ids from 0 to 49999, got 50000",
        ),
        ({"inverse": {"written_by": "reads"}}, "inverse: expected a new name and the declared relation"),
        ({"inverse": {"cited_by": "writes"}}, "inverse: expected a new name"),
        (
            {"meta_paths": [["Author", "writes", "Paper", "read_by", "Institution"]]},
            "meta_paths: expected one",
        ),
        ({"node_feat": {"Author": {"x": np.ones(3)}}}, r"node_feat: Author: expected 10000 rows in 'x'"),
        ({"node_feat": {"Book": {}}}, "node_feat: expected a node type"),
        ({"edge_feat": {("Author", "reads", "Paper"): {}}}, "edge_feat: expected edge types of this graph"),
    ],
)
def test_bad_input(given, text):
    with pytest.raises(ValueError, match=f"^HeteroGraph: .*{text}|^HeteroGraph: {text}"):
        made(**given)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"node_types": ["Author"]}, "node_types: expected a dictionary, got list"),
        ({"edge_types": [(0, 1)]}, "edge_types: expected a dictionary, got list"),
        ({"meta_paths": "APA"}, "meta_paths: expected a list of paths, each a list of names, got 'APA'"),
        ({"meta_paths": ["Author", "writes", "Paper"]}, "meta_paths: expected a list of paths"),
        ({"node_feat": {"Author": np.ones(3)}}, "node_feat: Author: expected a dictionary .* got ndarray"),
    ],
)
def test_arguments_of_another_type(given, text):
    with pytest.raises(TypeError, match=f"^HeteroGraph: {text}"):
        made(**given)


def test_an_unknown_relation_is_a_key_error():
    with pytest.raises(KeyError, match="expected a relation of one edge type, got 'reads'"):
        made()["reads"]
    with pytest.raises(KeyError, match=r"expected an edge type of .* got .*'reads'"):
        made()["Author", "reads", "Paper"]


def test_all_types_in_one_graph():
    edges = {("a", "to", "b"): [(1, 2), (0, 0)], ("b", "to", "b"): [(2, 1)]}
    whole = HeteroGraph({"a": 2, "b": 3}, edges).to_homogeneous()
    assert isinstance(whole, Graph) and whole.num_nodes == 5
    assert whole.edges.tolist() == [[1, 4], [0, 2], [4, 3]]
    assert whole.node_feat["type"].tolist() == [0, 0, 1, 1, 1]
    assert whole.edge_feat["type"].tolist() == [0, 0, 1]
    assert HeteroGraph({"a": 2}, {}).to_homogeneous().num_edges == 0
