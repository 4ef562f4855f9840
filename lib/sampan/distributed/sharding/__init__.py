"""Optimizer state, gradients and parameters cut over processes (ZeRO), by Paddle's
`group_sharded_parallel`."""

import os
from collections.abc import Sequence
from typing import Any

from ...engine.errors import InvalidArgument, InvalidType
from ...nn.layer import Layer
from ...optimizer.optimizer import Optimizer
from ...serialization import save
from ..collective import _get_default_group, barrier
from ..data_parallel import DataParallel
from ..group import Group
from .agreement import agreeing
from .model import GroupShardedStage2 as GroupShardedStage2
from .model import GroupShardedStage3 as GroupShardedStage3
from .norms import Clipping
from .parts import ShardedOptimizer
from .parts import held_bytes as held_bytes

__all__ = ["group_sharded_parallel", "save_group_sharded_model"]


def group_sharded_parallel(
    model: Layer,
    optimizer: Optimizer,
    level: str,
    scaler: Any = None,
    group: Group | None = None,
    offload: bool = False,
    sync_buffers: bool = False,
    buffer_max_size: int = 2**23,
    segment_size: int = 2**20,
    sync_comm: bool = False,
    dp_group: Group | None = None,
    exclude_layer: Sequence[str | int] | None = None,
) -> tuple[Layer, Any, Any]:
    """(model, optimizer, scaler) whose memory is cut over the processes of a group. Each process trains on
    its part of the batch; the steps are those of one process with the whole batch.

    level: "os" cuts the state of the optimizer, "os_g" the gradients too, "p_g_os" the parameters too.
    buffer_max_size: elements of float32 that are sent as one message. segment_size, exclude_layer: see
    GroupShardedStage3. sync_buffers, sync_comm: have no effect.
    AssertionError for another level, as in Paddle; NotImplementedError for offload and dp_group: use
    `fleet.init` with dp_degree and sharding_degree for the latter.
    """
    if not isinstance(model, Layer) or not isinstance(optimizer, Optimizer):
        kinds = f"{type(model).__name__} and {type(optimizer).__name__}"
        raise InvalidType(f"group_sharded_parallel: expected a Layer and an Optimizer, got {kinds}")
    if level not in ("os", "os_g", "p_g_os"):
        raise AssertionError(f"group_sharded_parallel: level: expected os, os_g or p_g_os, got {level!r}")
    if offload or (dp_group is not None and dp_group.nranks > 1):
        raise NotImplementedError("group_sharded_parallel: offload and dp_group are not supported")
    members = group or _get_default_group()
    sharded = ShardedOptimizer(optimizer, members, Clipping(sharding=members))
    size = buffer_max_size * 4 / 2**20
    settings: dict[str, Any] = {"comm_buffer_size": size, "find_unused_parameters": True, "group": members}
    if level == "os":
        wrapped = DataParallel(model, **settings)
    elif level == "os_g":
        wrapped = GroupShardedStage2(model, **settings)
    else:
        wrapped = GroupShardedStage3(
            model, sharded, segment_size=segment_size, exclude_layer=exclude_layer, **settings
        )
    return wrapped, sharded, None if scaler is None else agreeing(scaler, members)


def save_group_sharded_model(model: Layer, output: str, optimizer: Any = None) -> None:
    """Write the whole parameters to `output`/model.pdmodel and the whole state of the optimizer to
    model.pdopt. All processes must call it; the first writes.

    ValueError for a model, AssertionError for an optimizer that is not of `group_sharded_parallel`, and where
    `output` is a file.
    """
    if not isinstance(model, DataParallel):
        raise InvalidArgument(
            "save_group_sharded_model: model: expected one of group_sharded_parallel, got "
            f"{type(model).__name__}"
        )
    if os.path.isfile(output):
        raise AssertionError(f"save_group_sharded_model: output: expected a folder, got the file {output}")
    if optimizer is not None and not hasattr(optimizer, "_optim"):
        raise AssertionError("save_group_sharded_model: optimizer: expected one of group_sharded_parallel")
    members = model.group or _get_default_group()
    parts = {"model.pdmodel": model.state_dict()}
    if optimizer is not None:
        parts["model.pdopt"] = optimizer.state_dict()
    if members.rank == 0:
        os.makedirs(output, exist_ok=True)
        for name, state in parts.items():
            save(state, os.path.join(output, name))
    barrier(members)
