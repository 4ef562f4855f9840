"""The rows of `graph_updates.py`. DGL takes part where it is found: see `sparse_rows.py`."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import scipy.sparse
import torch

from benchmarks.side_by_side import Row, Step
from benchmarks.sparse_rows import peer
from sampan.graph import DynamicGraph

TURNS, INSERTED, DELETED, ASKED = 20, 10_000, 5_000, 1_024
BATCH, SINGLY = 50_000, 50_000


def random_ends(seed: int, nodes: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, nodes, (2, count))


def beside_queries() -> Iterator[Row]:
    """Insertions, deletions and queries in turn, on one thread."""
    nodes, edges = 100_000, 1_000_000
    first, rng = random_ends(0, nodes, edges), np.random.default_rng(1)
    new = rng.integers(0, nodes, (TURNS, 2, INSERTED))
    asked = rng.integers(0, nodes, (TURNS, ASKED))
    made = DynamicGraph(nodes, first.T)

    def ours() -> float:
        left, began = [], time.perf_counter()
        for ends, seeds in zip(new, asked, strict=True):
            numbers = made.add_edges(*ends)
            made.remove_edges(edges=numbers[:DELETED])
            made.successors(seeds)
            left.append(numbers[DELETED:])
        seconds = time.perf_counter() - began
        made.remove_edges(edges=np.concatenate(left))
        return seconds

    def rebuilt() -> float:
        sources, targets = first.astype(np.int32)
        ones, began = np.ones(edges + TURNS * INSERTED, np.int8), time.perf_counter()
        for ends, seeds in zip(new.astype(np.int32), asked, strict=True):
            sources, targets = (
                np.concatenate([old[DELETED:], more])
                for old, more in zip((sources, targets), ends, strict=True)
            )
            rows = scipy.sparse.csr_matrix((ones[: len(sources)], (sources, targets)), (nodes, nodes))
            rows[seeds].indices.copy()
        return time.perf_counter() - began

    programs: dict[str, Step] = {"sampan": ours, "scipy": rebuilt}
    dgl = peer("dgl")
    if dgl is not None:
        theirs = dgl.graph(tuple(map(torch.from_numpy, first)), num_nodes=nodes)

        def step() -> float:
            began = time.perf_counter()
            for ends, seeds in zip(new, asked, strict=True):
                count = theirs.num_edges()
                theirs.add_edges(*map(torch.from_numpy, ends))
                theirs.remove_edges(torch.arange(count, count + DELETED))
                theirs.out_edges(torch.from_numpy(seeds))
            seconds = time.perf_counter() - began
            theirs.remove_edges(torch.arange(edges, theirs.num_edges()))
            return seconds

        programs["dgl"] = step
    name = "20 x (insert 10k, delete 5k, query 1,024) on 1M edges"
    yield Row(name, 13.8, programs, timed=True, note=lambda: "" if dgl else "DGL is not installed here")


class Asking:
    """A thread that queries neighbours while the block runs, and the times of its slowest queries."""

    def __init__(self, graph: DynamicGraph) -> None:
        self.graph, self.times, self._ends = graph, [0.0], threading.Event()

    def _ask(self) -> None:
        rng = np.random.default_rng(2)
        while not self._ends.is_set():
            seeds, began = rng.integers(0, self.graph.num_nodes, ASKED), time.perf_counter()
            self.graph.successors(seeds)
            self.times.append(time.perf_counter() - began)
            time.sleep(0.002)

    def __enter__(self) -> None:
        self._thread = threading.Thread(target=self._ask)
        self._thread.start()

    def __exit__(self, *raised: object) -> None:
        self._ends.set()
        self._thread.join()


Work = Callable[[DynamicGraph, np.ndarray, list[int]], None]


def in_batches(graph: DynamicGraph, ends: np.ndarray, numbers: list[int]) -> None:
    for begin in range(0, ends.shape[1], BATCH):
        numbers += graph.add_edges(*ends[:, begin : begin + BATCH]).tolist()


def away_in_batches(graph: DynamicGraph, ends: np.ndarray, numbers: list[int]) -> None:
    for begin in range(0, len(numbers), BATCH):
        graph.remove_edges(edges=numbers[begin : begin + BATCH])


def singly(graph: DynamicGraph, ends: np.ndarray, numbers: list[int]) -> None:
    for source, target in ends.T.tolist():
        numbers.append(graph.add_edge(source, target))


def away_singly(graph: DynamicGraph, ends: np.ndarray, numbers: list[int]) -> None:
    for source, target in ends.T.tolist():
        graph.remove_edge(source, target)


class Beside:
    """Two kinds of updates during queries, on named graphs, and the time of each."""

    def __init__(self, graphs: dict[str, DynamicGraph], ends: np.ndarray, *work: Work) -> None:
        self.graphs, self.ends, self.work = graphs, ends, work
        self.found: dict[str, list[list[float]]] = {name: [] for name in graphs}

    def step(self, name: str) -> float:
        """Seconds of all the work; a graph in a folder is flushed after each kind."""
        graph = self.graphs[name]
        numbers, seconds, asking = list[int](), list[float](), Asking(graph)
        with asking:
            for work in self.work:
                began = time.perf_counter()
                work(graph, self.ends, numbers)
                if name == "sampan":
                    graph.flush()
                seconds.append(time.perf_counter() - began)
        self.found[name].append([*seconds, float(np.quantile(asking.times, 0.99))])
        return sum(seconds)

    def note(self) -> str:
        count = self.ends.shape[1] / 1e6
        insert, delete, asked = np.median(self.found["sampan"], 0)
        return (
            f"{count / insert:.2f}M insertions/s, {count / delete:.2f}M deletions/s, 99 % of the queries in "
            f"{asked * 1e3:.0f} ms"
        )


def sustained() -> Iterator[Row]:
    nodes, edges = 1_000_000, 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        first = random_ends(3, nodes, edges)
        graphs = {
            "sampan": DynamicGraph(nodes, first.T, path=f"{folder}/graph"),
            "in memory": DynamicGraph(nodes, first.T),
        }
        for kind, count, *work in (
            ("batches of 50k", 20 * BATCH, in_batches, away_in_batches),
            ("singly", SINGLY, singly, away_singly),
        ):
            beside = Beside(graphs, random_ends(4, nodes, count), *work)
            programs: dict[str, Step] = {name: partial(beside.step, name) for name in graphs}
            name = f"insert and delete {kind}, 10M edges, in a folder beside in memory"
            yield Row(name, 0.8, programs, timed=True, note=beside.note)
        graphs["sampan"].close()


FAMILIES = (beside_queries, sustained)
