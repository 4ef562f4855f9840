"""The rows of `graph_messages.py`. PyTorch Geometric and DGL take part if they are installed (see `sparse_rows.py` for DGL)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import torch

import sampan
from benchmarks.side_by_side import Row, Step, library
from benchmarks.sparse_rows import dense, peer
from sampan import geometric
from sampan.graph import Graph
from sampan.graph.messages import receive
from sampan.graph.segments import softmax_of_received

NODES, EDGES, WIDTH, HEADS = 100_000, 1_000_000, 64, 4
GOALS = {"sum": 1.3, "mean": 1.3, "max": 1.5}  # the best peer's time divided by Sampan's


@cache
def ends() -> tuple[np.ndarray, np.ndarray]:
    """Unordered sources and targets without duplicate edges, because libraries differ in the gradient of tied maxima."""
    rng = np.random.default_rng(0)
    numbers = rng.permutation(np.unique(rng.integers(0, NODES * NODES, EDGES)))
    return numbers // NODES, numbers % NODES


def stepped(function: Callable[[Any], Any], values: np.ndarray, g: np.ndarray) -> Step:
    """A function of a leaf, forward and backward."""
    x, way = sampan.to_tensor(values, stop_gradient=False), sampan.to_tensor(g)

    def step() -> Any:
        x.clear_grad(False)
        function(x).backward(way)
        return x.grad.data

    return step


def torch_step(function: Callable[[torch.Tensor], torch.Tensor], values: np.ndarray, g: np.ndarray) -> Step:
    x, way = torch.tensor(values, requires_grad=True), torch.tensor(g)
    return lambda: torch.autograd.grad(function(x), x, way)[0]


def messages() -> Iterator[Row]:
    dgl, pyg = peer("dgl"), library("torch_geometric.utils")
    sources, targets = ends()
    count = NODES * WIDTH  # distinct and nonzero, because libraries differ in the gradient of tied maxima
    x = (
        ((np.random.default_rng(1).permutation(count) + 0.5) / (count / 4) - 2)
        .astype(np.float32)
        .reshape(NODES, WIDTH)
    )
    g = dense(NODES, WIDTH, 2)
    graph = Graph((sources, targets), NODES)
    s, t = torch.from_numpy(sources), torch.from_numpy(targets)
    theirs = dgl.graph((s, t), num_nodes=NODES) if dgl else None
    index = sampan.to_tensor(sources), sampan.to_tensor(targets)
    arrays = {"x": x, "g": g, "sources": sources, "targets": targets}
    once = 2 * (len(sources) * 4 + NODES * WIDTH * 4)  # an index and a written row, forward and backward
    gathered = {"gathered": 2 * len(sources) * WIDTH * 4, "table": NODES * WIDTH * 4}
    for reduce_op, goal in GOALS.items():
        peers: dict[str, Step] = {}
        if dgl:
            copy = getattr(dgl.ops, f"copy_u_{reduce_op}")
            finite = (lambda out: torch.where(out.isinf(), 0, out)) if reduce_op == "max" else lambda out: out
            peers["dgl"] = torch_step(lambda v, copy=copy, finite=finite: finite(copy(theirs, v)), x, g)
        if pyg:
            peers["pyg"] = torch_step(
                lambda v, op=reduce_op: pyg.scatter(v.index_select(0, s), t, 0, NODES, op), x, g
            )
        for name, function in (
            ("", lambda v, op=reduce_op: receive(v, graph, op)),
            (", index tensors", lambda v, op=reduce_op: geometric.send_u_recv(v, *index, op)),
        ):
            programs = {"sampan": stepped(function, x, g), **peers}
            yield Row(
                f"{reduce_op} of messages, 1M edges x {WIDTH}{name}",
                goal,
                programs,
                once,
                reduce_op,
                arrays,
                **gathered,
            )


def softmax() -> Iterator[Row]:
    dgl, pyg = peer("dgl"), library("torch_geometric.utils")
    sources, targets = ends()
    s, t = torch.from_numpy(sources), torch.from_numpy(targets)
    values, g = dense(len(sources), HEADS, 3), dense(len(sources), HEADS, 4)
    for order in ("in no order", "by target"):
        if order == "by target":
            sorting = np.argsort(targets, kind="stable")
            s, t = s[sorting], t[sorting]
        graph = Graph((s.numpy(), t.numpy()), NODES)
        programs = {"sampan": stepped(lambda v, graph=graph: softmax_of_received(v, graph), values, g)}
        if dgl:
            theirs = dgl.graph((s, t), num_nodes=NODES)
            programs["dgl"] = torch_step(lambda v, theirs=theirs: dgl.ops.edge_softmax(theirs, v), values, g)
        if pyg:
            programs["pyg"] = torch_step(lambda v, t=t: pyg.softmax(v, t, num_nodes=NODES), values, g)
        yield Row(f"edge softmax, 1M edges x {HEADS} heads, {order}", 2.7, programs, 5 * values.nbytes)


FAMILIES = (messages, softmax)
