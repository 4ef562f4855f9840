"""A graph that changes while it is queried."""

import threading
import weakref
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..kernels.cpu_graph_dynamic import mark
from .adjacency import MOST, ids
from .columns import Columns, array, fitted, moment
from .drawing import moments, whole
from .graph import Graph, edge_ends
from .growing_rows import Compaction, GrowingRows, RowsView, Stack, _longer
from .redo_log import RedoLog
from .redo_records import ADD, EDGE_FEAT, GONE, NODE_FEAT, NODES, REMOVE, Schema
from .turns import Turns

Found = tuple[np.ndarray, np.ndarray, np.ndarray]  # neighbours, edges, counts
ONE_BY_ONE = 4096  # edges that are added singly wait until there are so many, or until a query


def _between(
    found: Found, times: np.ndarray | None, after: float | None, before: float | None, function: str
) -> Found:
    """Of rows the edges with after <= time < before; None is no bound."""
    if after is None and before is None:
        return found
    if times is None:
        raise ValueError(f"{function}: expected edges with times for after and before, got a graph without")
    neighbours, edges, counts = found
    at = times[edges]
    kept = np.ones(len(at), bool)
    if after is not None:
        kept &= at >= moment(after, f"{function}: after", bound=True)
    if before is not None:
        kept &= at < moment(before, f"{function}: before", bound=True)
    row = np.repeat(np.arange(len(counts)), counts)
    return neighbours[kept], edges[kept], np.bincount(row[kept], minlength=len(counts)).astype(np.int32)


class Snapshot:
    """A DynamicGraph as it was: what changes afterwards is not seen. It costs 24 bytes a node, and the places
    of edges that are removed while it is in use."""

    def __init__(self, graph: "DynamicGraph") -> None:
        self.num_nodes, self.num_edges = graph.num_nodes, graph.num_edges
        self._out, self._into = (rows.view(self.num_nodes) for rows in (graph._out, graph._into))
        self.times = graph._times
        self.node_feat, self.edge_feat = dict(graph._node_feat.arrays), dict(graph._edge_feat.arrays)

    def successors(self, nodes: Any, after: float | None = None, before: float | None = None) -> Found:
        """See DynamicGraph.successors."""
        chosen = ids(nodes, self.num_nodes, "successors: nodes").reshape(-1)
        return _between(self._out.read(chosen), self.times, after, before, "successors")

    def predecessors(self, nodes: Any, after: float | None = None, before: float | None = None) -> Found:
        """See DynamicGraph.predecessors."""
        chosen = ids(nodes, self.num_nodes, "predecessors: nodes").reshape(-1)
        return _between(self._into.read(chosen), self.times, after, before, "predecessors")

    def to_graph(self, after: float | None = None, before: float | None = None) -> Graph:
        """A Graph of the same nodes and the edges of a window of time (see `successors`), by source, with the
        edge features "edge", the number of the edge here, and "time" if edges have one."""
        every = np.arange(self.num_nodes, dtype=np.int32)
        targets, edges, counts = _between(self._out.read(every), self.times, after, before, "to_graph")
        features = {name: column[edges] for name, column in self.edge_feat.items()}
        if self.times is not None:
            features["time"] = self.times[edges]
        nodes = {name: column[: self.num_nodes] for name, column in self.node_feat.items()}
        return Graph((np.repeat(every, counts), targets), self.num_nodes, nodes, {**features, "edge": edges})


