"""The changes of a DynamicGraph as records in a file.

A record is three int64 [kind, count, feature] and its arrays, one after another. Their dtypes and the shapes
of their rows are those of the graph's features (`Schema`). Records name nodes and edges by their numbers, so
that a graph to which they are applied in order has the same numbers, and its rows the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BufferedIOBase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .adjacency import MOST

if TYPE_CHECKING:
    from .dynamic import DynamicGraph, Snapshot

NODES, GONE, ADD, REMOVE, NODE_FEAT, EDGE_FEAT, WHOLE = range(1, 8)
HEAD = 24  # bytes
ID = np.dtype(np.int32)
Column = tuple[np.dtype, tuple[int, ...]]  # of an array of records: dtype, shape of a row


class Schema(NamedTuple):
    """Which features the nodes and edges of a graph have, and whether edges have times."""

    times: bool
    node_feat: dict[str, Column]
    edge_feat: dict[str, Column]

    @classmethod
    def of(cls, times: bool, node_feat: Mapping[str, Any], edge_feat: Mapping[str, Any]) -> Schema:
        """Of features by name. Raises TypeError for dtypes that a file cannot hold, such as object."""
        for what, features in (("node_feat", node_feat), ("edge_feat", edge_feat)):
            for name, values in features.items():
                if values.dtype.kind not in "biufcSUmM":
                    raise TypeError(
                        f"path: {what}: expected numbers or text of a fixed length in {name!r}, got dtype "
                        f"{values.dtype}"
                    )
        kinds = [{n: (v.dtype, v.shape[1:]) for n, v in given.items()} for given in (node_feat, edge_feat)]
        return cls(times, *kinds)

    def described(self) -> dict[str, Any]:
        """For JSON."""
        features = [
            {name: [dtype.str, list(shape)] for name, (dtype, shape) in columns.items()}
            for columns in (self.node_feat, self.edge_feat)
        ]
        return {"times": self.times, "node_feat": features[0], "edge_feat": features[1]}

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Schema:
        """What `described` returned."""
        features = [
            {name: (np.dtype(dtype), tuple(shape)) for name, (dtype, shape) in facts[what].items()}
            for what in ("node_feat", "edge_feat")
        ]
        return cls(bool(facts["times"]), *features)

    def arrays(self, kind: int, feature: int) -> list[Column]:
        """The arrays of a record. feature: which one the record updates, by its place among the names."""
        node_feat, edge_feat = list(self.node_feat.values()), list(self.edge_feat.values())
        number: Column = (ID, ())
        edges = [number] * 3 + [(np.dtype(np.float64), ())] * self.times + edge_feat
        return {
            NODES: node_feat,
            GONE: [number],
            ADD: edges,
            REMOVE: [number],
            NODE_FEAT: [number, *node_feat[feature : feature + 1]],
            EDGE_FEAT: [number, *edge_feat[feature : feature + 1]],
            WHOLE: [number, *edges],
        }[kind]


def record(kind: int, count: int, *arrays: np.ndarray, feature: int = 0) -> list[np.ndarray]:
    """The bytes of a record in parts, uint8. They may be memory of `arrays`, which must not change later."""
    head = np.array([kind, count, feature], np.int64)
    return [np.ascontiguousarray(part).reshape(-1).view(np.uint8) for part in (head, *arrays)]


def whole(snapshot: Snapshot, gone: np.ndarray) -> Iterator[list[np.ndarray]]:
    """A graph as three records: its nodes, those that were removed, and all edges by source.

    gone: bool [nodes]. The order of the rows by target does not follow from that by source; it comes first
    in the record of the edges, as edge numbers.
    """
    count = snapshot.num_nodes
    yield record(NODES, count, *(column[:count] for column in snapshot.node_feat.values()))
    removed = np.flatnonzero(gone).astype(ID)
    yield record(GONE, len(removed), removed)
    every = np.arange(count, dtype=ID)
    targets, edges, counts = snapshot._out.read(every)
    arrived = snapshot._into.read(every)[1]
    sources = np.repeat(every, counts)
    times = [] if snapshot.times is None else [snapshot.times[edges]]
    features = (column[edges] for column in snapshot.edge_feat.values())
    yield record(WHOLE, len(edges), arrived, edges, sources, targets, *times, *features)


def records(
    file: BufferedIOBase, length: int, schema: Schema
) -> Iterator[tuple[int, int, int, list[np.ndarray]]]:
    """(kind, count, feature, arrays) of each record in the first `length` bytes of a file.

    Raises ValueError where bytes are no record.
    """
    at = 0
    while at < length:
        head = file.read(HEAD)
        kind, count, feature = np.frombuffer(head, np.int64).tolist() if len(head) == HEAD else (0, 0, 0)
        if not (NODES <= kind <= WHOLE and 0 <= count <= MOST and 0 <= feature < MOST):
            raise ValueError(f"expected a record at byte {at}")
        at += HEAD
        arrays = []
        for dtype, shape in schema.arrays(kind, feature):
            size = count * dtype.itemsize * int(np.prod(shape, dtype=np.int64))
            if at + size > length:
                raise ValueError(f"expected {size} bytes at byte {at}")
            found = np.empty((count, *shape), dtype)  # loops are not compiled for read-only arrays
            if file.readinto(found.reshape(-1).view(np.uint8).data) != size:
                raise ValueError(f"expected {size} bytes at byte {at}")
            arrays.append(found)
            at += size
        yield kind, count, feature, arrays


def apply(graph: DynamicGraph, kind: int, count: int, feature: int, arrays: list[np.ndarray]) -> None:
    """Make the change of a record once more. Raises ValueError, as may a half-made change, where it does not
    fit the graph."""
    if kind == NODES:
        graph.add_nodes(count, dict(zip(graph._node_feat.arrays, arrays, strict=True)))
    elif kind == GONE:
        _expect(arrays[0], graph.num_nodes)
        graph._gone[arrays[0]] = True
    elif kind == REMOVE:
        _expect(arrays[0], graph._slots, graph._dead, False)
        graph._remove(arrays[0])
    elif kind in (NODE_FEAT, EDGE_FEAT):
        columns = graph._node_feat if kind == NODE_FEAT else graph._edge_feat
        _expect(arrays[0], graph.num_nodes if kind == NODE_FEAT else graph._slots)
        columns.write(arrays[0], {list(columns.arrays)[feature]: arrays[1]})
    else:
        arrived = arrays.pop(0) if kind == WHOLE else None
        _add(graph, *arrays, arrived=arrived)


def _add(
    graph: DynamicGraph,
    numbers: np.ndarray,
    sources: np.ndarray,
    targets: np.ndarray,
    *rest: np.ndarray,
    arrived: np.ndarray | None,
) -> None:
    """Edges with these numbers. arrived: the same numbers in the order of the rows by target; or None."""
    _expect(sources, graph.num_nodes)
    _expect(targets, graph.num_nodes)
    _expect(numbers, MOST)
    graph._room(int(numbers.max(initial=-1)) + 1)
    _expect(numbers, graph._slots, graph._dead, True)
    times, features = (None, rest) if graph._times is None else (rest[0], rest[1:])
    named = dict(zip(graph._edge_feat.arrays, features, strict=True))
    graph._write(numbers, sources, targets, times, named)
    if arrived is not None:
        _expect(arrived, graph._slots, graph._dead, False)
    graph._insert(numbers, arrived)


def _expect(numbers: np.ndarray, count: int, dead: np.ndarray | None = None, expected: bool = False) -> None:
    """Numbers from 0 to below `count`; of edges, ones that all are dead, or all not."""
    if numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
        raise ValueError(f"expected numbers from 0 to {count - 1}")
    if dead is not None and (dead[numbers] != expected).any():
        raise ValueError("expected an edge once")
