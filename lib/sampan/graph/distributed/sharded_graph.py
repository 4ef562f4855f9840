"""A graph in shards, with the sampler of a graph in one piece."""

import os
import shutil
import threading
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ...engine.tensor import Tensor
from ...kernels import graph as graph_kernels
from ...transport import Actors, InProcess, Transport, Workers
from ..adjacency import ids
from ..columns import fitted
from ..drawing import child, host, start, whole
from ..graph import Graph, edge_ends
from ..k_hop import Sample, tensor
from .partition import Quality, owners, quality
from .shard import EDGE, NODE, NUMBERS, SOURCES, STARTS, Shard
from .shard_files import (
    FORMAT,
    MANIFEST,
    ShardError,
    read_folder,
    read_json,
    remove_unnamed,
    write_folder,
    write_json,
)

Arrays = dict[str, np.ndarray]
DIRECTORY = "directory"  # the folder with the shard and the row of each node
MOST_SHARDS = 2**15


class ShardedGraph:
    """A graph whose nodes are divided among shards; each shard has the edges into its nodes, and the features
    of both, in a folder of memory-mapped files.

    Made by `partition` and `open`. num_nodes, num_edges, parts; quality: `Quality` when it was divided.
    node_feat, edge_feat: name -> (shape of one row, dtype). Samples are those of the whole graph: with a seed
    `k_hop` returns what `sampan.graph.k_hop` returns of a `Graph` with the same edges, whatever the number of
    shards and workers. Threads may share it; they take turns.

    This process keeps the shard and the row of each node (6 bytes, memory-mapped) and a table to number the
    nodes of a sample (4 bytes). Not here: nodes that are added later, node and edge types, walks.

    >>> import tempfile
    >>> from sampan.graph.distributed import ShardedGraph
    >>> g = sampan.graph.Graph([(1, 0), (2, 0), (3, 1)], num_nodes=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     shards = ShardedGraph.partition(g, 2, folder + "/graph")
    ...     shards.k_hop([0], [-1, -1]).nodes.tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, root: Path, manifest: dict[str, Any], home: Any, places: Arrays) -> None:
        self.root, self._manifest, self._home = root, manifest, home
        self._owner, self._rows = places["owner"], places["rows"]
        self.num_nodes, self.num_edges = self._owner.size, int(manifest["edges"])
        self.parts, self.quality = len(manifest["shards"]), Quality(*manifest["quality"])
        specs = {kind: manifest["features"][kind] for kind in ("node", "edge")}
        self.node_feat, self.edge_feat = (
            {name: (tuple(shape), np.dtype(kind)) for name, (shape, kind) in spec.items()}
            for spec in specs.values()
        )
        self._lock, self._end = threading.RLock(), weakref.finalize(self, home.close)

    @classmethod
    def partition(
        cls, graph: Graph, parts: int, folder: str | os.PathLike[str], how: Any = "hash"
    ) -> "ShardedGraph":
        """Divide a Graph and write it to a new folder; the result is open in this process.

        how: "hash" (equal shares, no regard to edges); "ldg", restreamed linear deterministic greedy, which
        cuts fewer edges where the graph has communities and allows a shard 5 % more nodes than an equal share
        (see `kernels.graph.streamed`; METIS refines such a cut further, this does not); or the shard of each
        node, integers [nodes], of any other program. node_feat and edge_feat of the graph are stored, copied
        to the host. Raises FileExistsError, ValueError for parts and shards out of range.
        """
        what = "ShardedGraph.partition"
        if not isinstance(graph, Graph):
            raise TypeError(f"{what}: expected a Graph for graph, got {type(graph).__name__}")
        parts = whole(parts, 1, f"{what}: expected a whole number of at least 1 for parts")
        if parts > MOST_SHARDS:
            raise ValueError(f"{what}: expected at most {MOST_SHARDS} parts, got {parts}")
        root = Path(folder)
        if root.exists():
            raise FileExistsError(f"{what}: folder: {root} exists")
        owner = owners(graph, parts, how, what)
        temporary = root.with_name(f".{root.name}.{os.getpid()}.tmp")
        try:
            _write(graph, owner, parts, temporary)
            os.replace(temporary, root)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        return cls.open(root, verify=False)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        workers: int | str = 0,
        timeout: float = 60.0,
        verify: bool = True,
    ) -> "ShardedGraph":
        """The graph in a folder. workers: processes that hold the shards, at most one for each; 0: this
        one; "actors": an actor of a Ray cluster for each shard, whose machines all see the folder (extra
        `cluster`).

        timeout: seconds for which a worker may stay silent during a request; then all of them are ended.
        verify: read every file once and compare its SHA-256; without it only names and sizes are compared.
        Raises ShardError for a part that is missing, damaged, of another format or of another graph, and
        later for a worker that ended; what was not saved is then lost.
        """
        what, root = "ShardedGraph.open", Path(folder)
        if workers != "actors":
            workers = whole(workers, 0, f"{what}: expected a whole number of at least 0 for workers")
        if not timeout > 0:
            raise ValueError(f"{what}: expected seconds above 0 for timeout, got {timeout}")
        manifest = read_json(root / MANIFEST, what)
        parts = len(manifest["shards"])
        if isinstance(workers, int) and workers > parts:
            raise ValueError(f"{what}: expected at most {parts} workers, one for each shard, got {workers}")
        facts = {"graph": manifest["graph"], "shard": DIRECTORY}
        places = read_folder(root, manifest[DIRECTORY], facts, verify, f"{what}: {DIRECTORY}")
        home: Transport
        if workers == "actors":
            home = Actors(Shard, parts, timeout=timeout)
        else:
            home = Workers(Shard, parts, int(workers), timeout) if workers else InProcess(Shard, parts)
        try:
            sizes = home.request([(shard, "open", (str(root), shard, verify)) for shard in range(parts)])
            total = np.sum(sizes, 0).tolist()
            if total != [places["owner"].size, manifest["edges"]]:
                raise ShardError(
                    f"{what}: shards have {total} nodes and edges, others than the manifest says"
                )
        except BaseException:
            home.close()
            raise
        return cls(root, manifest, home, places)

    def __repr__(self) -> str:
        return f"ShardedGraph(num_nodes={self.num_nodes}, num_edges={self.num_edges}, parts={self.parts})"

    def __enter__(self) -> "ShardedGraph":
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """End the workers; what was not saved is lost."""
        self._end()

    @property
    def bytes_moved(self) -> tuple[int, int]:
        """(sent to workers, received from them) since `open`."""
        return self._home.sent, self._home.received

    def k_hop(
        self,
        seeds: Any,
        sizes: Sequence[int],
        replace: bool = False,
        weights: str | None = None,
        seed: int | None = None,
        features: Sequence[str] = (),
        edge_features: Sequence[str] = (),
    ) -> Sample:
        """`sampan.graph.k_hop` over the shards: for each hop one request to each shard, then one for
        features.

        weights: the name of an edge feature with one number for each edge. features, edge_features: names;
        the sample's `node_feat` has a row for each of its nodes and `edge_feat` one for each of its edges.
        Other arguments, the result and errors are those of `sampan.graph.k_hop`.
        """
        what, base = "ShardedGraph.k_hop", start(seed)
        if not isinstance(sizes, Sequence) or isinstance(sizes, str):
            raise TypeError(f"{what}: expected a list with a number for each hop for sizes, got {sizes!r}")
        hops = [whole(n, -1, f"{what}: expected whole numbers of at least -1 for sizes") for n in sizes]
        given = ids(seeds, self.num_nodes, f"{what}: seeds").reshape(-1)
        self._check_names(what, replace, weights, features, edge_features)
        found: list[Arrays] = []
        with self._lock, graph_kernels.Numbers(self.num_nodes) as numbers:
            own, _ = numbers.of(given)
            bounds = [0, numbers.count]
            for hop, size in enumerate(hops):
                first, stop = bounds[-2:]
                draws = (size, replace, child(child(base, hop), 0), weights or "", list(edge_features))
                edges = self._hop(numbers.nodes[first:stop], draws)
                edges["targets"] += first
                edges["places"], wrong = numbers.of(edges[SOURCES])
                if wrong >= 0:
                    raise ShardError(f"{what}: a shard names node {edges[SOURCES][wrong]}, which is none")
                found.append(edges)
                bounds.append(numbers.count)
            nodes = numbers.nodes[: numbers.count].copy()
            rows = self._features(nodes, list(features)) if features else {}
        joined = self._joined(found, edge_features)
        return Sample(
            False,
            nodes={"": tensor(nodes)},
            sources={"": tensor(joined["places"])},
            targets={"": tensor(joined["targets"])},
            edges={"": tensor(joined[NUMBERS])},
            seeds={"": tensor(own)},
            node_counts={"": np.diff(bounds).tolist()},
            edge_counts={"": [hop["targets"].size for hop in found]},
            node_feat={"": {name: _as_tensor(rows[NODE + name]) for name in features}},
            edge_feat={"": {name: _as_tensor(joined[EDGE + name]) for name in edge_features}},
        )

    def features(self, nodes: Any, names: Sequence[str] | None = None) -> dict[str, Tensor]:
        """Features of nodes, all or those of these names: name -> Tensor [nodes, ...]."""
        what = "ShardedGraph.features"
        chosen = list(self.node_feat) if names is None else list(names)
        _known(chosen, self.node_feat, f"{what}: names")
        given = ids(nodes, self.num_nodes, f"{what}: nodes").reshape(-1)
        with self._lock:
            rows = self._features(given, chosen)
        return {name: _as_tensor(rows[NODE + name]) for name in chosen}

    def update(
        self,
        edges: Any = (),
        edge_feat: Mapping[str, Any] | None = None,
        nodes: Any = (),
        node_feat: Mapping[str, Any] | None = None,
    ) -> None:
        """Add edges between the graph's nodes, and overwrite features of nodes, in memory until `save`.

        edges: as `Graph` takes them; they are numbered after those that are there. edge_feat: all features of
        the edges. nodes, node_feat: ids, and a row for each of them; of an id that comes twice the last
        counts. Each call copies the shards that it adds edges to, so give many edges at once. Raises
        ValueError, before anything is changed, for ids out of range and other names or shapes.
        """
        what = "ShardedGraph.update"
        ends = [ids(end, self.num_nodes, f"{what}: edges") for end in edge_ends(edges, f"{what}: edges")]
        if ends[0].shape != ends[1].shape:
            raise ValueError(f"{what}: edges: expected as many sources as targets")
        chosen = ids(nodes, self.num_nodes, f"{what}: nodes").reshape(-1)
        wanted = self.edge_feat if ends[0].size else {}
        of_edges = _rows_given(edge_feat, wanted, EDGE, ends[0].size, f"{what}: edge_feat")
        if set(of_edges) != {EDGE + name for name in wanted}:
            raise ValueError(f"{what}: edge_feat: expected {list(wanted)}, got {list(edge_feat or {})}")
        of_nodes = _rows_given(node_feat, self.node_feat, NODE, chosen.size, f"{what}: node_feat")
        with self._lock:
            changes: dict[int, Arrays] = {}
            for shard, places in self._by_shard(ends[1]):
                numbers = self.num_edges + places
                mine = {key: values[places] for key, values in of_edges.items()}
                mine |= {"rows": self._rows[ends[1][places]], SOURCES: ends[0][places], NUMBERS: numbers}
                changes[shard] = mine
            for shard, places in self._by_shard(chosen):
                mine = {key: values[places] for key, values in of_nodes.items()}
                changes.setdefault(shard, {}).update(mine, node_rows=self._rows[chosen[places]])
            self._home.request([(shard, "update", (part,)) for shard, part in changes.items()])
            self.num_edges += ends[0].size

    def save(self) -> None:
        """Write the shards that have changed beside the old ones, then the manifest that names them: a
        process that is killed meanwhile leaves the graph of the save before. There may be one writer."""
        with self._lock:
            generation = self._manifest["generation"] + 1
            entries = self._home.request([(shard, "save", (generation,)) for shard in range(self.parts)])
            changed = {"generation": generation, "edges": self.num_edges, "shards": entries}
            self._manifest = {**self._manifest, **changed}
            write_json(self.root / MANIFEST, self._manifest)
            remove_unnamed(self.root, {entry["folder"] for entry in entries})

    def _check_names(
        self, what: str, replace: bool, weights: str | None, features: Any, edge_features: Any
    ) -> None:
        _known(features, self.node_feat, f"{what}: features")
        _known(edge_features, self.edge_feat, f"{what}: edge_features")
        _known([weights] if weights else [], self.edge_feat, f"{what}: weights")
        if weights and replace:
            raise ValueError(f"{what}: expected weights or replace=True, got both")
        if weights and self.edge_feat[weights][0]:
            raise ValueError(f"{what}: weights: expected one number for each edge in {weights!r}")

    def _joined(self, hops: list[Arrays], edge_features: Sequence[str]) -> Arrays:
        """The edges of all hops, one hop after another."""
        specs = dict.fromkeys(("places", "targets", NUMBERS), ((), np.dtype(np.int64)))
        specs |= {EDGE + name: self.edge_feat[name] for name in edge_features}
        return {
            key: np.concatenate([np.empty((0, *shape), kind), *(hop[key] for hop in hops)])
            for key, (shape, kind) in specs.items()
        }

    def _by_shard(self, nodes: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """(shard, positions of its nodes, ascending), for each shard that has some."""
        owner = self._owner[nodes]
        order = np.argsort(owner, kind="stable")
        bounds = np.append(0, np.cumsum(np.bincount(owner, minlength=self.parts)))
        for shard in np.flatnonzero(np.diff(bounds)).tolist():
            yield shard, order[bounds[shard] : bounds[shard + 1]]

    def _hop(self, frontier: np.ndarray, draws: tuple[int, bool, int, str, list[str]]) -> Arrays:
        """The edges that the shards draw into the frontier, in its order; targets: places in it."""
        mine = list(self._by_shard(frontier))
        answers = self._home.request(
            [
                (s, "sample", (self._rows[frontier[places]], places.astype(np.int32), frontier.size, *draws))
                for s, places in mine
            ]
        )
        counts = np.zeros(frontier.size, np.int64)
        for (_, places), answer in zip(mine, answers, strict=True):
            counts[places] = answer["counts"]
        begins = np.cumsum(counts) - counts
        joined: Arrays = {"targets": np.repeat(np.arange(frontier.size), counts)}
        specs = {SOURCES: ((), np.int32), NUMBERS: ((), np.int64)}
        specs |= {EDGE + name: self.edge_feat[name] for name in draws[4]}
        for key, (shape, kind) in specs.items():
            joined[key] = np.empty((joined["targets"].size, *shape), kind)
        for (_, places), answer in zip(mine, answers, strict=True):
            some = counts[places]
            slots = np.arange(some.sum()) + np.repeat(begins[places] - np.cumsum(some) + some, some)
            for key in specs:
                joined[key][slots] = answer[key]
        return joined

    def _features(self, nodes: np.ndarray, names: list[str]) -> Arrays:
        mine = list(self._by_shard(nodes))
        answers = self._home.request([(s, "features", (names, self._rows[nodes[p]])) for s, p in mine])
        found = {
            NODE + name: np.empty((nodes.size, *self.node_feat[name][0]), self.node_feat[name][1])
            for name in names
        }
        for (_, places), answer in zip(mine, answers, strict=True):
            for name in names:
                found[NODE + name][places] = answer[name]
        return found


def _as_tensor(array: np.ndarray) -> Tensor:
    return Tensor(torch.from_numpy(array))


def _known(names: Sequence[str], specs: Mapping[str, Any], what: str) -> None:
    if isinstance(names, str) or not all(name in specs for name in names):
        raise ValueError(f"{what}: expected names of {list(specs)}, got {names!r}")


def _rows_given(given: Any, specs: Mapping[str, Any], prefix: str, count: int, what: str) -> Arrays:
    """Features that were given, each with `count` rows of the shape and dtype that is stored."""
    _known(list(given or {}), specs, what)
    found = {}
    for name, values in (given or {}).items():
        shape, kind = specs[name]
        found[prefix + name] = fitted(host(values), np.empty((0, *shape), kind), count, f"{what}: {name!r}")
    return found


def _write(graph: Graph, owner: np.ndarray, parts: int, root: Path) -> None:
    """All folders of a new graph, and its manifest."""
    name = uuid.uuid4().hex
    features = {
        "node": {key: host(values) for key, values in graph.node_feat.items()},
        "edge": {key: host(values) for key, values in graph.edge_feat.items()},
    }
    side, rows, entries = graph.by_target, np.empty(graph.num_nodes, np.int32), []
    for shard in range(parts):
        nodes = np.flatnonzero(owner == shard)
        rows[nodes] = np.arange(nodes.size)
        places, counts = side.places_of(nodes)
        numbers = side.edges[places].astype(np.int64)
        arrays: Arrays = {
            STARTS: np.append(0, np.cumsum(counts, dtype=np.int64)),
            SOURCES: side.neighbours[places],
            NUMBERS: numbers,
            **{NODE + key: values[nodes] for key, values in features["node"].items()},
            **{EDGE + key: values[numbers] for key, values in features["edge"].items()},
        }
        facts = {"graph": name, "shard": shard}
        entries.append(write_folder(root, f"shard-{shard:04}-0", arrays, facts))
    places_of: Arrays = {"owner": owner.astype(np.int16), "rows": rows}
    manifest = {
        "format": FORMAT,
        "graph": name,
        "generation": 0,
        "edges": graph.num_edges,
        "quality": quality(graph, owner, parts),
        "features": {
            kind: {key: (values.shape[1:], values.dtype.str) for key, values in of_kind.items()}
            for kind, of_kind in features.items()
        },
        "shards": entries,
        DIRECTORY: write_folder(root, DIRECTORY, places_of, {"graph": name, "shard": DIRECTORY}),
    }
    write_json(root / MANIFEST, manifest)
