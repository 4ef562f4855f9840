"""Graphs by name: the real files where they are, and small files in the same layouts."""

import dataclasses

import numpy as np
import pytest

from sampan import datasets
from sampan.datasets import graphs

SIZES = {  # nodes, edges, and the labels of each class, as the sources state them
    "cora": (2708, 10556, [351, 217, 418, 818, 426, 298, 180]),
    "citeseer": (3327, 9104, [249, 590, 668, 701, 596, 508]),
    "dblp_four_area": (14376 + 14475 + 20 + 8920, 41794 + 14376 + 114624, [1197, 745, 1109, 1006]),
    "wn18rr": (None, 93003, []),
    "bitcoin_otc": (5881, 35592, []),
}


@pytest.fixture(params=SIZES)
def real(request):
    if request.param not in datasets.available():
        pytest.skip(f"needs {request.param} in SAMPAN_DATA")
    return datasets.load_graph(request.param)


def test_sizes_of_the_real_ones(real):
    nodes, edges, labels = SIZES[real.card.name]
    assert real.graph.num_edges == edges and real.graph.num_nodes == (nodes or real.graph.num_nodes)
    assert np.bincount(real.labels[real.labels >= 0]).tolist() == labels
    assert len(real.card.classes) == len(labels)


def test_what_the_real_ones_hold(real):
    graph, name = real.graph, real.card.name
    if name in ("cora", "citeseer"):
        sums = graph.node_feat["x"].sum(1)
        assert np.logical_or(abs(sums - 1) < 1e-5, sums == 0).all()
        assert len({*real.train, *real.valid, *real.test}) == len(real.train) + 500 + 1000
        assert np.bincount(real.labels[real.train]).tolist() == [20] * len(real.card.classes)
        pairs = {tuple(pair) for pair in graph.edges.tolist()}
        assert all((b, a) in pairs for a, b in pairs)
    if name == "dblp_four_area":
        assert graph.steps(["author", "paper", "venue", "paper", "author"])
        assert real.names["venue"][0] == "AAAI" and len(real.names["author"]) == len(real.labels)
    if name == "wn18rr":
        assert len(real.names["relation"]) == 11 and graph.num_nodes == len(real.names[""])
        head, tail = graph.edges[real.test[0]]
        relation = real.names["relation"][graph.edge_feat["relation"][real.test[0]]]
        expected = ("trade_name.n.01", "_member_of_domain_usage", "metharbital.n.01")
        assert (real.names[""][head], relation, real.names[""][tail]) == expected
    if name == "bitcoin_otc":
        assert (np.diff(graph.edge_feat["time"]) >= 0).all()
        assert np.isclose((graph.edge_feat["rating"] < 0).mean(), 0.1, atol=0.005)


def small_dblp(folder):
    content = {
        "paper": "7\tA title\n9\tAnother\n", "author": "1\tAnn\n2\tBob\n", "venue": "5\tKDD\n", "term": "3\tgraph\n",
        "paper_author": "7\t1\n9\t1\n9\t2\n", "paper_conf": "7\t5\n9\t5\n", "paper_term": "7\t3\n",
        "author_label": "2\t1\tBob\n8\t0\tunknown\n",
    }  # fmt: skip
    paths = {role: folder / f"{role}.txt" for role in content}
    for role, text in content.items():
        paths[role].write_text(text)
    return paths


def test_an_academic_network_in_its_official_layout(tmp_path):
    made = graphs.MADE["dblp"](graphs.read_dblp(small_dblp(tmp_path)), None)
    assert made.graph.node_types == {"paper": 2, "author": 2, "venue": 1, "term": 1}
    assert made.labels.tolist() == [-1, 1] and made.names["author"] == ["Ann", "Bob"]
    assert made.graph.path_counts(["author", "paper", "author"]).to_dense().tolist() == [[2, 1], [1, 1]]


@pytest.mark.parametrize(
    ("role", "text", "error"),
    [
        ("paper_author", "7\t1\n9\n", "paper_author.txt, line 2: expected 2 columns, got 1"),
        ("paper_author", "7\tx\n", "paper_author.txt: expected whole numbers"),
        ("author", "Ann\tAnn\n", "author.txt: expected whole numbers"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, role, text, error):
    paths = small_dblp(tmp_path)
    paths[role].write_text(text)
    with pytest.raises(ValueError, match=error):
        graphs.read_dblp(paths)


def test_citations_of_another_shape_are_refused(tmp_path):
    path = tmp_path / "x.npz"
    arrays = {
        "crows": np.array([0, 1, 2]), "cols": np.array([1, 0]), "values": np.ones(2), "num_features": np.int64(2),
        "labels": np.array([0, 1]), "edge_index": np.array([[0], [1]]), "train": np.array([0]),
        "val": np.array([0]), "test": np.array([1]),
    }  # fmt: skip
    np.savez(path, **arrays)
    made = graphs.MADE["citations"](graphs.read_citations({"arrays": path}), None)
    assert made.graph.node_feat["x"].tolist() == [[0.0, 1.0], [1.0, 0.0]]
    np.savez(path, **{**arrays, "labels": np.zeros((2, 2))})
    with pytest.raises(ValueError, match=r"x\.npz: labels: expected 1 axes, got 2"):
        graphs.read_citations({"arrays": path})
    np.savez(path, labels=np.zeros(2))
    with pytest.raises(ValueError, match=r"x\.npz: expected crows, cols"):
        graphs.read_citations({"arrays": path})
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=r"x\.npz: expected a whole \.npz file"):
        graphs.read_citations({"arrays": path})


def test_triples_and_ratings(tmp_path):
    for part, text in (("train", "a\tr\tb\nb\ts\tc\n"), ("valid", "a\ts\tc\n"), ("test", "c\tr\ta\n")):
        (tmp_path / part).write_text(text)
    made = graphs.MADE["triples"](
        graphs.read_triples({p: tmp_path / p for p in ("train", "valid", "test")}), None
    )
    assert made.graph.edges.tolist() == [[0, 1], [1, 2], [0, 2], [2, 0]]
    assert made.graph.edge_feat["relation"].tolist() == [0, 1, 1, 0] and made.test.tolist() == [3]
    path = tmp_path / "ratings.csv"
    for header in ("", "FROM,TO,RATING,TIME\n"):
        path.write_text(header + "5,3,-4,20.5\n3,9,1,10.25\n")
        stream = graphs.MADE["trust"](graphs.read_trust({"ratings": path}), None).graph
        assert stream.edges.tolist() == [[0, 2], [1, 0]] and stream.edge_feat["time"].tolist() == [
            10.25,
            20.5,
        ]
    for text in ("1,2,3\n", "1,2,3,nan\n", "1,2,x,4\n"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"ratings\.csv: "):
            graphs.read_trust({"ratings": path})


def test_other_sets_and_wrong_cards_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="digits: expected a graph, one read by citations"):
        datasets.load_graph("digits")
    if "cora" in datasets.available():
        with pytest.raises(ValueError, match=r"load: expected a set of images, got 'cora', which load_graph"):
            datasets.load("cora")
        known = datasets.card("cora")
        wrong = dataclasses.replace(known, layouts=(dataclasses.replace(known.layouts[0], train=7),))
        monkeypatch.setattr(datasets, "card", lambda name: wrong)
        with pytest.raises(ValueError, match="cora: expected 7 and 1,000 items as its card says, got 140"):
            datasets.load_graph("cora")
