"""Gradients of several pipelines that have the same network and other parts of the batch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ...engine.tensor import Tensor
from ...row_sparse import RowSparse
from .. import wire
from ..group import Group
from ..row_exchange import RowExchange
from ..wire import ReduceOp

__all__ = ["mean_gradients"]

MESSAGE = 32 * 2**20  # bytes of gradients that are sent as one message
NONE, ROWS, DENSE = range(3)


def mean_gradients(parameters: Sequence[Tensor], group: Group) -> None:
    """Let each gradient be the mean over the processes of a group.

    A process without a gradient contributes zeros; a parameter that has none anywhere gets none. Gradients of
    rows stay such where no process has a dense one.
    """
    if not parameters:
        return
    kinds = torch.tensor([_kind(parameter) for parameter in parameters])
    wire.all_reduce(kinds, ReduceOp.MAX, group, label="kinds of gradients")
    tables = [p for p, kind in zip(parameters, kinds.tolist(), strict=True) if kind == ROWS]
    if tables:
        RowExchange(tables, group.torch_group)([table.grad is None for table in tables])
    waiting: dict[torch.dtype, list[torch.Tensor]] = {}
    for parameter, kind in zip(parameters, kinds.tolist(), strict=True):
        if kind == DENSE:
            if parameter.grad is None:
                parameter.grad = Tensor(torch.zeros_like(parameter.data))
            buffers = waiting.setdefault(parameter.data.dtype, [])
            buffers.append(parameter.grad.data)
            if sum(buffer.nbytes for buffer in buffers) >= MESSAGE:
                _mean(waiting.pop(parameter.data.dtype), group)
    for buffers in waiting.values():
        _mean(buffers, group)


def _kind(parameter: Tensor) -> int:
    gradient = parameter.grad
    if gradient is None:
        return NONE
    return ROWS if isinstance(gradient, RowSparse) and gradient.is_row_sparse else DENSE


def _mean(buffers: list[torch.Tensor], group: Group) -> None:
    """The means of buffers of one dtype, as one message, in place."""
    message = torch.cat([buffer.reshape(-1) for buffer in buffers])
    wire.all_reduce(message, ReduceOp.AVG, group, label=f"gradients of {len(buffers)} parameters")
    for buffer, part in zip(buffers, message.split([b.numel() for b in buffers]), strict=True):
        buffer.copy_(part.view(buffer.shape))
