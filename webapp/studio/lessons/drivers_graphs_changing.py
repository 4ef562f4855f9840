"""How notebook 08's functions are called: on rows and graphs of their own, and through the library's graphs.

As in `drivers.py`: they run where the learner's code runs and know no right answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import sampan
from sampan import graph
from sampan.graph.growing_rows import GrowingRows
from sampan.graph.meta_path import PathCounts
from sampan.learn import slots
from sampan.learn.drivers import driver, gradient_of, parameter

from .drivers_graphs import _ids, go_back, gradient


def _grown(count: int, batches: list[Any]) -> tuple[GrowingRows, list[Any]]:
    """Rows after the batches (rows, others), and a view after each."""
    rows, views, number = GrowingRows(), [], 0
    rows.add_rows(count)
    for version, (mine, others) in enumerate(batches, 1):
        numbers = np.arange(number, number + len(mine), dtype=np.int32)
        rows.reserve(_ids(mine))
        rows.insert(_ids(mine), _ids(others), numbers, version)
        views.append(rows.view(count))
        number += len(mine)
    return rows, views


@driver(answer=lambda *_: [("the neighbours", "邻居"), ("the edges", "边"), ("the counts", "个数")])
def rows_grown(slot: slots.Slot, count: int, batches: list[Any]) -> Any:
    """(neighbours, edges, counts) of all rows after the batches."""
    _, views = _grown(count, batches)
    return tuple(views[-1].read(np.arange(count, dtype=np.int32)))


@driver
def rows_seen(slot: slots.Slot, count: int, batches: list[Any]) -> Any:
    """The neighbours of all rows as each view shows them at the end: a view was taken after each batch."""
    _, views = _grown(count, batches)
    return [view.read(np.arange(count, dtype=np.int32))[0] for view in views]


@driver
def places_used(slot: slots.Slot, adds: int) -> int:
    """How many places of the pool are used after `adds` edges of one row, added one after another."""
    one = sampan.to_tensor([0]).data
    rows, _ = _grown(2, [(one, one)] * adds)
    return int(rows._state[0])


@driver
def graph_changed(slot: slots.Slot, count: int, updates: list[Any]) -> Any:
    """For each update (kind, sources, targets) of a DynamicGraph the successors and predecessors of all nodes in the
    snapshot after it, read at the end."""
    made, snapshots = graph.DynamicGraph(count), []
    for kind, sources, targets in updates:
        change = made.add_edges if kind == "add" else made.remove_edges
        change(_ids(sources), _ids(targets))
        snapshots.append(made.snapshot())
    every = np.arange(count)
    return [[kept.successors(every)[0], kept.predecessors(every)[0]] for kept in snapshots]


@driver(answer=lambda *_: [parameter("starts"), parameter("neighbours"), parameter("counts")])
def counts_multiplied(slot: slots.Slot, left: list[Any], right: list[Any], widths: list[int]) -> Any:
    """(starts, neighbours, counts) of the slot's product of two PathCounts."""
    made = slot.placed(*(_counts(parts, width) for parts, width in zip((left, right), widths, strict=True)))
    return tuple(np.asarray(part) for part in made[:3])


def _counts(parts: list[Any], width: int) -> PathCounts:
    starts, neighbours, counts = parts
    return PathCounts(_ids(starts), _ids(neighbours), counts.numpy().astype(np.int64), width)


@driver
def paths_counted(slot: slots.Slot, sizes: dict[str, int], links: dict[str, Any], path: list[str]) -> Any:
    """Path counts of a HeteroGraph as a dense table. links: "author writes paper" -> edges [edges, 2]."""
    edges: Any = {tuple(kind.split()): ends.numpy() for kind, ends in links.items()}
    return graph.HeteroGraph(sizes, edges).path_counts(path).to_dense()


HAN = ("proj.weight", "k_lin.weight", "k_lin.bias", "q")
HAN_PARTS = [("the output", "输出"), ("the weights of the paths", "路径的权重")]


@driver(answer=lambda *_: [*HAN_PARTS, gradient_of("feature"), gradient_of("q")])
def paths_attended(slot: slots.Slot, paths: list[Any], feature: Any, arrays: list[Any], g: Any) -> Any:
    """(output, weights of the paths, gradients of features and q) of a HANConv whose attention over neighbours is even."""
    graphs = [graph.Graph((_ids(ends[:, 0]), _ids(ends[:, 1])), len(feature)) for ends in paths]
    inputs, size = arrays[0].shape
    layer = graph.nn.HANConv(inputs, size, len(paths), activation="tanh")
    named = dict(layer.named_parameters())
    for name, array in zip(HAN, arrays, strict=True):
        named[name].set_value(array.numpy())
    for name in ("lin_src", "lin_dst", "proj.bias"):
        named[name].set_value(np.zeros(named[name].shape, np.float32))
    x = sampan.to_tensor(feature, stop_gradient=False)
    output, beta = layer(graphs, x, return_semantic_attention_weights=True)
    go_back(output, g)
    return output.numpy(), beta.numpy(), gradient(x, "feature"), gradient(named["q"], "q")


@driver(answer=lambda *_: [parameter("begins"), parameter("degrees")])
def past_found(slot: slots.Slot, starts: Any, times: Any, nodes: Any, after: Any, before: Any) -> Any:
    """(begins, degrees) of the slot."""
    given = _ids(starts), times.numpy(), nodes.numpy(), after.numpy(), before.numpy()
    return tuple(np.asarray(part) for part in slot.placed(*given))


@driver
def past_sampled(
    slot: slots.Slot,
    ends: Any,
    times: Any,
    count: int,
    seeds: Any,
    moments: Any,
    sizes: list[int],
    window: Any,
) -> Any:
    """Numbers of the edges that the library's Timeline samples, the latest of each node, in ascending order."""
    made = graph.Timeline(graph.Graph((_ids(ends[:, 0]), _ids(ends[:, 1])), count), times.numpy())
    found = made.sample(seeds.numpy(), moments.numpy(), sizes, window=window)
    return np.sort(found.edges.numpy())
