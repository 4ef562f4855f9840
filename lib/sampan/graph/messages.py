"""Message passing: nodes send along edges, and a node adds up, averages or compares what it receives.

Each operator takes the edges as `Routes` and has its derivative in the others, with the edges turned round:
what was sent along an edge, its gradient goes back. So every order of derivative is as fast as the first.
"""

import math
from typing import Any

import torch

from ..engine.operator import operator
from ..engine.tensor import Tensor
from ..kernels import graph as graph_kernels
from ..kernels import sparse as sparse_kernels
from ..kernels.device import buffer_like, empty, wide_array
from ..ops import reshape
from .adjacency import Adjacency
from .routes import Routes, routes_of_indices

_OTHER_END = {"": "", "targets": "sources", "sources": "targets"}


def _columns(values: Any, count: int) -> Any:
    """An array [count, k] of a buffer [count, ...]."""
    if values.is_complex() or values.dtype is torch.bool:
        raise TypeError(f"expected floating or whole numbers, got {values.dtype}")
    if values.ndim == 0 or values.shape[0] != count:
        raise ValueError(f"expected {count} rows, one for each node or edge, got shape {list(values.shape)}")
    return wide_array(values).reshape(count, math.prod(values.shape[1:]))


def _heads(values: Any, count: int, what: str) -> Any:
    if values.ndim != 3 or values.shape[0] != count:
        raise ValueError(f"expected [{count}, heads, k] for {what}, got shape {list(values.shape)}")
    return wide_array(values)


def _shaped(made: Any, like: torch.Tensor) -> torch.Tensor:
    """[rows, k] as a buffer [rows, ...] of the dtype of `like` and its shape after the first axis."""
    return buffer_like(made, like).reshape(made.shape[0], *like.shape[1:])


@operator(lambda g, routes, mean: neighbour_sum(g, routes.turned, _OTHER_END[mean]))
def neighbour_sum(x, routes, mean=""):
    """What all sources send to each target, added up. x: [sources, ...]; returns [targets, ...].

    mean: "targets" divides by the number of edges into the target, "sources" by that out of the source.
    """
    dense = _columns(x, routes.num_sources)
    cuts, starts, neighbours, _ = routes.rows(dense)
    out = empty((routes.num_targets, dense.shape[1]), dense)
    whole = mean and not x.is_floating_point()
    weights = routes.weights("" if whole else mean, dense)
    sparse_kernels.spmm(cuts, starts, neighbours, weights, dense, out)
    if whole:
        counts = torch.from_numpy(routes.by_target.degrees).clamp(min=1)[:, None].to(x.device)
        out = torch.div(buffer_like(out, x), counts, rounding_mode="trunc").to(x.dtype)
    return _shaped(out, x)


@operator(lambda g, x, out, routes: equal_sums(g, x, out, routes))
def neighbour_extreme(x, routes, smallest=False):
    """The largest (or smallest) number that each target receives, 0 without any. x: [sources, ...].

    All sources that sent it get all of its gradient, as in Paddle.
    """
    dense = _columns(x, routes.num_sources)
    cuts, starts, neighbours, _ = routes.rows(dense)
    out = empty((routes.num_targets, dense.shape[1]), dense)
    kernel = graph_kernels.row_min if smallest else graph_kernels.row_max
    kernel(cuts, starts, neighbours, dense, out)
    return _shaped(out, x)


def _flat(g: Any) -> None:
    """The derivative of a comparison: 0 wherever it has one."""


@operator(lambda h, x, y, routes: equal_sums(h, y, x, routes.turned), _flat, _flat)
def equal_sums(g, x, y, routes):
    """For each source the sum of g over its targets where x equals y. x: [sources, ...]; g, y: [targets,
    ...]."""
    mine, others = _columns(x, routes.num_sources), _columns(y, routes.num_targets)
    given, (cuts, starts, neighbours, _) = _columns(g, routes.num_targets), routes.turned.rows(mine)
    out = empty(mine.shape, given)
    graph_kernels.equal_sums(cuts, starts, neighbours, mine, others, given, out)
    return _shaped(out, g)


