"""Operators of tensor parallelism, in pairs: each is the derivative of the other.

The loss is the same in all processes of the group, and so counts once (Shoeybi et al. 2019, section 3).
"""

from __future__ import annotations

from typing import Any

import torch

from ...creation import zeros_like
from ...engine.error_translation import describe
from ...engine.errors import InvalidArgument, InvalidType
from ...engine.tensor import Tensor
from ...nn import functional as F
from ...ops import take_along_axis, where
from ..collective import check_op, check_tensors, ready
from ..differentiable import recorded
from ..group import Group
from ..wire import ReduceOp, all_gather, all_reduce

__all__ = ["copied", "joined", "label_losses", "own_columns", "total"]


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


def label_losses(name: str, input: Tensor, labels: Tensor, ignore_index: int, group: Group) -> Tensor:
    """The loss of each label [..., labels] of logits [..., classes / processes]."""
    if labels.data.is_floating_point():
        raise InvalidType(f"{name}: label: expected integers, got {describe(labels)}")
    columns, kept = input.shape[-1], labels != ignore_index
    given = labels.data[kept.data]
    if given.numel() and not 0 <= int(given.min()) <= int(given.max()) < columns * group.nranks:
        raise InvalidArgument(
            f"{name}: label: expected 0 to {columns * group.nranks - 1} or {ignore_index}, got "
            f"{int(given.min())} to {int(given.max())}"
        )
    largest = input.data.amax(-1, keepdim=True)
    all_reduce(largest, ReduceOp.MAX, group)
    shifted = input - Tensor(torch.nan_to_num(largest, neginf=0.0))
    own = labels - group.rank * columns
    here = (own >= 0).logical_and(own < columns)
    chosen = take_along_axis(shifted, where(here, own, zeros_like(own)).astype("int64"), -1)
    target = total(where(here, chosen, zeros_like(chosen)), group)
    loss: Tensor = total(shifted.exp().sum(-1, keepdim=True), group).log() - target
    return where(kept, loss, zeros_like(loss))


# --- Paddle's names ---


def _members(what: str, group: Group | None, tensor: Any) -> Group | None:
    """The group, all processes where it is None; None where this process is not in it."""
    check_tensors(what, tensor=tensor)
    return None if group is not None and not group.is_member() else ready(what, group)


def _c_identity(tensor: Any, group: Group | None = None, skip_c_identity_dynamic: bool = False) -> Any:
    """`copied`: the tensor, whose gradient is the sum of those of the group's processes.

    skip_c_identity_dynamic: the gradient stays that of this process. None where it is not in the group.
    """
    members = _members("_c_identity", group, tensor)
    return members and (tensor if skip_c_identity_dynamic else copied(tensor, members))


def _c_concat(tensor: Any, group: Group | None = None) -> Any:
    """`joined`: the processes' parts of the last axis, one after another; None where this process is not in
    the group."""
    members = _members("_c_concat", group, tensor)
    return members and joined(tensor, members)


def _c_split(tensor: Any, group: Group | None = None) -> Any:
    """`own_columns`: this process's part of the last axis. InvalidArgument where the parts are not equal;
    None where this process is not in the group."""
    members = _members("_c_split", group, tensor)
    if members is not None and (tensor.ndim == 0 or tensor.shape[-1] % members.nranks):
        raise InvalidArgument(
            f"_c_split: tensor: expected a last axis in {members.nranks} equal parts, got {describe(tensor)}"
        )
    return members and own_columns(tensor, members)


def _mp_allreduce(
    tensor: Any,
    op: int = ReduceOp.SUM,
    group: Group | None = None,
    use_calc_stream: bool = True,
    use_model_parallel: bool = True,
    skip_c_identity_dynamic: bool = False,
) -> Any:
    """`total`: the sum over the group; None where this process is not in it.

    use_model_parallel: the gradient is that of this process, as the loss is the same in all; with False, or
    without skip_c_identity_dynamic and in another group, it would be a sum: use `differentiable.all_reduce`.
    op: the sum is the only one. AssertionError for another, and for use_model_parallel=False.
    """
    members = _members("_mp_allreduce", group, tensor)
    check_op("_mp_allreduce", op)
    if op != ReduceOp.SUM:
        raise AssertionError(f"_mp_allreduce: op: expected ReduceOp.SUM, got {op}")
    if not use_model_parallel:
        raise AssertionError("_mp_allreduce: use_model_parallel: expected True; or use all_reduce")
    return members and total(tensor, members)


def _c_lookup_table(
    table: Any, index: Any, start_index: int = 0, vocab_size: int = -1, name: str | None = None
) -> Any:
    """The rows of a table [rows, width] for ids of which this process has those from `start_index` on;
    zeros for the others. vocab_size: where it is given, InvalidArgument for ids that it does not include."""
    check_tensors("_c_lookup_table", table=table, index=index)
    ids = index.data
    if vocab_size > 0 and ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < vocab_size:
        raise InvalidArgument(
            f"_c_lookup_table: index: expected ids of 0 to {vocab_size - 1}, got {int(ids.min())} to "
            f"{int(ids.max())}"
        )
    own = index - start_index
    here = (own >= 0).logical_and(own < table.shape[0])
    rows = F.embedding(where(here, own, zeros_like(own)), table)
    return where(here.unsqueeze(-1), rows, zeros_like(rows))


def _c_softmax_with_cross_entropy(
    logits: Any,
    label: Any,
    group: Group | None = None,
    return_softmax: bool = False,
    ignore_index: int = -100,
) -> Any:
    """`ParallelCrossEntropy` as a function: losses [..., 1] of logits [..., classes / processes] and labels
    [...] or [..., 1]; with return_softmax also the probabilities of this process's classes, which have no
    gradient. None where this process is not in the group."""
    members = _members("_c_softmax_with_cross_entropy", group, logits)
    if members is None:
        return None
    if label.ndim not in (logits.ndim, logits.ndim - 1):
        raise ValueError(
            "_c_softmax_with_cross_entropy: label: expected as many axes as logits has, or one less, got "
            f"{describe(label)} for {describe(logits)}"
        )
    labels = label if label.ndim == logits.ndim else label.unsqueeze(-1)
    losses = label_losses("_c_softmax_with_cross_entropy", logits, labels, ignore_index, members)
    if not return_softmax:
        return losses
    largest = logits.data.amax(-1, keepdim=True)
    all_reduce(largest, ReduceOp.MAX, members)
    powers = (logits.data - torch.nan_to_num(largest, neginf=0.0)).exp()
    sums = powers.sum(-1, keepdim=True)
    all_reduce(sums, ReduceOp.SUM, members)
    return losses, Tensor(powers / sums)
