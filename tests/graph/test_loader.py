from typing import Any

import numpy as np
import pytest

import sampan as paddle
from sampan import datasets
from sampan.graph import Graph, HeteroGraph, LinkLoader, NeighborLoader, k_hop
from sampan.graph import nn as gnn
from sampan.nn import functional as F
from tests.graph.chances import fits

RNG = np.random.default_rng(0)
PLAIN = Graph(
    (RNG.integers(0, 200, 1500), RNG.integers(0, 200, 1500)),
    200,
    {"x": RNG.normal(size=(200, 6)).astype("float32"), "t": paddle.arange(200)},
    {"w": RNG.normal(size=1500).astype("float32")},
)
LABELS = RNG.integers(0, 3, 200)
WRITES, CITES = ("author", "writes", "paper"), ("paper", "cites", "paper")
TYPED = HeteroGraph(
    {"author": 50, "paper": 80},
    {WRITES: np.stack([RNG.integers(0, 50, 300), RNG.integers(0, 80, 300)], 1), CITES: RNG.integers(0, 80, (400, 2))},
    node_feat={"author": {"x": RNG.normal(size=(50, 4)).astype("float32")}},
    edge_feat={WRITES: {"w": np.arange(300)}},
)  # fmt: skip


def parts(batch: Any) -> list[Any]:
    found = [batch.nodes, batch.sources, batch.targets, batch.edges, batch.seeds, batch.input_id]
    return [[v.tolist() for v in (p.values() if isinstance(p, dict) else [p])] for p in found]


def test_features_labels_and_edges_are_those_of_the_graph() -> None:
    nodes = RNG.permutation(200)[:70]
    loader = NeighborLoader(PLAIN, [3, 2], nodes, batch_size=16, labels=LABELS, shuffle=True, seed=1)
    seen = []
    assert len(loader) == 5
    for batch in loader:
        own, edges = batch.nodes.numpy(), batch.edges.numpy()
        given = nodes[batch.input_id.numpy()]
        seen += given.tolist()
        assert (own[batch.seeds.numpy()] == given).all() and batch.batch_size == len(given)
        assert (batch.labels.numpy() == LABELS[given]).all()
        assert (batch.graph.node_feat["x"].numpy() == PLAIN.node_feat["x"][own]).all()
        assert (batch.graph.node_feat["t"].numpy() == own).all()
        assert (batch.graph.edge_feat["w"].numpy() == PLAIN.edge_feat["w"][edges]).all()
        assert (own[batch.graph.sources] == PLAIN.sources[edges]).all()
        assert (own[batch.graph.targets] == PLAIN.targets[edges]).all()
    assert sorted(seen) == sorted(nodes.tolist()) and seen != nodes.tolist()


@pytest.mark.parametrize("graph", [PLAIN, TYPED])
def test_a_seed_gives_the_same_batches_whatever_is_made_ahead(graph: Any) -> None:
    chosen = None if graph is PLAIN else "paper"
    links = None if graph is PLAIN else WRITES

    def epochs(prefetch: int, seed: int | None) -> list[Any]:
        settings: dict[str, Any] = dict(batch_size=32, shuffle=True, prefetch=prefetch, seed=seed)
        loaders: list[Any] = [NeighborLoader(graph, [2, 2], chosen, **settings)]
        for kind in ("binary", "triplet"):
            loaders.append(LinkLoader(graph, [2], links, neg_sampling=kind, neg_sampling_ratio=2, **settings))
        return [[parts(batch) for batch in loader] for loader in loaders for _ in range(2)]

    first = epochs(0, 5)
    assert first == epochs(1, 5) == epochs(4, 5)
    assert first[0] != first[1] and first != epochs(0, 6)
    paddle.seed(3)
    before = epochs(2, None)
    paddle.seed(3)
    assert before == epochs(0, None)


def test_layers_over_whole_neighbourhoods_give_the_rows_of_the_whole_graph() -> None:
    paddle.seed(0)
    first, second = gnn.GraphSageConv(6, 5, "mean"), gnn.GraphSageConv(5, 4, "max")

    def rows(graph: Graph) -> Any:
        return second(graph, first(graph, paddle.to_tensor(graph.node_feat["x"])))

    expected = rows(PLAIN).numpy()
    for sizes in ([-1, -1], None):
        for batch in NeighborLoader(PLAIN, sizes, batch_size=64):
            found = rows(batch.graph)[batch.seeds].numpy()
            np.testing.assert_allclose(found, expected[batch.input_id.numpy()], atol=1e-6)
            assert sizes or len(batch.nodes) == 200


