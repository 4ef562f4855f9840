"""Collectives as operators: they return new Tensors and are recorded on the tape, with derivatives of any
order.

The gradient is that of the sum of all processes' losses, so the pullback of each collective is a collective
too::

    value            all_reduce   all_gather      broadcast   scatter   alltoall
    its pullback     all_reduce   reduce_scatter  reduce      gather    alltoall

and the other way round. Every process of the group must call the same collectives, in the forward and in the
backward pass: so either all of them give a Tensor with stop_gradient=False, or none does. Paddle's functions
(collective.py) write in place and are not recorded.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..engine.operator import Operator, entrance
from ..engine.tensor import Tensor
from . import wire
from .collective import check_op, check_tensors, member, ready
from .group import Group
from .wire import ReduceOp

__all__ = [
    "all_gather",
    "all_reduce",
    "alltoall",
    "broadcast",
    "gather",
    "reduce",
    "reduce_scatter",
    "scatter",
]


def recorded(*gradients: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """An operator that is called here alone, and so is not among the library's public ones."""
    return lambda body: entrance(Operator(body, gradients), arrays=False)


@recorded(lambda g, group: _sum(g, group))
def _sum(x, group):
    total = x.clone()
    wire.all_reduce(total, ReduceOp.SUM, group)
    return total


@recorded(lambda g, group: _sum_own(g, group))
def _gather_all(x, group):
    gathered = x.new_empty((group.nranks, *x.shape))  # [process, *shape]
    wire.all_gather(list(gathered), x, group)
    return gathered


@recorded(lambda g, group: _gather_all(g, group))
def _sum_own(x, group):
    own = torch.empty_like(x[0])
    wire.reduce_scatter(own, list(x), ReduceOp.SUM, group)
    return own


@recorded(lambda g, root, group: _sum_at(g, root, group))
def _from(x, root, group):
    value = x.clone()
    wire.broadcast(value, root, group)
    return value


@recorded(lambda g, root, group: _from(g, root, group))
def _sum_at(x, root, group):
    total = x.clone()
    wire.reduce(total, root, ReduceOp.SUM, group)
    return total if group.rank == root else torch.zeros_like(x)


@recorded(lambda g, root, group: _own_part(g, root, group))
def _gather_at(x, root, group):
    gathered = x.new_zeros((group.nranks, *x.shape))
    wire.gather(list(gathered), x, root, group)
    return gathered


@recorded(lambda g, root, group: _gather_at(g, root, group))
def _own_part(x, root, group):
    own = torch.empty_like(x[0])
    wire.scatter(own, list(x), root, group)
    return own


@recorded(lambda g, sent, received, group: _swap(g, received, sent, group))
def _swap(x, sent, received, group):
    rows = x.new_empty((sum(received), *x.shape[1:]))
    wire.all_to_all(rows.split(received), x.split(sent), group)
    return rows


def _group(what: str, group: Group | None, **tensors: Any) -> Group:
    check_tensors(what, **tensors)
    if (members := ready(what, group)) is None:
        raise RuntimeError(f"{what}: this process is not in the group, and so has no value to return")
    return members


def all_reduce(x: Tensor, op: int = ReduceOp.SUM, group: Group | None = None) -> Tensor:
    """The combination of all processes' Tensors.

    MAX and MIN give their gradient to the processes that have that value, in equal parts.
    """
    members = _group("all_reduce", group, x=x)
    check_op("all_reduce", op)
    if op == ReduceOp.PROD:
        product: Tensor = _gather_all(x, members).prod(0)
        return product
    if op in (ReduceOp.MAX, ReduceOp.MIN):
        extreme = x.detach().clone()
        wire.all_reduce(extreme.data, op, members)
        chosen = (x.detach() == extreme).astype(x.dtype)
        total: Tensor = _sum(x * (chosen / _sum(chosen, members)), members)
        return total
    total = _sum(x, members)
    return total / members.nranks if op == ReduceOp.AVG else total


def all_gather(x: Tensor, group: Group | None = None) -> Tensor:
    """All processes' Tensors, one after another along the first axis: [n, ...] of each gives [processes * n,
    ...]."""
    members = _group("all_gather", group, x=x)
    gathered: Tensor = _gather_all(x, members)
    return gathered.reshape([-1, *x.shape[1:]])


def reduce_scatter(x: Tensor, group: Group | None = None) -> Tensor:
    """The sum of all processes' Tensors, of which each process gets its rows: [processes * n, ...] gives [n,
    ...]."""
    members = _group("reduce_scatter", group, x=x)
    own: Tensor = _sum_own(_parts("reduce_scatter", x, members), members)
    return own


def broadcast(x: Tensor, src: int, group: Group | None = None) -> Tensor:
    """The Tensor of process src. The others give one of the same shape and dtype, whose gradient is zero."""
    members = _group("broadcast", group, x=x)
    value: Tensor = _from(x, member("broadcast", members, src), members)
    return value


def reduce(x: Tensor, dst: int, group: Group | None = None) -> Tensor:
    """The sum of all processes' Tensors for process dst, and zeros for the others."""
    members = _group("reduce", group, x=x)
    total: Tensor = _sum_at(x, member("reduce", members, dst), members)
    return total


def gather(x: Tensor, dst: int, group: Group | None = None) -> Tensor:
    """`all_gather` for process dst, and zeros for the others."""
    members = _group("gather", group, x=x)
    gathered: Tensor = _gather_at(x, member("gather", members, dst), members)
    return gathered.reshape([-1, *x.shape[1:]])


def scatter(x: Tensor, src: int, group: Group | None = None) -> Tensor:
    """This process's rows of the Tensor of process src: [processes * n, ...] gives [n, ...].

    The others give a Tensor of the same shape and dtype, whose gradient is zero.
    """
    members = _group("scatter", group, x=x)
    own: Tensor = _own_part(_parts("scatter", x, members), member("scatter", members, src), members)
    return own


def alltoall(
    x: Tensor,
    in_split_sizes: Sequence[int] | None = None,
    out_split_sizes: Sequence[int] | None = None,
    group: Group | None = None,
) -> Tensor:
    """Rows of x for each process, in equal parts or of the given sizes; the value has the rows from each
    process."""
    members = _group("alltoall", group, x=x)
    if in_split_sizes is None or out_split_sizes is None:
        rows = _parts("alltoall", x, members).shape[1]
        in_split_sizes = out_split_sizes = [rows] * members.nranks
    swapped: Tensor = _swap(x, list(in_split_sizes), list(out_split_sizes), members)
    return swapped


def _parts(what: str, x: Tensor, group: Group) -> Tensor:
    """x with an axis of processes in front: [processes * n, ...] as [processes, n, ...]."""
    if x.ndim == 0 or x.shape[0] % group.nranks:
        raise ValueError(
            f"{what}: expected rows for {group.nranks} processes, in equal parts, got {x._brief()}"
        )
    return x.reshape([group.nranks, x.shape[0] // group.nranks, *x.shape[1:]])
