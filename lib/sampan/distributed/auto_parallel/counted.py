"""Collectives of distributed tensors are counted in `traffic`, as the others are.

torch's DTensor chooses and starts them itself, so they are noted where torch dispatches them: with the sizes
that are sent, padding included.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as c10d
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.utils._python_dispatch import TorchDispatchMode

from .. import traffic

_FUNCTIONAL = torch.ops._c10d_functional
_NAMES = {
    _FUNCTIONAL.all_reduce.default: "all_reduce",
    _FUNCTIONAL.all_gather_into_tensor.default: "all_gather",
    _FUNCTIONAL.reduce_scatter_tensor.default: "reduce_scatter",
    torch.ops._dtensor.shard_dim_alltoall.default: "alltoall",
}


def _size(buffer: torch.Tensor) -> int:
    return buffer.numel() * buffer.element_size()


def _count(name: str, buffer: torch.Tensor, group: Any) -> None:
    count, size = group.size(), _size(buffer)
    if name == "all_gather":
        wire = (count - 1) * size
    elif name == "all_reduce" or (name == "reduce_scatter" and not buffer.is_cuda):
        wire = traffic.ring(size, count)  # gloo computes an all_reduce for a reduce_scatter
    else:
        wire = (count - 1) * size // count
    traffic.count(name, size, wire)


class counting(TorchDispatchMode):
    """In the block the collectives that torch starts are counted."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = _NAMES.get(func)
        if name is not None:  # the last argument is the group, by its name
            _count(name, args[0], _resolve_process_group(args[-1]))
        return func(*args, **(kwargs or {}))


def all_reduce(buffer: torch.Tensor, group: Any) -> None:
    """The sum of the buffers of a group of torch's, in place."""
    _count("all_reduce", buffer, group)
    c10d.all_reduce(buffer, group=group)


def all_gather(buffer: torch.Tensor, group: Any) -> list[torch.Tensor]:
    """The buffers of all members of a group of torch's."""
    each = [torch.empty_like(buffer) for _ in range(group.size())]
    _count("all_gather", buffer, group)
    c10d.all_gather(each, buffer, group=group)
    return each


def broadcast(buffer: torch.Tensor, source: int, group: Any = None) -> None:
    """The buffer of the group's member `source` (its number in the group), in place; None for all
    processes."""
    group = group or c10d.group.WORLD
    count = group.size()
    wire = traffic.tree(_size(buffer), count, (group.rank() - source) % count)
    traffic.count("broadcast", _size(buffer), wire)
    c10d.broadcast(buffer, group=group, group_src=source)