def test_types() -> None:
    sizes = {WRITES: [2, 1], CITES: [3, 0]}
    loader = NeighborLoader(TYPED, sizes, ("paper", [4, 9, 7]), batch_size=2, labels=np.arange(80), seed=0)
    batches = list(loader)
    assert [batch.labels.tolist() for batch in batches] == [[4, 9], [7]]
    batch = batches[0]
    assert batch.graph.node_types == {kind: len(nodes) for kind, nodes in batch.nodes.items()}
    writers = batch.nodes["author"].numpy()
    assert (batch.graph.node_feat["author"]["x"].numpy() == TYPED.node_feat["author"]["x"][writers]).all()
    written = batch.graph.relations[WRITES]
    numbers = written.edge_feat["w"].numpy()
    assert (writers[written.sources] == TYPED.relations[WRITES].sources[numbers]).all()
    assert batch.edge_counts[CITES][1] == 0 and batch.edge_counts[WRITES][0] <= 4
    whole = next(iter(NeighborLoader(TYPED, None, "author", batch_size=3)))
    assert whole.graph.num_edges == 700 and whole.seeds["author"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("ratio", [1, 3])
def test_links_and_their_negatives(ratio: int) -> None:
    have = set(zip(PLAIN.sources.tolist(), PLAIN.targets.tolist(), strict=True))
    loader = LinkLoader(PLAIN, [2], batch_size=100, neg_sampling="binary", neg_sampling_ratio=ratio, seed=2)
    for batch in loader:
        links = batch.nodes.numpy()[batch.edge_label_index.numpy()].T
        given = batch.input_id.numpy()
        assert (links[:100, 0] == PLAIN.sources[given]).all()
        assert (links[:100, 1] == PLAIN.targets[given]).all()
        assert len(links) == 100 + 100 * ratio
        assert batch.edge_label.tolist() == [1.0] * 100 + [0.0] * 100 * ratio
        assert not any(tuple(pair) in have for pair in links[100:].tolist())
    triplets = LinkLoader(
        PLAIN, [2], PLAIN.edges[:50], batch_size=50, neg_sampling="triplet", neg_sampling_ratio=ratio
    )
    (batch,) = triplets
    own = batch.nodes.numpy()
    sources, wrong = own[batch.src_index.numpy()], own[batch.dst_neg_index.numpy()]
    assert (own[batch.dst_pos_index.numpy()] == PLAIN.targets[:50]).all() and wrong.shape == (50, ratio)
    assert (sources == PLAIN.sources[:50]).all()
    pairs = zip(np.repeat(sources, ratio).tolist(), wrong.ravel().tolist(), strict=True)
    assert not any(pair in have for pair in pairs)


def test_links_with_types_and_labels() -> None:
    stars = np.arange(300) % 5
    loader = LinkLoader(TYPED, [1], WRITES, stars, batch_size=7, neg_sampling="binary", seed=0)
    batch = next(iter(loader))
    a, b = batch.edge_label_index.numpy()
    relation = TYPED.relations[WRITES]
    assert (batch.nodes["author"].numpy()[a[:7]] == relation.sources[:7]).all()
    assert (batch.nodes["paper"].numpy()[b[:7]] == relation.targets[:7]).all()
    assert batch.edge_label.tolist() == [1, 2, 3, 4, 5, 1, 2] + [0] * 7
    batch = next(iter(LinkLoader(TYPED, [1], (CITES, [(0, 1), (2, 3)]), [5, 6], batch_size=2)))
    assert batch.edge_label.tolist() == [5, 6]
    assert batch.nodes["paper"].numpy()[batch.edge_label_index.numpy()].tolist() == [[0, 2], [1, 3]]


def test_chances_of_the_first_item_and_of_drawn_edges() -> None:
    graph = Graph([(1, 0), (2, 0), (3, 0)], num_nodes=4)
    firsts, drawn = [], []
    loader = NeighborLoader(graph, [1], batch_size=1, shuffle=True, prefetch=0, seed=0)
    for _ in range(1_500):
        for place, batch in enumerate(loader):
            if place == 0:
                firsts.append(int(batch.input_id[0]))
            if len(batch.edges):
                drawn.append(int(batch.edges[0]))
    fits(firsts, dict.fromkeys(range(4), 1.0))
    fits(drawn, dict.fromkeys(range(3), 1.0))


def test_an_error_in_the_thread_reaches_the_user_and_the_loader_goes_on() -> None:
    complete = Graph([(a, b) for a in range(3) for b in range(3) if a != b], num_nodes=3)
    loader = LinkLoader(complete, [1], neg_sampling="triplet", prefetch=2)
    for _ in range(2):
        with pytest.raises(
            ValueError, match="negative_targets: expected sources without an edge to some node"
        ):
            next(iter(loader))


def test_arrays_that_the_caller_overwrites() -> None:
    nodes = np.array([3, 1])
    loader = NeighborLoader(PLAIN, [2], nodes, batch_size=2, seed=0)
    nodes[:] = 10**6
    (batch,) = loader
    assert batch.nodes.numpy()[batch.seeds.numpy()].tolist() == [3, 1]


@pytest.mark.parametrize(
    ("made", "error", "text"),
    [
        (lambda: NeighborLoader([1], [2]), TypeError, "NeighborLoader: expected a Graph or a HeteroGraph"),
        (lambda: NeighborLoader(PLAIN, [2], [200]), ValueError, "NeighborLoader: input_nodes: expected ids"),
        (lambda: NeighborLoader(PLAIN, [-2]), ValueError, "NeighborLoader: num_neighbors"),
        (lambda: NeighborLoader(PLAIN, [2], batch_size=0), ValueError, "NeighborLoader: batch_size"),
        (lambda: NeighborLoader(PLAIN, [2], weights=[1]), ValueError, "NeighborLoader: weights: expected one"),
        (lambda: NeighborLoader(PLAIN, [2], prefetch=-1), ValueError, "NeighborLoader: prefetch"),
        (lambda: NeighborLoader(PLAIN, [2], labels=[1, 2]), ValueError, "labels: expected 200 rows"),
        (lambda: NeighborLoader(TYPED, [2], "place"), ValueError, "expected a node type or .node type, ids"),
        (lambda: NeighborLoader(TYPED, [2]), ValueError, "expected a node type or .node type, ids"),
        (lambda: NeighborLoader(TYPED, {WRITES: [1], CITES: [1, 2]}, "paper"), ValueError, "as many hops"),
        (lambda: LinkLoader(PLAIN, [2], neg_sampling="both"), ValueError, "LinkLoader: neg_sampling"),
        (lambda: LinkLoader(PLAIN, [2], [(0, 200)]), ValueError, "edge_label_index: targets: expected ids"),
        (lambda: LinkLoader(PLAIN, [2], edge_label=[1]), ValueError, "edge_label: expected 1500 rows"),
        (lambda: LinkLoader(TYPED, [2], ("a", "b", "c")), ValueError, "expected an edge type or"),
        (lambda: LinkLoader(TYPED, [2], (WRITES, [(0, 80)])), ValueError, "targets: expected ids from 0 to 79"),
        (lambda: LinkLoader(PLAIN, [2], neg_sampling_ratio=0.5), TypeError, "neg_sampling_ratio"),
    ],
)  # fmt: skip
def test_bad_input(made: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        made()


def test_samples_are_those_of_k_hop() -> None:
    (batch,) = NeighborLoader(PLAIN, [-1], [5, 6], batch_size=2)
    alone = k_hop(PLAIN, [5, 6], [-1])
    assert batch.nodes.tolist() == alone.nodes.tolist() and batch.edges.tolist() == alone.edges.tolist()


def test_mini_batches_learn_the_classes_of_cora() -> None:
    if "cora" not in datasets.available():
        pytest.skip("needs cora in SAMPAN_DATA")
    paddle.seed(1)
    data = datasets.load_graph("cora")
    first, second = gnn.GraphSageConv(1433, 32, "mean", False), gnn.GraphSageConv(32, 7, "mean", False)
    parameters = [*first.parameters(), *second.parameters()]
    optimizer = paddle.optimizer.Adam(0.005, parameters=parameters, weight_decay=5e-4)
    settings: dict[str, Any] = dict(labels=data.labels, seed=0)
    train = NeighborLoader(data.graph, [10, 10], data.train, batch_size=70, shuffle=True, **settings)

    def predict(batch: Any, training: bool) -> Any:
        x = F.dropout(batch.graph.node_feat["x"], 0.5, training=training)
        hidden = F.dropout(F.relu(first(batch.graph, x)), 0.5, training=training)
        return second(batch.graph, hidden)[batch.seeds]

    for _ in range(25):
        for batch in train:
            F.cross_entropy(predict(batch, True), batch.labels).backward()
            optimizer.step()
            optimizer.clear_grad()
    right = 0
    with paddle.no_grad():
        for batch in NeighborLoader(data.graph, [-1, -1], data.test, batch_size=500, **settings):
            right += int((predict(batch, False).argmax(1) == batch.labels).sum())
    assert right / len(data.test) > 0.76
