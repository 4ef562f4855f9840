"""A graph that changes against networkx: random updates, queries and snapshots; threads; failures."""

import gc
import sys
import threading

import networkx as nx
import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sampan.graph import Graph
from sampan.graph.dynamic import DynamicGraph

NODES = st.integers(0, 6)
PAIRS = st.lists(st.tuples(NODES, NODES), max_size=8)


def content(graph):
    """{number: (source, target)} as the rows by source have it."""
    every = np.arange(graph.num_nodes)
    targets, edges, counts = graph.successors(every)
    return dict(
        zip(
            edges.tolist(), zip(np.repeat(every, counts).tolist(), targets.tolist(), strict=True), strict=True
        )
    )


def turned(graph):
    every = np.arange(graph.num_nodes)
    sources, edges, counts = graph.predecessors(every)
    return dict(
        zip(
            edges.tolist(), zip(sources.tolist(), np.repeat(every, counts).tolist(), strict=True), strict=True
        )
    )


class Changes(RuleBasedStateMachine):
    """Every update on a DynamicGraph and on networkx; snapshots stay what they were."""

    def __init__(self):
        super().__init__()
        self.graph = DynamicGraph(7, edge_feat={"w": np.zeros(0)})
        self.oracle = nx.MultiDiGraph()
        self.oracle.add_nodes_from(range(7))
        self.snapshots, self.clock = [], 0

    def add(self, number, a, b):
        self.clock += 1
        self.oracle.add_edge(a, b, key=number, w=float(self.clock), age=self.clock)

    def alive(self, pairs):
        return [p for p in pairs if p[0] in self.oracle and p[1] in self.oracle]

    @rule(pairs=PAIRS)
    def add_edges(self, pairs):
        pairs = self.alive(pairs)
        values = np.arange(self.clock + 1.0, self.clock + 1 + len(pairs))
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        numbers = self.graph.add_edges(*ends.T, edge_feat={"w": values})
        for number, (a, b) in zip(numbers.tolist(), pairs, strict=True):
            self.add(number, a, b)

    @rule(a=NODES, b=NODES)
    def add_edge(self, a, b):
        if self.alive([(a, b)]):
            self.add(self.graph.add_edge(a, b, w=float(self.clock + 1)), a, b)

    def newest(self, a, b, without=()):
        edges = self.oracle.get_edge_data(a, b, default={})
        return max((k for k in edges if k not in without), key=lambda k: edges[k]["age"], default=None)

    @rule(pairs=PAIRS)
    def remove_edges(self, pairs):
        pairs, taken = self.alive(pairs), []
        for a, b in pairs:
            taken.append(self.newest(a, b, taken))
        ends = np.array(pairs, np.int64).reshape(-1, 2)
        if None in taken:
            with pytest.raises(
                ValueError, match=r"remove_edges: expected an edge from \d to \d, there is none"
            ):
                self.graph.remove_edges(*ends.T)
        else:
            self.graph.remove_edges(*ends.T)
            for (a, b), number in zip(pairs, taken, strict=True):
                self.oracle.remove_edge(a, b, key=number)

    @rule(a=NODES, b=NODES)
    def remove_edge(self, a, b):
        number = self.newest(a, b)
        if number is not None:
            self.graph.remove_edge(a, b)
            self.oracle.remove_edge(a, b, key=number)

    @precondition(lambda self: self.oracle.number_of_nodes() > 3)
    @rule(node=NODES)
    def remove_node(self, node):
        if node in self.oracle:
            self.graph.remove_nodes([node])
            self.oracle.remove_node(node)

    @rule(value=st.floats(-1e6, 1e6))
    def update(self, value):
        number = next((k for _, _, k in self.oracle.edges), None)
        if number is not None:
            a, b = next((a, b) for a, b, k in self.oracle.edges if k == number)
            self.graph.update_edge_feat("w", [number], [value])
            self.oracle.edges[a, b, number]["w"] = value

    @rule()
    def snapshot(self):
        self.snapshots.append((self.graph.snapshot(), self.whole()))

    @precondition(lambda self: self.snapshots)
    @rule()
    def forget(self):
        self.snapshots.pop(0)

    @rule()
    def compact(self):
        self.graph.compact()

    def whole(self):
        return {k: (a, b, data["w"]) for a, b, k, data in self.oracle.edges(keys=True, data=True)}

    @invariant()
    def equal(self):
        found = content(self.graph)
        assert found == turned(self.graph) and self.graph.num_edges == len(found)
        numbers = list(found)
        weights = self.graph.edge_feat("w", numbers).tolist()
        assert {k: (*found[k], w) for k, w in zip(numbers, weights, strict=True)} == self.whole()
        for snapshot, before in self.snapshots:
            made = snapshot.to_graph()
            features = made.edge_feat["edge"].tolist(), made.edges.tolist(), made.edge_feat["w"].tolist()
            assert {k: (*pair, w) for k, pair, w in zip(*features, strict=True)} == before


