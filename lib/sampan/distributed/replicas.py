"""Equal copies of a layer in several processes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as c10d

from ..dtype import name_of
from ..engine import tape
from ..engine.tensor import InvalidArgument, Tensor
from ..nn.layer import Layer
from . import traffic


def held(layer: Layer) -> dict[str, Tensor]:
    """Name -> parameter or buffer, each once."""
    found: dict[str, Tensor] = dict(layer.named_parameters())
    for name, buffer in layer.named_buffers():
        if buffer is not None:
            found.setdefault(name, buffer)
    return found


def check(layer: Layer, group: Any) -> None:
    """InvalidArgument, in all processes, that names the first parameter or buffer which is not the same in
    all."""
    mine = [(name, [*t.shape], name_of(t.dtype), bool(t.stop_gradient)) for name, t in held(layer).items()]
    heard: list[Any] = [None] * c10d.get_world_size(group)
    c10d.all_gather_object(heard, mine, group=group)
    first = heard[0]
    for rank, other in enumerate(heard[1:], 1):
        if other == first:
            continue
        for ours, theirs in zip(first, other, strict=False):
            if ours != theirs:
                raise InvalidArgument(
                    "DataParallel: expected the same parameters in all processes; process 0 has "
                    f"{_told(ours)}, process {rank} has {_told(theirs)}"
                )
        longer, at = (0, first) if len(first) > len(other) else (rank, other)
        extra = _told(at[min(len(first), len(other))])
        raise InvalidArgument(
            f"DataParallel: expected the same parameters in all processes; process {longer} alone has {extra}"
        )


def _told(entry: tuple[str, list[int], str, bool]) -> str:
    name, shape, dtype, stopped = entry
    return f"{name!r} {shape} {dtype}" + (" with stop_gradient=True" if stopped else "")


def broadcast(layer: Layer, group: Any, source: int = 0) -> None:
    """Give all processes the parameters and buffers of one of the group."""
    broadcast_tensors([*held(layer).values()], group, source)


def broadcast_tensors(chosen: Sequence[Tensor], group: Any, source: int = 0) -> None:
    """Give all processes the values of one of the group: in one message for each dtype."""
    kinds: dict[Any, list[Tensor]] = {}
    for tensor in chosen:
        kinds.setdefault((tensor.data.dtype, tensor.data.device), []).append(tensor)
    world = c10d.get_world_size(group)
    for tensors in kinds.values():
        whole = torch.cat([tensor.data.flatten() for tensor in tensors])
        traffic.count("broadcast", whole.nbytes, whole.nbytes * (world - 1) // world)
        c10d.broadcast(whole, group=group, group_src=source)
        parts = whole.split([tensor.data.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.data.copy_(part.view(tensor.data.shape))
            tape.written(tensor.data)