@operator(lambda g, routes: neighbour_sum(g, routes.turned.arriving))
def sent(x, routes):
    """What stands at the source of each edge. x: [sources, ...]; returns [edges, ...]."""
    return x.index_select(0, routes.senders(x))


@operator(
    lambda g, x, routes: edge_dots(g, x, routes),
    lambda g, weights, routes: weighted_sum(weights, g, routes.turned),
)
def weighted_sum(weights, x, routes):
    """What each target receives, times the weight of the edge, added up.

    weights: [edges, heads], x: [sources, heads, k]; returns [targets, heads, k]."""
    dense, w = _heads(x, routes.num_sources, "x"), _columns(weights, routes.num_edges)
    out = empty((routes.num_targets, *dense.shape[1:]), dense)
    graph_kernels.head_sums(*routes.rows(dense), w, dense, out)
    return buffer_like(out, x)


@operator(
    lambda h, x, routes: weighted_sum(h, x, routes),
    lambda h, y, routes: weighted_sum(h, y, routes.turned),
)
def edge_dots(y, x, routes):
    """For each edge the product of what its two ends have. y: [targets, heads, k], x: [sources, heads, k];
    returns [edges, heads]."""
    a, b = _heads(y, routes.num_targets, "y"), _heads(x, routes.num_sources, "x")
    out = empty((routes.num_edges, a.shape[1]), a)
    graph_kernels.head_dots(*routes.rows(a), a, b, out)
    return buffer_like(out, x)


# --- what users call ----------------------------------------------------------------------------------------

REDUCERS = ("sum", "mean", "max", "min")
JOINS = ("add", "sub", "mul", "div")


def _one_of(name: str, what: str, choices: tuple[str, ...], given: Any) -> None:
    if given not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(choices)} for {what}, got {given!r}")


def _routes(edges: Any) -> Routes:
    return (
        Routes.of(edges)
        if isinstance(edges, Adjacency)
        else edges
        if isinstance(edges, Routes)
        else edges.routes
    )


def receive(x: Tensor, edges: Any, reduce_op: str = "sum") -> Tensor:
    """The sum, mean, max or min of what each node receives; 0 where there is nothing.

    x: [sources, ...], floating or whole numbers. edges: a Graph, its `routes`, or an Adjacency by targets.
    Returns [targets, ...] of the dtype of x; a mean of whole numbers is truncated. All sources that sent a
    maximum get all of its gradient. Raises ValueError for another `reduce_op`.
    """
    _one_of("receive", "reduce_op", REDUCERS, reduce_op)
    return _reduced(x, _routes(edges), reduce_op)


def _reduced(x: Any, routes: Routes, reduce_op: str) -> Tensor:
    made: Tensor
    if reduce_op in ("sum", "mean"):
        made = neighbour_sum(x, routes, "targets" if reduce_op == "mean" else "")
    else:
        made = neighbour_extreme(x, routes, reduce_op == "min")
    return made


def receive_joined(
    x: Tensor, y: Tensor, edges: Any, message_op: str = "add", reduce_op: str = "sum"
) -> Tensor:
    """`receive` of what the source has joined with what the edge has: add, sub, mul or div.

    x: [sources, ...], y: [edges, ...]; the shapes after the first axis are broadcast, and have at least one
    axis. Sums and means hold nothing of the size [edges, ...] beside y where y is added, and where it has a
    number for each of x, for each head or for each edge. Raises ValueError for shapes that do not fit and
    dtypes that differ.
    """
    name = "receive_joined"
    _one_of(name, "message_op", JOINS, message_op)
    _one_of(name, "reduce_op", REDUCERS, reduce_op)
    return _joined_and_reduced(name, x, y, _routes(edges), message_op, reduce_op)


def _joined_and_reduced(name: str, x: Any, y: Any, routes: Routes, message_op: str, reduce_op: str) -> Tensor:
    x, y = _aligned(name, x, y)
    if y.shape[0] != routes.num_edges:
        raise ValueError(
            f"{name}: expected {routes.num_edges} rows, one for each edge, for y, got {y.shape[0]}"
        )
    message_op, y = _as_add_or_mul(name, x, y, message_op)
    if reduce_op in ("sum", "mean"):
        # A mean of whole numbers is truncated once.
        if message_op == "add" and (reduce_op == "sum" or x.is_floating_point()):
            return _reduced(x, routes, reduce_op) + _reduced(y, routes.arriving, reduce_op)
        heads = _split(x.shape[1:], y.shape[1:])
        if heads is not None and x.is_floating_point():
            return _weighted(x, y, routes, heads, reduce_op)
    return _reduced(_joined(x, y, routes, message_op), routes.arriving, reduce_op)