TestChanges = Changes.TestCase
TestChanges.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_the_order_of_a_row_is_that_of_its_edges():
    graph = DynamicGraph(3)
    numbers = [graph.add_edge(0, node) for node in (1, 2, 1, 0, 2, 1)]
    graph.remove_edge(0, 1)  # the newest of the three
    assert graph.successors([0])[0].tolist() == [1, 2, 1, 0, 2]
    assert graph.successors([0])[1].tolist() == numbers[:5]
    assert graph.has_edge(0, 1) and not graph.has_edge(1, 0)
    assert graph.outdegree([0, 1]).tolist() == [5, 0] and graph.indegree([0, 1, 2]).tolist() == [1, 2, 2]


def test_times_and_windows():
    graph = DynamicGraph(3, [(0, 1), (1, 2)], times=[1.0, 5.0])
    new = graph.add_edge(2, 0, time=3.0)
    assert graph.edge_times([new]).tolist() == [3.0]
    assert graph.remove_edges_before(4.0) == 2 and graph.num_edges == 1
    assert content(graph) == {1: (1, 2)}
    assert graph.to_graph().edge_feat["time"].tolist() == [5.0]


def test_nodes_with_features():
    graph = DynamicGraph(1, node_feat={"x": np.ones((1, 2), np.float32)})
    made = graph.add_nodes(2, {"x": [[2, 3], [4, 5]]})
    before = graph.snapshot()
    graph.update_node_feat("x", [0], [[9, 9]])
    assert made.tolist() == [1, 2] and graph.node_feat("x", [0, 2]).tolist() == [[9, 9], [4, 5]]
    assert before.to_graph().node_feat["x"].tolist() == [[1, 1], [2, 3], [4, 5]]
    graph.remove_nodes([1])
    assert not graph.has_node(1) and graph.has_node(2)
    assert isinstance(graph.to_graph(), Graph)


def test_many_edges_and_compaction():
    rng = np.random.default_rng(0)
    graph, alive = DynamicGraph(5000), {}
    for _ in range(12):
        ends = rng.integers(0, 5000, (2, 40_000))
        numbers = graph.add_edges(*ends)
        alive.update(zip(numbers.tolist(), zip(*ends.tolist(), strict=True), strict=True))
        gone = rng.choice(list(alive), 30_000, replace=False)
        graph.remove_edges(edges=gone)
        for number in gone.tolist():
            del alive[number]
    assert content(graph) == alive == turned(graph)
    graph.compact()
    assert content(graph) == alive == turned(graph)


