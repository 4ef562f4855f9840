"""The rows of `graph_sampling.py`. DGL takes part if it is installed: see `sparse_rows.py`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse
import torch

import sampan
from benchmarks.side_by_side import Row, Step
from benchmarks.sparse_rows import peer
from sampan import graph

NODES, EDGES, WALKERS, STEPS = 1_000_000, 10_000_000, 100_000, 20


def by_power_law(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Nodes by a power law: the k-th most common one has k^-0.9 times the frequency of the first."""
    chance = np.cumsum(1 / np.arange(1, count + 1) ** 0.9)
    places = np.searchsorted(chance / chance[-1], rng.random(size))
    return rng.permutation(count)[np.minimum(places, count - 1)]


@cache
def ends() -> tuple[np.ndarray, np.ndarray]:
    """Sources and targets; each by a power law, in an independent order."""
    rng = np.random.default_rng(0)
    return by_power_law(rng, NODES, EDGES), by_power_law(rng, NODES, EDGES)


def fan_out() -> Iterator[Row]:
    made = graph.Graph(ends(), num_nodes=NODES)
    side = made.by_target
    batches = np.random.default_rng(1).permutation(NODES)[: 64 * 1024].reshape(64, 1024)
    arrays = {"row": side.neighbours, "colptr": side.starts, "batches": batches.astype(np.int32)}
    call = [0]

    def batch() -> np.ndarray:
        call[0] += 1
        seeds: np.ndarray = batches[call[0] % len(batches)]
        return seeds

    def ours() -> None:
        graph.k_hop(made, batch(), [15, 10])

    programs: dict[str, Step] = {"sampan": ours}
    dgl = peer("dgl")
    if dgl is not None:
        theirs = dgl.graph(tuple(map(torch.from_numpy, ends())), num_nodes=NODES)
        theirs.create_formats_()
        sampler = dgl.dataloading.NeighborSampler([10, 15])

        def step() -> None:
            sampler.sample_blocks(theirs, torch.from_numpy(batch()))

        programs["dgl"] = step
    name = "fan-out [15, 10] of 1,024 seeds, 10M edges"
    yield Row(name, 2.4, programs, paddle="fan_out", arrays=arrays)
    programs = programs | {"sampan": as_paddle(arrays)}
    yield Row(f"{name}, Paddle's functions", 2.4, programs, paddle="fan_out", arrays=arrays)


def as_paddle(arrays: dict[str, np.ndarray]) -> Step:
    """The program of `graph_sampling_paddle.py`."""
    from benchmarks.graph_sampling_paddle import fan_out as program

    return program(sampan, arrays)


def walks() -> Iterator[Row]:
    made = graph.Graph(ends(), num_nodes=NODES)
    walkers = np.random.default_rng(2).integers(0, NODES, WALKERS)
    programs: dict[str, Step] = {}
    programs["sampan"] = lambda: drop(graph.random_walks(made, walkers, STEPS))
    dgl = peer("dgl")
    if dgl is not None:
        theirs = dgl.graph(tuple(map(torch.from_numpy, ends())), num_nodes=NODES)
        programs["dgl"] = lambda: drop(
            dgl.sampling.random_walk(theirs, torch.from_numpy(walkers), length=STEPS)
        )
    loads = 2.0 * 64 * WALKERS * STEPS
    yield Row(
        "100k walks of 20 steps, 10M edges", 8.7, programs, moved=8.0 * WALKERS * (STEPS + 1), gathered=loads,
        table=4 * EDGES,
    )  # fmt: skip
    biased: dict[str, Step] = {}
    biased["sampan"] = lambda: drop(graph.node2vec_walks(made, walkers, STEPS, 0.5, 2.0))
    if dgl is not None:
        biased["dgl"] = lambda: drop(
            dgl.sampling.node2vec_random_walk(theirs, torch.from_numpy(walkers), 0.5, 2.0, STEPS)
        )
    yield Row("100k walks of node2vec, 20 steps, p 0.5, q 2", 1.0, biased)


