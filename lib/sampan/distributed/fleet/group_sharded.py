"""Paddle's module `fleet.meta_parallel.sharding`: the parts of `group_sharded_parallel` by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...engine.errors import InvalidType
from ...nn.layer import Layer
from ...optimizer.optimizer import Optimizer
from .. import sharding
from ..collective import _get_default_group
from ..group import Group
from ..sharding.agreement import agreeing
from ..sharding.norms import Clipping
from ..sharding.parts import ShardedOptimizer

__path__: list[str] = []  # so that `import` looks for Paddle's modules inside, which are this one
__all__ = ["GroupShardedOptimizerStage2", "GroupShardedScaler", "GroupShardedStage2", "GroupShardedStage3"]


def _usual(name: str, offload: bool, dp_group: Group | None) -> None:
    if offload or (dp_group is not None and dp_group.nranks > 1):
        raise NotImplementedError(f"{name}: offload and dp_group are not supported; use fleet.init")


class GroupShardedOptimizerStage2(ShardedOptimizer):
    """An optimizer whose state is cut over the processes of a group.

    params: the optimizer's parameters. device, pertrain_sync_models: have no effect. NotImplementedError for
    offload and dp_group.
    """

    def __init__(
        self,
        params: Sequence[Any],
        optim: Optimizer,
        group: Group | None = None,
        offload: bool = False,
        device: str = "gpu",
        pertrain_sync_models: bool = True,
        dp_group: Group | None = None,
        **settings: Any,
    ) -> None:
        _usual(type(self).__name__, offload, dp_group)
        members = group or _get_default_group()
        super().__init__(optim, members, Clipping(sharding=members))


class GroupShardedStage2(sharding.GroupShardedStage2):
    """A network after whose backward each process has its part of the gradients (ZeRO 2).

    sharding_optimizer: the GroupShardedOptimizerStage2 of its parameters. buffer_max_size: elements of
    float32 that are sent as one message. sync_buffers, auto_refresh_trainable, device: have no effect.
    """

    def __init__(
        self,
        layer: Layer,
        sharding_optimizer: ShardedOptimizer,
        group: Group | None = None,
        sync_buffers: bool = False,
        buffer_max_size: int = 2**23,
        auto_refresh_trainable: bool = True,
        device: str = "gpu",
        dp_group: Group | None = None,
    ) -> None:
        _usual(type(self).__name__, False, dp_group)
        if not isinstance(sharding_optimizer, ShardedOptimizer):
            raise InvalidType(
                "sharding_optimizer: expected a GroupShardedOptimizerStage2, got "
                f"{type(sharding_optimizer).__name__}"
            )
        settings: dict[str, Any] = {"comm_buffer_size": buffer_max_size * 4 / 2**20}
        members = group or _get_default_group()
        super().__init__(layer, find_unused_parameters=True, group=members, **settings)


class GroupShardedStage3(sharding.GroupShardedStage3):
    """A network whose parameters are cut too (ZeRO 3). The optimizer is changed in place: its steps are
    those of the parts.

    segment_size, exclude_layer: see `sharding.GroupShardedStage3`. sync_buffers, device,
    pertrain_sync_models, sync_comm: have no effect. NotImplementedError for offload and dp_group.
    """

    def __init__(
        self,
        layer: Layer,
        optimizer: Optimizer,
        group: Group | None = None,
        sync_buffers: bool = False,
        device: str = "gpu",
        segment_size: int = 2**20,
        pertrain_sync_models: bool = True,
        offload: bool = False,
        sync_comm: bool = False,
        dp_group: Group | None = None,
        exclude_layer: Sequence[str | int] | None = None,
    ) -> None:
        _usual(type(self).__name__, offload, dp_group)
        members = group or _get_default_group()
        sharded: Any = optimizer
        if not isinstance(optimizer, ShardedOptimizer):
            sharded = ShardedOptimizer(optimizer, members, Clipping(sharding=members))
        settings: dict[str, Any] = {"segment_size": segment_size, "exclude_layer": exclude_layer}
        super().__init__(layer, sharded, find_unused_parameters=True, group=members, **settings)


def GroupShardedScaler(scaler: Any) -> Any:
    """A GradScaler that leaves a step out in all processes where one has a gradient that is not finite."""
    return agreeing(scaler, _get_default_group())