class DynamicGraph:
    """A directed graph whose nodes and edges come and go while other threads query it.

    num_nodes: nodes 0 to num_nodes - 1 to begin with. edges: see Graph. times: float64 [edges] or None: then
    edges have no time. node_feat, edge_feat: name -> array with a row for each node or edge of the beginning
    (also of no edges: [0, ...]); later nodes and edges have the same features.

    num_nodes counts removed nodes too: ids are not used again. Samplers and layers take `to_graph()`; after
    <= time < before is a window of time. Times are exact for whole numbers up to 2^53.

    An update of many edges is one step: no query sees half of it, and one that fails changes nothing. Edges
    keep the numbers that `add_edges` returned; the number of a removed edge is used again. `snapshot` is a
    view that stays as it is. Updates and queries take turns; a query waits for one update at most.

    path: a folder for the graph, or None: it is in memory alone. `DynamicGraph.open(path)` continues with it
    as of the last `flush`, also after a kill at any moment or a loss of power; later updates are undone.
    Edges keep their numbers and rows their order. One at a time has the folder open. Updates go to a redo
    log, which is compacted in the background: see `redo_log`.

    >>> g = paddle.graph.DynamicGraph(3)
    >>> g.add_edges([0, 0], [1, 2]).tolist()
    [0, 1]
    >>> before = g.snapshot()
    >>> g.remove_edge(0, 1)
    >>> g.successors([0])[0].tolist(), before.successors([0])[0].tolist()
    ([2], [1, 2])
    """

    def __init__(
        self,
        num_nodes: int = 0,
        edges: Any = (),
        times: Any = None,
        node_feat: Mapping[str, Any] | None = None,
        edge_feat: Mapping[str, Any] | None = None,
        path: str | Path | None = None,
    ) -> None:
        self._lock, self._compacting = Turns(), threading.Lock()
        self._log: RedoLog | None = None
        self._out, self._into = GrowingRows(), GrowingRows()
        self._sources, self._targets = np.zeros(0, np.int32), np.zeros(0, np.int32)
        self._dead = np.ones(0, bool)  # of each edge number, whether no edge has it
        self._times: np.ndarray | None = None if times is None else np.zeros(0)
        self._free = Stack()  # numbers of removed edges
        self._retired: deque[tuple[int, np.ndarray]] = deque()  # and of those that a snapshot may still see
        self._slots = 0  # edge numbers in use or used before
        self._added: list[int] = []  # edges that are not in the rows yet
        self._removed: list[int] = []  # dead edges that are still in the rows
        self._version, self._snapshots = 1, set[int]()
        self._gone = np.zeros(0, bool)  # of each node, whether it was removed
        self._compactor: threading.Thread | None = None
        num_nodes = whole(num_nodes, 0, "DynamicGraph: num_nodes: expected a whole number of at least 0")
        if num_nodes > MOST:
            raise ValueError(f"DynamicGraph: num_nodes: expected at most {MOST}, got {num_nodes}")
        self._node_feat = Columns(node_feat, num_nodes, "node_feat")
        sources, targets = edge_ends(edges, "DynamicGraph: edges")
        self._edge_feat = Columns(edge_feat, len(sources), "edge_feat")
        self.num_nodes = self.num_edges = 0
        self._add_rows(num_nodes)
        first = dict(self._edge_feat.arrays)
        if len(sources) or times is not None:
            self.add_edges(sources, targets, times, first)
        if path is not None:
            self._log = RedoLog.made(self, Path(path), "DynamicGraph")

    @classmethod
    def open(cls, path: str | Path) -> "DynamicGraph":
        """The graph in a folder, as it was flushed last.

        Raises FileNotFoundError where there is none, and ValueError where another DynamicGraph has the folder
        open, for another version's format and for a file that is missing, cut or changed.
        """

        def made(schema: Schema) -> DynamicGraph:
            node_feat, edge_feat = (
                {name: np.zeros((0, *shape), dtype) for name, (dtype, shape) in columns.items()}
                for columns in (schema.node_feat, schema.edge_feat)
            )
            return cls(0, (), [] if schema.times else None, node_feat, edge_feat)

        graph, log = RedoLog.opened(Path(path), made)
        graph._log = log
        return graph

    def flush(self) -> None:
        """Every update until now counts when this returns: it is on the disk. Queries and updates go on
        meanwhile. Raises OSError for a full disk; then the last flush counts."""
        if self._log is None:
            raise ValueError("flush: expected a graph with a path, got one in memory")
        self._changing("flush")
        self._log.flush(self)

    def __enter__(self) -> "DynamicGraph":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Flush, and let others open the folder. Queries still work, updates raise ValueError. Raises OSError
        for a full disk; then the graph is still open."""
        if self._log is not None:
            self._log.close(self)

    def save(self, path: str | Path) -> None:
        """Write the graph as it is now to another folder, for `DynamicGraph.open`. Raises ValueError where
        that holds a graph."""
        RedoLog.made(self, Path(path), "save").release()

    def __repr__(self) -> str:
        return f"DynamicGraph(num_nodes={self.num_nodes}, num_edges={self.num_edges})"

    # Nodes

    def add_nodes(self, count: int = 1, node_feat: Mapping[str, Any] | None = None) -> np.ndarray:
        """`count` more nodes; returns their ids, int64. node_feat: name -> array [count, ...]."""
        with self._lock:
            self._changing("add_nodes")
            count = whole(count, 0, "add_nodes: count: expected a whole number of at least 0")
            if count > MOST - self.num_nodes:
                raise ValueError(f"add_nodes: expected at most {MOST - self.num_nodes} nodes, got {count}")
            features = self._node_feat.checked(node_feat, count, "add_nodes")
            first = self.num_nodes
            self._node_feat.grow(first + count)
            self._node_feat.write(slice(first, first + count), features)
            self._add_rows(first + count)
            self._note(NODES, count, *features.values())
            return np.arange(first, first + count)

    def remove_nodes(self, nodes: Any) -> None:
        """Take these nodes and every edge at them away. Their ids are not used again."""
        with self._lock:
            self._changing("remove_nodes")
            chosen = self._nodes(nodes, "remove_nodes")
            self._flush()
            self._remove(np.concatenate([rows.live(self.num_nodes).read(chosen)[1] for rows in self._rows]))
            self._gone[chosen] = True
            self._note(GONE, len(chosen), chosen)

    def has_node(self, node: int) -> bool:
        """Whether a node has this id: False for one that was removed."""
        number = whole(node, 0, "has_node: expected a whole number of at least 0")
        with self._lock:
            return number < self.num_nodes and not self._gone[number]

    def update_node_feat(self, name: str, nodes: Any, values: Any) -> None:
        """Write rows [nodes, ...] of a feature."""
        self._update(self._node_feat, name, values, lambda: self._nodes(nodes, "update_node_feat"))

    # Edges

    def add_edges(
        self, sources: Any, targets: Any, times: Any = None, edge_feat: Mapping[str, Any] | None = None
    ) -> np.ndarray:
        """One edge from sources[i] to targets[i] for each i; returns their numbers, int64."""
        with self._lock:
            self._changing("add_edges")
            rows = self._pairs(sources, targets, "add_edges")
            count = len(rows[0])
            moments = self._moments(times, count, "add_edges")
            features = self._edge_feat.checked(edge_feat, count, "add_edges")
            self._flush()
            numbers = self._numbers(count)
            self._write(numbers, *rows, moments, features)
            self._insert(numbers)
            return numbers.astype(np.int64)

    def add_edge(self, source: int, target: int, time: float | None = None, **edge_feat: Any) -> int:
        """One edge; returns its number. Several are put into the rows together, at the latest by a query."""
        with self._lock:
            self._changing("add_edge")
            source, target = self._node(source, "add_edge"), self._node(target, "add_edge")
            for node in (source, target):
                if self._gone[node]:
                    raise ValueError(f"add_edge: expected a node of this graph, got {node}")
            if (time is None) != (self._times is None):
                raise ValueError(f"add_edge: time: expected {self._timed()}, got {time}")
            if time is not None:
                time = moment(time, "add_edge: time")
            features = {}
            if edge_feat or self._edge_feat.arrays:
                rows = {name: array(value)[None] for name, value in edge_feat.items()}
                checked = self._edge_feat.checked(rows, 1, "add_edge")
                features = {name: values[0] for name, values in checked.items()}
            number = int((self._free.pop(1) if len(self._free) else self._numbers(1))[0])
            self._write(number, source, target, time, features)
            self._added.append(number)
            if len(self._added) >= ONE_BY_ONE:
                self._flush()
            return number

    def remove_edges(self, sources: Any = None, targets: Any = None, *, edges: Any = None) -> None:
        """The newest edge of each pair away, or the edges of these numbers.

        Raises ValueError, and changes nothing, where there is none, and for both pairs and numbers.
        """
        with self._lock:
            self._changing("remove_edges")
            if (edges is None) == (sources is None and targets is None):
                raise ValueError("remove_edges: expected sources and targets, or edges")
            if edges is not None:
                chosen = self._edges(edges, "remove_edges")
                self._flush()
                self._remove(chosen)
            else:
                rows = self._pairs(sources, targets, "remove_edges")
                self._flush()
                self._take_out(self._find(*rows, "remove_edges"))

    def remove_edge(self, source: int, target: int) -> None:
        """The newest edge between two nodes away. Raises ValueError where there is none."""
        with self._lock:
            self._changing("remove_edge")
            source, target = self._node(source, "remove_edge"), self._node(target, "remove_edge")
            if self._added:
                self._flush()
            found = self._find(np.array([source], np.int32), np.array([target], np.int32), "remove_edge")
            self._removed.append(int(found[0]))
            self.num_edges -= 1
            if len(self._removed) >= ONE_BY_ONE:
                self._flush()

    def remove_edges_before(self, time: float) -> int:
        """Every edge with an earlier time away; returns how many those were."""
        with self._lock:
            self._changing("remove_edges_before")
            if self._times is None:
                raise ValueError("remove_edges_before: expected edges with times, got a graph without")
            limit = moment(time, "remove_edges_before: time", bound=True)
            self._flush()
            return self._remove(np.flatnonzero(self._times[: self._slots] < limit).astype(np.int32))

    def update_edge_feat(self, name: str, edges: Any, values: Any) -> None:
        """Write rows [edges, ...] of a feature. edges: numbers that `add_edges` returned."""
        self._update(self._edge_feat, name, values, lambda: self._edges(edges, "update_edge_feat"))

    # Queries

    def successors(self, nodes: Any, after: float | None = None, before: float | None = None) -> Found:
        """(neighbours, edges, counts): where the edges of each node lead, one node after another, in the
        order in which they were added; int32. counts: how many each node has.

        after, before: only edges with after <= time < before; None is no bound."""
        return self._read(self._out, nodes, after, before, "successors")

    def predecessors(self, nodes: Any, after: float | None = None, before: float | None = None) -> Found:
        """(neighbours, edges, counts): where the edges into each node come from; see `successors`."""
        return self._read(self._into, nodes, after, before, "predecessors")

    def outdegree(self, nodes: Any) -> np.ndarray:
        """How many edges leave each of `nodes`, int64."""
        return self._degree(self._out, nodes, "outdegree")

    def indegree(self, nodes: Any) -> np.ndarray:
        """How many edges enter each of `nodes`, int64."""
        return self._degree(self._into, nodes, "indegree")

    def has_edge(self, source: int, target: int) -> bool:
        """Whether an edge leads from source to target. Raises ValueError for ids that no node has had."""
        with self._lock:
            ends = self._nodes([source, target], "has_edge", removed=True)
            return bool((self.successors(ends[:1])[0] == ends[1]).any())

    def edge_feat(self, name: str, edges: Any) -> np.ndarray:
        """A copy of the rows of a feature. edges: numbers that `add_edges` returned."""
        with self._lock:
            return self._edge_feat.named(name, "edge_feat")[self._edges(edges, "edge_feat")]

    def node_feat(self, name: str, nodes: Any) -> np.ndarray:
        """A copy of the rows of a feature."""
        with self._lock:
            return self._node_feat.named(name, "node_feat")[self._nodes(nodes, "node_feat", removed=True)]

    def edge_times(self, edges: Any) -> np.ndarray:
        """The times of edges, float64."""
        with self._lock:
            if self._times is None:
                raise ValueError("edge_times: expected edges with times, got a graph without")
            return self._times[self._edges(edges, "edge_times")]

    def snapshot(self) -> Snapshot:
        """The graph as it is now, whatever comes after."""
        with self._lock:
            self._flush()
            made = Snapshot(self)
            weakref.finalize(made, self._snapshots.discard, self._seen())
            return made

    def to_graph(self, after: float | None = None, before: float | None = None) -> Graph:
        """The graph as it is now as a Graph: see Snapshot.to_graph."""
        return self.snapshot().to_graph(after, before)

    def compact(self) -> None:
        """Put the rows into new pools without unused places. Other threads go on meanwhile; an update starts
        it in the background when more than half of a pool is unused."""
        with self._compacting:  # two would take each other's places for unchanged ones
            for rows in self._rows:
                with self._lock:  # one step: rows that change after `job` is made move to other places
                    self._flush()
                    job, version = Compaction(rows), self._seen()
                try:
                    job.copy()
                    with self._lock:
                        self._flush()
                        job.finish(max(self._version, version + 1))
                finally:
                    self._snapshots.discard(version)

    # How it works: all of it with the lock held

    @property
    def _rows(self) -> tuple[GrowingRows, GrowingRows]:
        return self._out, self._into

    def _seen(self) -> int:
        """A version: places in use now are not written until `_snapshots` has lost it."""
        version = self._version
        self._snapshots.add(version)
        self._version += 1
        return version

    def _add_rows(self, count: int) -> None:
        for rows in self._rows:
            rows.add_rows(count)
        if count > len(self._gone):
            self._gone = _longer(self._gone, max(count, 2 * len(self._gone)))
        self.num_nodes = count

    def _node(self, node: Any, what: str) -> int:
        if type(node) is int and 0 <= node < self.num_nodes:  # saves time where edges are added singly
            return node
        number = whole(node, 0, f"{what}: expected a node of this graph")
        if number >= self.num_nodes:
            raise ValueError(f"{what}: expected a node of this graph, got {number}")
        return number

    def _nodes(self, nodes: Any, what: str, removed: bool = False) -> np.ndarray:
        found = ids(nodes, self.num_nodes, what).reshape(-1)
        if not removed and self._gone[found].any():
            gone = found[self._gone[found]][0]
            raise ValueError(f"{what}: expected nodes of this graph, got {gone}, which was removed")
        return found

    def _pairs(self, sources: Any, targets: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
        found = self._nodes(sources, f"{what}: sources"), self._nodes(targets, f"{what}: targets")
        if len(found[0]) != len(found[1]):
            counts = f"{len(found[0])} and {len(found[1])}"
            raise ValueError(f"{what}: expected as many sources as targets, got {counts}")
        return found

    def _edges(self, edges: Any, what: str) -> np.ndarray:
        found = ids(edges, self._slots, f"{what}: edges").reshape(-1)
        if self._dead[found].any():
            raise ValueError(
                f"{what}: edges: expected edges of this graph, got {found[self._dead[found]][0]}"
            )
        return found

    def _timed(self) -> str:
        return "None, edges have no time" if self._times is None else "a number"

    def _moments(self, times: Any, count: int, function: str) -> np.ndarray | None:
        if (times is None) != (self._times is None):
            raise ValueError(f"{function}: times: expected {self._timed()}, got {type(times).__name__}")
        if times is None:
            return None
        found = moments(times, f"{function}: times").astype(np.float64)
        if len(found) != count:
            raise ValueError(f"{function}: times: expected {count} numbers, got {len(found)}")
        return found

    def _changing(self, function: str) -> None:
        if self._log is not None and self._log.closed:
            raise ValueError(f"{function}: expected an open graph, got one that was closed")

    def _note(self, kind: int, count: int, *arrays: np.ndarray, feature: int = 0) -> None:
        """A change for the log. The arrays must not change later."""
        if self._log is not None:
            self._log.note(kind, count, *arrays, feature=feature)

    def _replayed(self) -> None:
        """All numbers that no edge has are free."""
        self._retired.clear()
        self._free = Stack()
        self._free.push(np.flatnonzero(self._dead[: self._slots]))

    def _numbers(self, count: int) -> np.ndarray:
        """Edge numbers that are not in use, int32 [count], and room for them."""
        oldest = min(self._snapshots, default=self._version)
        while self._retired and self._retired[0][0] <= oldest:
            self._free.push(self._retired.popleft()[1])
        new = max(count - len(self._free), 0)
        first = self._slots
        self._room(first + new)
        again = self._free.pop(count - new)
        return np.concatenate([again, np.arange(first, first + new, dtype=np.int32)])

    def _room(self, slots: int) -> None:
        """Room for edge numbers below `slots`."""
        if slots > MOST:
            raise ValueError(f"add_edges: expected at most {MOST} edges in all, got {slots}")
        if slots > len(self._dead):
            size = min(max(slots, 2 * len(self._dead), 1024), MOST)
            self._sources, self._targets = _longer(self._sources, size), _longer(self._targets, size)
            if self._times is not None:
                self._times = _longer(self._times, size)
            self._edge_feat.grow(size)
            dead = np.ones(size, bool)
            dead[: len(self._dead)] = self._dead
            self._dead = dead
        self._slots = max(self._slots, slots)

    def _write(self, numbers: Any, sources: Any, targets: Any, times: Any, features: Any) -> None:
        self._sources[numbers], self._targets[numbers] = sources, targets
        if self._times is not None:
            self._times[numbers] = times
        self._edge_feat.write(numbers, features)
        self._dead[numbers] = False
        self.num_edges += int(np.size(numbers))

    def _insert(self, numbers: np.ndarray, arrived: np.ndarray | None = None) -> None:
        """Put edges into both rows, or raise MemoryError and give their numbers back. arrived: the numbers in
        the order in which they come into the rows by target."""
        arrived = numbers if arrived is None else arrived
        sources, targets = self._sources[numbers], self._targets[numbers]
        into = targets if arrived is numbers else self._targets[arrived]
        try:
            self._out.reserve(sources)
            try:
                self._into.reserve(into)
            except MemoryError:
                self._out.cancel(sources)
                raise
        except MemoryError:
            self._dead[numbers] = True
            self.num_edges -= len(numbers)
            self._free.push(numbers)
            raise
        self._out.insert(sources, targets, numbers, self._version)
        self._into.insert(into, self._sources[arrived], arrived, self._version)
        if self._log is not None:
            times = [] if self._times is None else [self._times[numbers]]
            features = (column[numbers] for column in self._edge_feat.arrays.values())
            self._note(ADD, len(numbers), numbers, sources, targets, *times, *features)

    def _find(self, sources: np.ndarray, targets: np.ndarray, function: str) -> np.ndarray:
        """The newest edge of each pair, which is dead from here on."""
        found = np.empty(len(sources), np.int32)
        absent = self._out.find(sources, targets, self._dead, found)
        if absent >= 0:
            self._dead[found[:absent]] = False
            raise ValueError(
                f"{function}: expected an edge from {sources[absent]} to {targets[absent]}, there is none"
            )
        return found

    def _remove(self, numbers: np.ndarray) -> int:
        """Take edges away, those of them that are not dead; returns how many those were."""
        marked = np.empty(len(numbers), np.int32)
        count = mark(numbers, self._dead, marked)
        self._take_out(marked[:count])
        return count

    def _take_out(self, numbers: np.ndarray) -> None:
        """Take dead edges, each once, out of the rows, or raise MemoryError and let them live."""
        try:
            self._shrink(numbers)
        except MemoryError:
            self._dead[numbers] = False
            raise
        self.num_edges -= len(numbers)

    def _shrink(self, removed: np.ndarray) -> None:
        sources, targets = self._sources[removed], self._targets[removed]
        visible = max(self._snapshots, default=-1)
        if visible >= 0:
            self._out.reserve_copies(sources)
            self._into.reserve_copies(targets)
        self._out.remove(sources, removed, self._dead, self._version, visible)
        self._into.remove(targets, removed, self._dead, self._version, visible)
        self._note(REMOVE, len(removed), removed)
        self._retired.append((self._version, removed))
        if any(rows.wasteful for rows in self._rows) and not (self._compactor and self._compactor.is_alive()):
            self._compactor = threading.Thread(target=self.compact, name="DynamicGraph.compact", daemon=True)
            self._compactor.start()

    def _flush(self) -> None:
        """Put what was added and removed singly into the rows."""
        if self._added:
            added, self._added = self._added, []
            self._insert(np.array(added, np.int32))
        if self._removed:
            self._shrink(np.array(self._removed, np.int32))
            self._removed = []

    def _read(self, rows: GrowingRows, nodes: Any, after: Any, before: Any, what: str) -> Found:
        with self._lock:
            chosen = self._nodes(nodes, f"{what}: nodes", removed=True)
            self._flush()
            view: RowsView = rows.live(self.num_nodes)
            return _between(view.read(chosen), self._times, after, before, what)

    def _degree(self, rows: GrowingRows, nodes: Any, what: str) -> np.ndarray:
        with self._lock:
            chosen = self._nodes(nodes, f"{what}: nodes", removed=True)
            self._flush()
            return rows.lengths[chosen].astype(np.int64)

    def _update(self, columns: Columns, name: str, values: Any, places: Any) -> None:
        function = f"update_{columns.what}"
        with self._lock:
            self._changing(function)
            chosen = places()
            rows = fitted(values, columns.named(name, function), len(chosen), f"{function}: {name!r}")
            visible = max(self._snapshots, default=-1)
            columns.update(name, chosen, rows, self._version, visible)
            if self._log is not None:
                self._flush()  # edges that were added singly come first
                kind = NODE_FEAT if columns is self._node_feat else EDGE_FEAT
                self._note(kind, len(chosen), chosen, rows, feature=list(columns.arrays).index(name))