def meta_paths() -> Iterator[Row]:
    kinds = {"author": 400_000, "paper": 600_000}
    rng = np.random.default_rng(3)
    writes = by_power_law(rng, kinds["author"], EDGES // 2), rng.integers(0, kinds["paper"], EDGES // 2)
    made = graph.HeteroGraph(kinds, {("author", "writes", "paper"): writes})
    path = ["author", "writes", "paper", "written_by", "author"]
    walkers = rng.integers(0, kinds["author"], WALKERS)
    programs: dict[str, Step] = {}
    programs["sampan"] = lambda: drop(graph.meta_path_walks(made, path, walkers, STEPS))
    dgl = peer("dgl")
    if dgl is not None:
        sources, targets = map(torch.from_numpy, writes)
        both: Any = {
            ("author", "writes", "paper"): (sources, targets),
            ("paper", "written_by", "author"): (targets, sources),
        }
        theirs = dgl.heterograph(both, num_nodes_dict=kinds)
        along = ["writes", "written_by"] * (STEPS // 2)
        programs["dgl"] = lambda: drop(
            dgl.sampling.random_walk(theirs, torch.from_numpy(walkers), metapath=along)
        )
    loads = 2.0 * 64 * WALKERS * STEPS
    yield Row(
        "100k walks of 20 steps over a meta-path, 5M edges each way", 10.3, programs,
        moved=8.0 * WALKERS * (STEPS + 1), gathered=loads, table=2 * EDGES,
    )  # fmt: skip


def drop(value: Any) -> None:
    """Samples differ: there is nothing to compare."""


def structure() -> Iterator[Row]:
    """Compressed rows with the number of each edge, from edges in no order; ids are checked, as each library does."""
    rng = np.random.default_rng(4)
    nodes, count = 500_000, 5_000_000
    sources, targets = rng.integers(0, nodes, count), rng.integers(0, nodes, count)
    numbers = np.arange(count, dtype=np.int32)
    programs: dict[str, Step] = {
        "sampan": lambda: drop(graph.Graph((sources, targets), nodes).by_target),
        "scipy": lambda: drop(scipy.sparse.coo_matrix((numbers, (targets, sources)), (nodes, nodes)).tocsr()),
    }
    dgl = peer("dgl")
    if dgl is not None:
        s, t = torch.from_numpy(sources), torch.from_numpy(targets)
        programs["dgl"] = lambda: drop(dgl.graph((s, t), num_nodes=nodes).adj_tensors("csc"))
    yield Row(
        "compressed rows of 5M edges",
        1.3,
        programs,
        moved=24.0 * count,
        gathered=2.0 * 64 * count,
        table=4 * count,
    )


SEEDS, BATCH, WIDTH, CLASSES = 20_480, 1_024, 64, 16


def epoch() -> Iterator[Row]:
    """Two GraphSAGE layers on sampled batches, forward, backward and Adam."""
    rng = np.random.default_rng(5)
    nodes, count = 100_000, 1_000_000
    sources, targets = by_power_law(rng, nodes, count), rng.integers(0, nodes, count)
    x = rng.standard_normal((nodes, WIDTH), np.float32)
    labels, seeds = rng.integers(0, CLASSES, nodes), rng.permutation(nodes)[:SEEDS]
    made = graph.Graph((sources, targets), nodes, node_feat={"x": x})
    first, second = (
        graph.nn.GraphSageConv(a, b, "mean", False) for a, b in ((WIDTH, WIDTH), (WIDTH, CLASSES))
    )
    adam = sampan.optimizer.Adam(1e-3, parameters=[*first.parameters(), *second.parameters()])
    loader = graph.NeighborLoader(made, [10, 10], seeds, BATCH, shuffle=True, labels=labels)

    def ours() -> None:
        for batch in loader:
            x = batch.graph.node_feat["x"]
            (outer, reached), (inner, own) = batch.within(2), batch.within(1)
            hidden = sampan.nn.functional.relu(first(outer, (x, x[:reached])))
            logits = second(inner, (hidden, hidden[:own]))[batch.seeds]
            sampan.nn.functional.cross_entropy(logits, batch.labels).backward()
            adam.step()
            adam.clear_grad()

    programs: dict[str, Step] = {"sampan": ours}
    dgl = peer("dgl")
    if dgl is not None:
        theirs = dgl.graph((torch.from_numpy(sources), torch.from_numpy(targets)), num_nodes=nodes)
        theirs.create_formats_()
        features, truth = torch.from_numpy(x), torch.from_numpy(labels)
        sampler = dgl.dataloading.NeighborSampler([10, 10])
        layers = torch.nn.ModuleList(
            [dgl.nn.SAGEConv(WIDTH, WIDTH, "mean"), dgl.nn.SAGEConv(WIDTH, CLASSES, "mean")]
        )
        step = torch.optim.Adam(layers.parameters(), 1e-3)

        def blocks() -> None:
            order = torch.from_numpy(seeds)[torch.randperm(SEEDS)]
            for chosen in order.split(BATCH):
                inputs, _, (outer, inner) = sampler.sample_blocks(theirs, chosen)
                hidden = torch.relu(layers[0](outer, features[inputs]))
                torch.nn.functional.cross_entropy(layers[1](inner, hidden), truth[chosen]).backward()
                step.step()
                step.zero_grad()

        programs["dgl"] = blocks
    yield Row("one epoch of GraphSAGE, 20 batches of 1,024, fan-out [10, 10], 1M edges", 1.0, programs)


FAMILIES = (structure, fan_out, walks, meta_paths, epoch)
