"""Operators of tensor parallelism, in pairs: each is the derivative of the other.

The loss is the same in all processes of the group, and so counts once (Shoeybi et al. 2019, section 3).
"""

from __future__ import annotations

from typing import Any

from ..differentiable import recorded
from ..group import Group
from ..wire import ReduceOp, all_gather, all_reduce

__all__ = ["copied", "joined", "own_columns", "total"]


@recorded(lambda g, group: _total(g, group))
def _copied(x, group):
    return x.clone()


@recorded(lambda g, group: _copied(g, group))
def _total(x, group):
    value = x.clone()
    all_reduce(value, ReduceOp.SUM, group)
    return value


@recorded(lambda g, group: _own(g, group))
def _joined(x, group):
    parts = x.new_empty((group.nranks, *x.shape))
    all_gather(list(parts), x, group)
    return parts.movedim(0, -2).reshape(*x.shape[:-1], -1)


@recorded(lambda g, group: _joined(g, group))
def _own(x, group):
    return x.chunk(group.nranks, -1)[group.rank].clone()


def copied(x: Any, group: Group) -> Any:
    """x, which all processes have; its gradient is the sum of theirs."""
    return x if group.nranks == 1 else _copied(x, group)


def total(x: Any, group: Group) -> Any:
    """The sum of the processes' Tensors, which all have then; its gradient is that of each term."""
    return x if group.nranks == 1 else _total(x, group)


def joined(x: Any, group: Group) -> Any:
    """The processes' parts one after another along the last axis: [..., n] of each gives [..., processes *
    n]."""
    return x if group.nranks == 1 else _joined(x, group)


def own_columns(x: Any, group: Group) -> Any:
    """This process's part of the last axis: [..., processes * n] gives [..., n]."""
    return x if group.nranks == 1 else _own(x, group)