def _joined(x: Any, y: Any, routes: Routes, message_op: str) -> Any:
    return sent(x, routes) + y if message_op == "add" else sent(x, routes) * y


def _weighted(x: Any, y: Any, routes: Routes, heads: int, reduce_op: str) -> Tensor:
    weights = reshape(y, [y.shape[0], heads])
    if reduce_op == "mean":
        counts = torch.from_numpy(routes.by_target.degrees[routes.targets]).to(y.data.device, y.data.dtype)
        weights = weights / Tensor(counts[:, None])
    made = weighted_sum(
        weights, reshape(x, [x.shape[0], heads, math.prod(x.shape[1:]) // max(heads, 1)]), routes
    )
    return reshape(made, [routes.num_targets, *x.shape[1:]])


def _split(x: list[int], y: list[int]) -> int | None:
    """How many numbers y has before axes of size 1 alone, if those before them are the axes of x."""
    places = len(y)
    while places and y[places - 1] == 1:
        places -= 1
    return math.prod(y[:places]) if y[:places] == x[:places] else None


def send_to_edges(x: Tensor, y: Tensor, edges: Any, message_op: str = "add") -> Tensor:
    """What the source of each edge has joined with what its target has: add, sub, mul or div.

    x: [sources, ...], y: [targets, ...], broadcast as in `receive_joined`; returns [edges, ...].
    """
    _one_of("send_to_edges", "message_op", JOINS, message_op)
    return _at_edges("send_to_edges", x, y, _routes(edges), message_op)


def join_at_edges(x: Tensor, y: Tensor, edges: Any, message_op: str = "add") -> Tensor:
    """What the source of each edge has joined with what the edge has: add, sub, mul or div.

    x: [sources, ...], y: [edges, ...], broadcast as in `receive_joined`; returns [edges, ...].
    """
    name, routes = "join_at_edges", _routes(edges)
    _one_of(name, "message_op", JOINS, message_op)
    x, y = _aligned(name, x, y)
    message_op, y = _as_add_or_mul(name, x, y, message_op)
    made: Tensor = _joined(x, y, routes, message_op)
    return made


def _at_edges(name: str, x: Any, y: Any, routes: Routes, message_op: str) -> Tensor:
    x, y = _aligned(name, x, y)
    message_op, y = _as_add_or_mul(name, x, y, message_op)
    a, b = sent(x, routes), sent(y, routes.turned)
    made: Tensor = a + b if message_op == "add" else a * b
    return made


def _aligned(name: str, x: Any, y: Any) -> tuple[Any, Any]:
    """Both with as many axes, at least two: 1s are put behind the first axis."""
    if x.dtype != y.dtype:
        raise ValueError(f"{name}: expected {x.dtype}, the dtype of x, for y, got {y.dtype}")
    axes = max(x.ndim, y.ndim, 2)
    sides = [
        reshape(a, [a.shape[0], 1])
        if a.ndim == 1
        else a
        if a.ndim == axes
        else reshape(a, [a.shape[0], *[1] * (axes - a.ndim), *a.shape[1:]])
        for a in (reshape(b, [b.shape[0], 1]) if b.ndim == 1 else b for b in (x, y))
    ]
    for m, n in zip(sides[0].shape[1:], sides[1].shape[1:], strict=True):
        if m != n and 1 not in (m, n):
            raise ValueError(
                f"{name}: expected a shape that broadcasts with {list(x.shape[1:])} after the first axis "
                f"for y, got {list(y.shape)}"
            )
    return sides[0], sides[1]


def _as_add_or_mul(name: str, x: Any, y: Any, message_op: str) -> tuple[str, Any]:
    """Without differences and quotients; y is never quite 0 where it divides, as in Paddle."""
    if message_op == "div":
        if not x.is_floating_point():
            raise ValueError(f"{name}: expected floating numbers to divide, got {x.dtype}")
        return "mul", 1.0 / (y + 1e-12)
    return ("add", -y) if message_op == "sub" else (message_op, y)


# --- Paddle's functions -------------------------------------------------------------------------------------


def _checked(name: str, x: Any, *others: Any) -> None:
    for what, value in zip(("x", "src_index", "dst_index", "y"), (x, *others), strict=False):
        if not isinstance(value, Tensor):
            raise ValueError(f"{name}: expected a Tensor for {what}, got {type(value).__name__}")
    if x.ndim == 0:
        raise IndexError(f"{name}: expected at least one axis for x, got shape []")


def _size(name: str, out_size: Any, count: int) -> int:
    """The number of targets: `out_size`, or `count` where it is None or not above 0."""
    if isinstance(out_size, bool | list | tuple):
        raise TypeError(f"{name}: expected an int or a Tensor of one for out_size, got {out_size!r}")
    size = 0 if out_size is None else int(out_size)
    return size if size > 0 else count


def send_u_recv(
    x: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    reduce_op: str = "sum",
    out_size: int | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """out[t] = the sum, mean, max or min of x[src_index[e]] over the edges e with dst_index[e] = t, else 0.

    x: [nodes, ...]; src_index, dst_index: [edges], both int32 or both int64. Returns [out_size, ...], [nodes,
    ...] without one above 0. What is made of the indices is kept as long as `dst_index` lives, and taken
    again after a look whether both still hold the same; a Graph and `receive` need no look. Indices on a
    GPU are copied to the host at each call.
    Raises ValueError for another `reduce_op`, and indices of other dtypes or shapes; IndexError for an index
    out of range.
    Source: PaddlePaddle 3.3.1, geometric.send_u_recv.
    """
    return _send_u_recv("send_u_recv", "reduce_op", x, src_index, dst_index, reduce_op, out_size)


def _send_u_recv(
    name: str, what: str, x: Tensor, src_index: Tensor, dst_index: Tensor, reduce_op: str, out_size: Any
) -> Tensor:
    _one_of(name, what, REDUCERS, reduce_op)
    _checked(name, x, src_index, dst_index)
    count = _size(name, out_size, x.shape[0])
    return _reduced(x, routes_of_indices(name, src_index.data, dst_index.data, x.shape[0], count), reduce_op)


def send_ue_recv(
    x: Tensor,
    y: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    message_op: str = "add",
    reduce_op: str = "sum",
    out_size: int | Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """`send_u_recv` of x[src_index[e]] joined with y[e]: add, sub, mul or div. y: [edges, ...].

    The shapes of x and y are broadcast after the first axis; a single axis counts as [..., 1]. See
    `receive_joined` and `send_u_recv`.
    Source: PaddlePaddle 3.3.1, geometric.send_ue_recv.
    """
    own = "send_ue_recv"
    _one_of(own, "message_op", JOINS, message_op)
    _one_of(own, "reduce_op", REDUCERS, reduce_op)
    _checked(own, x, src_index, dst_index, y)
    count = _size(own, out_size, x.shape[0])
    routes = routes_of_indices(own, src_index.data, dst_index.data, x.shape[0], count)
    return _joined_and_reduced(own, x, y, routes, message_op, reduce_op)


def send_uv(
    x: Tensor,
    y: Tensor,
    src_index: Tensor,
    dst_index: Tensor,
    message_op: str = "add",
    name: str | None = None,
) -> Tensor:
    """For each edge x[src_index[e]] joined with y[dst_index[e]]: add, sub, mul or div. Returns [edges, ...].

    The shapes of x and y are broadcast after the first axis. Raises as `send_u_recv` does.
    Source: PaddlePaddle 3.3.1, geometric.send_uv.
    """
    _one_of("send_uv", "message_op", JOINS, message_op)
    _checked("send_uv", x, src_index, dst_index, y)
    routes = routes_of_indices("send_uv", src_index.data, dst_index.data, x.shape[0], y.shape[0])
    return _at_edges("send_uv", x, y, routes, message_op)
