"""Paddle's module `fleet.utils.hybrid_parallel_util`: what programs call that train a network of their own
over the groups of `fleet`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....engine.tensor import Tensor
from ....nn.layer import Layer
from ... import wire
from ...collective import mark_written, ready
from ...environment import get_world_size
from ...group import Group
from ...objects import broadcast_object_list
from ...parallel import sync_params_buffers
from ...row_exchange import mean_of_dense
from ..topology import HybridCommunicateGroup

__all__ = [
    "broadcast_dp_parameters",
    "broadcast_input_data",
    "broadcast_mp_parameters",
    "broadcast_sharding_parameters",
    "fused_allreduce_gradients",
    "fused_allreduce_gradients_with_group",
    "obtain_optimizer_parameters_list",
]


def obtain_optimizer_parameters_list(optimizer: Any) -> list[Tensor]:
    """The parameters of an optimizer, also where it was given groups of them."""
    return [
        parameter
        for given in optimizer._parameter_list
        for parameter in (given["params"] if isinstance(given, dict) else [given])
    ]


def fused_allreduce_gradients(parameter_list: Sequence[Any], hcg: Any = None, *args: Any) -> None:
    """Let the parameters' gradients be the means over the group of data parallelism, of all processes without
    `hcg`: for networks that are no DataParallel, or after its `no_sync`. With one process nothing changes.

    Each process must have gradients of the same parameters. For parameters with a `main_grad`
    (`mix_precision_utils`) that is exchanged.
    """
    if get_world_size() > 1:
        members = None if hcg is None else hcg.get_data_parallel_group()
        fused_allreduce_gradients_with_group(parameter_list, members)


def fused_allreduce_gradients_with_group(
    parameter_list: Sequence[Any],
    group: Group | None,
    bucket_size: int = 128 * 1024 * 1024,
    scale: float | None = None,
) -> None:
    """Let the parameters' gradients be sums over a group, each term multiplied by `scale`; the means where
    that is None. Otherwise as `fused_allreduce_gradients`.

    bucket_size: is not used, each gradient is a message of its own.
    """
    members = ready("fused_allreduce_gradients_with_group", group)
    if members is None or (members.nranks == 1 and scale in (None, 1.0)):
        return
    for parameter in parameter_list:
        kept = getattr(parameter, "main_grad", None)
        if kept is not None:
            _scale(kept, 1 / members.nranks if scale is None else scale)
            wire.all_reduce(kept.data, wire.ReduceOp.SUM, members)
            mark_written(kept)
        elif parameter._grad is not None:
            if members.nranks > 1:
                mean_of_dense(parameter, members.torch_group)
            if scale is not None:
                _scale(parameter._grad, members.nranks * scale)


def _scale(gradient: Tensor, factor: float) -> None:
    if factor != 1.0:
        gradient.data.mul_(factor)
        mark_written(gradient)


def broadcast_dp_parameters(model: Layer, hcg: HybridCommunicateGroup, fuse_params: bool = True) -> None:
    """Give all copies of data parallelism the parameters and buffers of the first one."""
    group = hcg.get_data_parallel_group()
    sync_params_buffers(model, group, hcg.get_data_parallel_group_src_rank(), fuse_params=fuse_params)


def broadcast_mp_parameters(model: Layer, hcg: HybridCommunicateGroup, fuse_params: bool = True) -> None:
    """Give all processes of tensor parallelism the parameters and buffers of the first one, but for those
    that it has cut (`is_distributed`)."""
    group, first = hcg.get_model_parallel_group(), hcg.get_model_parallel_group_src_rank()
    sync_params_buffers(model, group, first, is_model_parallel=True, fuse_params=fuse_params)


def broadcast_sharding_parameters(
    model: Layer, hcg: HybridCommunicateGroup, fuse_params: bool = True
) -> None:
    """Give all copies of sharded training the parameters and buffers of the first one."""
    group = hcg.get_sharding_parallel_group()
    sync_params_buffers(model, group, hcg.get_sharding_parallel_group_src_rank(), fuse_params=fuse_params)


def broadcast_input_data(
    hcg: HybridCommunicateGroup, *inputs: Any, **kwargs: Any
) -> tuple[Any, dict[str, Any]]:
    """What the first process of tensor parallelism was given, for all of them: (inputs, kwargs).

    Tensors, also in lists, tuples and dictionaries, take its values in place, and its shape; anything else is
    pickled. The processes must give as many values, Tensors at the same places.
    """
    group = hcg.get_model_parallel_group()
    if group.nranks == 1:
        return inputs, kwargs
    return _shared(inputs, group), _shared(kwargs, group)


def _shared(value: Any, group: Group) -> Any:
    if isinstance(value, dict):
        return {key: _shared(part, group) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_shared(part, group) for part in value)
    root = group.ranks[0]
    if not isinstance(value, Tensor):
        held = [value]
        broadcast_object_list(held, root, group)
        return held[0]
    shape = [list(value.data.shape)]
    broadcast_object_list(shape, root, group)
    if shape[0] != list(value.data.shape):
        value.data = value.data.new_empty(shape[0])
    wire.broadcast(value.data, 0, group)
    mark_written(value)
    return value
