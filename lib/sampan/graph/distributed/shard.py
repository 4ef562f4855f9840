"""One shard of a graph: some of its nodes, the edges into them, and the features of both."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ...kernels import graph as graph_kernels
from ..drawing import draw
from .shard_files import MANIFEST, read_folder, read_json, write_folder

NODE, EDGE = "node:", "edge:"  # before the names of features
STARTS, SOURCES, NUMBERS = "starts", "sources", "numbers"


class Shard:
    """Answers for some nodes of a graph, its rows, through five methods.

    Arguments and results are NumPy arrays, numbers, strings, and dictionaries and lists of them, so a process
    of any kind can hold a shard: the workers of `ShardedGraph`, or an actor of a cluster. Rows are numbered
    from 0 within the shard; nodes and edges that it answers with have their numbers in the whole graph.
    One caller at a time.
    """

    def open(self, root: str, number: int, verify: bool = True) -> np.ndarray:
        """Map the shard `number` of the graph in the folder `root` into memory: int64 (rows, edges).

        verify: compare checksums, which reads all of it once. Raises ShardError for a shard that is missing,
        damaged, or another graph's.
        """
        self.root, self.number, self.changed = Path(root), number, False
        manifest = read_json(self.root / MANIFEST, "ShardedGraph")
        self.entry = manifest["shards"][number]
        facts = {"graph": manifest["graph"], "shard": number}
        self.arrays = read_folder(self.root, self.entry, facts, verify, f"shard {number}")
        starts = self.arrays[STARTS]
        return np.array([starts.size - 1, self.arrays[SOURCES].size])

    def sample(
        self,
        rows: np.ndarray,
        positions: np.ndarray,
        frontier: int,
        size: int,
        replace: bool = False,
        seed: int = 0,
        weights: str = "",
        features: Sequence[str] = (),
    ) -> dict[str, np.ndarray]:
        """Some edges into each of `rows`: up to `size`, or all with -1.

        rows, positions: int32 [n], of nodes that have these places, which ascend, among the `frontier` nodes
        that all shards are asked about; a node draws from the random stream of its place, so that the sample
        does not depend on how the graph is divided. weights: an edge feature; "" for none. features: of the
        edges. Returns counts int32 [n]; sources and numbers of the edges, one row after another, [edges]; the
        features, [edges, ...]. Raises ValueError for rows and places that are not there.
        """
        what = f"shard {self.number}: sample"
        starts, sources = self.arrays[STARTS], self.arrays[SOURCES]
        begins, degrees, wrong = graph_kernels.rows_found(starts, sources.size, rows.astype(np.int64))
        if wrong >= 0:
            raise ValueError(f"{what}: expected rows from 0 to {starts.size - 2}, got {rows[wrong]}")
        in_order = positions.size == rows.size and (np.diff(positions) > 0).all()
        if not in_order or (positions.size and not 0 <= positions[0] <= positions[-1] < frontier):
            raise ValueError(f"{what}: expected a place for each row, ascending and below {frontier}")
        all_rows = np.zeros(frontier, np.int64), np.zeros(frontier, np.int64)
        all_rows[0][positions], all_rows[1][positions] = begins, degrees
        heavy = (self._feature(EDGE, weights, what), np.empty(0, np.int32)) if weights else None
        drawn = draw(all_rows, size, sources, heavy, replace, seed, 0, np.int64, f"{what}: {weights!r}")
        places, values, _, counts = drawn
        return {
            "counts": counts[positions].astype(np.int32),
            SOURCES: values,
            NUMBERS: self.arrays[NUMBERS][places],
            **{EDGE + name: self._feature(EDGE, name, what)[places] for name in features},
        }

    def features(self, names: Sequence[str], rows: np.ndarray) -> dict[str, np.ndarray]:
        """Features of the nodes `rows`, int32 [n]: name -> [n, ...]. Raises ValueError for rows and names
        that are not there."""
        what = f"shard {self.number}: features"
        self._check_rows(rows, what)
        return {name: self._feature(NODE, name, what)[rows] for name in names}

    def update(self, changes: Mapping[str, np.ndarray]) -> np.ndarray:
        """Add edges and overwrite features of nodes, in memory until `save`: int64 (rows, edges).

        changes: for edges "rows" (of their targets), "sources", "numbers" and all edge features as
        "edge:name", [edges, ...]; an edge comes after those that its row has. For nodes "node_rows" and some
        of their features as "node:name". Raises ValueError before anything is changed.
        """
        what = f"shard {self.number}: update"
        node_rows, rows = changes.get("node_rows", np.empty(0, int)), changes.get("rows", np.empty(0, int))
        self._check_rows(node_rows, what)
        self._check_rows(rows, what)
        by_edge = [key for key in self.arrays if key in (SOURCES, NUMBERS) or key.startswith(EDGE)]
        by_node = [key for key in changes if key.startswith(NODE)]
        for key, count in [
            *((k, rows.size) for k in by_edge * bool(rows.size)),
            *((k, node_rows.size) for k in by_node),
        ]:
            have = self.arrays.get(key)
            shape = None if have is None else (count, *have.shape[1:])
            if key not in changes or changes[key].shape != shape:
                raise ValueError(
                    f"{what}: {key}: expected shape {shape}, got {getattr(changes.get(key), 'shape', None)}"
                )
        self.changed = True
        for key in by_node:
            self.arrays[key][node_rows] = changes[key]
        if rows.size:
            self._insert(rows, {key: changes[key] for key in by_edge})
        return np.array([self.arrays[STARTS].size - 1, self.arrays[SOURCES].size])

    def save(self, generation: int) -> dict[str, str]:
        """Write the shard to a folder of its own, if it has changed: what the manifest says of it.

        generation: another number than that of the last save. The folder counts when the manifest names it.
        """
        if self.changed:
            facts = {"graph": read_json(self.root / MANIFEST, "ShardedGraph")["graph"], "shard": self.number}
            name = f"shard-{self.number:04}-{generation}"
            self.entry, self.changed = write_folder(self.root, name, self.arrays, facts), False
        return self.entry

    def _feature(self, kind: str, name: str, what: str) -> np.ndarray:
        if kind + name not in self.arrays:
            known = [key.removeprefix(kind) for key in self.arrays if key.startswith(kind)]
            raise ValueError(f"{what}: expected one of the {kind[:-1]} features {known}, got {name!r}")
        return self.arrays[kind + name]

    def _check_rows(self, rows: np.ndarray, what: str) -> None:
        height = self.arrays[STARTS].size - 1
        if rows.size and not (rows.min() >= 0 and rows.max() < height):
            raise ValueError(
                f"{what}: expected rows from 0 to {height - 1}, got {rows.min()} to {rows.max()}"
            )

    def _insert(self, rows: np.ndarray, edges: Mapping[str, np.ndarray]) -> None:
        starts = self.arrays[STARTS]
        order = np.argsort(rows, kind="stable")
        places = starts[rows[order] + 1]
        made = {
            key: np.insert(self.arrays[key], places, values[order], axis=0) for key, values in edges.items()
        }
        added = np.append(0, np.cumsum(np.bincount(rows, minlength=starts.size - 1)))
        self.arrays |= {**made, STARTS: starts + added}
