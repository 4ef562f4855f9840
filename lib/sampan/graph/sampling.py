"""Paddle's functions that sample neighbours in compressed columns, and number what they found.

`row` and `colptr` are read in place and never copied: node n owns the places colptr[n] to colptr[n + 1] of
`row`. Each number is checked as it is read, so that arrays which are overwritten meanwhile give a wrong
sample at worst. Tensors on a GPU are copied to the host first, and results lie on the host.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..engine.spelling import spelled
from ..engine.tensor import InvalidArgument, InvalidType, Tensor
from ..kernels import graph as graph_kernels
from .drawing import Drawn, child, draw, host, start, whole

_INTEGERS = (torch.int32, torch.int64)


def _flat(function: str, tensor: Any, name: str, kinds: Sequence[torch.dtype] = _INTEGERS) -> np.ndarray:
    """The array of a Tensor of the shape [n] or [n, 1]."""
    if not isinstance(tensor, Tensor):
        raise InvalidType(f"{function}: expected a Tensor for {name}, got {type(tensor).__name__}")
    kind = tensor.data.dtype
    if kind not in kinds:
        expected = " or ".join(str(k).removeprefix("torch.") for k in kinds)
        raise InvalidType(
            f"{function}: expected {expected} for {name}, got {str(kind).removeprefix('torch.')}"
        )
    shape = list(tensor.shape)
    if len(shape) != 1 and shape[1:] != [1]:
        raise InvalidArgument(f"{function}: expected the shape [n] or [n, 1] for {name}, got {shape}")
    return host(tensor).reshape(-1)


def _columns(function: str, row: Any, colptr: Any, nodes: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = _flat(function, row, "row")
    kind = (row.data.dtype,)
    starts, chosen = _flat(function, colptr, "colptr", kind), _flat(function, nodes, "input_nodes", kind)
    if not starts.size:
        raise InvalidArgument(f"{function}: expected at least one number for colptr, got none")
    return rows, starts, chosen


def _numbers_of_edges(function: str, eids: Any, name: str, rows: np.ndarray) -> np.ndarray:
    if eids is None:
        raise InvalidArgument(
            f"{function}: expected a Tensor for {name}, because return_eids is True, got None"
        )
    found = _flat(function, eids, name, (torch.int32 if rows.dtype == np.int32 else torch.int64,))
    if found.size < rows.size:
        raise InvalidArgument(
            f"{function}: expected one number for each of {rows.size} edges for {name}, got {found.size}"
        )
    return found


def _sampled(
    function: str,
    rows: np.ndarray,
    starts: np.ndarray,
    nodes: np.ndarray,
    size: int,
    weights: np.ndarray | None,
    seed: int,
    first: int = 0,
) -> Drawn:
    begins, degrees, wrong = graph_kernels.rows_found(starts, rows.size, nodes)
    if wrong >= 0:
        raise InvalidArgument(
            f"{function}: expected nodes from 0 to {starts.size - 2} for input_nodes and colptr that ascends "
            f"from 0 to at most {rows.size}, got node {nodes[wrong]} at place {wrong}"
        )
    weighted = None if weights is None else (weights, np.empty(0, np.int32))
    rows_found = (begins, degrees)
    return draw(rows_found, size, rows, weighted, False, seed, first, rows.dtype, f"{function}: edge_weight")


def _answer(
    rows: np.ndarray, found: Drawn, eids: np.ndarray | None
) -> tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor]:
    places, values, _, counts = found
    answer = Tensor(torch.from_numpy(values)), Tensor(torch.from_numpy(counts.astype(np.int32)))
    return answer if eids is None else (*answer, Tensor(torch.from_numpy(eids[places])))


def _sample(
    function: str, row: Any, colptr: Any, nodes: Any, weights: Any, size: int, eids: Any, return_eids: bool
) -> Any:
    rows, starts, chosen = _columns(function, row, colptr, nodes)
    numbers = _numbers_of_edges(function, eids, "eids", rows) if return_eids else None
    size = whole(size, -1, f"{function}: expected a whole number of at least -1 for sample_size")
    heavy = None
    if weights is not None:
        heavy = _flat(function, weights, "edge_weight", (torch.float32,))
        if heavy.size < rows.size:
            raise InvalidArgument(
                f"{function}: expected one for each of {rows.size} edges for edge_weight, got {heavy.size}"
            )
    return _answer(rows, _sampled(function, rows, starts, chosen, size, heavy, start(None)), numbers)


@spelled()
def sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    sample_size: int = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    perm_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor]:
    """(neighbours, counts, edge ids): up to `sample_size` different places of each node's column, each choice
    equally likely.

    row: [edges] or [edges, 1], int32 or int64. colptr: [nodes + 1], input_nodes: [n], eids: [edges], of the
    same dtype. sample_size: -1 takes all, in their order, as does a node with no more. Returns neighbours
    [sampled] of that dtype, counts int32 [n], and with `return_eids` the `eids` of the places. perm_buffer:
    is for Paddle's GPU kernel. `paddle.seed` starts the generator; the number of threads changes nothing.
    Raises ValueError for nodes and columns that do not lie inside, TypeError for other dtypes.
    """
    return _sample("sample_neighbors", row, colptr, input_nodes, None, sample_size, eids, return_eids)


@spelled()
def weighted_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    edge_weight: Tensor,
    input_nodes: Tensor,
    sample_size: int = -1,
    eids: Tensor | None = None,
    return_eids: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor]:
    """`sample_neighbors` one after another, each with the probability of its weight among those that are
    left.

    edge_weight: float32 [edges], at least 0 and finite: else ValueError. A place of weight 0 is never drawn,
    even if fewer than `sample_size` remain; with sample_size=-1 nothing is drawn, and all are returned.
    """
    what = "weighted_sample_neighbors"
    return _sample(what, row, colptr, input_nodes, edge_weight, sample_size, eids, return_eids)


def _reindexed(function: str, x: Any, neighbors: Any, count: Any) -> tuple[Tensor, Tensor, Tensor]:
    nodes = _flat(function, x, "x")
    others = _flat(function, neighbors, "neighbors", (x.data.dtype,))
    counts = _flat(function, count, "count", (torch.int32,)).astype(
        np.int64
    )  # a copy, checked before it is used
    if not nodes.size:
        raise InvalidArgument(f"{function}: expected at least one node for x, got none")
    if counts.size % nodes.size or (counts < 0).any() or int(counts.sum()) != others.size:
        raise InvalidArgument(
            f"{function}: expected {nodes.size} counts (or a multiple), none negative, that add up to the "
            f"{others.size} neighbors for count, got {counts.size} that add up to {int(counts.sum())}"
        )
    sources, targets, distinct = (torch.from_numpy(a) for a in graph_kernels.reindexed(nodes, others, counts))
    return Tensor(sources), Tensor(targets), Tensor(distinct.clone())


@spelled()
def reindex_graph(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """(sources, targets, nodes): the edges from `neighbors` to `x` with nodes numbered in the order of their
    first coming, those of `x` first.

    x: [n] different ids, int32 or int64. neighbors: [edges], of the same dtype. count: int32 [n], how many
    neighbours each x has. The results have the dtype of x. The buffers are for Paddle's GPU kernel.
    Raises ValueError for an empty x and for counts that do not add up.
    """
    return _reindexed("reindex_graph", x, neighbors, count)


@spelled()
def reindex_heter_graph(
    x: Tensor,
    neighbors: Sequence[Tensor],
    count: Sequence[Tensor],
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`reindex_graph` with neighbours from several graphs: a list of `neighbors` and one of `count`, whose
    edges follow one another."""
    what = "reindex_heter_graph"
    for label, given in (("neighbors", neighbors), ("count", count)):
        if not isinstance(given, list | tuple) or not given or not all(isinstance(g, Tensor) for g in given):
            raise InvalidArgument(
                f"{what}: expected a list of Tensors for {label}, got {type(given).__name__}"
            )
    joined = [Tensor(torch.cat([part.data.detach() for part in parts])) for parts in (neighbors, count)]
    return _reindexed(what, x, *joined)


