"""Networks of which several processes train one copy, or hold parts of it (Paddle's module
`fleet.meta_parallel`)."""

from __future__ import annotations

from typing import Any

from ...engine.tensor import Tensor
from ...nn.layer import Layer
from .. import replicas, wire
from ..arguments import check_kind
from ..collective import mark_written
from ..data_parallel import DataParallel, mapped
from .topology import HybridCommunicateGroup

__all__ = ["ShardingParallel", "TensorParallel"]


class ShardingParallel(DataParallel):
    """A layer of which each process has a copy and a part of the batch: gradients are the means over the
    groups of data parallelism and of sharding together, and travel while backward runs.

    strategy: a DistributedStrategy, for the sizes of messages and `find_unused_parameters`.
    """

    _left_out = ("no_sync",)  # parts of a layer are exchanged with the same parts of the other copies

    def __init__(
        self, layers: Layer, hcg: HybridCommunicateGroup, strategy: Any = None, **settings: Any
    ) -> None:
        if strategy is not None:
            settings.setdefault("comm_buffer_size", strategy.fuse_grad_size_in_MB)
            settings.setdefault("last_comm_buffer_size", strategy.last_comm_group_size_MB)
            settings.setdefault("find_unused_parameters", strategy.find_unused_parameters)
        check_kind(hcg, HybridCommunicateGroup, "hcg")
        self._start(layers, hcg)
        super().__init__(layers, strategy, group=hcg.copies(), **settings)

    @staticmethod
    def _start(layers: Layer, hcg: HybridCommunicateGroup) -> None:
        """Before the copies are made equal."""


class TensorParallel(ShardingParallel):
    """A layer with parts such as `ColumnParallelLinear`: a `ShardingParallel`, too. What all processes of a
    group of tensor parallelism have is taken from its first one: parameters and buffers at the start, Tensors
    given to `forward` before each call, in place.

    `mp_configs["need_broadcast_data"] = False` of the strategy's hybrid_configs leaves the latter out.
    """

    def __init__(
        self, layers: Layer, hcg: HybridCommunicateGroup, strategy: Any = None, **settings: Any
    ) -> None:
        super().__init__(layers, hcg, strategy, **settings)
        shares = strategy is None or strategy.hybrid_configs["mp_configs"].need_broadcast_data
        group = hcg.get_model_parallel_group()
        self._parts = group if shares and group.nranks > 1 else None

    @staticmethod
    def _start(layers: Layer, hcg: HybridCommunicateGroup) -> None:
        group = hcg.get_model_parallel_group()
        if group.nranks > 1:
            whole = [t for t in replicas.held(layers).values() if not getattr(t, "is_distributed", False)]
            replicas.broadcast_tensors(whole, group.torch_group)

    def forward(self, *inputs: Any, **settings: Any) -> Any:
        """The layer's result."""
        if self._parts is not None:
            mapped(self._shared, [inputs, settings])
        return super().forward(*inputs, **settings)

    def _shared(self, tensor: Tensor) -> Tensor:
        mark_written(tensor)
        wire.broadcast(tensor.data, 0, self._parts)  # type: ignore[arg-type]  # called where there is one
        return tensor