def test_compaction_beside_updates_loses_none_of_them():
    """Both directions keep the same edges while two threads compact. Threads take turns often: an update between
    the steps of a compaction is what could be lost."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            graph, stop = DynamicGraph(50), threading.Event()
            ends = np.arange(50), (np.arange(50) + 1) % 50

            def compact(graph=graph, stop=stop):
                while not stop.is_set():
                    graph.compact()

            threads = [threading.Thread(target=compact) for _ in range(2)]
            for thread in threads:
                thread.start()
            try:
                for step in range(300):
                    (graph.remove_edges if step % 3 == 2 else graph.add_edges)(*ends)
            finally:
                stop.set()
                for thread in threads:
                    thread.join()
            assert graph.num_edges == 5000 and turned(graph) == content(graph)
            assert not graph._snapshots  # nothing keeps places that no view sees
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("in_a_folder", [False, True])
def test_readers_never_see_half_a_batch(tmp_path, in_a_folder, monkeypatch):
    """Each batch adds a whole cycle or takes a whole one away, so degrees stay equal; compaction goes on beside,
    and flushes of a graph in a folder."""
    monkeypatch.setattr("sampan.graph.redo_log.LEAST", 3000)
    size, errors, stop = 50, [], threading.Event()
    graph = DynamicGraph(size, path=tmp_path if in_a_folder else None)
    ends = np.arange(size), (np.arange(size) + 1) % size

    def read():
        every = np.arange(size)
        while not stop.is_set():
            counts = graph.successors(every)[2]
            made = graph.snapshot().to_graph()
            if (
                len(set(counts.tolist())) != 1
                or len({*made.indegree().tolist(), *made.outdegree().tolist()}) != 1
            ):
                errors.append(counts)

    def compact():
        while not stop.is_set():
            graph.compact()
            if in_a_folder:
                graph.flush()

    threads = [threading.Thread(target=work) for work in (read, read, compact)]
    for thread in threads:
        thread.start()
    try:
        depth = 0
        for step in range(400):
            if step % 3 < 2:
                graph.add_edges(*ends)
                depth += 1
            else:
                graph.remove_edges(*ends)
                depth -= 1
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors and graph.num_edges == depth * size
    assert turned(graph) == content(graph)
    graph.close()
    if in_a_folder:
        assert content(DynamicGraph.open(tmp_path)) == content(graph)


def test_numbers_are_used_again_when_no_snapshot_sees_them():
    graph = DynamicGraph(2)
    first = graph.add_edge(0, 1)
    before = graph.snapshot()
    graph.remove_edge(0, 1)
    graph.snapshot()
    assert graph.add_edge(1, 0) != first and before.successors([0])[1].tolist() == [first]
    del before
    gc.collect()
    graph.remove_edge(1, 0)
    graph.snapshot()
    assert first in {graph.add_edge(0, 0), graph.add_edge(0, 0)}


def test_memory_that_ends_changes_nothing(monkeypatch):
    graph = DynamicGraph(3, [(0, 1)])

    def ends(array, size):
        raise MemoryError

    numbers = np.repeat(np.arange(3), 1000)
    monkeypatch.setattr("sampan.graph.growing_rows._longer", ends)
    with pytest.raises(MemoryError):
        graph.add_edges(numbers, numbers)
    monkeypatch.undo()
    assert content(graph) == turned(graph) == {0: (0, 1)} and graph.num_edges == 1
    assert len(graph.add_edges(numbers, numbers)) == 3000 and graph.num_edges == 3001


def test_memory_that_ends_in_a_removal_changes_nothing(monkeypatch):
    graph = DynamicGraph(3, [(0, 1), (1, 2), (0, 2)], times=[1.0, 2.0, 3.0])
    seen = graph.snapshot()
    expected = {0: (0, 1), 1: (1, 2), 2: (0, 2)}

    def ends(self, rows):
        raise MemoryError

    with monkeypatch.context() as monkeypatch:
        monkeypatch.setattr("sampan.graph.growing_rows.GrowingRows.reserve_copies", ends)
        for call in (
            lambda: graph.remove_edges(edges=[0, 2]),
            lambda: graph.remove_edges([0], [1]),
            lambda: graph.remove_edges_before(2.5),
            lambda: graph.remove_nodes([0]),
        ):
            with pytest.raises(MemoryError):
                call()
    assert content(graph) == turned(graph) == expected and graph.num_edges == 3 and graph.has_node(0)
    graph.remove_edges(edges=[0, 2, 0])  # one twice
    assert content(graph) == turned(graph) == {1: (1, 2)} and graph.num_edges == seen.num_edges - 2


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda g: g.add_edges([0], [3]), "add_edges: targets: expected ids from 0 to 2, got 3"),
        (lambda g: g.add_edges([0, 1], [1]), "add_edges: expected as many sources as targets, got 2 and 1"),
        (lambda g: g.add_edges([0], [1], times=[1.0]), "add_edges: times: expected None, edges have no time"),
        (lambda g: g.add_edges([0], [1]), r"add_edges: edge_feat: expected \['w'\], got \[\]"),
        (
            lambda g: g.add_edges([0], [1], edge_feat={"w": np.ones((1, 2))}),
            r"add_edges: edge_feat: 'w': expected shape \[1\], got \[1, 2\]",
        ),
        (lambda g: g.add_edge(0, 7, w=1.0), "add_edge: expected a node of this graph, got 7"),
        (lambda g: g.add_edge(-1, 0, w=1.0), "add_edge: expected a node of this graph, got -1"),
        (lambda g: g.add_edge(2, 0, w=1.0), "add_edge: expected a node of this graph, got 2"),
        (lambda g: g.add_edge(0, 1), "add_edge: edge_feat: expected"),
        (lambda g: g.remove_edge(1, 0), "remove_edge: expected an edge from 1 to 0, there is none"),
        (lambda g: g.remove_edges(edges=[0, 1]), "remove_edges: edges: expected ids from 0 to 0, got 1"),
        (lambda g: g.remove_edge(0, 5), "remove_edge: expected a node of this graph, got 5"),
        (
            lambda g: g.remove_nodes([2]),
            "remove_nodes: expected nodes of this graph, got 2, which was removed",
        ),
        (lambda g: g.remove_edges_before(1.0), "remove_edges_before: expected edges with times"),
        (lambda g: g.edge_times([0]), "edge_times: expected edges with times"),
        (lambda g: g.edge_feat("w", [1]), "edge_feat: edges: expected"),
        (
            lambda g: g.update_edge_feat("v", [0], [1.0]),
            r"update_edge_feat: expected one of \['w'\], got 'v'",
        ),
        (lambda g: g.update_edge_feat("w", [0], [[1.0]]), "update_edge_feat: 'w': expected shape"),
        (lambda g: g.successors([3]), "successors: nodes: expected ids from 0 to 2, got 3"),
        (lambda g: g.add_nodes(-1), "add_nodes: count: expected a whole number of at least 0"),
        (lambda g: g.add_nodes(2**31 - 3), "add_nodes: expected at most 2147483644 nodes"),
        (lambda g: DynamicGraph(2, [(0, 1)], times=[1.0, 2.0]), "times: expected 1 numbers, got 2"),
        (lambda g: DynamicGraph(2, [(0, 1)], times=[np.nan]), "times: expected finite times, got nan"),
        (
            lambda g: DynamicGraph(2, node_feat={"x": [1]}),
            r"node_feat: expected 2 rows in 'x', got shape \[1\]",
        ),
        (
            lambda g: DynamicGraph(2, node_feat={"x": 1.0}),
            r"node_feat: expected 2 rows in 'x', got shape \[\]",
        ),
        (lambda g: DynamicGraph(-1), "num_nodes: expected a whole number of at least 0, got -1"),
        (lambda g: DynamicGraph(2**31), "num_nodes: expected at most 2147483647, got 2147483648"),
        (lambda g: g.has_edge(0, 99), "has_edge: expected ids from 0 to 2, got 99"),
        (
            lambda g: g.remove_edges([0], [1], edges=[0]),
            "remove_edges: expected sources and targets, or edges",
        ),
        (lambda g: g.remove_edges(), "remove_edges: expected sources and targets, or edges"),
        (lambda g: g.edge_feat("v", [0]), r"edge_feat: expected one of \['w'\], got 'v'"),
        (
            lambda g: g.successors([0], before=1.0),
            "successors: expected edges with times for after and before",
        ),
    ],
)
def test_bad_input_changes_nothing(call, text):
    graph = DynamicGraph(3, [(0, 1)], edge_feat={"w": [1.0]})
    graph.remove_nodes([2])
    with pytest.raises(ValueError, match=text):
        call(graph)
    assert content(graph) == turned(graph) == {0: (0, 1)} and graph.num_edges == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda g: g.add_edge(0.5, 1, 1.0, w=1),
            TypeError,
            "add_edge: expected a node of this graph, got 0.5",
        ),
        (
            lambda g: g.add_edge(True, 1, 1.0, w=1),
            TypeError,
            "add_edge: expected a node of this graph, got True",
        ),
        (
            lambda g: g.add_edge(0, 1, np.nan, w=1),
            ValueError,
            "add_edge: time: expected a finite number, got nan",
        ),
        (
            lambda g: g.add_edge(0, 1, np.inf, w=1),
            ValueError,
            "add_edge: time: expected a finite number, got inf",
        ),
        (lambda g: g.add_edge(0, 1, "1", w=1), TypeError, "add_edge: time: expected a number, got '1'"),
        (lambda g: g.add_edge(0, 1, 1.0, w=1.5), TypeError, "add_edge: edge_feat: 'w': expected dtype int8"),
        (lambda g: g.add_edges([0], [1], ["1"], {"w": [1]}), TypeError, "add_edges: times: expected numbers"),
        (lambda g: g.add_edges([0], [1], [1.0], {"w": [np.nan]}), TypeError, "'w': expected dtype int8"),
        (
            lambda g: g.add_edges([0], [1], [1.0], {"w": [300]}),
            ValueError,
            "'w': expected values that fit int8",
        ),
        (
            lambda g: g.update_edge_feat("w", [0], [1.5]),
            TypeError,
            "update_edge_feat: 'w': expected dtype int8",
        ),
        (lambda g: g.update_edge_feat("w", [0], [-129]), ValueError, "expected values that fit int8"),
        (lambda g: g.add_nodes(1.5), TypeError, "add_nodes: count: expected a whole number"),
        (lambda g: g.has_node(0.5), TypeError, "has_node: expected a whole number"),
        (lambda g: g.remove_edge(0.5, 1), TypeError, "remove_edge: expected a node of this graph, got 0.5"),
        (
            lambda g: g.remove_edges_before(np.nan),
            ValueError,
            "remove_edges_before: time: expected a number, got nan",
        ),
        (lambda g: g.successors([0], after="a"), TypeError, "successors: after: expected a number, got 'a'"),
        (lambda g: g.predecessors([0], before=np.nan), ValueError, "predecessors: before: expected a number"),
        (lambda g: DynamicGraph(np.nan), TypeError, "DynamicGraph: num_nodes: expected a whole number"),
    ],
)
def test_what_no_dtype_holds_is_refused_and_changes_nothing(call, error, text):
    node_feat = {"x": np.zeros(3, np.float32)}
    graph = DynamicGraph(3, [(0, 1)], [1.0], node_feat, {"w": np.array([1], np.int8)})
    with pytest.raises(error, match=text):
        call(graph)
    assert content(graph) == turned(graph) == {0: (0, 1)} and graph.edge_feat("w", [0]).tolist() == [1]
    assert graph.add_edge(1, 2, 2.0, w=2) == 1  # no number was lost


def test_queries_of_a_window_are_those_of_networkx():
    rng = np.random.default_rng(0)
    pairs, times = rng.integers(0, 8, (200, 2)), rng.integers(0, 20, 200).astype(float)
    graph, oracle = DynamicGraph(8, pairs, times), nx.MultiDiGraph()
    oracle.add_nodes_from(range(8))
    for number, ((a, b), time) in enumerate(zip(pairs.tolist(), times.tolist(), strict=True)):
        oracle.add_edge(a, b, number, time=time)
    snapshot = graph.snapshot()
    graph.remove_edges_before(10.0)
    every = list(range(8))
    for view, first in ((snapshot, 0), (graph, 10)):
        for after, before in (
            (None, None),
            (5.0, None),
            (None, 12),
            (5, 12.5),
            (12.0, 12.0),
            (-np.inf, np.inf),
        ):
            low, high = (-1 if after is None else after), (99 if before is None else before)
            kept = {
                (a, b, n)
                for a, b, n, t in oracle.edges(keys=True, data="time")
                if low <= t < high and t >= first
            }
            for turned_, read in ((False, view.successors), (True, view.predecessors)):
                others, edges, counts = read(every, after=after, before=before)
                rows = np.repeat(every, counts)
                pairs_found = (others, rows) if turned_ else (rows, others)
                assert set(zip(*(part.tolist() for part in (*pairs_found, edges)), strict=True)) == kept
            assert view.to_graph(after, before).num_edges == len(kept)