# --- under paddle.incubate ----------------------------------------------------------------------------------


@spelled()
def graph_sample_neighbors(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    eids: Tensor | None = None,
    perm_buffer: Tensor | None = None,
    sample_size: int = -1,
    return_eids: bool = False,
    flag_perm_buffer: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor] | tuple[Tensor, Tensor, Tensor]:
    """`geometric.sample_neighbors` under its first name."""
    what = "graph_sample_neighbors"
    if flag_perm_buffer and perm_buffer is None:
        raise InvalidArgument(
            f"{what}: expected a Tensor for perm_buffer, because flag_perm_buffer is True, got None"
        )
    return _sample(what, row, colptr, input_nodes, None, sample_size, eids, return_eids)


@spelled()
def graph_reindex(
    x: Tensor,
    neighbors: Tensor,
    count: Tensor,
    value_buffer: Tensor | None = None,
    index_buffer: Tensor | None = None,
    flag_buffer_hashtable: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """`geometric.reindex_graph` under its first name; counts of several graphs follow one another."""
    if flag_buffer_hashtable and (value_buffer is None or index_buffer is None):
        raise InvalidArgument(
            "graph_reindex: expected Tensors for value_buffer and index_buffer with "
            "flag_buffer_hashtable=True, got None"
        )
    return _reindexed("graph_reindex", x, neighbors, count)


@spelled()
def graph_khop_sampler(
    row: Tensor,
    colptr: Tensor,
    input_nodes: Tensor,
    sample_sizes: Sequence[int],
    sorted_eids: Tensor | None = None,
    return_eids: bool = False,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """(sources, targets, nodes, places of the input nodes, edge ids): hop after hop the neighbours of the
    nodes that the hop before found first, and all of them numbered.

    sample_sizes: how many neighbours of each node, hop after hop; -1: all. sources, targets: [edges, 1], the
    new numbers; nodes: their ids, the input nodes first; all of the dtype of `row`. With `return_eids` also
    the `sorted_eids` of the edges. See `graph.k_hop` for a Graph.
    Raises ValueError for nodes and columns that do not lie inside, and where no hop finds an edge.
    """
    what = "graph_khop_sampler"
    rows, starts, seeds = _columns(what, row, colptr, input_nodes)
    numbers = _numbers_of_edges(what, sorted_eids, "sorted_eids", rows) if return_eids else None
    sizes = [sample_sizes] if isinstance(sample_sizes, int) else list(sample_sizes)
    sizes = [
        whole(size, -1, f"{what}: expected whole numbers of at least -1 for sample_sizes") for size in sizes
    ]
    if not sizes or not seeds.size:
        raise InvalidArgument(
            f"{what}: expected sample_sizes and input_nodes, got {sizes} for {seeds.size} nodes"
        )
    seed, hops = start(None), []
    with graph_kernels.Numbers(starts.size - 1, rows.dtype) as found:
        own = _numbered(what, found, seeds)
        done = 0
        for hop, size in enumerate(sizes):
            first, frontier = done, found.nodes[done : found.count]
            done = found.count
            parts = _sampled(what, rows, starts, frontier, size, None, child(seed, hop), first)
            hops.append((_numbered(what, found, parts[1]), parts[2], parts[0]))
        nodes = found.nodes[: found.count].copy()
    sources, targets, places = (np.concatenate(parts) for parts in zip(*hops, strict=True))
    if not sources.size:
        raise InvalidArgument(f"{what}: expected nodes with neighbors for input_nodes, got none with any")
    answer = [sources[:, None], targets[:, None], nodes, own]
    if numbers is not None:
        answer.append(numbers[places])
    return tuple(Tensor(torch.from_numpy(part)) for part in answer)


def _numbered(function: str, found: Any, values: np.ndarray) -> np.ndarray:
    numbers, wrong = found.of(values)
    if wrong >= 0:
        raise InvalidArgument(
            f"{function}: expected nodes from 0 to {found.height - 1} for row and input_nodes, "
            f"got {values[wrong]}"
        )
    return np.asarray(numbers)
